from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray
from scipy import stats
from statsmodels.formula.api import ols
from statsmodels.stats.anova import anova_lm

from robustness.statistics.variance import variance_parts
from robustness.statistics.variance_shares import (
    crossed_shares,
    hyperparameter_share,
    share_beside_streams,
    stream_shares,
)


def test_the_share_is_that_of_the_components_and_its_interval_is_near_the_exact_one() -> None:
    rng = np.random.default_rng(0)
    scores = rng.normal(size=(200, 1)) + 0.5 * rng.normal(size=(200, 3))
    share = hyperparameter_share(list(scores))
    parts = variance_parts(list(scores))
    assert share is not None
    assert parts is not None
    assert share.value == pytest.approx(parts.share)
    between = 3 * scores.mean(axis=1).var(ddof=1)
    ratio = between / scores.var(axis=1, ddof=1).mean()
    low, high = (ratio / stats.f.ppf(q, 199, 400) for q in (0.975, 0.025))
    assert share.interval.low == pytest.approx((low - 1) / (low + 2), abs=0.02)
    assert share.interval.high == pytest.approx((high - 1) / (high + 2), abs=0.02)


def test_few_configurations_and_replicates_that_agree_have_no_interval() -> None:
    few = hyperparameter_share(list(np.random.default_rng(1).normal(size=(5, 2))))
    assert few is not None
    assert math.isnan(few.interval.low)
    alike = hyperparameter_share([np.array([value, value]) for value in range(20)])
    assert alike is not None
    assert alike.value == 1.0
    assert "agree" in alike.interval.method


def test_shares_over_tasks_are_those_of_the_analysis_of_variance() -> None:
    rng = np.random.default_rng(2)
    y = rng.normal(size=(15, 1, 1)) + np.array([0.0, 1.0, 3.0])[:, None] + 0.3 * rng.normal(size=(15, 3, 2))
    found = crossed_shares(y)
    # By sums of squares, written out.
    grand, rows, columns, cells = y.mean(), y.mean(axis=(1, 2)), y.mean(axis=(0, 2)), y.mean(axis=2)
    ms_rows = 6 * ((rows - grand) ** 2).sum() / 14
    ms_columns = 30 * ((columns - grand) ** 2).sum() / 2
    both = 2 * ((cells - rows[:, None] - columns[None, :] + grand) ** 2).sum() / 28
    error = ((y - cells[:, :, None]) ** 2).sum() / 45
    parts = [(ms_rows - both) / 6, (ms_columns - both) / 30, max(0.0, (both - error) / 2), error]
    expected = np.array(parts) / sum(parts)
    assert [found[name].value for name in ("hyperparameters", "task", "interaction", "seed")] == pytest.approx(expected)
    assert found["task"].interval.low < found["task"].value < found["task"].interval.high


@pytest.mark.parametrize(("absent", "scales"), [("interaction", (1.0, 0.0)), ("hyperparameters", (0.0, 0.5))])
def test_a_component_that_is_not_there_is_rarely_shown(absent: str, scales: tuple[float, float]) -> None:
    rng = np.random.default_rng(5)
    shown = 0
    for _ in range(60):
        y = scales[0] * rng.normal(size=(30, 1, 1)) + np.arange(3.0)[:, None] + scales[1] * rng.normal(size=(30, 3, 1))
        shown += crossed_shares(y + 0.5 * rng.normal(size=(30, 3, 2)))[absent].interval.low > 0
    assert shown <= 6


def test_a_share_is_above_zero_where_the_f_tests_of_statsmodels_are_significant() -> None:
    rng = np.random.default_rng(6)
    places = np.indices((14, 3, 2)).reshape(3, -1)
    kinds = set()
    for scale in (0.0, 0.1, 0.2, 0.3, 0.5):
        y = (
            scale * rng.normal(size=(14, 1, 1))
            + scale * rng.normal(size=(14, 3, 1))
            + 0.5 * rng.normal(size=(14, 3, 2))
        )
        y += scale * np.arange(3.0)[:, None]
        table = pd.DataFrame({"y": y.ravel(), "c": places[0], "t": places[1]})
        squares = anova_lm(ols("y ~ C(c) * C(t)", table).fit())["mean_sq"]
        both, error = squares["C(c):C(t)"], squares["Residual"]
        p_values = {
            "hyperparameters": stats.f.sf(squares["C(c)"] / both, 13, 26),
            "task": stats.f.sf(squares["C(t)"] / both, 2, 26),
            "interaction": stats.f.sf(both / error, 26, 42),
        }
        found = crossed_shares(y)
        for name, p_value in p_values.items():
            if p_value >= 0.025:
                assert found[name].interval.low == 0.0
            kinds.add((name, p_value < 0.025, found[name].interval.low > 0))
    assert {(name, True, True) for name in ("hyperparameters", "task", "interaction")} <= kinds


def test_the_stream_that_alone_changes_the_score_has_the_whole_share() -> None:
    rng = np.random.default_rng(3)
    found = stream_shares({"initialisation": rng.normal(size=(20, 5)), "data_order": np.ones((20, 5))})
    assert found["initialisation"].value == 1.0
    assert (found["initialisation"].interval.low, found["initialisation"].interval.high) == (1.0, 1.0)
    assert found["data_order"].value == 0.0
    assert math.isnan(stream_shares({"initialisation": np.ones((20, 5))})["initialisation"].value)


def test_the_share_of_a_stream_is_that_of_its_variance() -> None:
    rng = np.random.default_rng(4)
    one, two = 2 * rng.normal(size=(5000, 5)), rng.normal(size=(5000, 5))
    assert stream_shares({"one": one, "two": two})["one"].value == pytest.approx(0.8, abs=0.01)


def varied(rng: np.random.Generator, k: int, r: int, scales: tuple[float, ...]) -> dict[str, NDArray[np.float64]]:
    """Scores of streams that add up to an effect of the configuration with variance 1, each varied alone."""
    effects = [scale * rng.normal(size=(k, r)) for scale in scales]
    shared = rng.normal(size=(k, 1)) + np.sum([effect[:, :1] for effect in effects], axis=0)
    return {str(place): shared + effect - effect[:, :1] for place, effect in enumerate(effects)}


@pytest.mark.parametrize(("r", "scales"), [(5, (1.0, 1.0)), (3, (0.5, 1.0, 0.2)), (4, (0.7,))])
def test_the_share_of_hyperparameters_beside_streams_is_that_of_independent_seeds(
    r: int, scales: tuple[float, ...]
) -> None:
    share = share_beside_streams(varied(np.random.default_rng(7), 20_000, r, scales))
    assert share is not None
    assert share.value == pytest.approx(1 / (1 + sum(scale**2 for scale in scales)), abs=0.02)


def test_with_one_stream_it_is_the_share_among_plain_replicates() -> None:
    scores = varied(np.random.default_rng(8), 30, 4, (0.8,))
    beside, plain = share_beside_streams(scores), hyperparameter_share(list(scores["0"]))
    assert beside is not None
    assert plain is not None
    assert beside.value == pytest.approx(plain.value)
    assert (beside.interval.low, beside.interval.high) == pytest.approx((plain.interval.low, plain.interval.high))


def test_the_share_beside_streams_is_covered() -> None:
    rng = np.random.default_rng(9)
    missed = 0
    for _ in range(200):
        share = share_beside_streams(varied(rng, 30, 5, (1.0, 0.5)))
        assert share is not None
        missed += not share.interval.low <= 1 / 2.25 <= share.interval.high
    assert missed <= 18


def test_equal_scores_have_no_shares() -> None:
    found = crossed_shares(np.ones((20, 2, 2)))
    assert all(math.isnan(share.value) for share in found.values())
    assert {share.interval.method for share in found.values()} == {"none: all scores are equal"}
