from __future__ import annotations

import heapq

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import beta

from robustness.sweep.stopping import Evidence, StoppingRule, evidence, excludes_zero, first_decision, pair_shows

SWEEPS = 1000
LEVEL = 0.05


def sample_scores(generator: np.random.Generator, first_only: float, second_only: float, pairs: int) -> list[int]:
    return list(generator.choice([1, -1, 0], size=pairs, p=[first_only, second_only, 1 - first_only - second_only]))


@pytest.mark.parametrize("discordance", [0.1, 0.5, 1.0])
def test_at_most_66_of_1000_null_sweeps_are_stopped(discordance: float) -> None:
    generator = np.random.default_rng(11)
    half = discordance / 2
    wrong = sum(first_decision(sample_scores(generator, half, half, 100), LEVEL) is not None for _ in range(SWEEPS))
    assert wrong <= 66


def test_the_level_holds_if_durations_depend_on_the_outcome() -> None:
    """32 workers; a pair in which only the first arm has the outcome takes ten times as long."""
    generator = np.random.default_rng(12)
    wrong = 0
    for _ in range(SWEEPS):
        scores = sample_scores(generator, 0.5, 0.5, 86)
        rule = StoppingRule(len(scores), LEVEL)
        running: list[tuple[float, int]] = []
        now, place = 0.0, 0
        while (place < len(scores) or running) and not rule.decided:
            while place < len(scores) and len(running) < 32:
                heapq.heappush(running, (now + (10.0 if scores[place] == 1 else 1.0), place))
                place += 1
            now, ended = heapq.heappop(running)
            rule.add(ended, scores[ended])
        wrong += rule.decided
    assert wrong <= 66


def test_the_papers_difference_is_decided_by_pair_43_in_four_of_five_sweeps() -> None:
    generator = np.random.default_rng(13)
    stops = [first_decision(sample_scores(generator, 0.52, 0.09, 43), LEVEL, 10) for _ in range(SWEEPS)]
    assert sum(stop is not None for stop in stops) >= 0.8 * SWEEPS


@pytest.mark.parametrize(("pairs", "b", "c"), [(10, 6, 1), (30, 12, 9), (43, 22, 4)])
def test_the_statistic_is_the_mixture_of_likelihood_ratios(pairs: int, b: int, c: int) -> None:
    """Both factors recomputed by integrating the likelihood over a Beta(1/2, 1/2) prior."""

    def mixture(successes: int, failures: int, against: float) -> float:
        ratio = lambda p: (p / against) ** successes * ((1 - p) / (1 - against)) ** failures  # noqa: E731
        return float(quad(lambda p: ratio(p) * beta(0.5, 0.5).pdf(p), 0, 1, limit=200)[0])

    m = b + c
    capital = mixture(b, c, 0.5) * (1 + mixture(m, pairs - m, m / pairs)) / 2
    for level in (0.5, 0.2, 0.05, 0.01):
        assert excludes_zero(pairs, b, c, level) == (capital >= 1 / level)


def test_the_sequence_covers_the_true_difference_at_all_times_simultaneously() -> None:
    generator = np.random.default_rng(14)
    missed = 0
    for _ in range(40):
        counts = {1: 0, -1: 0, 0: 0}
        out = False
        for pair, value in enumerate(sample_scores(generator, 0.4, 0.2, 40), start=1):
            counts[value] += 1
            if pair % 4:
                continue
            current = evidence(pair, counts[1], counts[-1], LEVEL)
            out = out or not current.low <= 0.2 <= current.high
        missed += out
    assert missed <= 6


def test_only_the_finished_prefix_counts() -> None:
    rule = StoppingRule(30, LEVEL)
    assert not any(rule.add(place, 1) for place in range(1, 30))
    assert rule.evidence() == Evidence(0, 0, 0, -1.0, 1.0, False)
    assert rule.add(0, None)
    # Seven in a row decide at 5 %, and later pairs are ignored.
    assert rule.evidence().pairs < 29
    assert rule.evidence().low >= 0


def test_a_pair_with_an_excluded_trial_has_no_score() -> None:
    assert [pair_shows(a, b) for a, b in [(True, False), (False, True), (True, True), (None, True)]] == [1, -1, 0, None]
