"""A fingerprint of a function's code, by which a later run notices that it has changed.

It covers the function, the functions and classes of its own module that it uses, and the plain values among its
defaults, closure and globals; lists and mappings only under names in capitals, since others may collect results.
Comments and layout do not count; of a lambda, its own code alone, not the line around it. Imported packages and data
are not covered.
"""

from __future__ import annotations

import ast
import hashlib
import inspect
import textwrap
from collections.abc import Iterator
from functools import partial
from types import CodeType, FunctionType, MethodType
from typing import Any

_PLAIN = (bool, int, float, complex, str, bytes, type(None))
_MOST_ITEMS = 1000
"""Longer lists, tuples and mappings count as data, which is not part of the code."""


def fingerprint(function: Any) -> str:
    """Return a hash of what a function does."""
    return hashlib.sha256("\n".join(_parts(function, set())).encode(errors="replace")).hexdigest()[:16]


def _parts(value: Any, seen: set[int]) -> Iterator[str]:
    """Yield the texts that make up a value: the code of functions and classes, and plain values themselves."""
    if id(value) in seen:
        return
    if isinstance(value, _PLAIN):
        yield repr(value)
        return
    seen.add(id(value))
    if isinstance(value, partial):
        yield from _parts(value.func, seen)
        yield from _parts(list(value.args), seen)
        yield from _parts(value.keywords, seen)
    elif isinstance(value, MethodType):
        yield from _parts(value.__func__, seen)
        yield from _parts(vars(value.__self__) if hasattr(value.__self__, "__dict__") else None, seen)
    elif isinstance(value, FunctionType):
        yield from _function_parts(value, seen)
    elif isinstance(value, type):
        yield _source(value) or value.__qualname__
        for name, member in sorted(vars(value).items()):
            if isinstance(member, FunctionType):
                yield name
                yield from _function_parts(member, seen)
    elif isinstance(value, (list, tuple, set, frozenset)) and len(value) <= _MOST_ITEMS:
        for item in sorted(value, key=repr) if isinstance(value, (set, frozenset)) else value:
            yield from _parts(item, seen)
    elif isinstance(value, dict) and len(value) <= _MOST_ITEMS:
        for key, item in value.items():
            yield repr(key) if isinstance(key, _PLAIN) else type(key).__name__
            yield from _parts(item, seen)
    else:
        yield type(value).__qualname__
        call = getattr(type(value), "__call__", None)  # noqa: B004 - an object that trains when it is called
        if isinstance(call, FunctionType):
            yield from _function_parts(call, seen)
            yield from _parts(getattr(value, "__dict__", None), seen)


def _function_parts(function: FunctionType, seen: set[int]) -> Iterator[str]:
    # The source of a lambda is the whole statement in which it stands, with all that is beside it.
    is_lambda = function.__code__.co_name == "<lambda>"
    yield (None if is_lambda else _source(function)) or _bytecode(function.__code__)
    yield from _parts(list(function.__defaults__ or ()), seen)
    yield from _parts(function.__kwdefaults__ or {}, seen)
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        try:
            yield from _used_parts(name, cell.cell_contents, function, seen)
        except ValueError:
            continue  # The cell of a name that is not yet bound.
    for name in sorted(_names(function.__code__)):
        yield from _used_parts(name, function.__globals__.get(name, function), function, seen)


def _used_parts(name: str, used: Any, function: FunctionType, seen: set[int]) -> Iterator[str]:
    """Yield the parts of what a function uses under a name, unless it is from elsewhere or may change as it runs."""
    own = isinstance(used, (FunctionType, type)) and used.__module__ == function.__module__
    constant = isinstance(used, (*_PLAIN, tuple, frozenset)) or (name.isupper() and isinstance(used, (list, set, dict)))
    if used is not function and (own or constant):
        yield name
        yield from _parts(used, seen)


def _names(code: CodeType) -> set[str]:
    """Return the global names that a code object and those inside it use."""
    inner = (constant for constant in code.co_consts if isinstance(constant, CodeType))
    return set(code.co_names).union(*map(_names, inner))


def _source(value: Any) -> str | None:
    """Return the source of a function or class without comments and layout; None if there is none."""
    try:
        return ast.dump(ast.parse(textwrap.dedent(inspect.getsource(value))))
    except (OSError, TypeError, SyntaxError, ValueError):
        return None


def _bytecode(code: CodeType) -> str:
    constants = [_bytecode(each) if isinstance(each, CodeType) else _constant(each) for each in code.co_consts]
    return "/".join([code.co_code.hex(), *code.co_names, *code.co_varnames, *constants])


def _constant(value: Any) -> str:
    """Return a constant of a code object as text, and a set, such as that of `x in {1, 2}`, in a fixed order."""
    return repr(sorted(map(repr, value))) if isinstance(value, frozenset) else repr(value)
