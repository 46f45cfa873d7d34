"""The words of a command: split once, and placeholders filled afterwards, so that a value stays one argument."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping, Sequence
from string import Formatter
from typing import Any

from robustness.errors import StudyFileError, shown


def split(command: str) -> list[str]:
    """Return the words of a command, quoted as in a shell; raises ValueError if a quote is not closed."""
    try:
        return shlex.split(command)
    except ValueError as error:
        raise ValueError(f"cannot be split into words ({str(error).lower()}), found {shown(command)}") from None


def placeholders(words: Sequence[str]) -> list[str]:
    """Return the names in braces, in their order; raises StudyFileError if a brace is neither a name's nor doubled."""
    return [name for word in words for _, name in _parts(word) if name is not None]


def filled(words: Sequence[str], values: Mapping[str, Any]) -> list[str]:
    """Return the words with each placeholder replaced by its value; a word with one that has no value is left out."""
    return [
        "".join(literal + ("" if name is None else as_argument(values[name])) for literal, name in parts)
        for parts in map(_parts, words)
        if all(name is None or name in values for _, name in parts)
    ]


def as_argument(value: Any) -> str:
    """Return a value as the argument of a command: text as it is, numbers exactly, true, false and null as in JSON."""
    return value if isinstance(value, str) else json.dumps(value)


def _parts(word: str) -> list[tuple[str, str | None]]:
    """Return the literal texts of a word, each with the name of the placeholder that follows it, or None."""
    try:
        parsed = list(Formatter().parse(word))
    except ValueError:
        raise StudyFileError(
            f"command: a single brace in {shown(word)}; a literal brace is written {{{{ or }}}}"
        ) from None
    for _, name, form, conversion in parsed:
        if name is not None and (not name.isidentifier() or form or conversion):
            raise StudyFileError(
                f"command: {shown(word)} is not a placeholder such as {{learning_rate}}; "
                "a literal brace is written {{ or }}"
            )
    return [(literal, name) for literal, name, _, _ in parsed]
