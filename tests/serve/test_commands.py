from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from support.live import Events, Served, serving
from support.processes import ENVIRONMENT, family, listeners, sweeping, wait_until_gone
from support.stores import mixed
from support.studies import write_study

from report.analysis import analyse
from report.page import render
from robustness.cli import main
from robustness.serve import reports
from robustness.serve.addresses import require_extra
from robustness.store import open_store


@contextmanager
def command(folder: Path, *words: str) -> Iterator[tuple[subprocess.Popen[str], Served]]:
    """`robustness serve` as a process, and the page that it serves."""
    process = subprocess.Popen(
        [sys.executable, "-m", "robustness", "serve", *words],
        env=os.environ | ENVIRONMENT,
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout is not None
        yield process, page_at(process.stdout.readline())
    finally:
        process.kill()
        process.communicate()


def page_at(line: str) -> Served:
    found = re.search(r"live page: http://[\w.]+:(\d+)/", line)
    assert found, line
    return Served(None, int(found[1]))  # type: ignore[arg-type]


def test_ctrl_c_ends_it_at_once_although_pages_are_open(tmp_path: Path) -> None:
    with command(tmp_path, "--port", "0") as (process, served), Events(served, "/events") as events:
        assert events.next()[0] == "studies"
        processes = family(process.pid)
        assert listeners(processes) == [("127.0.0.1", served.port)]
        began = time.monotonic()
        process.send_signal(signal.SIGINT)
        while events.next()[0]:
            pass
        assert process.wait(10) == 0
        assert time.monotonic() - began < 3
        assert process.stderr is not None
        assert process.stderr.read() == ""
        assert wait_until_gone(processes) == []


def test_a_port_in_use_is_one_line(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        words = ["serve", "--port", str(taken.getsockname()[1])]
        process = subprocess.run(
            [sys.executable, "-m", "robustness", *words],
            env=os.environ | ENVIRONMENT,
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
        )
    assert process.returncode == 2
    assert process.stdout == ""
    assert re.fullmatch(r"robustness: port \d+ is in use: choose another, such as --port \d+, or .*\n", process.stderr)


def test_a_missing_extra_is_one_line_that_names_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    require_extra()
    monkeypatch.setattr("robustness.serve.addresses.find_spec", lambda name: None if name == "uvicorn" else name)
    assert main(["serve"]) == 2
    line = "the live page needs uvicorn, not installed here: pip install -e '.[serve]' in the project's folder\n"
    assert capsys.readouterr().err == f"robustness: {line}"
    words = ["sweep", str(write_study(tmp_path)), "--inline", "--serve", "--store", f"sqlite:///{tmp_path / 'a.db'}"]
    assert main(words) == 2
    assert capsys.readouterr().err.endswith(line)


def test_a_port_without_a_page_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["sweep", str(write_study(tmp_path)), "--inline", "--port", "9000", "-s", f"sqlite:///{tmp_path / 'a.db'}"]
    assert main(words) == 2
    assert capsys.readouterr().err == "robustness: --port is the port of the live page: it needs --serve\n"


@pytest.mark.parametrize("port", ["-1", "65536", "x", "1.5"])
def test_a_bad_port_is_one_line(port: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["serve", f"--port={port}"])
    assert "must be an integer from 0 to 65535" in capsys.readouterr().err


def test_a_bad_store_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["serve", "--port", "0", "--store", "mysql://x"]) == 2
    assert len(capsys.readouterr().err.splitlines()) == 1


def url_of(process: subprocess.Popen[str]) -> Served:
    assert process.stderr is not None
    for line in process.stderr:
        if line.startswith("live page: "):
            assert "/studies/simulated " in line
            return page_at(line)
    raise AssertionError("no live page was announced")


def test_a_sweep_serves_its_page_until_it_ends(store_url: str, tmp_path: Path) -> None:
    study = write_study(tmp_path, training={"epochs": 3, "pause": 0.6})
    with sweeping(study, "--store", store_url, "--inline", "--serve", "--port", "0") as driver:
        served = url_of(driver)
        with Events(served, "/studies/simulated/events") as events:
            running = events.until(lambda news: news.get("state") == "running" and news["workers"])
            assert running["workers"][0]["worker"]
            processes = family(driver.pid)
            assert [port for _, port in listeners(processes)] == [served.port]
            events.until(lambda news: news.get("state") == "finished" and news["tallies"][0]["done"] == 5)
            names: list[str] = []
            while not names or names[-1]:
                names.append(events.next()[0])
            assert "farewell" in names
        assert driver.wait(60) == 0
        assert wait_until_gone(processes) == []


def test_the_page_of_a_killed_sweep_says_so_and_ends(tmp_path: Path) -> None:
    study = write_study(tmp_path, training={"epochs": 300, "pause": 0.1})
    url = f"sqlite:///{tmp_path / 'store.db'}"
    with sweeping(study, "--store", url, "--inline", "--serve", "--port", "0") as driver:
        served = url_of(driver)
        with Events(served, "/studies/simulated/events") as events:
            events.until(lambda news: news.get("state") == "running" and news["workers"])
            processes = family(driver.pid)
            os.kill(driver.pid, signal.SIGKILL)
            events.until(lambda news: news.get("state") == "stopped")
        assert wait_until_gone(processes) == []


def test_a_password_is_on_no_command_line(postgres_url: str, tmp_path: Path) -> None:
    study = write_study(tmp_path, training={"epochs": 30, "pause": 0.1})
    url = postgres_url.replace("postgres@", "postgres:very-secret@")
    assert "very-secret" in url
    environment = {"ROBUSTNESS_STORE": url}
    with sweeping(study, "--inline", "--serve", "--port", "0", environment=environment) as driver:
        served = url_of(driver)
        with Events(served, "/studies/simulated/events") as events:
            events.until(lambda news: news.get("state") == "running")
            commands = family(driver.pid)
            assert any("beside_process" in words for words in commands.values())
            assert not any("very-secret" in words for words in commands.values())


def test_the_report_is_that_of_the_command_and_is_made_once(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'store.db'}"
    with open_store(url) as store:
        expected = render(analyse(mixed(store)))
    with serving(url) as served:
        status, headers, body = served.get("/studies/mixed/report")
        assert status in (200, 202)
        if status == 202:
            assert headers["refresh"] == "1"
            assert "Writing the report" in body
        end = time.monotonic() + 120
        while served.get("/")[0] == 200 and status == 202:
            assert time.monotonic() < end
            time.sleep(0.3)
            status, headers, body = served.get("/studies/mixed/report")
        assert status == 200
        assert body == expected
        policy = headers["content-security-policy"]
        assert "script-src 'sha256-" in policy
        assert policy.endswith("frame-ancestors 'none'")
        assert "unsafe-inline" not in policy
        began = time.monotonic()
        assert served.get("/studies/mixed/report")[2] == expected
        assert time.monotonic() - began < 0.5
        assert served.get("/studies/none/report")[0] == 404
        status, headers, body = served.get("/studies/mixed/report", "HEAD")
        assert (status, body) == (200, "")


def test_requests_at_the_same_time_share_one_report(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    url = f"sqlite:///{tmp_path / 'store.db'}"
    with open_store(url) as store:
        mixed(store)
    made: list[str] = []
    original = reports.Reports._render

    async def counted(self: reports.Reports, study: str, state: int) -> reports.Page:
        made.append(study)
        return await original(self, study, state)

    monkeypatch.setattr(reports.Reports, "_render", counted)

    async def ask() -> None:
        kept = reports.Reports(url)
        pages = await asyncio.gather(*(kept.page("mixed", 1, 120.0) for _ in range(5)))
        assert len({page.content for page in pages if page is not None}) == 1
        assert made == ["mixed"]
        # A running study has changed meanwhile: the page is good enough for a while.
        assert await kept.page("mixed", 2, 120.0) is pages[0]
        assert made == ["mixed"]
        failed = await kept.page("missing", 1, 120.0)
        assert failed is not None
        assert failed.problem is not None
        assert "missing" in failed.problem
        await kept.close()

    asyncio.run(ask())


def test_the_process_that_renders_takes_its_words_from_standard_input(tmp_path: Path) -> None:
    process = subprocess.run(
        [sys.executable, "-m", "robustness.serve.rendering"],
        input=json.dumps({"store": f"sqlite:///{tmp_path / 'none.db'}", "study": "x"}),
        env=os.environ | ENVIRONMENT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert process.returncode == 1
    assert "does not exist" in process.stderr
    assert len(process.stderr.splitlines()) == 1
