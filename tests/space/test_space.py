"""Search spaces: reading, counting and sampling."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from pathlib import Path
from typing import Any, get_args

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy import stats

from robustness.errors import SearchSpaceError
from robustness.space.samplers import SAMPLERS
from robustness.space.space import Space, read_space
from robustness.study.bundled import find_space
from robustness.study.sections import Sampling
from robustness.study.yaml_reader import read_file

STRATEGIES = ("random", "grid", "sobol")


def space(**data: Any) -> Space:
    return read_space(data, "space.yaml")


def identity(configuration: dict[str, Any]) -> tuple[tuple[str, Any], ...]:
    return tuple(sorted(configuration.items()))


@pytest.fixture(scope="module")
def paper() -> Space:
    path = find_space("paper_random", Path())
    return read_space(read_file(path, SearchSpaceError), "paper_random")


def paper_by_hand() -> list[dict[str, Any]]:
    """The paper's space written as loops, from the appendix."""
    configurations = []
    for batch, samples, rho in itertools.product((16, 32, 64, 128, 256), (1, 2, 4), (-6, -4, -2, 0)):
        shared = {"batch_size": batch, "variational_samples": samples, "initial_rho": rho}
        for rate, decay in itertools.product((0.01, 0.001, 0.0001), (1.0, 0.98, 0.96)):
            sgd = {"optimizer": "sgd", "learning_rate": rate, "learning_rate_decay": decay}
            configurations.append(shared | sgd | {"momentum": 0.9, "nesterov": True})
        rates = (0.001, 0.0001, 0.00001)
        configurations += [shared | {"optimizer": "amsgrad", "learning_rate": rate} for rate in rates]
    return configurations


def test_an_option_depends_on_its_choice_on_strata_and_on_what_a_condition_ties_to_it(paper: Space) -> None:
    assert paper.depends_on("optimizer") == set()
    assert paper.depends_on("learning_rate") == {"optimizer"}
    assert paper.depends_on("batch_size") == {"optimizer", "variational_samples"}
    assert paper.depends_on("initial_rho") == {"optimizer"}
    nested = space(a={"x": {"b": {"u": {"c": [1, 2]}, "v": None}}, "y": None}, d=[1, 2], where="a == 'y' or b != 'v'")
    assert nested.depends_on("c") == {"a", "b"}
    assert nested.depends_on("b") == {"a"}
    assert nested.depends_on("a") == set(), "what lies under a choice is part of its effect"
    assert nested.depends_on("d") == set()


def test_the_papers_space_has_720_configurations_and_576_under_its_condition(paper: Space) -> None:
    by_hand = paper_by_hand()
    allowed = [c for c in by_hand if c["batch_size"] * c["variational_samples"] <= 256]
    assert paper.size() == len(by_hand) == 720
    assert paper.allowed() == len(allowed) == 576
    assert {identity(c) for c in paper.draw("grid", None, 0)} == {identity(c) for c in allowed}


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_a_finite_space_can_be_drawn_in_full_and_no_further(paper: Space, strategy: str) -> None:
    drawn = paper.draw(strategy, 576, seed=3)
    assert len({identity(c) for c in drawn}) == 576
    with pytest.raises(SearchSpaceError, match=r"577 configurations requested.* only 576"):
        paper.draw(strategy, 577, seed=3)


@pytest.mark.parametrize("strategy", ["random", "sobol"])
def test_strata_are_balanced_in_every_prefix_until_one_is_exhausted(paper: Space, strategy: str) -> None:
    optimizers = [c["optimizer"] for c in paper.draw(strategy, 86, seed=0)]
    assert Counter(optimizers) == {"sgd": 43, "amsgrad": 43}
    for length in range(87):
        counts = Counter(optimizers[:length])
        assert abs(counts["sgd"] - counts["amsgrad"]) <= 1


def test_different_seeds_draw_different_configurations(paper: Space) -> None:
    assert paper.draw("random", 20, seed=0) != paper.draw("random", 20, seed=1)


def test_the_order_of_keys_in_a_file_only_affects_how_a_configuration_is_displayed() -> None:
    one = space(a=[1, 2, 3], b={"x": {"c": [1, 2]}, "y": {"d": {"low": 0, "high": 1}}})
    other = space(b={"y": {"d": {"low": 0, "high": 1}}, "x": {"c": [1, 2]}}, a=[1, 2, 3])
    assert one.draw("random", 9, 0) == other.draw("random", 9, 0)
    assert next(iter(one.draw("random", 1, 0)[0])) == "a"
    assert next(iter(other.draw("random", 1, 0)[0])) == "b"


def test_choices_are_equally_likely_at_each_level_from_the_top_down() -> None:
    lopsided = space(a={"x": {"k": list(range(19))}, "y": {}})
    firsts = Counter(lopsided.draw("random", 1, seed)[0]["a"] for seed in range(400))
    assert stats.binomtest(firsts["x"], 400, 0.5).pvalue > 0.001


def test_a_finite_space_is_drawn_like_independent_draws_with_repeats_redrawn() -> None:
    """The probability of (first, second) by definition, p_i p_j / (1 - p_i), against 3,000 drawn pairs."""
    small = space(a={"x": {"k": [1, 2, 3]}, "y": {}, "z": {}})
    chance = {("x", 1): 1 / 9, ("x", 2): 1 / 9, ("x", 3): 1 / 9, ("y", None): 1 / 3, ("z", None): 1 / 3}
    pairs = Counter(tuple((c["a"], c.get("k")) for c in small.draw("random", 2, seed=seed)) for seed in range(3000))
    orders = list(itertools.permutations(chance, 2))
    expected = [3000 * chance[i] * chance[j] / (1 - chance[i]) for i, j in orders]
    assert stats.chisquare([pairs[order] for order in orders], expected).pvalue > 0.001


def test_ranges_are_uniform_on_their_scale() -> None:
    ranges = space(
        linear={"low": -10, "high": 0},
        log={"low": 1e-5, "high": 1e-3, "scale": "log"},
        whole={"low": 1, "high": 6, "integer": True},
        whole_log={"low": 1, "high": 1000, "integer": True, "scale": "log"},
    )
    assert ranges.size() is None
    assert ranges.allowed() is None
    drawn: list[dict[str, Any]] = list(ranges.draw("random", 2000, 0))
    assert stats.kstest([c["linear"] for c in drawn], stats.uniform(-10, 10).cdf).pvalue > 0.001
    assert stats.kstest([math.log10(c["log"]) for c in drawn], stats.uniform(-5, 2).cdf).pvalue > 0.001
    assert stats.chisquare([Counter(c["whole"] for c in drawn)[k] for k in range(1, 7)]).pvalue > 0.001
    assert all(type(c["whole_log"]) is int and 1 <= c["whole_log"] <= 1000 for c in drawn)
    below_32 = sum(c["whole_log"] < 32 for c in drawn) / 2000
    assert below_32 == pytest.approx(math.log(31.5 / 0.5) / math.log(1000.5 / 0.5), abs=0.05)


def test_a_sobol_sequence_fills_space_more_evenly_than_chance() -> None:
    plane = space(x={"low": 0, "high": 1}, y={"low": 0, "high": 1})
    drawn: list[dict[str, Any]] = list(plane.draw("sobol", 64, seed=5))
    cells = Counter((int(8 * c["x"]), int(8 * c["y"])) for c in drawn)
    assert set(cells.values()) == {1}


def test_an_integer_range_is_finite_and_drawn_without_repeats() -> None:
    dice = space(n={"low": 1, "high": 6, "integer": True})
    assert dice.size() == 6
    drawn: list[dict[str, Any]] = list(dice.draw("random", 6, 0))
    assert sorted(c["n"] for c in drawn) == [1, 2, 3, 4, 5, 6]


def test_the_allowed_part_of_a_huge_space_is_counted_without_listing_it() -> None:
    huge = space(**{f"x{i}": list(range(10)) for i in range(12)}, where="x0 + x1 <= 3")
    assert huge.size() == 10**12
    assert huge.allowed() == 10 * 10**10
    drawn: list[dict[str, Any]] = list(huge.draw("random", 50, 0))
    assert all(c["x0"] + c["x1"] <= 3 for c in drawn)
    assert huge.draw("random", 20, 0) == drawn[:20]


def test_several_conditions_must_all_hold() -> None:
    both = space(a=[1, 2, 3], b=[1, 2, 3], where=["a < b", "b < 3"])
    assert both.draw("grid", None, 0) == [{"a": 1, "b": 2}]


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_every_choice_of_a_crossed_factor_is_run_with_each_draw_of_the_others(strategy: str) -> None:
    crossed = space(a=[1, 2, 3, 4, 5], b=[10, 20, 30], factor=["p", "q", "r"], cross="factor")
    drawn = crossed.draw(strategy, 45, 0)
    assert len({identity(c) for c in drawn}) == 45
    for start in range(0, 45, 3):
        block = drawn[start : start + 3]
        assert [c["factor"] for c in block] == ["p", "q", "r"]
        assert len({(c["a"], c["b"]) for c in block}) == 1


def test_a_crossed_factor_with_nested_options_still_covers_the_space() -> None:
    crossed = space(o={"p": {"k": [1, 2]}, "q": {"l": [1, 2, 3]}}, b=[1, 2], cross=["o"])
    assert crossed.size() == 10
    assert len({identity(c) for c in crossed.draw("random", 10, 0)}) == 10


def test_crossing_skips_forbidden_cells() -> None:
    crossed = space(a=[1, 2, 3], b=[1, 2, 3], cross="b", where="a >= b")
    assert crossed.allowed() == 6
    assert len(crossed.draw("random", 6, 0)) == 6


def test_a_condition_that_is_almost_never_satisfied_reports_both_counts() -> None:
    narrow = space(x={"low": 0, "high": 1}, k=[1, 2], where="x < 0")
    with pytest.raises(SearchSpaceError, match="5 configurations requested, but only 0 were found"):
        narrow.draw("random", 5, 0)


def test_an_unsatisfiable_condition_is_an_error() -> None:
    with pytest.raises(SearchSpaceError, match="no configuration satisfies"):
        space(a=[1, 2, 3], where="a > 3").draw("random", 1, 0)


def test_a_grid_of_a_range_names_the_range() -> None:
    with pytest.raises(SearchSpaceError, match="these are ranges: rate"):
        space(o={"p": {"rate": {"low": 0, "high": 1}}, "q": {}}).draw("grid", 3, 0)


def test_a_study_file_accepts_exactly_the_registered_samplers() -> None:
    assert set(get_args(Sampling.model_fields["strategy"].annotation)) == set(SAMPLERS) == set(STRATEGIES)


def test_only_random_draws_and_whole_grids_are_samples_without_replacement() -> None:
    assert {name for name, sampler in SAMPLERS.items() if sampler.without_replacement} == {"random", "grid"}


def test_an_unknown_strategy_is_rejected_with_the_closest_name() -> None:
    with pytest.raises(SearchSpaceError, match=r"unknown strategy 'sobel'; did you mean 'sobol'\?$"):
        space(a=[1, 2]).draw("sobel", 1, 0)


VALUES = st.lists(st.integers(0, 20), min_size=1, max_size=4, unique=True)
RANGES = st.fixed_dictionaries({"low": st.just(0), "high": st.integers(1, 9)}, optional={"integer": st.just(True)})


@st.composite
def spaces(draw: st.DrawFn) -> Space:
    """Spaces of two plain options, maybe a range, maybe a choice with nested options, with any of the settings."""
    data: dict[str, Any] = {"a": draw(VALUES), "b": draw(VALUES)}
    if draw(st.booleans()):
        data["r"] = draw(RANGES)
    if draw(st.booleans()):
        data["o"] = {"p": {"k": draw(VALUES)}, "q": {"k": draw(VALUES), "m": draw(RANGES | VALUES)}, "s": None}
    if draw(st.booleans()):
        data["where"] = f"a + b {draw(st.sampled_from(['<=', '>=']))} {draw(st.integers(0, 40))}"
    factors = [name for name in ("a", "b", "o") if name in data]
    roles = {name: draw(st.sampled_from(["drawn", "drawn", "stratify", "cross"])) for name in factors}
    for setting in ("stratify", "cross"):
        named = [name for name in factors if roles[name] == setting]
        if named:
            data[setting] = named
    return read_space(data, "random space")


@given(spaces(), st.sampled_from(STRATEGIES), st.integers(0, 5), st.integers(1, 40), st.integers(1, 40))
@settings(deadline=None, derandomize=True, max_examples=300)
def test_a_shorter_draw_is_a_prefix_of_a_longer_one(
    drawn_space: Space, strategy: str, seed: int, one: int, other: int
) -> None:
    assume(strategy != "grid" or drawn_space.size() is not None)
    assume(drawn_space.possible(drawn_space.options))
    short, long = sorted(min(count, drawn_space.allowed() or count) for count in (one, other))
    drawn = drawn_space.draw(strategy, long, seed)
    assert drawn_space.draw(strategy, short, seed) == drawn[:short]
    assert len({identity(c) for c in drawn}) == len(drawn) == long
    assert all(drawn_space.accepts(c) for c in drawn)
    assert all(list(c) == [name for name in drawn_space.display_order if name in c] for c in drawn)


@given(spaces())
@settings(deadline=None, derandomize=True, max_examples=100)
def test_counts_agree_with_listing_everything(drawn_space: Space) -> None:
    assume(drawn_space.size() is not None)
    listed = [fragment.values for fragment in drawn_space.options.fragments()]
    assert len({identity(c) for c in listed}) == len(listed) == drawn_space.size()
    assert sum(fragment.weight for fragment in drawn_space.options.fragments()) == pytest.approx(1)
    assert sum(map(drawn_space.accepts, listed)) == drawn_space.allowed()


@pytest.mark.parametrize(
    ("data", "words"),
    [
        ({}, "no options"),
        ({"a": []}, "a: the list of choices is empty"),
        ({"a": {}}, "a: has neither"),
        ({"a": [1, 1.0]}, "a: the choice 1.0 appears twice"),
        ({"a": [[1]]}, "a: a choice is a number"),
        ({"a": {"low": 1}}, r"a\.high: is missing"),
        ({"a": {"low": 1, "high": 1}}, "a: low must be less than high"),
        ({"a": {"low": "1", "high": 2}}, r"a\.low: must be a number, found '1'"),
        ({"a": {"low": True, "high": 2}}, r"a\.low: must be a number"),
        ({"a": {"low": 0, "high": 2, "scale": "log"}}, r"a\.low: must be positive"),
        ({"a": {"low": 1, "high": 2, "scale": "lgo"}}, r"a\.scale: unknown scale 'lgo'; did you mean 'log'"),
        ({"a": {"low": 1, "high": 2, "sclae": "log"}}, "did you mean 'scale'"),
        ({"a": {"low": 0.5, "high": 2, "integer": True}}, r"a\.low: must be an integer"),
        ({"a": {"low": 1, "high": 2, "integer": 1}}, r"a\.integer: must be true or false"),
        ({"a": {"x": 3}}, r"a\.x: the options under a choice are a mapping"),
        ({"a": {"x": {"a": [1]}}}, r"a: the option 'a' appears again"),
        ({"a": {"x": {"k": 1}}, "k": [1, 2]}, "k: the option 'k' appears in two places"),
        ({"a": {"x": {"where": "k > 1", "k": 1}}}, r"a\.x\.where: 'where' belongs at the top level"),
        ({"a b": 1}, "an option's name"),
        ({"a": [1], "where": "a <"}, "where: 'a <' is not a condition"),
        ({"a": [1], "where": None}, "where: None is not a condition"),
        ({"a": [1], "wehre": "a < 1"}, "unknown key 'wehre'; did you mean 'where'"),
        ({"a": [1, 2], "startify": "a"}, "unknown key 'startify'; did you mean 'stratify'"),
        ({"a": [1], "stratify": "b"}, "stratify: unknown option 'b'"),
        ({"a": {"x": {"k": [1, 2]}}, "stratify": "k"}, "only top-level options"),
        ({"a": {"low": 0, "high": 1}, "stratify": "a"}, "stratify: 'a' has no list"),
        ({"a": [1, 2], "cross": ["a", "a"]}, "cross: 'a' appears twice"),
        ({"a": [1, 2], "cross": "a", "stratify": "a"}, "cross: 'a' is already stratified"),
        ({"a": [1, 2], "stratify": [["a"]]}, "stratify: unknown option"),
    ],
)
def test_an_invalid_space_is_rejected_in_one_line_that_names_its_key(data: dict[str, Any], words: str) -> None:
    with pytest.raises(SearchSpaceError, match=words) as caught:
        read_space(data, "space.yaml")
    assert str(caught.value).startswith("space.yaml: ")


@pytest.mark.parametrize("data", [None, 3, "x", [1]])
def test_a_space_must_be_a_mapping(data: object) -> None:
    with pytest.raises(SearchSpaceError, match="a search space is a mapping"):
        read_space(data, "space.yaml")
