from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from robustness.statistics.other_spaces import reweighted, splits
from robustness.statistics.paired import paired_test

KEPT = Path(__file__).parents[2] / "docs/results/deepdrid_robustness/trials.csv"


def test_on_real_photographs_the_difference_hangs_on_the_share_of_high_rho() -> None:
    trials = pd.read_csv(KEPT)
    nothing = trials.pivot_table(index="configuration", columns="arm", values="outcome_last", aggfunc="first")
    nothing = nothing == "learned_nothing"
    rho = trials[trials["arm"] == "mfvi"].set_index("configuration")["initial_rho"]
    levels = np.searchsorted([-6, -4, -2, 0], rho)
    differences = nothing["mfvi"].astype(float) - nothing["deterministic"]
    best = splits(differences, levels, ordered=True)[0]
    assert best.group == (2, 3)
    estimates = reweighted(nothing["mfvi"], nothing["deterministic"], nothing.index, rho >= -2)
    assert estimates[0].value == pytest.approx(1 / 44)
    assert estimates[-1].value == pytest.approx(39 / 42)
    steps = np.diff([estimate.value for estimate in estimates])
    assert steps == pytest.approx(np.full(10, steps[0]))


def test_at_the_ends_it_is_the_comparison_of_one_side() -> None:
    rng = np.random.default_rng(0)
    first, second, inside = rng.random(60) < 0.6, rng.random(60) < 0.2, rng.random(60) < 0.5
    whole = reweighted(first, second, np.arange(60), inside, [1.0])[0]
    alone = paired_test(first[inside], second[inside], np.arange(int(inside.sum())))
    assert whole.value == pytest.approx(alone.difference)
    assert whole.interval.low == pytest.approx(alone.interval.low)
    assert whole.p_value == pytest.approx(alone.p_value)


def test_unordered_levels_are_split_off_one_at_a_time() -> None:
    levels = np.repeat([0, 1, 2], 10)
    found = splits(np.repeat([0.0, 1.0, 0.2], 10), levels, ordered=False)
    assert found[0].group == (1,)
    assert found[0].reach == pytest.approx(0.9)
    assert splits(np.ones(8), np.array([0, 0, 0, 0, 1, 1, 1, 1]), ordered=True) == []
