"""Whatever a trainable yields or does ends its own trial with one readable line; the others finish."""

from __future__ import annotations

import os
import random
import re
import signal
import subprocess
import sys
import threading
import time
import tracemalloc
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.bad_trainables import FAULTS, IN_PROCESS, SHORT
from support.processes import ENVIRONMENT
from support.recording import Recording
from support.studies import store_url, write_study

from robustness.cli import main
from robustness.execution import results as limits
from robustness.execution.attempts import attempt
from robustness.execution.inline import InlineExecutor
from robustness.execution.protocol import Ending, Terms
from robustness.execution.results import BadResult, ResultChecker
from robustness.execution.wording import LONGEST_LINE, LONGEST_TRACEBACK
from robustness.store import open_store
from robustness.trial import EpochResult, Trial, TrialKey


def trial_of(name: str, number: int = 0, **training: str) -> Trial:
    return Trial(
        "study",
        0,
        number,
        "arm",
        hyperparameters={"fault": name},
        training=training,
        trainable="support.bad_trainables:misbehaves",
    )


def children_left(folder: Path, seconds: float = 0.0) -> list[str]:
    """The child processes noted in the folder that are still there after so many seconds."""
    end = time.monotonic() + seconds
    noted = (folder / "child").read_text().split() if (folder / "child").exists() else []
    while True:
        left = [child for child in noted if Path(f"/proc/{child}/cmdline").exists()]
        if not left or time.monotonic() > end:
            return left
        time.sleep(0.05)


def check_line(ending: Ending, name: str) -> None:
    """One readable line, at the end of an error that is bounded and free of control characters."""
    fault = FAULTS[name]
    assert ending.status == fault.status, ending.error
    if fault.says:
        assert ending.error is not None
        last = ending.error.splitlines()[-1]
        assert re.search(fault.says, last), last
        assert last.isprintable()
        assert len(last) <= LONGEST_LINE
        assert len(ending.error) <= LONGEST_TRACEBACK + 2 * LONGEST_LINE
        assert all(character.isprintable() or character == "\n" for character in ending.error)


@pytest.mark.parametrize("name", IN_PROCESS)
def test_inline_it_ends_its_own_trial_alone(name: str, tmp_path: Path) -> None:
    before = Path.cwd(), signal.getsignal(signal.SIGTERM), sys.getrecursionlimit(), random.getstate(), sys.stdout
    recording = Recording()
    timeout = 0.3 if FAULTS[name].status == "timed_out" else None
    trials = [trial_of(name, folder=str(tmp_path), ignores="2"), trial_of("integer", 1)]
    InlineExecutor().run(iter(trials), recording, Terms(max_attempts=2, trial_timeout=timeout))
    check_line(recording.endings[TrialKey(0, "arm")], name)
    assert recording.endings[TrialKey(1, "arm")].status == "finished"
    assert len(recording.starts[TrialKey(0, "arm")]) == (2 if FAULTS[name].retried else 1)
    assert before == (
        Path.cwd(),
        signal.getsignal(signal.SIGTERM),
        sys.getrecursionlimit(),
        random.getstate(),
        sys.stdout,
    )
    assert children_left(tmp_path) == []


@pytest.mark.xdist_group("ray")
def test_on_ray_they_end_alike_and_no_child_is_left(tmp_path: Path, local_ray: None) -> None:
    from robustness.execution.tune import TuneExecutor

    recording = Recording()
    trials = [trial_of(name, number, folder=str(tmp_path)) for number, name in enumerate(FAULTS)]
    hanging = [trial for trial in trials if FAULTS[str(trial.hyperparameters["fault"])].status == "timed_out"]
    TuneExecutor(workers=4).run(
        iter(trial for trial in trials if trial not in hanging), recording, Terms(max_attempts=1)
    )
    TuneExecutor(workers=4).run(iter(hanging), recording, Terms(trial_timeout=2.0))
    assert len(recording.endings) == len(FAULTS)
    for number, name in enumerate(FAULTS):
        check_line(recording.endings[TrialKey(number, "arm")], name)
    assert len((tmp_path / "child").read_text().split()) == 3
    assert children_left(tmp_path, 30.0) == []


@pytest.mark.filterwarnings("ignore:DataFrame is highly fragmented")
def test_a_sweep_of_them_is_stored_reported_and_resumed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    space = {"fault": SHORT}
    path = write_study(
        tmp_path,
        space=space,
        trainable="quick",
        sampling={"strategy": "grid"},
        resources={"cpu": 1, "max_attempts": 1},
    )
    path.write_text(path.read_text().replace("support.trainables:quick", "support.bad_trainables:misbehaves"))
    words = ["sweep", str(path), "--store", store_url(tmp_path), "--inline", "--quiet"]
    assert main(words) == 1
    assert (tmp_path / "simulated.html").stat().st_size > 10_000
    with open_store(store_url(tmp_path)) as store:
        frame = store.study("simulated").trials()
        configurations = store.study("simulated").configurations()
        epochs = store.study("simulated").epochs()
    assert len(frame) == 2 * len(SHORT)
    row: Any
    for row in frame.itertuples():
        assert row.status == FAULTS[str(configurations[row.configuration]["fault"])].status
    assert {row.status for row in frame.itertuples()} == {"finished", "failed", "diverged", "out_of_memory"}
    assert epochs["epoch"].dtype.kind == "i"
    assert main(words) == 1
    capsys.readouterr()
    assert main(["status", "simulated", "--store", store_url(tmp_path)]) == 0
    shown = capsys.readouterr().out
    assert all(character.isprintable() or character == "\n" for character in shown)
    for format_ in ("json", "csv"):
        assert main(["report", "simulated", "--store", store_url(tmp_path), "--format", format_]) == 0


def test_what_a_trial_leaves_behind_keeps_no_sweep_alive(tmp_path: Path) -> None:
    """In a process of its own: a thread and a child outlive their trials, and output is closed; the sweep ends."""
    space = {"fault": ["thread left behind", "child left behind", "closed output", "binary output", "integer"]}
    path = write_study(tmp_path, space=space, sampling={"strategy": "grid"}, training={"folder": str(tmp_path)})
    path.write_text(path.read_text().replace("support.trainables:quick", "support.bad_trainables:misbehaves"))
    environment = os.environ | ENVIRONMENT
    done = subprocess.run(
        [sys.executable, "-m", "robustness", "sweep", str(path), "--inline", "--no-report"],
        env=environment,
        cwd=tmp_path,
        capture_output=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert b"learned nothing in" in done.stdout
    assert (tmp_path / "child").exists()
    assert children_left(tmp_path) == []


def test_a_real_ctrl_c_still_interrupts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the command line's handler Ctrl-C raises KeyboardInterrupt, which is the user's and not the trial's."""
    previous = signal.signal(signal.SIGINT, signal.default_int_handler)
    timer = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT))
    try:
        timer.start()
        with pytest.raises(KeyboardInterrupt):
            InlineExecutor().run(iter([trial_of("hangs")]), Recording(), Terms())
    finally:
        timer.join()
        signal.signal(signal.SIGINT, previous)


def test_global_random_numbers_differ_between_replicates_and_not_between_arms() -> None:
    first, second, other = (
        next(attempt(Trial("s", 0, 0, arm, replicate, trainable="support.trainables:draws_random_numbers")))
        for arm, replicate in (("a", 0), ("b", 0), ("a", 1))
    )
    assert isinstance(first, EpochResult)
    assert isinstance(second, EpochResult)
    assert isinstance(other, EpochResult)
    assert first.measures == second.measures
    assert not set(first.measures.values()) & set(other.measures.values())


def test_more_epochs_than_the_limit_end_the_trial_and_fill_no_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "MOST_EPOCHS", 30_000)
    tracemalloc.start()
    try:
        count, last = 0, None
        for event in attempt(Trial("s", 0, 0, "a", trainable="support.trainables:never_stops")):
            count, last = count + 1, event
        assert tracemalloc.get_traced_memory()[1] < 2_000_000
    finally:
        tracemalloc.stop()
    assert count == 30_001
    assert isinstance(last, Ending)
    assert last.error == "the trainable yielded more than 30,000 epochs"


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5) | st.binary(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)


@settings(max_examples=300, deadline=None)
@given(st.tuples(VALUES, VALUES, VALUES, VALUES, VALUES))
def test_any_values_are_a_result_or_one_line(fields: tuple[Any, ...]) -> None:
    checked, line = None, ""
    try:
        checked = ResultChecker().check(EpochResult(*fields))
    except BadResult as error:
        line = str(error)
    assert line.isprintable()
    assert len(line) <= LONGEST_LINE
    assert bool(line) != (checked is not None)
    if checked is not None:
        assert type(checked.epoch) is int
        assert all(type(value) is float for value in checked.measures.values())
        assert all(type(value) is float for curve in checked.curves.values() for value in curve)


@pytest.mark.parametrize(
    ("name", "fits"),
    [
        ("os.path:join", False),
        ("builtins:isinstance", False),
        ("builtins:min", False),
        ("builtins:dict", False),
        ("os:getcwd", False),
        ("shutil:copy", False),
        ("subprocess:run", False),
        ("json:dumps", True),
        ("support.trainables:quick", True),
        ("support.bad_trainables:misbehaves", True),
    ],
)
def test_a_trainable_is_refused_by_its_signature(name: str, fits: bool) -> None:
    from robustness.errors import StudyFileError
    from robustness.plugins import find_trainable

    if fits:
        find_trainable(name)
    else:
        with pytest.raises(StudyFileError, match="a function of one argument, the trial, that yields EpochResults"):
            find_trainable(name)


BAD_MODULES = {
    "raises": "raise ValueError('no\\nway')",
    "exits": "import sys; sys.exit(3)",
    "divides": "1 / 0",
    "broken": "def f(:",
    "missing": "import no_such_module_anywhere",
    "recursive": "def f(): f()\nf()",
    "asserts": "assert False",
}


@pytest.fixture
def bad_module(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    name = f"bad_{request.param}_{time.monotonic_ns()}"
    (tmp_path / f"{name}.py").write_text(BAD_MODULES[request.param])
    yield name
    sys.path[:] = [folder for folder in sys.path if folder != str(tmp_path)]


@pytest.mark.parametrize("bad_module", BAD_MODULES, indirect=True)
@pytest.mark.parametrize("place", ["trainable", "task", "arm"])
def test_a_module_that_raises_on_import_gets_one_line(
    place: str, bad_module: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from support.studies import small, write

    changes: dict[str, dict[str, object]] = {
        "trainable": {"trainable": f"{bad_module}:train"},
        "task": {"task": {"name": bad_module}},
        "arm": {"arms": ["mfvi", f"{bad_module}:METHOD"]},
    }
    assert main(["plan", write(tmp_path, small(**changes[place]))]) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err.count("\n") == 1
    assert bad_module in shown.err
