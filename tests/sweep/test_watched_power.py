"""Sample sizes of sweeps with `stop`, against the rule that stops them."""

from __future__ import annotations

import numpy as np
import pytest

from robustness.study.sections import Stop
from robustness.sweep.stopping import StoppingRule
from robustness.sweep.watched_power import pairs_to_a_decision, watched_lines


def pairs_by_the_rule(difference: float, discordance: float, terms: Stop, margin: float | None, seed: int) -> float:
    """The configurations after which the rule itself ends a sweep of 200; infinity if it does not."""
    rng = np.random.default_rng(seed)
    rule = StoppingRule(1, 200, terms, margin=margin)
    for place in range(200):
        discordant = rng.random() < discordance
        first = rng.random() < (1 + difference / discordance) / 2
        rule.add(place, [0.0 if not discordant else 1.0 if first else -1.0])
    return rule.configurations if rule.reason == "decided" else np.inf


@pytest.mark.parametrize(
    ("difference", "discordance", "margin", "pairs"), [(0.4, 0.5, None, 30), (0.2, 0.3, None, 80), (0.0, 0.05, 0.1, 90)]
)
def test_the_power_is_that_of_the_rule(difference: float, discordance: float, margin: float | None, pairs: int) -> None:
    terms = Stop(minimum_pairs=1, equivalence=margin is not None)
    ruled = [pairs_by_the_rule(difference, discordance, terms, margin, seed) for seed in range(300)]
    shown = pairs_to_a_decision(difference, discordance, 0.05, margin)
    # Standard errors of 2.9 and 2.2 points at most: three of their difference are 11.
    assert float((shown <= pairs).mean()) == pytest.approx(float((np.array(ruled) <= pairs).mean()), abs=0.11)


def test_a_sweep_that_always_differs_decides_after_the_same_pair() -> None:
    first = pairs_to_a_decision(1.0, 1.0, 0.05)
    assert len(set(first)) == 1
    rule = StoppingRule(1, 50, Stop(minimum_pairs=1))
    for place in range(50):
        rule.add(place, [1.0])
    assert first[0] == rule.configurations


def test_a_lower_level_takes_longer() -> None:
    alone, of_ten = (np.median(pairs_to_a_decision(0.4, 0.5, level)) for level in (0.05, 0.005))
    assert alone < of_ten


def test_the_lines_name_numbers_and_assumptions() -> None:
    terms = Stop(arms=["a", "b"], equivalence=True, minimum_pairs=60)
    lines = watched_lines(100, terms, 10, 0.2, 0.5, 0.1, 0.05)
    assert "a difference of 0.20 takes" in lines["sample size"]
    assert "at 5 %;" in lines["sample size"], "two named arms need no correction"
    assert lines["equivalence"].startswith("within 10 points takes")
    corrected = watched_lines(100, Stop(), 10, 0.2, 0.5, None, 0.05)
    assert "at 5 % / 10;" in corrected["sample size"]
    assert "equivalence" not in corrected, "the study has no margin"


def test_no_decision_counts_before_the_minimum() -> None:
    lines = watched_lines(20, Stop(minimum_pairs=60), 1, 0.9, 0.9, None, 0.05)
    assert "takes 60 pairs for 80 % power; 20 pairs have 0 %" in lines["sample size"]
