from __future__ import annotations

import io
import json
from pathlib import Path

import pytest
from support.studies import store_url, write_study

import robustness
from robustness.cli import main
from robustness.cli.display import Display
from robustness.store import open_store
from robustness.study.loading import load_study
from robustness.sweep.plan import make_plan
from robustness.sweep.progress import SweepProgress, duration
from robustness.trial import EpochResult, TrialKey


@pytest.fixture
def url(tmp_path: Path) -> str:
    """A study of five pairs: one pair has ended, one trial failed, one runs."""
    study = load_study(str(write_study(tmp_path)))
    with open_store(store_url(tmp_path)) as store, store.register(study, make_plan(study)).writer() as writer:
        for arm, metric in (("first", 0.2), ("second", 0.9)):
            writer.started(TrialKey(0, arm), 1, "host:1", "cpu")
            writer.ended(TrialKey(0, arm), "finished", metric, 2, None, 6.0)
        writer.started(TrialKey(1, "first"), 3, "host:1", "cpu")
        writer.ended(TrialKey(1, "first"), "failed", None, None, "ValueError", 1.0)
        writer.started(TrialKey(1, "second"), 1, "host:2", "cpu")
        writer.epoch(TrialKey(1, "second"), EpochResult(1, {"validation_auc": 0.5}, True, 2.0))
        writer.epoch(TrialKey(1, "second"), EpochResult(2, {"validation_auc": 0.75, "own": 1.0}, False, 2.0))
    return store_url(tmp_path)


def test_status_counts_what_the_store_has(url: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["status", "simulated", "--store", url, "--json"]) == 0
    (status,) = json.loads(capsys.readouterr().out)
    assert status["pairs"] == {"done": 1, "all": 5}
    assert status["trials"] == {"failed": 1, "finished": 2, "planned": 6, "running": 1}
    assert status["running"] == [{"trial": "1/second", "epoch": 2}]
    assert status["learned_nothing"] == {
        "first": {"shown": 1, "counted": 1},
        "second": {"shown": 0, "counted": 1},
    }
    # 6 trials of 3 epochs and 1 epoch of the running one, at 2 s an epoch, one at a time.
    assert status["seconds_left"] == pytest.approx(38.0)


def test_status_shows_running_trials_and_how_to_reproduce_a_failure(
    url: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["status", "--store", url]) == 0
    shown = capsys.readouterr().out
    assert "1 of 5 pairs done, 1 trial running" in shown
    assert "0.750" in shown
    assert "1/first: ValueError (to reproduce: robustness sweep STUDY.yaml --only 1/first --inline" in shown
    bars = [line for line in shown.splitlines() if "\N{BOX DRAWINGS HEAVY HORIZONTAL}" in line]
    assert len(bars) == 1
    assert (
        bars[0].strip("\N{BOX DRAWINGS HEAVY HORIZONTAL}\N{BOX DRAWINGS HEAVY RIGHT}\N{BOX DRAWINGS HEAVY LEFT} ") == ""
    )


def test_status_names_an_error_once_whole_and_how_functions_rerun(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    reason = "the folder of the data is not there " * 4

    def fails(lr: float) -> float:
        raise ValueError(f"{reason}{lr > 0}")

    url = store_url(tmp_path)
    space = {"lr": [0.1, 0.2, 0.3]}
    robustness.sweep({"a": fails, "b": fails}, space, configurations=3, name="mine", store=url, inline=True, quiet=True)
    capsys.readouterr()
    assert main(["status", "--store", url]) == 0
    listed = [line for line in capsys.readouterr().out.splitlines() if line.startswith("failed")]
    assert listed == [
        f"failed: 6 trials (3 of a, 3 of b), such as 0/a: ValueError: {reason}True (to reproduce: make the "
        "same call of rb.sweep with retry=True, inline=True)"
    ]
    assert main(["sweep", "mine", "--retry", "--store", url]) == 2
    assert "was run from Python: make the same call of rb.sweep again" in capsys.readouterr().err


def test_status_of_a_store_that_is_not_there_makes_none(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["status", "--store", store_url(tmp_path)]) == 2
    assert len(capsys.readouterr().err.splitlines()) == 1
    assert not list(tmp_path.iterdir())


def test_plain_lines_are_shown_where_there_is_no_terminal(url: str) -> None:
    stream = io.StringIO()
    with open_store(url) as store:
        progress = SweepProgress.of(store.study("simulated"))
    with Display(progress, stream=stream) as display:
        display.epoch(TrialKey(1, "second"), EpochResult(3, {"validation_auc": 0.7}, False, 2.0))
        display.ended(TrialKey(1, "second"), "finished", "between", 6.0)
    last = stream.getvalue().splitlines()[-1]
    assert last.startswith("simulated: 2 of 5 pairs done, 0 trials running")
    assert "learned nothing: first 1 of 1, second 0 of 2; 1 failed" in last


@pytest.mark.parametrize(
    ("seconds", "words"), [(5, "5 s"), (600, "10 min"), (3 * 3600, "3.0 h"), (3 * 86400, "3.0 days")]
)
def test_durations_have_their_natural_unit(seconds: float, words: str) -> None:
    assert duration(seconds) == words
