"""Draws from the spaces of single arms beside the shared one."""

from __future__ import annotations

import json
from collections import Counter

import pytest

from robustness.errors import SearchSpaceError
from robustness.space.own_spaces import draw_own, draw_shared
from robustness.space.space import EMPTY, merged, read_space

SHARED = read_space({"batch_size": [16, 32, 64]}, "space")
RATES = read_space({"rate": {"low": 0.001, "high": 0.1, "scale": "log"}}, "space")
FEW = read_space({"momentum": [0.0, 0.9], "nesterov": [True, False]}, "space")


def test_a_shared_space_that_is_used_up_is_drawn_again_in_rounds() -> None:
    drawn = draw_shared(SHARED, "random", 9, seed=4)
    for start in (0, 3, 6):
        assert {values["batch_size"] for values in drawn[start : start + 3]} == {16, 32, 64}
    assert drawn[:3] == SHARED.draw("random", 3, 4)
    assert len({json.dumps(drawn[start : start + 3]) for start in (0, 3, 6)}) > 1


@pytest.mark.parametrize("own", [RATES, FEW], ids=["continuous", "finite"])
@pytest.mark.parametrize("shared", [SHARED, RATES, EMPTY], ids=["finite", "continuous", "empty"])
def test_the_first_draws_do_not_depend_on_the_number_of_draws(own: object, shared: object) -> None:
    for count in (2, 3):
        many = draw_shared(shared, "random", 4, 1)  # type: ignore[arg-type]
        few = draw_own(own, shared, many[:count], "random", 1, "adam")  # type: ignore[arg-type]
        assert few == draw_own(own, shared, many, "random", 1, "adam")[:count]  # type: ignore[arg-type]


def test_no_arm_trains_the_same_values_twice() -> None:
    shared = draw_shared(SHARED, "random", 12, seed=0)
    own = draw_own(FEW, SHARED, shared, "random", 0, "sgd")
    assert max(Counter(json.dumps({**a, **b}) for a, b in zip(shared, own, strict=True)).values()) == 1
    with pytest.raises(SearchSpaceError, match=r"the arm 'sgd'.*the space has only 4"):
        draw_own(FEW, SHARED, draw_shared(SHARED, "random", 13, seed=0), "random", 0, "sgd")


def test_arms_draw_apart() -> None:
    shared = draw_shared(SHARED, "random", 6, seed=0)
    adam, sgd = (draw_own(RATES, SHARED, shared, "random", 0, label) for label in ("adam", "sgd"))
    assert not {values["rate"] for values in adam} & {values["rate"] for values in sgd}


def test_a_finite_own_space_is_balanced_beside_a_continuous_shared_one() -> None:
    own = draw_own(FEW, RATES, draw_shared(RATES, "random", 8, 0), "random", 0, "sgd")
    assert set(Counter(json.dumps(values) for values in own).values()) == {2}


def test_merged_spaces_keep_the_conditions_and_strata_of_both() -> None:
    first = read_space({"a": [1, 2], "b": [1, 2], "where": "a <= b", "stratify": "a"}, "space")
    second = read_space({"c": [1, 2, 3], "d": [1, 2, 3], "where": ["c < d"], "cross": ["c"]}, "space")
    space = merged(first, second)
    assert space.allowed() == 9
    assert (space.stratify, space.cross) == (("a",), ("c",))
    assert merged(EMPTY, second).data == dict(second.data)
