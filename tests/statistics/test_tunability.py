from __future__ import annotations

import math

import numpy as np
import pytest

from robustness.statistics.tunability import tunability


def test_a_single_trial_gains_the_mean_less_the_default_with_students_interval() -> None:
    scores = np.random.default_rng(0).normal(size=40)
    one = tunability(scores, 0.3, [1])[0]
    assert one.gain == pytest.approx(scores.mean() - 0.3)
    # The jackknife of a mean is its standard error.
    half = (one.interval.high - one.interval.low) / 2
    assert half / (scores.std(ddof=1) / math.sqrt(40)) == pytest.approx(2.02, abs=0.06)


def test_all_trials_gain_the_best_and_have_no_interval() -> None:
    scores = np.arange(20.0)
    whole = tunability(scores, 5.0, [20])[0]
    assert whole.gain == pytest.approx(14.0)
    assert "tenth" in whole.interval.method
    assert "fewer than 12" in tunability(np.arange(6.0), 0.0, [1])[0].interval.method
    assert "equal" in tunability(np.ones(20), 0.0, [1])[0].interval.method
