"""Nobody else runs code through a sweep's Ray: loopback, tokens that only their user reads, no open mode."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from support.processes import ENVIRONMENT, family, listeners, sweeping
from support.studies import store_url, write_study
from support.trainables import wait_for

from robustness.cli import main
from robustness.execution.authentication import RayError, has_token, is_open_to_others, local_token, refuse_open_mode

INTRUDER = Path(__file__).parents[1] / "support" / "intruder.py"
NODES = Path(__file__).parents[1] / "support" / "two_nodes.py"
SECRET = "0123456789abcdef" * 4


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty home folder, and no token or mode in the environment."""
    for name in ("RAY_AUTH_MODE", "RAY_AUTH_TOKEN", "RAY_AUTH_TOKEN_PATH"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    return tmp_path


def write_token(home: Path, mode: int = 0o600, text: str = SECRET) -> Path:
    path = home / ".ray" / "auth_token"
    path.parent.mkdir()
    path.write_text(text)
    path.chmod(mode)
    return path


@pytest.mark.parametrize("mode", ["disabled", "DISABLED", "Disabled", "none", "off", "", "k8s", "0", "tokens"])
def test_an_open_mode_is_refused_for_a_local_sweep(
    mode: str, home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("RAY_AUTH_MODE", mode)
    assert main(["sweep", str(write_study(home)), "--store", store_url(home)]) == 2
    line = capsys.readouterr().err
    assert line.startswith(f"robustness: RAY_AUTH_MODE is {mode!r}: without a token")
    assert line.count("\n") == 1
    assert not (home / "store.db").exists()


@pytest.mark.parametrize("mode", ["token", "TOKEN", None])
def test_the_mode_with_a_token_is_allowed(mode: str | None, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if mode is not None:
        monkeypatch.setenv("RAY_AUTH_MODE", mode)
    refuse_open_mode()


@pytest.mark.parametrize("mode", [0o644, 0o640, 0o604, 0o666, 0o660, 0o777, 0o400, 0o600])
def test_a_token_is_kept_and_made_private(mode: int, home: Path) -> None:
    path = write_token(home, mode)
    assert local_token() == {}
    assert path.read_text() == SECRET
    assert not stat.S_IMODE(path.stat().st_mode) & 0o077
    assert not is_open_to_others()


@pytest.mark.parametrize("umask", [0o000, 0o022, 0o077])
@pytest.mark.parametrize("before", ["no folder", "empty file", "blank file"])
def test_a_new_token_is_private_from_the_start(before: str, umask: int, home: Path) -> None:
    if before != "no folder":
        write_token(home, text="" if before == "empty file" else " \n")
    previous = os.umask(umask)
    try:
        assert local_token() == {}
    finally:
        os.umask(previous)
    path = home / ".ray" / "auth_token"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert len(path.read_text()) == 64
    assert has_token()


def test_two_tokens_differ(home: Path) -> None:
    local_token()
    path = home / ".ray" / "auth_token"
    first = path.read_text()
    path.unlink()
    local_token()
    assert path.read_text() != first


@pytest.mark.parametrize("home_folder", [None, "", "/proc/nowhere"])
def test_without_a_home_the_token_lives_in_memory(
    home_folder: str | None, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if home_folder is None:
        monkeypatch.delenv("HOME")
    else:
        monkeypatch.setenv("HOME", home_folder)
    (name,) = local_token()
    assert name == "RAY_AUTH_TOKEN"


def test_a_named_token_file_is_used_made_private_and_must_be_there(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    named = home / "token"
    monkeypatch.setenv("RAY_AUTH_TOKEN_PATH", str(named))
    with pytest.raises(RayError, match=r"RAY_AUTH_TOKEN_PATH names '.*token', which cannot be read or is empty"):
        local_token()
    named.write_text(SECRET)
    named.chmod(0o644)
    assert local_token() == {}
    assert stat.S_IMODE(named.stat().st_mode) == 0o600
    assert not (home / ".ray").exists()


def test_doctor_tells_about_the_token(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from robustness.cli.doctor import ray_access

    assert [finding.state for finding in ray_access()] == ["ok"]
    write_token(home, 0o644)
    assert [finding.state for finding in ray_access()] == ["note"]
    local_token()
    assert [finding.state for finding in ray_access()] == ["ok"]
    monkeypatch.setenv("RAY_AUTH_MODE", "disabled")
    assert [finding.state for finding in ray_access()] == ["problem"]


def intrude(mode: str, head: str, ports: list[int]) -> str:
    done = subprocess.run(
        [sys.executable, str(INTRUDER), mode, head, *map(str, ports)],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.stdout.rstrip().endswith("END"), done.stderr
    return done.stdout


@pytest.mark.xdist_group("cluster")
def test_an_intruder_gets_nowhere_in_a_local_sweep(home: Path) -> None:
    path = write_study(home, "never_ends", training={"folder": str(home)})
    with sweeping(path, "--workers", "1", wait_for=home / "0.begun") as process:
        processes = family(process.pid)
        found = listeners(processes)
        (head,) = (each for each, command in processes.items() if "gcs_server" in command)
        (port,) = (port for _, port in listeners({head: ""}))
        assert {address for address, _ in found} <= {"127.0.0.1", "::1"}
        assert stat.S_IMODE((home / ".ray" / "auth_token").stat().st_mode) == 0o600
        for mode in ("disabled", "token"):
            answer = intrude(mode, f"127.0.0.1:{port}", [port for _, port in found])
            assert "OPEN" not in answer
            assert "refused by the head" in answer
            assert "refused to connect" in answer
        assert process.poll() is None


@contextmanager
def cluster(folder: Path, nodes: int, environment: dict[str, str]) -> Iterator[tuple[str, int]]:
    """The address of a cluster's head and the id of the process that started its nodes."""
    with subprocess.Popen(
        [sys.executable, str(NODES), str(folder), str(nodes)],
        env=os.environ | ENVIRONMENT | environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as process:
        try:
            wait_for(folder / "address", limit=240, longer_than=0)
            yield (folder / "address").read_text(), process.pid
        finally:
            process.communicate("end\n", timeout=120)


@pytest.mark.xdist_group("cluster")
def test_a_cluster_of_two_nodes_takes_a_sweep_with_its_token_and_no_other(home: Path) -> None:
    path = write_study(home, sampling={"configurations": 2, "seed": 1})
    with cluster(home, 2, {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": SECRET}) as (address, owner):
        options = ("--store", store_url(home), "--ray-address", address)
        with sweeping(path, *options) as process:
            _, errors = process.communicate(timeout=120)
        assert process.returncode == 2
        assert errors.splitlines() == [
            f"robustness: the Ray cluster at {address!r} demands a token: set RAY_AUTH_TOKEN, or "
            "RAY_AUTH_TOKEN_PATH to a file that holds the token"
        ]
        with sweeping(path, *options, environment={"RAY_AUTH_TOKEN": "f" * 64}) as process:
            _, errors = process.communicate(timeout=120)
        assert process.returncode == 2
        assert errors.splitlines() == [f"robustness: the Ray cluster at {address!r} refuses the token of this user"]
        with sweeping(path, *options, environment={"RAY_AUTH_TOKEN": SECRET}) as process:
            output, errors = process.communicate(timeout=120)
        assert process.returncode == 0, errors
        assert all(line.startswith("simulated: ") for line in errors.splitlines()), errors
        assert "learned nothing in" in output
        ports = [port for _, port in listeners(family(owner))]
        for mode in ("disabled", "token"):
            answer = intrude(mode, address, ports)
            assert "OPEN" not in answer
            assert "refused by the head" in answer


@pytest.mark.xdist_group("cluster")
def test_a_cluster_without_a_token_is_warned_about(home: Path) -> None:
    path = write_study(home, sampling={"configurations": 1, "seed": 1})
    with cluster(home, 1, {"RAY_AUTH_MODE": "disabled"}) as (address, _):
        with sweeping(path, "--store", store_url(home), "--ray-address", address) as process:
            _, errors = process.communicate(timeout=120)
        assert process.returncode == 0, errors
        assert (
            f"warning: the Ray cluster at {address!r} has no token: anyone who can reach it can run code on it"
            in errors
        )
