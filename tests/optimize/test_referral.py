"""Referral improves the AUC only as far as the uncertainty predicts errors."""

from __future__ import annotations

import numpy as np

from robustness import metrics

FRACTIONS = (0.0, 0.1, 0.2, 0.3)


def test_the_referral_curve_is_flat_for_random_uncertainty_and_rises_for_an_oracles() -> None:
    generator = np.random.default_rng(5)
    labels = generator.integers(0, 2, 4000)
    scores = labels + generator.normal(0, 1.2, 4000)
    random = metrics.referral_curve(labels, scores, generator.random(4000), FRACTIONS)
    error = metrics.bootstrap_standard_error(metrics.auc, (labels, scores))
    assert np.abs(random - random[0]).max() < 3 * error
    wrong_by = np.where(labels == 1, -scores, scores)
    oracle = metrics.referral_curve(labels, scores, wrong_by, FRACTIONS)
    assert (np.diff(oracle) > 3 * error).all()
