"""Functions that fail: which failures count, which are named, and how a mended function goes on."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support.studies import store_url

import robustness
from robustness.errors import StoreError

SPACE = {"lr": robustness.log(1e-4, 1.0), "width": [8, 32]}


def score(lr: float, width: int) -> float:
    return min(1.0, 0.3 + lr * width / 16)


def run(arms: dict[str, Callable[..., Any]], folder: Path, **options: Any) -> robustness.Result:
    defaults: dict[str, Any] = {"space": SPACE, "configurations": 6, "good": 0.8, "inline": True, "quiet": True}
    return robustness.sweep(arms, store=store_url(folder), **defaults | options)


def test_plain_python_that_overflows_has_diverged_and_counts(tmp_path: Path) -> None:
    def steep(lr: float, width: int) -> float:
        x = 1.0 + width
        for _ in range(30):
            x -= (1 + lr) * 4 * x**3
        return x

    result = run({"steep": steep, "b": score}, tmp_path, name="overflow")
    own = result.trials[result.trials["arm"] == "steep"]
    assert set(own["status"]) == {"diverged"}
    assert own["error"].str.contains("OverflowError: ").all()
    assert result.results["arms"]["steep"]["learned_nothing"]["of"] == 6
    assert result.results["arms"]["steep"]["learned_nothing"]["fraction"] == 1.0


def test_the_end_of_a_sweep_names_the_error_that_leaves_trials_out(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def fails(lr: float, width: int) -> float:
        return lr / 0 if width == 8 else [lr][1]

    result = run({"a": fails, "b": score}, tmp_path, name="failing", space={"lr": [0.1, 0.2], "width": [8, 16, 32]})
    lines = capsys.readouterr().err.splitlines()
    assert lines == [
        "trials without a result: 6 failed (6 of a); all fractions and means leave them out",
        "most frequent of 2 errors: IndexError: list index out of range (4 trials: 4 of a)",
        "`result.trials` lists them, `retry=True` reruns them",
    ]
    assert "trials ended without one (6 of a)" in result.verdict
    assert " yet" not in result.verdict


def test_an_arm_without_any_result_may_be_mended_and_runs_again(tmp_path: Path) -> None:
    def made(divisor: float) -> Callable[..., float]:
        def train(lr: float, width: int) -> float:
            return score(lr, width) / divisor

        return train

    first = run({"a": made(0.0), "b": score}, tmp_path, name="mending")
    assert first.trials.groupby("arm")["status"].agg(set).to_dict() == {"a": {"failed"}, "b": {"finished"}}
    second = run({"a": made(1.0), "b": score}, tmp_path, name="mending")
    assert set(second.trials["status"]) == {"finished"}
    with pytest.raises(StoreError, match=r"has changed since the first results of the arm 'a'.*retry=True"):
        run({"a": made(2.0), "b": score}, tmp_path, name="mending")


def test_failed_trials_run_again_if_they_are_asked_to(tmp_path: Path) -> None:
    disk: list[str] = []

    def needs_disk(lr: float, width: int) -> float:
        return score(lr, width) if width == 8 or disk else [lr][1]

    arms = {"a": needs_disk, "b": score}
    space = {"lr": [0.1, 0.2], "width": [8, 16, 32]}
    assert set(run(arms, tmp_path, name="again", space=space).trials["status"]) == {"finished", "failed"}
    disk.append("mounted")
    assert set(run(arms, tmp_path, name="again", space=space).trials["status"]) == {"finished", "failed"}
    assert set(run(arms, tmp_path, name="again", space=space, retry=True).trials["status"]) == {"finished"}
