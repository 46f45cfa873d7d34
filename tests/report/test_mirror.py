"""The same study, written to maximise a score and to minimise an error: the JSON of one is the mirror of the other."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support.result_types import without_times
from support.studies import store_url, write_study

from report.analysis import analyse
from report.page import write_report
from robustness.execution.inline import InlineExecutor
from robustness.store import open_store
from robustness.study.loading import load_study
from robustness.sweep.plan import make_plan
from robustness.sweep.sweep import sweep

HIGH = {"metric": "accuracy", "learned_nothing": {"below": 0.41}, "good": {"at_least": 0.63}}
LOW = {"metric": "error", "goal": "minimize", "learned_nothing": {"above": 0.59}, "good": {"at_most": 0.37}}

SCORES = {"best", "median", "score", "expected", "threshold", "holds_from", "holds_to", "value", "thresholds"}
"""Keys whose numbers are scores, which become 1 minus themselves."""
LEVELS = {"mean", "lower_decile", "cvar"}
"""The measures of `spread` that are scores; the others are distances between scores."""


def results(folder: Path, name: str, **changes: Any) -> dict[str, Any]:
    trainable = "streamed_error" if name == "error" else "streamed"
    outcomes = LOW if name == "error" else HIGH
    epoch = changes.pop("epoch", "best")
    thresholds, page = changes.pop("thresholds", True), changes.pop("page", False)
    if not thresholds:
        outcomes = {key: value for key, value in outcomes.items() if key not in ("learned_nothing", "good")}
    space = {"rate": [0.1, 0.2, 0.3, 0.4], "size": [1, 2, 3], "depth": [1, 2, 3]}
    sampling = {"configurations": 12, "replicates": 2, "seed": 8}
    sections = {"space": space, "sampling": sampling, "arms": ["a", "b", "c"], **changes}
    study = load_study(str(write_study(folder, trainable, outcomes={**outcomes, "epoch": epoch}, **sections)))
    plan = make_plan(study)
    with open_store(store_url(folder, name)) as store:
        registered = store.register(study, plan)
        with registered.lock():
            sweep(study, plan, registered, InlineExecutor())
        analysis = analyse(registered)
        if page:
            write_report(analysis, folder / f"{name}.html")
    return without_times(analysis.results)


def mirrored(value: Any, path: tuple[str, ...] = ()) -> Any:
    """The JSON that the study of errors should have, from that of the study of scores."""
    if isinstance(value, dict):
        new = {key: mirrored(item, (*path, key)) for key, item in value.items()}
        if _has_ends_of_scores(path) and {"low", "high"} <= set(new):
            new["low"], new["high"] = new["high"], new["low"]
        if path == ("spread", "differences") and new["measure"] in LEVELS:
            new = _negated(new)
        if path == ("interactions",) and new["outcome"] is None:
            _negate_scores(new)
        if path[-1:] == ("good",) and "at_least" in new:
            new["at_most"] = 1 - new.pop("at_least")
        if {"holds_from", "holds_to"} <= set(new):
            new["holds_from"], new["holds_to"] = new["holds_to"], new["holds_from"]
        return new
    if isinstance(value, list):
        items = [mirrored(item, path) for item in value]
        # Thresholds rise in both.
        along_thresholds = path[0] == "profiles" and path[-1] in ("thresholds", "fraction", "difference", "low", "high")
        return items[::-1] if along_thresholds or path[-1] == "at" else items
    if isinstance(value, float):
        if path[-1] in ("mean_difference", "median_difference"):
            return -value
        if path[0] == "scores" and path[-1] in ("low", "high") and len(path) == 2:
            return -value
        of_scores = path[0] == "budget" or path[:-1] == ("thresholds", "dependence", "favouring")
        if of_scores and path[-1] in ("low", "high"):
            return 1 - value
        if path[0] == "arms" and path[-1] == "mean":
            return 1 - value
        if path[:2] == ("spread", "arms") and path[-1] in LEVELS:
            return 1 - value
        hyperparameter = (path[:2] == ("sensitivity", "deciding_values") or path[0] == "interactions") and (
            path[-1] == "value"
        )
        if path[-1] in SCORES and not hyperparameter:
            return 1 - value
    return value


def _negated(entry: dict[str, Any]) -> dict[str, Any]:
    """A difference of scores as one of errors."""
    low, high = (None if entry[end] is None else -entry[end] for end in ("high", "low"))
    return {**entry, "difference": -entry["difference"], "low": low, "high": high}


def _negate_scores(entry: dict[str, Any]) -> None:
    """Turn the differences of scores at the levels of each hyperparameter, and in other spaces."""
    for interaction in entry["hyperparameters"].values():
        interaction["levels"] = [_negated(level) for level in interaction["levels"]]
    other = entry["other_space"]
    if other is not None:
        other |= {"without": -other["without"], "within": -other["within"]}
        other["curve"] = [_negated(share) for share in other["curve"]]


def _has_ends_of_scores(path: tuple[str, ...]) -> bool:
    return path in (("scores",), ("thresholds", "dependence", "favouring")) or (
        path[:2] == ("budget", "arms") and len(path) == 3
    )


def differences(found: Any, expected: Any, path: str = "") -> Iterator[str]:
    if isinstance(expected, dict):
        if set(found) != set(expected):
            yield f"{path}: keys {set(found) ^ set(expected)}"
            return
        for key, value in expected.items():
            yield from differences(found[key], value, f"{path}.{key}")
    elif isinstance(expected, list):
        if len(found) != len(expected):
            yield f"{path}: {len(found)} and {len(expected)} entries"
            return
        for place, (a, b) in enumerate(zip(found, expected, strict=True)):
            yield from differences(a, b, f"{path}.{place}")
    elif isinstance(expected, float) and isinstance(found, (int, float)):
        if not math.isclose(found, expected, rel_tol=1e-7, abs_tol=1e-9):
            yield f"{path}: {found}, not {expected}"
    elif found != expected:
        yield f"{path}: {found!r}, not {expected!r}"


WORDS = ("study", "metric", "goal", "verdict")
"""Parts that name the metric or are sentences about it."""


@pytest.mark.parametrize(("epoch", "thresholds"), [("best", True), ("last", True), ("best", False)])
def test_the_json_of_an_error_mirrors_that_of_its_accuracy(tmp_path: Path, epoch: str, thresholds: bool) -> None:
    high, low = (results(tmp_path, name, epoch=epoch, thresholds=thresholds) for name in ("accuracy", "error"))
    assert set(high) == set(low)
    assert (high["goal"], low["goal"]) == ("maximize", "minimize")
    parts = [key for key in high if key not in WORDS]
    assert len(parts) > 12
    wrong: list[str] = []
    for key in parts:
        expected = mirrored(high[key], (key,))
        if key == "thresholds" and thresholds:
            for part in (expected, low[key]):
                for entry in part["learned_nothing"].values():
                    assert entry.pop("why").startswith("the study sets it")
        if key == "learning_rule" and thresholds:
            assert (expected.pop("rule"), low[key].pop("rule")) == ("below", "above")
        wrong += differences(low[key], expected, key)
    assert not wrong, "\n".join(wrong[:20])


def test_the_words_of_a_loss_say_which_way_is_better(tmp_path: Path) -> None:
    low = results(tmp_path, "error", thresholds=False, page=True)
    # Without the script, which has the words of both directions.
    page = (tmp_path / "error.html").read_text(encoding="utf-8").partition("<script")[0]
    assert "lower is better" in low["verdict"][0]
    assert "Below every threshold" in page
    assert "Above every threshold" not in page
    assert low["primary"] is None
