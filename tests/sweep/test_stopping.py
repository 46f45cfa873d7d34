from __future__ import annotations

import heapq

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import beta

from robustness.sweep.stopping import Evidence, StoppingRule, evidence, excludes_zero, first_decision, pair_shows

SWEEPS = 1000
LEVEL = 0.05


def drawn(generator: np.random.Generator, first_only: float, second_only: float, pairs: int) -> list[int]:
    return list(generator.choice([1, -1, 0], size=pairs, p=[first_only, second_only, 1 - first_only - second_only]))


@pytest.mark.parametrize("discordance", [0.1, 0.5, 1.0])
def test_a_null_sweep_is_stopped_wrongly_in_at_most_66_of_1000(discordance: float) -> None:
    generator = np.random.default_rng(11)
    half = discordance / 2
    wrong = sum(first_decision(drawn(generator, half, half, 100), LEVEL) is not None for _ in range(SWEEPS))
    assert wrong <= 66


def test_durations_that_depend_on_the_outcome_do_not_spoil_the_level() -> None:
    """32 workers; a pair in which only the first arm has the outcome takes ten times as long."""
    generator = np.random.default_rng(12)
    wrong = 0
    for _ in range(SWEEPS):
        shown = drawn(generator, 0.5, 0.5, 86)
        rule = StoppingRule(len(shown), LEVEL)
        running: list[tuple[float, int]] = []
        now, place = 0.0, 0
        while (place < len(shown) or running) and not rule.decided:
            while place < len(shown) and len(running) < 32:
                heapq.heappush(running, (now + (10.0 if shown[place] == 1 else 1.0), place))
                place += 1
            now, ended = heapq.heappop(running)
            rule.add(ended, shown[ended])
        wrong += rule.decided
    assert wrong <= 66


def test_the_paper_s_difference_is_decided_by_pair_43_in_four_sweeps_of_five() -> None:
    generator = np.random.default_rng(13)
    stops = [first_decision(drawn(generator, 0.52, 0.09, 43), LEVEL, 10) for _ in range(SWEEPS)]
    assert sum(stop is not None for stop in stops) >= 0.8 * SWEEPS


@pytest.mark.parametrize(("pairs", "b", "c"), [(10, 6, 1), (30, 12, 9), (43, 22, 4)])
def test_the_statistic_is_the_mixture_of_likelihood_ratios(pairs: int, b: int, c: int) -> None:
    """Both factors found again by integrating the likelihood over a Beta(1/2, 1/2) prior."""

    def mixture(successes: int, failures: int, against: float) -> float:
        ratio = lambda p: (p / against) ** successes * ((1 - p) / (1 - against)) ** failures  # noqa: E731
        return float(quad(lambda p: ratio(p) * beta(0.5, 0.5).pdf(p), 0, 1, limit=200)[0])

    m = b + c
    capital = mixture(b, c, 0.5) * (1 + mixture(m, pairs - m, m / pairs)) / 2
    for level in (0.5, 0.2, 0.05, 0.01):
        assert excludes_zero(pairs, b, c, level) == (capital >= 1 / level)


def test_the_sequence_covers_the_true_difference_at_all_looks_together() -> None:
    generator = np.random.default_rng(14)
    missed = 0
    for _ in range(40):
        counts = {1: 0, -1: 0, 0: 0}
        out = False
        for pair, value in enumerate(drawn(generator, 0.4, 0.2, 40), start=1):
            counts[value] += 1
            if pair % 4:
                continue
            found = evidence(pair, counts[1], counts[-1], LEVEL)
            out = out or not found.low <= 0.2 <= found.high
        missed += out
    assert missed <= 6


def test_only_the_finished_prefix_counts() -> None:
    rule = StoppingRule(30, LEVEL)
    assert not any(rule.add(place, 1) for place in range(1, 30))
    assert rule.evidence() == Evidence(0, 0, 0, -1.0, 1.0, False)
    assert rule.add(0, None)
    # Seven in a row decide at 5 %, and what came after them is not looked at.
    assert rule.evidence().pairs < 29
    assert rule.evidence().low >= 0


def test_pairs_that_are_left_out_show_nothing() -> None:
    assert [pair_shows(a, b) for a, b in [(True, False), (False, True), (True, True), (None, True)]] == [1, -1, 0, None]
