"""Read YAML files from parser events alone, so that no constructor ever runs; errors name the key.

Scalars follow YAML 1.2 (`1e-3` is a number, `no` and `12:30` are text). Tags, aliases, merge keys, duplicate keys, keys
that are not text, numbers that are not finite or exceed 64 bits, and files that are too long or nested too deeply are
rejected: no study needs them, and each is a known source of surprises.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from robustness.errors import RobustnessError, dotted, shown, shown_key
from robustness.guards.limits import check, read_bytes

DEEPEST = 24
"""Maximum nesting depth."""

_INTEGER = re.compile(r"[-+]?[0-9]+|0x[0-9a-fA-F]+")
_REAL = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_NOT_FINITE = re.compile(r"[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)")
_WORDS: dict[str, bool | None] = {
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
    **dict.fromkeys(("null", "Null", "NULL", "~", ""), None),
}


def read_file(path: Path, error: type[RobustnessError]) -> dict[str, Any]:
    """Return the mapping in a YAML file; raises a one-line `error` for anything else."""
    content = read_bytes(path, "study_bytes", error)
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as problem:
        raise error(f"{path}: not a text file in UTF-8 ({problem.reason} at byte {problem.start})") from None
    data = read_text(text, str(path), error)
    if data is None:
        raise error(f"{path}: the file is empty")
    if not isinstance(data, dict):
        raise error(f"{path}: must be a mapping of keys to values, found {shown(data)}")
    return data


def read_text(text: str, source: str, error: type[RobustnessError]) -> Any:
    """Return the value of a YAML text: mappings, lists, text, numbers, booleans and null, nothing else."""
    check("study_bytes", len(text.encode(errors="surrogatepass")), source, error)
    reader = _Reader(source, error)
    try:
        for event in _events(text):
            reader.take(event)
    except yaml.MarkedYAMLError as problem:
        mark = problem.problem_mark
        line = f"line {mark.line + 1}, column {mark.column + 1}: " if mark else ""
        fault = problem.problem or problem.context
        if "'\\t'" in str(fault):
            fault = "indented with a tab; use spaces"
        raise error(f"{source}: {reader.where()}{line}not valid YAML: {fault}") from None
    except yaml.YAMLError as problem:
        raise error(f"{source}: {reader.where()}not valid YAML: {problem}") from None
    except RecursionError:
        raise error(f"{source}: {reader.where()}nested too deeply") from None
    return reader.value


def _events(text: str) -> Iterator[yaml.Event]:
    yield from yaml.parse(text, Loader=yaml.SafeLoader)


_NO_KEY = object()


@dataclass
class _Open:
    """A mapping or list that is being filled."""

    content: dict[str, Any] | list[Any]
    key: Any = _NO_KEY


@dataclass
class _Reader:
    """Builds one value from YAML events and keeps track of the path to the current position for messages."""

    source: str
    error: type[RobustnessError]
    value: Any = None
    stack: list[_Open] = field(default_factory=list)
    documents: int = 0

    def take(self, event: yaml.Event) -> None:
        if isinstance(event, yaml.DocumentStartEvent):
            self.documents += 1
            if self.documents > 1:
                raise self.error(f"{self.source}: has more than one document; remove the line ---")
        elif isinstance(event, yaml.AliasEvent):
            raise self.refusal(f"the alias *{shown_key(event.anchor or '')} is not allowed: repeat the value instead")
        elif isinstance(event, yaml.NodeEvent):
            self.take_node(event)
        elif isinstance(event, (yaml.MappingEndEvent, yaml.SequenceEndEvent)):
            self.place(self.stack.pop().content)

    def take_node(self, event: yaml.NodeEvent) -> None:
        tag = getattr(event, "tag", None)
        if tag not in (None, "!") and not (isinstance(event, yaml.ScalarEvent) and tag == "tag:yaml.org,2002:str"):
            raise self.refusal(f"the tag {shown(tag)} is not allowed: plain values only")
        if isinstance(event, yaml.ScalarEvent):
            plain = event.implicit[0] and not event.style and tag is None
            self.place(self.scalar(event.value) if plain else self.text(event.value))
            return
        if self.expects_key():
            raise self.refusal("a key must be text, not a list or mapping")
        if len(self.stack) >= DEEPEST:
            raise self.refusal(f"nested more than {DEEPEST} levels deep")
        self.stack.append(_Open({} if isinstance(event, yaml.MappingStartEvent) else []))

    def expects_key(self) -> bool:
        return bool(self.stack) and isinstance(self.stack[-1].content, dict) and self.stack[-1].key is _NO_KEY

    def place(self, value: Any) -> None:
        if not self.stack:
            self.value = value
            return
        top = self.stack[-1]
        if isinstance(top.content, list):
            top.content.append(value)
        elif top.key is _NO_KEY:
            if not isinstance(value, str):
                raise self.refusal(f"the key {shown(value)} must be text: put it in quotes")
            if value == "<<":
                raise self.refusal("the merge key << is not allowed: repeat the values instead")
            if value in top.content:
                raise self.refusal(f"the key {shown(value)} appears twice")
            top.key = value
        else:
            top.content[top.key] = value
            top.key = _NO_KEY

    def scalar(self, text: str) -> Any:
        if text in _WORDS:
            return _WORDS[text]
        if _NOT_FINITE.fullmatch(text):
            raise self.refusal(f"{text} is not a finite number")
        if _INTEGER.fullmatch(text):
            # Python raises its own error for integers with thousands of digits.
            integer = 2**63 if len(text) > 40 else int(text, 16) if text.startswith("0x") else int(text)
            if not -(2**63) <= integer < 2**63:
                raise self.refusal(f"{shown(text)} is too large a number")
            return integer
        if _REAL.fullmatch(text):
            real = float(text)
            if not math.isfinite(real):
                raise self.refusal(f"{shown(text)} is too large a number")
            return real
        return self.text(text)

    def text(self, text: str) -> str:
        if any("\ud800" <= character <= "\udfff" or character == "\0" for character in text):
            raise self.refusal(f"{shown(text)} has characters that are not valid text")
        return text

    def where(self) -> str:
        """Return the path to the current position with a colon, or nothing at the top level."""
        path = [len(open_.content) if isinstance(open_.content, list) else open_.key for open_ in self.stack]
        keys = [key for key in path if key is not _NO_KEY]
        return f"{dotted(keys)}: " if keys else ""

    def refusal(self, message: str) -> RobustnessError:
        return self.error(f"{self.source}: {self.where()}{message}")
