"""docs/report_json.md, the types of the results and the results themselves agree, key by key."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path
from types import NoneType
from typing import Any, get_args, get_type_hints

import pytest
from support.result_types import keys_of, literals_of, misfits, typed_dicts
from support.stores import AWKWARD, fill, made_study, note_by_cell, paper_like

from report.analysis import analyse
from report.sections import SECTIONS
from report.sections.results import Head, Results
from report.sections.topic import Group, OwnResults
from robustness.store import Store, StudyStore, open_store
from robustness.study.loading import load_study
from robustness.study.sections import Stop

ROOT = Path(__file__).resolve().parents[2]
TYPES = get_type_hints(Results)
CODE = re.compile(r"`([^`]+)`")
KEY = re.compile(r"[a-z_]+")
TOP = "At the top"
EDGE = {"report/frames.py: Stored"}
"""The one name for a JSON object of the store, which was checked when it was written."""
VALUES = {
    # Values of `rule`, `by_arm`, `ways`, `population` and others, of which the types only say that they are text.
    *(
        "below",
        "above",
        "maximize",
        "minimize",
        "no_better_than_guessing",
        "no_better_than_untrained",
        "no_better_than_start",
        "not_measured",
    ),
    *("as_failures", "as_successes", "for_first", "for_second", "null", "score"),
    "generator",  # which is added when the JSON is written
    # Keys of the study file.
    *("stratify", "stop", "compare_with", "where"),
}


@cache
def parts() -> dict[str, str]:
    """The text under each heading of the page."""
    text = (ROOT / "docs" / "report_json.md").read_text(encoding="utf-8")
    heads = re.split(r"^#+ (.+)$", text, flags=re.MULTILINE)
    return dict(zip(heads[1::2], heads[2::2], strict=True))


def part_of(key: str) -> str:
    """The text under the heading that names a key; the first table where none does."""
    named = [text for head, text in parts().items() if f"`{key}`" in head]
    return "\n".join(named) or parts()[TOP]


def tables(text: str) -> Iterator[str]:
    """The lines of the tables of keys, without the first, which says so."""
    inside = False
    for line in text.splitlines():
        inside = line.startswith("|") and (inside or line.startswith(("| key |", "| entry |")))
        if inside:
            yield line


def code_in(text: str) -> set[str]:
    return set(CODE.findall(text))


@pytest.mark.parametrize("key", TYPES)
def test_every_key_of_the_types_is_described_under_its_heading(key: str) -> None:
    assert f"`{key}`" in parts()[TOP]
    shared = next(iter(parts().values()))
    own = set() if key not in OWN else set(get_type_hints(OwnResults)) | {"cautions", "complete"}
    assert keys_of(TYPES[key]) - own - code_in(shared + part_of(key)) == set()


OWN = {topic.key for topic in SECTIONS if topic.group is Group.OWN}


@pytest.mark.parametrize("heading", parts())
def test_a_key_in_a_table_of_the_page_is_one_of_the_types(heading: str) -> None:
    named = [key for key in TYPES if f"`{key}`" in heading] or list(TYPES)
    if any(TYPES[key] is Any for key in named) and heading != TOP:
        pytest.skip("its type is not part of Results yet")
    described = {name for line in tables(parts()[heading]) for name in code_in(line) if KEY.fullmatch(name)}
    known = set().union(*(keys_of(TYPES[key]) | literals_of(TYPES[key]) for key in named))
    assert described - known - set(TYPES) - VALUES == set()


def test_every_section_returns_the_type_that_the_whole_has_under_its_key() -> None:
    for topic in SECTIONS:
        if topic.key is None or TYPES[topic.key] is Any:
            continue
        assert topic.results is not None
        returned = get_type_hints(topic.results)["return"]
        declared = TYPES[topic.key]
        if topic.group is Group.OWN:
            (returned,) = [option for option in get_args(returned) if option is not NoneType]
            assert get_type_hints(OwnResults).items() <= get_type_hints(returned).items()
        assert returned == declared, topic.key


def test_every_key_of_the_whole_is_of_the_head_or_of_a_section() -> None:
    assert set(TYPES) == {*get_type_hints(Head), *(topic.key for topic in SECTIONS if topic.key is not None)}


def watched(store: Store) -> StudyStore:
    return fill(store, replace(made_study("watched", wide=True), stop=Stop()))


def by_cell(store: Store) -> StudyStore:
    rule = {"learned_nothing": {"no_better_than_start": 0.01, "below": None}}
    return fill(store, made_study("cells", outcomes=rule), note=note_by_cell(0.1))


STUDIES: dict[str, Callable[[Store], StudyStore]] = {
    **{name: AWKWARD[name] for name in ("empty study", "every ending", "three arms", "replicates")},
    "watched": watched,
    "thresholds by cell": by_cell,
    "with a reference": lambda store: paper_like(store, configurations=12, epochs=4),
    "fair controls": lambda store: fill(
        store, made_study(arms=("mfvi", "mfvi_noise_matched", "mfvi_scaled", "radial"), configurations=6)
    ),
    "doses": lambda store: fill(store, load_study("truncation")),
}


@pytest.mark.parametrize("name", STUDIES)
def test_results_have_the_keys_and_types_that_are_declared(tmp_path: Path, name: str) -> None:
    with open_store(f"sqlite:///{tmp_path / 'made.db'}") as store:
        results = analyse(STUDIES[name](store)).results
    assert list(misfits(results, Results)) == []


def test_a_key_too_many_too_few_and_a_wrong_type_are_found() -> None:
    head = {"count": 1, "trials": ["0/mfvi", 2], "more": None}
    hint = TYPES["contradictions"]
    assert sorted(misfits(head, hint)) == [
        "results.more: not a key of Contradictions",
        "results.trials[1]: 2 is no str",
    ]
    assert list(misfits({"count": None}, hint)) == [
        "results.trials: missing, though Contradictions requires it",
        "results.count: None is no int",
    ]


def test_no_signature_of_the_report_has_a_mapping_of_anything() -> None:
    """A key that such a mapping lacks would only show when it is looked up."""
    untied = any(hint is Any for hint in TYPES.values())
    exempt = tuple(
        topic.sections.__module__.removesuffix(".tables").removesuffix(".pictures").replace(".", "/")
        for topic in SECTIONS
        if topic.group is Group.OWN and untied and (topic.key is None or TYPES[topic.key] is Any)
    )
    found = {
        f"{path.relative_to(ROOT)}: {name}"
        for path in sorted((ROOT / "report").rglob("*.py"))
        if not str(path.relative_to(ROOT)).startswith(exempt)
        for name, annotation in signature_types(ast.parse(path.read_text(encoding="utf-8")))
        if re.search(r"\b(dict|Dict|Mapping)\[\w+, Any\]", ast.unparse(annotation))
    }
    assert found == EDGE


def signature_types(module: ast.Module) -> Iterator[tuple[str, ast.expr]]:
    """The types of arguments, returned values and attributes, and type aliases, each with its owner's name."""
    for node in ast.walk(module):
        if isinstance(node, ast.FunctionDef):
            every = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs, node.args.vararg, node.args.kwarg]
            yield from ((node.name, each.annotation) for each in every if each is not None and each.annotation)
            if node.returns is not None:
                yield node.name, node.returns
        elif isinstance(node, ast.ClassDef):
            yield from ((node.name, each.annotation) for each in node.body if isinstance(each, ast.AnnAssign))
        elif isinstance(node, ast.AnnAssign) and node.value and ast.unparse(node.annotation) == "TypeAlias":
            yield ast.unparse(node.target), node.value


def test_the_whole_is_made_of_many_types() -> None:
    assert len(typed_dicts(Results)) > 40
