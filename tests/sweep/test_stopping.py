from __future__ import annotations

import heapq
import itertools
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.studies import write_study

from robustness.statistics.sequential import anytime_p, capital, closed
from robustness.study.loading import load_study
from robustness.study.sections import Stop
from robustness.sweep.plan import make_plan
from robustness.sweep.stopping import (
    Decision,
    StoppingRule,
    Watched,
    difference,
    ends_of_rounds,
    watched_comparisons,
)
from robustness.trial import TrialKey

SWEEPS = 1000
LEVEL = 0.05
AT_ONCE = Stop(minimum_pairs=1)


def sample(generator: np.random.Generator, first_only: float, second_only: float, pairs: int) -> list[float]:
    return list(
        generator.choice([1.0, -1.0, 0.0], size=pairs, p=[first_only, second_only, 1 - first_only - second_only])
    )


def run(values: Sequence[Sequence[float | None]], terms: Stop, ends: Sequence[bool] | None = None) -> StoppingRule:
    """The rule after configurations [configurations, comparisons] in order, until it ends the sweep."""
    rule = StoppingRule(len(values[0]), len(values), terms, ends)
    for place, each in enumerate(values):
        if rule.add(place, each):
            break
    return rule


def test_the_level_holds_if_durations_depend_on_the_outcome() -> None:
    """32 workers; a pair in which only the first arm has the outcome takes ten times as long."""
    generator = np.random.default_rng(12)
    wrong = 0
    for _ in range(300):
        scores = sample(generator, 0.5, 0.5, 86)
        rule = StoppingRule(1, len(scores), AT_ONCE)
        running: list[tuple[float, int]] = []
        now, place = 0.0, 0
        while (place < len(scores) or running) and rule.reason is None:
            while place < len(scores) and len(running) < 32:
                heapq.heappush(running, (now + (10.0 if scores[place] == 1 else 1.0), place))
                place += 1
            now, ended = heapq.heappop(running)
            rule.add(ended, [scores[ended]])
        wrong += rule.reason is not None
    # 300 sweeps at exactly 5 % are wrong at most 23 times with a probability of 98 %.
    assert wrong <= 23


def test_false_decisions_stay_below_the_level_for_any_number_of_arms_and_replicates(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.syspath_prepend(str(Path(__file__).parents[2] / "benchmarks"))
    import stopping

    rates = {result.name: result.value for result in stopping.false_decisions(300)}
    assert len(rates) == 27
    # Each is the worst of up to five models; one at exactly 5 % exceeds 28 of 300 with a probability of 0.1 %.
    assert max(rates.values()) <= 28 / 300, rates


def test_pairs_needed_at_the_papers_effect_and_power_at_a_smaller_one() -> None:
    generator = np.random.default_rng(13)
    needed = [run([[v] for v in sample(generator, 0.43, 0.0, 86)], Stop()).configurations for _ in range(200)]
    assert np.mean(needed) <= 17.5
    powerful = [run([[v] for v in sample(generator, 0.35, 0.1, 86)], Stop()).reason == "decided" for _ in range(200)]
    assert np.mean(powerful) >= 0.75


@pytest.mark.parametrize("comparisons", [1, 3])
def test_the_rule_reaches_the_evidence_of_the_whole_path(comparisons: int) -> None:
    generator = np.random.default_rng(14)
    for _ in range(30):
        values = np.array([sample(generator, 0.4, 0.1, 40) for _ in range(comparisons)]).T
        rule = run(values.tolist(), AT_ONCE)
        paths = capital(values.T)
        corrected = closed(paths)
        every = np.flatnonzero((np.maximum.accumulate(corrected, axis=1) > 1 / LEVEL).all(axis=0))
        assert rule.configurations == (every[0] + 1 if len(every) else 40)
        upto = rule.configurations
        assert rule.p_values == pytest.approx([anytime_p(path[:upto]) for path in paths])
        assert rule.p_adjusted == pytest.approx([anytime_p(path[:upto]) for path in corrected])


def test_replicates_that_agree_weigh_no_more_than_one() -> None:
    """Ten equal replicates of a configuration are one difference of 1, not ten."""
    assert difference([True] * 10, [False] * 10) == 1.0
    rule = run([[1.0]] * 6, AT_ONCE)
    assert rule.reason is None


def test_only_the_finished_prefix_counts() -> None:
    rule = StoppingRule(1, 30, AT_ONCE)
    assert not any(rule.add(place, [1.0]) for place in range(1, 30))
    assert rule.configurations == 0
    assert rule.p_values == [1.0]
    assert rule.add(0, [None])
    # The first is skipped, seven in a row decide at 5 %, and later configurations are ignored.
    assert rule.configurations == 8
    assert rule.differences == [[1.0] * 7]


def test_a_replicate_with_an_excluded_trial_is_left_out() -> None:
    assert difference([True, False, None], [False, False, False]) == 0.5
    assert difference([True, None], [None, False]) is None
    assert [difference([a], [b]) for a, b in [(True, False), (False, True), (True, True)]] == [1, -1, 0]


def test_several_comparisons_end_when_all_or_any_are_decided() -> None:
    values = [[1.0, 0.0, 1.0]] * 40
    assert run(values, Stop()).reason is None
    rule = run(values, Stop(when="any"))
    assert rule.reason == "decided"
    assert rule.decided == [True, False, True]
    assert rule.configurations == 10


def test_evidence_is_read_after_whole_rounds_of_the_strata() -> None:
    assert ends_of_rounds("ababab") == [False, True] * 3
    assert ends_of_rounds("abcabbb") == [False, False, True, False, True, True, True]
    ends = ends_of_rounds("ab" * 20)
    assert run([[1.0]] * 40, AT_ONCE, ends).configurations == 8
    # A stratum with +1 always before one with -1 always: the mean is zero, and no look is ever misled.
    rule = run([[1.0], [-1.0]] * 20, AT_ONCE, ends)
    assert rule.p_values == [1.0]


def test_a_sweep_without_any_difference_ends_for_futility_only_if_asked() -> None:
    values: list[list[float | None]] = [[0.0]] * 86
    assert run(values, Stop()).reason is None
    rule = run(values, Stop(futility=0.05))
    assert rule.reason == "futility"
    # Not as soon as it may stop: ten pairs without a difference do not make the rates known.
    assert 10 < rule.configurations < 60
    assert rule.decided == [False]


def test_futility_rarely_ends_a_sweep_that_would_be_decided() -> None:
    generator = np.random.default_rng(15)
    lost = 0
    for _ in range(25):
        values = [[value] for value in sample(generator, 0.35, 0.1, 86)]
        lost += run(values, Stop()).reason == "decided" and run(values, Stop(futility=0.05)).reason == "futility"
    assert lost <= 3


def test_decided_and_futile_comparisons_together_end_a_sweep() -> None:
    rule = run([[1.0, 0.0]] * 86, Stop(futility=0.05))
    assert rule.reason == "futility"
    assert rule.decided == [True, False]


def test_the_named_pair_is_the_only_comparison() -> None:
    compared = list(itertools.combinations("abc", 2))
    assert watched_comparisons(compared, None) == compared
    assert watched_comparisons(compared, ["c", "a"]) == [("a", "c")]


def decision(folder: Path, **changes: Any) -> tuple[Decision, list[TrialKey]]:
    study = load_study(str(write_study(folder, **changes)))
    plan = make_plan(study)
    return Decision(Watched.of(study, plan)), [trial.key for trial in plan.trials]


def test_a_decision_waits_for_every_arm_and_replicate_of_a_configuration(tmp_path: Path) -> None:
    made, keys = decision(
        tmp_path,
        arms=["first", "second", "third"],
        sampling={"configurations": 12, "replicates": 2},
        stop={"arms": ["first", "second"], "minimum_pairs": 1},
    )
    # All replicates of a configuration come before the next one.
    assert [key.configuration for key in keys] == sorted(key.configuration for key in keys)
    assert [key.replicate for key in keys[:6]] == [0, 0, 0, 1, 1, 1]
    for key in keys[: 7 * 6 - 1]:
        made.add(key, "learned_nothing" if key.arm == "first" else "good")
    assert made.reason is None
    made.add(keys[7 * 6 - 1], None)
    assert made.reason == "decided"
    note = made.note()
    assert note["configurations"] == note["pairs"] == 7
    assert note["arms"] == ["first", "second"]
    assert note["p_value"] == note["p_adjusted"] < LEVEL


def test_a_decision_about_all_pairs_of_arms_names_each(tmp_path: Path) -> None:
    made, keys = decision(
        tmp_path,
        arms=["first", "second", "third"],
        sampling={"configurations": 30},
        stop={"when": "any"},
    )
    for key in keys:
        if made.reason is None:
            made.add(key, "learned_nothing" if key.arm == "first" else "good")
    comparisons = made.note()["comparisons"]
    assert [entry["arms"] for entry in comparisons] == [["first", "second"], ["first", "third"], ["second", "third"]]
    assert [entry["decided"] for entry in comparisons] == [True, True, False]
    assert "arms" not in made.note()
    assert all(entry["p_adjusted"] >= entry["p_value"] for entry in comparisons)


def test_a_sweep_may_end_on_equivalence(tmp_path: Path) -> None:
    made, keys = decision(
        tmp_path,
        sampling={"configurations": 150},
        outcomes={"learned_nothing": {"below": 0.4}, "good": {"at_least": 0.8}, "equivalent_within": 0.1},
        stop={"equivalence": True},
    )
    for key in keys:
        made.add(key, "good")
    note = made.note()
    assert note["reason"] == "decided"
    assert note["equivalent"]
    assert not note["decided"]
    assert 20 < note["configurations"] < 100


def test_arms_that_differ_are_decided_and_not_called_equivalent(tmp_path: Path) -> None:
    made, keys = decision(
        tmp_path,
        sampling={"configurations": 60},
        outcomes={"learned_nothing": {"below": 0.4}, "good": {"at_least": 0.8}, "equivalent_within": 0.1},
        stop={"equivalence": True},
    )
    for key in keys:
        made.add(key, "learned_nothing" if key.arm == "first" else "good")
    assert made.note()["decided"]
    assert not made.note()["equivalent"]
