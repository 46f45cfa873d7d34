"""Conditions on configurations (`where: batch_size * variational_samples <= 256`), by a small parser and no `eval`.

What is allowed: option names, numbers, quoted text, true and false; + - * / // %; comparisons, also chained, and
`in [...]`; and, or, not; parentheses. `and` and `or` look at their right side only if they must, so an option that
exists only under one choice can be asked for safely: `optimizer != 'sgd' or momentum < 1`.
"""

from __future__ import annotations

import ast
import operator
import warnings
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from robustness.errors import SearchSpaceError, unknown_name
from robustness.validation import shown

LONGEST = 1000
DEEPEST = 40

_ARITHMETIC: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
}
_ORDER: dict[type[ast.cmpop], Callable[[Any, Any], bool]] = {
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}
_CONSTANTS = {"true": True, "false": False}


@dataclass(frozen=True)
class Condition:
    """A condition that was read and checked; `names` are the options that it asks for."""

    text: str
    names: frozenset[str]
    _tree: ast.expr

    def holds(self, configuration: Mapping[str, Any]) -> bool:
        """Whether a configuration fulfils the condition; raises SearchSpaceError where that makes no sense."""
        try:
            result = _value(self._tree, configuration)
            if not isinstance(result, bool):
                raise _Senseless(f"gives {shown(result)}, neither true nor false")
        except (_Senseless, ArithmeticError, TypeError) as problem:
            raise SearchSpaceError(
                f"where: {self.text!r} {problem or type(problem).__name__} for {dict(configuration)}"
            ) from None
        return result


class _Senseless(Exception):
    """An operation between values that do not fit."""


def read_condition(text: object, names: Iterable[str], values: Iterable[object] = ()) -> Condition:
    """The condition that a text states about options of these names; `values` are choices one may forget to quote."""
    known = set(names)
    if not isinstance(text, str) or not text.strip():
        raise SearchSpaceError(f"where: {shown(text)} is not a condition such as 'batch_size <= 64'")
    if len(text) > LONGEST:
        raise SearchSpaceError(f"where: a condition has at most {LONGEST} characters, this one {len(text)}")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, MemoryError, RecursionError) as problem:
        reason = problem.msg if isinstance(problem, SyntaxError) else "it cannot be read"
        raise SearchSpaceError(f"where: {shown(text)} is not a condition: {reason}") from None
    asked = {node.id for node in _checked(tree, text)} - set(_CONSTANTS)
    for name in sorted(asked - known):
        quoted = f" (a choice is written in quotes: '{name}')" if name in set(values) else ""
        raise SearchSpaceError(f"where: {shown(text)}: {unknown_name('option', name, known)}{quoted}")
    return Condition(text.strip(), frozenset(asked), tree)


def _checked(tree: ast.expr, text: str) -> list[ast.Name]:
    """Every name in a condition; raises SearchSpaceError if anything but the allowed kinds of node is in it."""
    names: list[ast.Name] = []
    todo: list[tuple[ast.expr, int]] = [(tree, 0)]
    while todo:
        node, depth = todo.pop()
        if depth > DEEPEST:
            raise SearchSpaceError(f"where: {shown(text)} is nested more than {DEEPEST} levels deep")
        match node:
            case ast.Name():
                names.append(node)
            case ast.Constant(value=value) if isinstance(value, (bool, int, float, str)):
                pass
            case ast.BinOp(left=left, op=op, right=right) if type(op) in _ARITHMETIC:
                todo += [(left, depth + 1), (right, depth + 1)]
            case ast.UnaryOp(op=ast.Not() | ast.USub() | ast.UAdd(), operand=operand):
                todo.append((operand, depth + 1))
            case ast.BoolOp(values=values):
                todo += [(value, depth + 1) for value in values]
            case ast.Compare(left=left, ops=ops, comparators=rights) if not any(
                isinstance(op, (ast.Is, ast.IsNot)) for op in ops
            ):
                todo.append((left, depth + 1))
                todo += [(part, depth + 1) for op, right in zip(ops, rights, strict=True) for part in _parts(op, right)]
            case _:
                part = ast.get_source_segment(text.strip(), node) or text
                raise SearchSpaceError(
                    f"where: {shown(part)} is not allowed: only options, numbers, quoted text, + - * / // %, "
                    "comparisons, in [...], and, or, not"
                )
    return names


def _parts(op: ast.cmpop, right: ast.expr) -> list[ast.expr]:
    """The right side of a comparison, or what is in its list: a list may stand after `in` and nowhere else."""
    if not isinstance(op, (ast.In, ast.NotIn)):
        return [right]
    if not isinstance(right, (ast.List, ast.Tuple)):
        raise SearchSpaceError(f"where: `in` needs a list such as [16, 32], not {shown(ast.unparse(right))}")
    return right.elts


def _value(node: ast.expr, values: Mapping[str, Any]) -> Any:
    match node:
        case ast.Constant(value=value):
            return value
        case ast.Name(id=name):
            if name in values:
                return values[name]
            if name in _CONSTANTS:
                return _CONSTANTS[name]
            raise _Senseless(f"asks for {name!r}, which is not there (guard it with `or` or `and`)")
        case ast.BinOp(left=left, op=op, right=right):
            return _ARITHMETIC[type(op)](_number(_value(left, values)), _number(_value(right, values)))
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return not _truth(_value(operand, values))
        case ast.UnaryOp(op=op, operand=operand):
            number = _number(_value(operand, values))
            return -number if isinstance(op, ast.USub) else number
        case ast.BoolOp(op=op, values=parts):
            until = isinstance(op, ast.Or)
            return until if any(_truth(_value(part, values)) is until for part in parts) else not until
        case ast.Compare(left=left, ops=ops, comparators=rights):
            return _compared(_value(left, values), ops, rights, values)
        case ast.List(elts=elements) | ast.Tuple(elts=elements):
            return [_value(element, values) for element in elements]
    raise _Senseless("cannot be worked out")


def _compared(left: Any, ops: list[ast.cmpop], rights: list[ast.expr], values: Mapping[str, Any]) -> bool:
    for op, node in zip(ops, rights, strict=True):
        right = _value(node, values)
        if type(op) in _ORDER:
            if isinstance(left, str) is not isinstance(right, str) or None in (left, right):
                raise _Senseless(f"compares {shown(left)} with {shown(right)}")
            true = _ORDER[type(op)](left, right)
        elif isinstance(op, (ast.In, ast.NotIn)):
            true = (left in right) is isinstance(op, ast.In)
        else:
            true = (left == right) is isinstance(op, ast.Eq)
        if not true:
            return False
        left = right
    return True


def _number(value: Any) -> Any:
    if not isinstance(value, (bool, int, float)):
        raise _Senseless(f"calculates with {shown(value)}")
    return value


def _truth(value: Any) -> bool:
    if not isinstance(value, bool):
        raise _Senseless(f"takes {shown(value)} for true or false")
    return value
