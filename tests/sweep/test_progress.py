"""The state of a sweep as it is told while it runs."""

from __future__ import annotations

import pytest

from robustness.api.progress_lines import ScoringLines
from robustness.sweep.progress import SweepProgress
from robustness.trial import EpochResult, TrialKey

KEYS = [TrialKey(configuration, arm) for configuration in range(10) for arm in ("first", "second")]


def epoch(number: int, seconds: float) -> EpochResult:
    return EpochResult(number, {"auc": 0.5}, True, seconds)


def test_time_left_is_told_once_as_many_trials_have_ended_as_run_and_start_up_does_not_count() -> None:
    progress = SweepProgress(study="s", metric="auc", outcome=None, epochs=2)
    progress.planned(KEYS)
    for key in KEYS[:2]:
        progress.started(key)
    # A first epoch loads data and packages: 100 seconds that say nothing about the others.
    progress.epoch(KEYS[0], epoch(1, 100.0))
    progress.epoch(KEYS[1], epoch(1, 100.0))
    progress.epoch(KEYS[0], epoch(2, 3.0))
    assert progress.seconds_left() is None
    assert "left" not in progress.line()
    progress.ended(KEYS[0], "finished", None, 103.0)
    progress.started(KEYS[2])
    assert progress.seconds_left() is None
    progress.epoch(KEYS[1], epoch(2, 3.0))
    progress.ended(KEYS[1], "finished", None, 103.0)
    progress.started(KEYS[3])
    # 18 trials of 2 epochs at 3 s, two at a time.
    assert progress.seconds_left() == pytest.approx(54.0)
    assert "about 54 s left" in progress.line()


def test_scored_networks_are_counted_every_few_seconds(monkeypatch: pytest.MonkeyPatch) -> None:
    now, said = [0.0], list[str]()
    monkeypatch.setattr("robustness.api.progress_lines.time.monotonic", lambda: now[0])
    lines = ScoringLines(said.append)
    for scored, at in ((5, 4.0), (10, 6.0), (15, 14.0), (20, 16.0), (40, 34.0)):
        now[0] = at
        lines(scored, 40)
    # 10 networks in the 10 seconds after the first: 25 more.
    assert said == ["scored 15 of 40 untrained networks, about 25 s left"]
