"""Text from names, files, errors and imports, made safe to print: what a terminal would obey is shown escaped.

Escaped are control characters (and with them every ANSI sequence), bidirectional marks, zero-width and other invisible
characters, lone surrogates, line separators, and code points that have no character.
"""

from __future__ import annotations

import json
import re
import unicodedata
from typing import Any

_INVISIBLE = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0")
"""Letters and marks without a glyph, which `str.isprintable` accepts."""
_SUSPECT = re.compile(r"[^\x20-\x7e]")


def printable(text: object) -> str:
    """Return the text on one line: whitespace as single spaces, unprintable characters as `\\x1b` or `\\u202e`."""
    return escaped(" ".join(str(text).split()))


def escaped(text: str) -> str:
    """Return the text with each unprintable character as its escape, whitespace other than spaces included."""
    return _SUSPECT.sub(lambda match: _shown(match[0]), text)


def printable_json(value: Any, **options: Any) -> str:
    """Return JSON that reads back as the same value, with every unprintable character as `\\uXXXX`."""
    text = json.dumps(value, ensure_ascii=False, **options)
    return _SUSPECT.sub(lambda match: match[0] if match[0] == "\n" or _is_fit(match[0]) else _in_json(match[0]), text)


def _is_fit(character: str) -> bool:
    if character.isprintable():
        return character not in _INVISIBLE
    return unicodedata.category(character) == "Zs"


def _shown(character: str) -> str:
    if _is_fit(character):
        return character
    code = ord(character)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def _in_json(character: str) -> str:
    return json.dumps(character)[1:-1]
