"""Files are read as YAML 1.2, and anything unusual is rejected with its key."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from robustness.errors import StudyFileError
from robustness.study.yaml_reader import DEEPEST, read_file, read_text


def read(text: str) -> Any:
    return read_text(text, "study.yaml", StudyFileError)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1e-3", 0.001),
        ("1.0e-5", 1e-5),
        (".5", 0.5),
        ("-6", -6),
        ("010", 10),
        ("0x1F", 31),
        ("yes", "yes"),
        ("12:30", "12:30"),
        ("2020-01-01", "2020-01-01"),
        ("'5'", "5"),
        ("!!str 5", "5"),
        ("true", True),
        ("~", None),
        ("", None),
        ("1_000", "1_000"),
        ("1.5.2", "1.5.2"),
        ("{a: [1, {b: c}], d: }", {"a": [1, {"b": "c"}], "d": None}),
    ],
)
def test_plain_values_are_what_they_look_like(text: str, value: object) -> None:
    result = read(text)
    assert result == value
    assert type(result) is type(value)


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(codec="ascii", categories=["L", "N", "P", "S", "Zs"])),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text("abcxyz", min_size=1), inner, max_size=4),
    max_leaves=12,
)


@given(JSON)
@settings(deadline=None, derandomize=True, max_examples=150)
def test_json_is_read_as_json(value: object) -> None:
    assert read(json.dumps(value)) == value


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a: {b: !!python/object/apply:os.system [ls]}", "a.b: the tag"),
        ("a: !mine 5", "a: the tag"),
        ("a: &x [1]\nb: *x", "b: the alias"),
        ("a: {<<: {b: 1}}", "a: the merge key"),
        ("a: {b: 1, c: 2, b: 3}", "a: the key 'b' appears twice"),
        ("a: {1: x}", "a: the key 1 must be text"),
        ("a: {true: x}", "a: the key True must be text"),
        ("a: {[1]: x}", "a: a key must be text"),
        ("a: [0, .nan]", "a.1: .nan is not a finite number"),
        ("a: 1e999", "a: '1e999' is too large"),
        ("a: 99999999999999999999", "a: '99999999999999999999' is too large"),
        ('a: "\\ud800"', "characters that are not valid text"),
        ("a: 1\n---\nb: 2", "more than one document"),
        ("a: [1, 2", "a.2: line 1"),
        ("a: 1\n b: 2", "not valid YAML"),
        ("a: @b", "not valid YAML"),
        ("a: \x01", "not valid YAML"),
        ("a: " + "[" * 10_000 + "]" * 10_000, "nested more than"),
        ("a: " + "[" * 10_000, "nested more than"),
        ("a: " + "{b: " * 10_000, "nested more than"),
        ("- " * 10_000, "nested more than"),
        ("a: " + "x" * 200_000, "200,003 bytes exceed the limit of 200,000"),
    ],
)
def test_anything_unusual_is_refused_in_one_line_with_its_key(text: str, words: str) -> None:
    with pytest.raises(StudyFileError) as caught:
        read(text)
    line = str(caught.value)
    assert line.startswith("study.yaml: ")
    assert words in line
    assert len(line) < 400


def test_the_deepest_allowed_nesting_is_read() -> None:
    assert read("[" * DEEPEST + "]" * DEEPEST) == json.loads("[" * DEEPEST + "]" * DEEPEST)


@given(st.text(max_size=60))
@settings(deadline=None, derandomize=True, max_examples=200)
def test_any_text_is_read_or_refused(text: str) -> None:
    with contextlib.suppress(StudyFileError):
        read(text)


@pytest.mark.parametrize("content", [b"\xff\xfe\x00", b"", b"[1, 2]", b"just words"])
def test_a_file_without_a_mapping_is_refused_by_name(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "odd.yaml"
    path.write_bytes(content)
    with pytest.raises(StudyFileError, match=r"odd\.yaml: "):
        read_file(path, StudyFileError)
