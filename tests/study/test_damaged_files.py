"""150 study files, each damaged in one place: each gets exit code 2 and one line that names the key."""

from __future__ import annotations

import copy
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import yaml
from support.studies import SMALL

from robustness.cli import main


class Damaged(NamedTuple):
    """The text of a damaged file and the key that its error message must name."""

    text: str
    key: str


REQUIRED = [
    "name",
    "task",
    "model",
    "arms",
    "space",
    "sampling",
    "training",
    "outcomes",
    "task.name",
    "model.name",
    "sampling.configurations",
    "training.epochs",
    "outcomes.good",
    "outcomes.learned_nothing",
    "outcomes.good.at_least",
    "space.optimizer",
]
OUT_OF_RANGE: dict[str, list[Any]] = {
    "task.image_size": [4, -1, 10**6],
    "task.train": [0, -5],
    "model.base_channels": [0, -16],
    "sampling.configurations": [0, -1, 10**9],
    "sampling.replicates": [0, -2],
    "sampling.seed": [-1],
    "training.epochs": [0, -3],
    "training.pretrain_epochs": [-1, 12, 100],
    "training.evaluation_samples": [0],
    "outcomes.good.at_least": [1.1, -0.2],
    "outcomes.learned_nothing.no_better_than_untrained": [0, 1, -0.01],
    "outcomes.learned_nothing.no_better_than_guessing": [0, 0.01, "much"],
    "resources.cpu": [0, -1, 1.5],
    "resources.gpu": [-1, 0.3, 1.5],
    "space.batch_size": [[0], [-16, 16], []],
    "space.initial_rho": [{"low": 0, "high": -6}, {"low": 1, "high": 1}, [1000]],
    "space.variational_samples": [[1.5], [0]],
}
WRONG = (["x"], {"x": 1}, "a word", 3.7, True)
CONDITIONS = (
    "batch_size *",
    "batch_size <= ",
    "batch_szie <= 64",
    "batch_size",
    "batch_size ** 2 <= 64",
    "__import__('os').system('touch made')",
    "open('made', 'w')",
    "batch_size.real > 3",
    "optimizer == sgd",
    "optimizer <= 64",
    "batch_size < 0",
    "batch_size / 0 > 1",
    "momentum > 0.5",
    "(" * 5000,
)
TEXTS = (
    "!!python/object/apply:os.system ['touch made']",
    "!!python/name:os.system",
    "!!python/module:os",
    "!own {a: 1}",
    "[" * 10_000 + "]" * 10_000,
    "{a: " * 10_000 + "1" + "}" * 10_000,
    "&a [*a]",
    "*nowhere",
    ".nan",
    "1e999",
    "9" * 5000,
    "{<<: {a: 1}}",
    "{a: 1, a: 2}",
    "[1, 2",
    "'never closed",
    "@at",
)


def paths(data: Any, before: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """Yield the path to every key."""
    if isinstance(data, dict):
        for key, value in data.items():
            yield (*before, key)
            yield from paths(value, (*before, key))


def place_of(data: Any, path: tuple[str, ...]) -> dict[str, Any]:
    for key in path[:-1]:
        data = data[key]
    place: dict[str, Any] = data
    return place


def misspelt(chance: random.Random, data: dict[str, Any]) -> Damaged:
    path = chance.choice(list(paths(data)))
    place, key = place_of(data, path), path[-1]
    cut = chance.randrange(len(key) - 1)
    wrong = chance.choice([key[:cut] + key[cut + 1 :], key[:cut] + "q" + key[cut:], key + "s"])
    items = [(wrong if name == key else name, value) for name, value in place.items()]
    place.clear()
    place.update(items)
    # A choice's name is a value of its option: a misspelt sgd is an optimizer that does not exist.
    culprit = wrong if path[-2:-1] != ("optimizer",) else "optimizer"
    return Damaged(dump(data), culprit)


def removed(chance: random.Random, data: dict[str, Any]) -> Damaged:
    path = tuple(chance.choice(REQUIRED).split("."))
    del place_of(data, path)[path[-1]]
    return Damaged(dump(data), path[-1])


def of_wrong_type(chance: random.Random, data: dict[str, Any]) -> Damaged:
    # Replacing a constant by a number, or text by other text, may be valid.
    path = chance.choice([path for path in paths(data) if path[-1] not in ("momentum", "sgd", "amsgrad")])
    place = place_of(data, path)
    right = place[path[-1]]
    fits = {"where", "stratify", "description", "name"}
    wrong = [
        value
        for value in WRONG
        if not (isinstance(value, str) and (isinstance(right, str) and path[-1] in fits))
        and not (isinstance(right, dict) and isinstance(value, dict))
        and not (path[0] == "space" and path[-1] == "initial_rho" and value == 3.7)
        and not (path[-1] in ("learning_rate",) and value == 3.7)
        and not (path[-1] in ("low", "high") and isinstance(value, float))
        and not (path[-1] == "arms" and isinstance(value, str))
    ]
    place[path[-1]] = chance.choice(wrong)
    return Damaged(dump(data), path[-1])


def out_of_range(chance: random.Random, data: dict[str, Any]) -> Damaged:
    name = chance.choice(sorted(OUT_OF_RANGE))
    path = tuple(name.split("."))
    place_of(data, path)[path[-1]] = chance.choice(OUT_OF_RANGE[name])
    return Damaged(dump(data), path[-1])


def of_a_broken_condition(chance: random.Random, data: dict[str, Any]) -> Damaged:
    data["space"]["where"] = chance.choice(CONDITIONS)
    return Damaged(dump(data), "where")


def of_bad_yaml(chance: random.Random, data: dict[str, Any]) -> Damaged:
    path = chance.choice(list(paths(data)))
    place_of(data, path)[path[-1]] = "PLACE"
    return Damaged(dump(data).replace("PLACE", chance.choice(TEXTS)), path[-1])


def dump(data: dict[str, Any]) -> str:
    return yaml.safe_dump(data, sort_keys=False)


DAMAGES = (misspelt, removed, of_wrong_type, out_of_range, of_a_broken_condition, of_bad_yaml)


@pytest.mark.parametrize("number", range(150))
def test_a_damaged_file_exits_2_with_one_line_that_names_the_key(
    number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    damage = DAMAGES[number % len(DAMAGES)]
    damaged = damage(random.Random(number), copy.deepcopy(SMALL))
    path = tmp_path / "study.yaml"
    path.write_text(damaged.text, encoding="utf-8")
    monkeypatch.chdir(tmp_path)

    assert main(["plan", "study.yaml"]) == 2

    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.count("\n") == 1
    assert "Traceback" not in printed.err
    assert damaged.key in printed.err
    assert len(printed.err) < 1000
    assert [file.name for file in tmp_path.iterdir()] == ["study.yaml"]


def test_the_undamaged_file_is_valid(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "study.yaml"
    path.write_text(dump(SMALL), encoding="utf-8")
    assert main(["plan", str(path)]) == 0
    assert "12 configurations x 2 arms" in capsys.readouterr().out
