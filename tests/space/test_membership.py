from __future__ import annotations

from typing import Any

import pytest

from robustness.errors import SearchSpaceError
from robustness.space.membership import configuration_in
from robustness.space.space import read_space

SPACE = read_space(
    {
        "optimizer": {
            "sgd": {"learning_rate": [0.01, 0.001], "momentum": 0.9},
            "adam": {"learning_rate": {"low": 1e-5, "high": 1e-2, "scale": "log"}},
        },
        "batch_size": [16, 256],
        "samples": {"low": 1, "high": 4, "integer": True},
        "nesterov": [True, False],
        "where": "batch_size * samples <= 256",
    },
    "space",
)
GOOD: dict[str, Any] = {"optimizer": "sgd", "learning_rate": 0.01, "batch_size": 16.0, "samples": 4, "nesterov": True}


def test_a_configuration_of_the_space_is_as_the_space_writes_it() -> None:
    found = configuration_in(SPACE, GOOD)
    assert found == {**GOOD, "momentum": 0.9}
    assert type(found["batch_size"]) is int
    assert list(found)[:3] == ["optimizer", "learning_rate", "momentum"]


def test_every_drawn_configuration_is_in_its_space() -> None:
    for drawn in SPACE.draw("random", 30, 0):
        assert configuration_in(SPACE, drawn) == drawn


@pytest.mark.parametrize(
    ("change", "line"),
    [
        ({"learning_rate": 0.1}, "default.learning_rate: must be 0.01, 0.001, found 0.1"),
        ({"optimizer": "adma"}, "default.optimizer: must be 'adam', 'sgd', found 'adma'"),
        ({"optimizer": "adam", "learning_rate": 0.1}, "default.learning_rate: must be a number from 1e-05 to 0.01"),
        ({"optimizer": "adam", "momentum": 0.9}, "default.momentum: does not exist with optimizer 'adam'"),
        ({"samples": 1.5}, "default.samples: must be an integer from 1 to 4, found 1.5"),
        ({"nesterov": 1}, "default.nesterov: must be True, False, found 1"),
        ({"batch_size": 256, "samples": 2}, "default: violates the condition 'batch_size * samples <= 256'"),
        ({"batch_size": None}, "default.batch_size: must be 16, 256, found None"),
    ],
)
def test_any_other_gets_one_line(change: dict[str, Any], line: str) -> None:
    with pytest.raises(SearchSpaceError) as raised:
        configuration_in(SPACE, GOOD | change)
    assert str(raised.value).startswith(line)


def test_a_missing_value_is_named_with_those_it_may_have() -> None:
    with pytest.raises(SearchSpaceError, match=r"default.batch_size: is missing; it may be 16, 256$"):
        configuration_in(SPACE, {name: value for name, value in GOOD.items() if name != "batch_size"})
