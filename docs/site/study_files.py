"""The reference of study files, from their JSON schema."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from robustness.study.sections import study_schema

Schema = Mapping[str, Any]


def study_files_page() -> str:
    """Return Markdown: a table of the top-level keys, then one for each section."""
    schema = study_schema()
    parts = [f"## Keys of a study file\n\n{_table(schema)}"]
    for name, section in schema["$defs"].items():
        if section.get("properties"):
            heading = f'<a id="{name.lower()}"></a>\n\n## {_spaced(name)}'
            parts.append(f"{heading}\n\n{_text(section.get('description', ''))}\n\n{_table(section)}")
    return "\n\n".join(parts)


def _table(section: Schema) -> str:
    required = set(section.get("required", ()))
    rows = [
        f"| `{key}` | {_type(field)} | {'required' if key in required else _default(field)} "
        f"| {_text(field.get('description', ''))} |"
        for key, field in section["properties"].items()
    ]
    return "| key | value | default | meaning |\n|---|---|---|---|\n" + "\n".join(rows)


def _type(field: Schema) -> str:
    """A field's values in words, with a link to a section of its own."""
    if "$ref" in field:
        name = field["$ref"].rpartition("/")[2]
        return f"[{_spaced(name)}](#{name.lower()})"
    if "enum" in field:
        return " or ".join(f"`{value}`" for value in field["enum"])
    if "const" in field:
        return f"`{field['const']}`"
    for several in ("anyOf", "oneOf"):
        if several in field:
            kinds = [_type(each) for each in field[several] if each.get("type") != "null"]
            return " or ".join(dict.fromkeys(kind for kind in kinds if kind))
    kind = field.get("type")
    if kind == "array":
        return f"list of {_type(field.get('items', {})) or 'values'}"
    if kind == "object":
        return "mapping"
    words = {"integer": "integer", "number": "number", "string": "text", "boolean": "`true` or `false`"}
    return f"{words.get(str(kind), '')}{_bounds(field)}"


def _bounds(field: Schema) -> str:
    signs = {"minimum": "≥", "exclusiveMinimum": "&gt;", "maximum": "≤", "exclusiveMaximum": "&lt;"}
    found = [f"{sign} {field[key]:,}" for key, sign in signs.items() if key in field]
    return f" {', '.join(found)}" if found else ""


def _default(field: Schema) -> str:
    value = field.get("default")
    return "" if value in (None, "", [], {}) else f"`{value if isinstance(value, str) else json.dumps(value)}`"


def _text(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|").replace("<", "&lt;")


def _spaced(name: str) -> str:
    """`LearnedNothing` as `Learned nothing`."""
    words = "".join(f" {letter.lower()}" if letter.isupper() else letter for letter in name).strip()
    return words[:1].upper() + words[1:]
