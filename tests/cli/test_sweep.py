from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from support.studies import results, store_url, write_study
from support.trainables import wait_for

from report.words import typeset
from robustness.cli import main, make_parser
from robustness.cli.interruption import interruptible, resume_line
from robustness.errors import StoreError
from robustness.execution.inline import InlineExecutor
from robustness.store import StudyStore, open_store
from robustness.study.loading import load_study
from robustness.sweep.plan import make_plan
from robustness.trial import ENDED

ROOT = Path(__file__).parents[2]


def start(path: Path, *options: str) -> subprocess.Popen[str]:
    """`robustness sweep` of a study file in a process of its own."""
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "tests")])}
    return subprocess.Popen(
        [sys.executable, "-m", "robustness", "sweep", str(path), "--quiet", "--no-report", *options],
        env=environment,
        cwd=path.parent,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


@pytest.fixture
def ray_address(local_ray: None) -> str:
    import ray

    return str(ray.get_runtime_context().gcs_address)


def ended_rows(url: str) -> dict[tuple[int, str], tuple[str, float, int]]:
    """Of each ended trial its status, when it ended and which attempt that was."""
    with open_store(url) as store:
        frame = store.study("simulated").trials()
    frame = frame[frame.status.isin(ENDED)]
    rows: Iterable[Any] = frame.itertuples()
    return {(row.configuration, row.arm): (row.status, row.ended.timestamp(), row.attempts) for row in rows}


@pytest.mark.xdist_group("ray")
def test_ten_kills_at_random_moments_change_no_result(tmp_path: Path, ray_address: str) -> None:
    training = {"epochs": 3, "pause": 0.1, "folder": str(tmp_path)}
    path = write_study(tmp_path, sampling={"configurations": 30, "seed": 5}, training=training)
    assert (
        main(["sweep", str(path), "--store", store_url(tmp_path, "whole"), "--inline", "--quiet", "--no-report"]) == 0
    )
    url = store_url(tmp_path)
    moments = random.Random(6)
    seen: dict[tuple[int, str], tuple[str, float, int]] = {}
    for kill in range(10):
        size = (tmp_path / "begun").stat().st_size
        process = start(path, "--store", url, "--workers", "2", "--ray-address", ray_address)
        try:
            if kill % 5 != 4:
                wait_for(tmp_path / "begun", longer_than=size)
            time.sleep(moments.uniform(0.0, 1.0))
        finally:
            process.send_signal(signal.SIGKILL)
            process.communicate()
        found = ended_rows(url)
        assert found.items() >= seen.items(), "a finished trial ran again or was lost"
        seen = found
    process = start(path, "--store", url, "--workers", "2", "--ray-address", ray_address)
    _, errors = process.communicate(timeout=300)
    assert process.returncode == 0, errors
    assert ended_rows(url).items() >= seen.items()
    assert results(url) == results(store_url(tmp_path, "whole"))


@pytest.mark.xdist_group("ray")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_in_the_midst_of_an_epoch_leaves_a_sweep_that_goes_on(
    tmp_path: Path, ray_address: str, number: signal.Signals
) -> None:
    path = write_study(tmp_path, "never_ends", training={"folder": str(tmp_path)})
    url = store_url(tmp_path)
    process = start(path, "--store", url, "--workers", "1", "--ray-address", ray_address)
    try:
        wait_for(tmp_path / "0.begun")
        process.send_signal(number)
        _, errors = process.communicate(timeout=120)
    finally:
        process.kill()
        process.wait()
    assert process.returncode == 130, errors
    assert f"resume with: robustness sweep {path} --store {url}" in errors
    with open_store(url) as store:
        assert len(store.study("simulated").pending()) == 10


def test_a_second_signal_leaves_at_once() -> None:
    program = (
        "import os, signal\n"
        "from robustness.cli.interruption import interruptible\n"
        "with interruptible() as interruption:\n"
        "    os.kill(os.getpid(), signal.SIGINT)\n"
        "    assert interruption()\n"
        "    print('first', flush=True)\n"
        "    os.kill(os.getpid(), signal.SIGTERM)\n"
        "    print('never', flush=True)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, cwd=ROOT, check=False)
    assert done.returncode == 130
    assert done.stdout == "first\n"


def test_the_first_signal_says_how_to_quit_at_once(capfd: pytest.CaptureFixture[str]) -> None:
    with interruptible() as interruption:
        assert not interruption()
        os.kill(os.getpid(), signal.SIGINT)
        assert interruption()
    assert "Finished trials are saved; press Ctrl-C again to quit now." in capfd.readouterr().err


def test_the_line_that_resumes_repeats_what_was_asked_for() -> None:
    words = ["sweep", "a study.yaml", "--set", "training.epochs=5", "-s", "postgresql://me:secret@host/runs", "-w", "2"]
    arguments = make_parser().parse_args([*words, "-q", "--inline", "--retry"])
    assert resume_line(arguments) == (
        "robustness sweep 'a study.yaml' --set training.epochs=5 "
        "--store 'postgresql://me:***@host/runs' --workers 2 --inline"
    )
    served = make_parser().parse_args(["sweep", "quickstart", "--serve", "--port", "9000"])
    assert resume_line(served) == "robustness sweep quickstart --port 9000 --serve"


def test_a_store_that_fails_during_a_sweep_cuts_it_short(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_arguments: object, **_options: object) -> None:
        raise StoreError("the disk\nis full")

    monkeypatch.setattr("robustness.api.sweeping.sweep", fail)
    path = write_study(tmp_path)
    words = ["sweep", str(path), "--store", store_url(tmp_path), "--inline", "--quiet"]
    assert main(words) == 1
    lines = capsys.readouterr().err.splitlines()
    assert lines[0] == "robustness: the disk is full"
    assert lines[1].startswith(f"cut short; resume with: robustness sweep {path} --store ")
    with pytest.raises(StoreError):
        main([*words, "--debug"])


def test_headline_and_report_come_from_one_reading_of_the_store(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    read, epochs = [], StudyStore.epochs

    def counted(store: StudyStore) -> pd.DataFrame:
        read.append(store.name)
        return epochs(store)

    monkeypatch.setattr(StudyStore, "epochs", counted)
    assert main(["sweep", str(write_study(tmp_path)), "-s", store_url(tmp_path), "--inline"]) == 0
    assert read == ["simulated"]
    lines = capsys.readouterr().out.splitlines()
    assert "learned nothing in" in lines[0]
    assert lines[-1] == "report: simulated.html"
    assert typeset(lines[0]) in (tmp_path / "simulated.html").read_text(encoding="utf-8")


def test_a_second_sweep_of_a_study_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = write_study(tmp_path)
    study = load_study(str(path))
    with open_store(store_url(tmp_path)) as store:
        registered = store.register(study, make_plan(study))
        with registered.lock():
            assert main(["sweep", str(path), "--store", store_url(tmp_path), "--inline", "--quiet"]) == 2
    assert "another sweep of study 'simulated' is running" in capsys.readouterr().err


def test_failed_trials_make_the_exit_code_1_and_one_is_reproduced_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write_study(tmp_path, "faulty", space={"fault": ["raises"]}, sampling={"configurations": 1})
    arguments = ["sweep", str(path), "--store", store_url(tmp_path), "--inline", "--no-report"]
    assert main(arguments) == 1
    capsys.readouterr()
    before = results(store_url(tmp_path))
    assert main([*arguments, "--only", "0/second"]) == 1
    shown = capsys.readouterr()
    assert "ValueError: a fault on purpose" in shown.out
    assert "nothing was stored" in shown.err
    assert results(store_url(tmp_path)) == before


def test_what_failed_runs_again_when_it_is_asked_to(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    space = {"fault": ["none", "no_disk"]}
    training = {"folder": str(tmp_path)}
    path = write_study(tmp_path, "faulty", space=space, sampling={"configurations": 2}, training=training)
    arguments = ["sweep", str(path), "--store", store_url(tmp_path), "--inline", "--no-report"]
    assert main(arguments) == 1
    assert "`--retry` reruns them" in capsys.readouterr().err
    (tmp_path / "disk").touch()
    assert main(arguments) == 1
    assert main([*arguments, "--retry"]) == 0
    assert "2 trials to rerun" in capsys.readouterr().err
    with open_store(store_url(tmp_path)) as store:
        trials, epochs = store.study("simulated").trials(), store.study("simulated").epochs()
    assert set(trials["status"]) == {"finished"}
    assert trials["error"].isna().all()
    # Of two arms each: what had finished did not run again; what failed was tried three times, and once more.
    marks = sorted(len((tmp_path / f"{number}.attempts").read_text().split()) for number in range(2))
    assert marks == [2, 8]
    assert len(epochs) == 2 * len(trials)


def test_a_sweep_that_was_ended_on_its_evidence_is_not_opened_again(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write_study(tmp_path)
    arguments = ["sweep", str(path), "--store", store_url(tmp_path), "--inline", "--quiet", "--no-report"]
    assert main(arguments) == 0
    with open_store(store_url(tmp_path)) as store:
        store.study("simulated").save_note("stopped", {"pairs": 5})
    assert main([*arguments, "--retry"]) == 2
    assert "stopped early on its evidence" in capsys.readouterr().err


def test_only_runs_the_trial_it_names(tmp_path: Path) -> None:
    path = write_study(tmp_path)
    arguments = ["sweep", str(path), "--store", store_url(tmp_path), "--inline", "--quiet", "--no-report"]
    assert main([*arguments, "--only", "3/second"]) == 0
    assert list(ended_rows(store_url(tmp_path))) == [(3, "second")]
    assert main(arguments) == 0
    assert len(ended_rows(store_url(tmp_path))) == 10


def test_a_wrong_trial_or_number_of_workers_exits_2_and_writes_nothing(tmp_path: Path) -> None:
    path = write_study(tmp_path)
    assert main(["sweep", str(path), "--store", store_url(tmp_path), "--only", "77/first"]) == 2
    with pytest.raises(SystemExit) as caught:
        main(["sweep", str(path), "--store", store_url(tmp_path), "--workers", "0"])
    assert caught.value.code == 2
    assert not (tmp_path / "store.db").exists()


@pytest.mark.parametrize("address", ["127.0.0.1:1", "ray://somewhere:10001"])
def test_a_cluster_that_is_not_there_is_said_at_once(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from robustness.execution.authentication import RayError
    from robustness.execution.ray_session import connected

    monkeypatch.setattr("ray.is_initialized", lambda: False)

    with pytest.raises(RayError, match=f"the Ray cluster at '{address}' cannot be reached"), connected(address):
        pass


@pytest.mark.parametrize("address", ["auto", "127.0.0.1:9"])
def test_nothing_is_written_before_a_cluster_answers(
    tmp_path: Path, address: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ray._private.services.find_gcs_addresses", set)
    monkeypatch.setattr("ray._private.services.find_bootstrap_address", lambda _: None)
    path = write_study(tmp_path)
    before = sorted(tmp_path.iterdir())
    assert main(["sweep", str(path), "--store", store_url(tmp_path), "--ray-address", address]) == 2
    assert f"the Ray cluster at '{address}' cannot be reached" in capsys.readouterr().err
    assert sorted(tmp_path.iterdir()) == before


@pytest.mark.parametrize(
    ("more", "says"), [(["--serve"], "the live page needs starlette"), (["--port", "9000"], "it needs --serve")]
)
def test_a_live_page_that_cannot_be_shown_is_refused_before_anything_is_written(
    more: list[str], says: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("robustness.serve.addresses.find_spec", lambda _: None)
    path = write_study(tmp_path)
    before = sorted(tmp_path.iterdir())
    assert main(["sweep", str(path), "--store", store_url(tmp_path), "--inline", *more]) == 2
    assert says in capsys.readouterr().err
    assert sorted(tmp_path.iterdir()) == before


def test_what_takes_time_before_the_first_trial_is_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(InlineExecutor, "starting", "starting Ray ...")
    words = ["sweep", str(write_study(tmp_path)), "--store", store_url(tmp_path), "--inline", "--no-report"]
    assert main(words) == 0
    assert capsys.readouterr().err.startswith("starting Ray ...\n")
    assert main(words) == 0
    assert "starting" not in capsys.readouterr().err
