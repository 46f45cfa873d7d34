from __future__ import annotations

from copy import deepcopy
from typing import Any

import pytest
from support.studies import small

from robustness.study.loading import make_study
from robustness.study.registration import Entry, changes_since, is_intact, make_entry


def entry(document: dict[str, Any], earlier: list[Entry] | None = None) -> Entry:
    return make_entry(document, [{"rate": 0.1}], "2026-01-01T00:00:00+00:00", "abc", "1.0", earlier or [])


@pytest.fixture
def document() -> dict[str, Any]:
    return make_study(small(), "study.yaml", None).document()


def test_an_unchanged_study_is_as_registered(document: dict[str, Any]) -> None:
    assert changes_since(entry(document), deepcopy(document)) == []


def test_descriptions_and_resources_are_no_changes(document: dict[str, Any]) -> None:
    changed = document | {"description": "another", "resources": {**document["resources"], "cpu": 2.0}}
    assert changes_since(entry(document), changed) == []


def test_every_other_change_has_a_line(document: dict[str, Any]) -> None:
    changed = deepcopy(document)
    changed["outcomes"]["good"]["at_least"] = 0.91
    changed["outcomes"]["epoch"] = "last"
    changed["outcomes"]["equivalent_within"] = 0.05
    changed["training"]["epochs"] = 77
    changed["contrasts"] = {"one": {"a": 1.0, "b": -1.0}}
    changed["arms"] = changed["arms"][:1]
    lines = changes_since(entry(document), changed)
    starts = ("outcomes.good", "outcomes.epoch", "outcomes.equivalent", "training.epochs", "contrasts", "the arm")
    for start in starts:
        assert sum(line.startswith(start) for line in lines) == 1, lines
    assert len(lines) == len(starts)


def test_a_chain_is_broken_by_an_edit_and_by_a_lost_entry(document: dict[str, Any]) -> None:
    first = entry(document)
    second = entry(document, [first])
    third = entry(document, [first, second])
    assert is_intact([first, second, third])
    assert not is_intact([first, third])
    assert not is_intact([])
    edited = deepcopy(first)
    edited["document"]["outcomes"]["good"]["at_least"] = 0.1
    assert not is_intact([edited, second, third])


def test_a_database_that_turns_integers_into_floats_changes_nothing(document: dict[str, Any]) -> None:
    first = entry(document)
    stored = deepcopy(first)
    stored["document"]["sampling"]["replicates"] = float(stored["document"]["sampling"]["replicates"])
    assert is_intact([stored])
