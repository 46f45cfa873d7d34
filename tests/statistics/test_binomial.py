from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from robustness.statistics import binomial


@pytest.mark.parametrize("p", [0.0, 0.03, 0.5, 0.77, 1.0])
@pytest.mark.parametrize("n", [0, 1, 2, 12, 86, 1000, 100_000])
def test_probabilities_agree_with_scipy_stats(n: int, p: float) -> None:
    k = np.unique(np.linspace(-1, n, 200).round())
    assert binomial.cdf(k, n, p) == pytest.approx(stats.binom.cdf(k, n, p), rel=1e-8, abs=1e-300)
    assert binomial.sf(k, n, p) == pytest.approx(stats.binom.sf(k, n, p), rel=1e-8, abs=1e-300)
    inside = k[k >= 0]
    assert binomial.pmf(inside, n, p) == pytest.approx(stats.binom.pmf(inside, n, p), rel=1e-8, abs=1e-300)


@pytest.mark.parametrize("p", [0.03, 0.5, 0.77])
@pytest.mark.parametrize("q", [5e-13, 0.001, 0.025, 0.4, 0.975, 1 - 5e-13])
def test_a_quantile_is_the_smallest_count_that_reaches_it(q: float, p: float) -> None:
    n = np.arange(0, 400)
    k = binomial.quantile(q, n, p)
    assert np.all(stats.binom.cdf(k, n, p) >= q)
    assert ((k == 0) | (stats.binom.cdf(k - 1, n, p) < q)).all()
