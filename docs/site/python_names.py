"""The reference of the Python functions and classes, from their signatures and docstrings."""

from __future__ import annotations

import ast
import dataclasses
import importlib
import inspect
import re
import textwrap
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from types import ModuleType
from typing import Any

PACKAGES = ("robustness", "report", "robustness.testing")


def python_page() -> str:
    """Return Markdown with a section for each public package, and an entry for each of its names."""
    return "\n\n".join([*(_package(importlib.import_module(name)) for name in PACKAGES), _callbacks()])


def _package(package: ModuleType) -> str:
    entries = [_entry(name, getattr(package, name)) for name in sorted(package.__all__, key=str.lower)]
    return "\n\n".join([f"## `{package.__name__}`", *(entry for entry in entries if entry)])


def _callbacks() -> str:
    """The callbacks, from their source: importing them would need the frameworks that they are for."""
    package = importlib.import_module("robustness.callbacks")
    parts = [f"## `{package.__name__}`", _own_doc(package)]
    for module in sorted(Path(str(package.__file__)).parent.glob("*.py")):
        parts += [
            f"### `{node.name}`\n\n{_prose(ast.get_docstring(node) or '')}"
            for node in ast.parse(module.read_text(encoding="utf-8")).body
            if isinstance(node, ast.ClassDef) and node.name in package.__all__
        ]
    return "\n\n".join(parts)


def _entry(name: str, thing: Any) -> str:
    if name == "__version__":
        return f"### `{name}`\n\nThe version of the installed package."
    if name == "sweep":
        thing = importlib.import_module("robustness.api.sweep").sweep
    if isinstance(thing, ModuleType):
        return f"### `{name}`\n\n{_prose(_own_doc(thing))}"
    parts = [f"### `{name}`", f"```python\n{_signature(name, thing)}\n```", _prose(_own_doc(thing))]
    if inspect.isclass(thing):
        members = [f"| `{member}` | {meaning} |" for member, meaning in _members(thing)]
        if members:
            parts.append("| member | meaning |\n|---|---|\n" + "\n".join(members))
    return "\n\n".join(part for part in parts if part)


def _signature(name: str, thing: Any) -> str:
    """A call on one line, or with a line for each argument."""
    try:
        signature = inspect.signature(thing)
    except ValueError:
        return f"class {name}(Exception)"
    written = [_parameter(each) for each in signature.parameters.values()]
    starred = [place for place, each in enumerate(signature.parameters.values()) if each.kind is each.KEYWORD_ONLY]
    if starred and not any(each.kind is each.VAR_POSITIONAL for each in signature.parameters.values()):
        written.insert(starred[0], "*")
    short = f"{name}({', '.join(written)})"
    return short if len(short) <= 100 else f"{name}(\n" + "".join(f"    {each},\n" for each in written) + ")"


def _parameter(parameter: inspect.Parameter) -> str:
    prefix = (
        "*" if parameter.kind is parameter.VAR_POSITIONAL else "**" if parameter.kind is parameter.VAR_KEYWORD else ""
    )
    default = parameter.default
    if default is parameter.empty:
        return f"{prefix}{parameter.name}"
    plain = default is None or isinstance(default, str | int | float | bool | tuple)
    return f"{prefix}{parameter.name}={default!r}" if plain else f"{prefix}{parameter.name}=..."


def _members(thing: type) -> Iterator[tuple[str, str]]:
    """Fields with the docstring below each, then methods and properties with theirs."""
    fields = [field.name for field in dataclasses.fields(thing)] if dataclasses.is_dataclass(thing) else []
    explained = _field_docs(thing)
    for field in fields:
        if not field.startswith("_"):
            yield field, _cell(explained.get(field, ""))
    for name, member in vars(thing).items():
        inner = member.__func__ if isinstance(member, staticmethod | classmethod) else member
        document = inspect.getdoc(inner)
        if name.startswith("_") or name in fields or not document or inspect.isclass(inner):
            continue
        call = _signature(name, inner).replace("(self, ", "(").replace("(self)", "()") if callable(inner) else name
        yield " ".join(call.split()), _cell(document.split("\n\n")[0])


def _field_docs(thing: type) -> dict[str, str]:
    """The string below each annotated field of a class."""
    tree = ast.parse(textwrap.dedent(inspect.getsource(thing))).body[0]
    body = tree.body if isinstance(tree, ast.ClassDef) else []
    found = {}
    for field, after in pairwise(body):
        if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name) and isinstance(after, ast.Expr):
            found[field.target.id] = str(ast.literal_eval(after.value))
    return found


def _own_doc(thing: Any) -> str:
    return inspect.getdoc(thing) or ""


def _prose(text: str) -> str:
    return re.sub(r"(?<!`)<(?=\w)", "&lt;", text)


def _cell(text: str) -> str:
    return " ".join(_prose(text).split()).replace("|", "\\|")
