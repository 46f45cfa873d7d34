"""Conditions on configurations (`where: batch_size * variational_samples <= 256`), evaluated without `eval`.

The syntax: option names, numbers, quoted text, true and false; + - * / // %; comparisons, including chained ones, and
`in [...]`; and, or, not; parentheses. `and` and `or` short-circuit, so a condition can refer safely to an option that
exists only under one choice: `optimizer != 'sgd' or momentum < 1`.
"""

from __future__ import annotations

import ast
import operator
import warnings
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, TypeAlias

from robustness.errors import SearchSpaceError, shown, unknown_name

Evaluate: TypeAlias = Callable[[Mapping[str, Any]], Any]

MAX_LENGTH = 1000
MAX_DEPTH = 40

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
    """A parsed and checked condition; `names` are the options that it refers to."""

    text: str
    names: frozenset[str]
    terms: int
    """Expressions in it: a measure of the time that it takes."""

    def holds(self, configuration: Mapping[str, Any]) -> bool:
        """Whether a configuration satisfies the condition; raises SearchSpaceError if it cannot be evaluated."""
        try:
            result = _compiled(self.text)(configuration)
            if not isinstance(result, bool):
                raise _EvaluationError(f"evaluates to {shown(result)}, which is neither true nor false")
        except (_EvaluationError, ArithmeticError, TypeError) as problem:
            raise SearchSpaceError(
                f"where: {self.text!r} {problem or type(problem).__name__} for {dict(configuration)}"
            ) from None
        return result


class _EvaluationError(Exception):
    """An operation that is undefined for its operands."""


def read_condition(text: object, names: Iterable[str], values: Iterable[object] = ()) -> Condition:
    """Parse a condition on options with these names; `values` are choices whose quotes may have been forgotten."""
    known = set(names)
    if not isinstance(text, str) or not text.strip():
        raise SearchSpaceError(f"where: {shown(text)} is not a condition such as 'batch_size <= 64'")
    if len(text) > MAX_LENGTH:
        raise SearchSpaceError(f"where: a condition has at most {MAX_LENGTH} characters, but this one has {len(text)}")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, MemoryError, RecursionError) as problem:
        reason = problem.msg if isinstance(problem, SyntaxError) else "it cannot be parsed"
        raise SearchSpaceError(f"where: {shown(text)} is not a condition: {reason}") from None
    used = {node.id for node in _names(tree, text)} - set(_CONSTANTS)
    for name in sorted(used - known):
        quoted = f" (write a choice in quotes: '{name}')" if name in set(values) else ""
        raise SearchSpaceError(f"where: {shown(text)}: {unknown_name('option', name, known)}{quoted}")
    return Condition(text.strip(), frozenset(used), sum(isinstance(node, ast.expr) for node in ast.walk(tree)))


def _names(tree: ast.expr, text: str) -> list[ast.Name]:
    """Every name in a condition; raises SearchSpaceError if it contains any node that is not allowed."""
    names: list[ast.Name] = []
    todo: list[tuple[ast.expr, int]] = [(tree, 0)]
    while todo:
        node, depth = todo.pop()
        if depth > MAX_DEPTH:
            raise SearchSpaceError(f"where: {shown(text)} is nested more than {MAX_DEPTH} levels deep")
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
    """The right-hand side of a comparison, or the elements of a list, which is allowed only after `in`."""
    if not isinstance(op, (ast.In, ast.NotIn)):
        return [right]
    if not isinstance(right, (ast.List, ast.Tuple)):
        raise SearchSpaceError(f"where: `in` needs a list such as [16, 32], not {shown(ast.unparse(right))}")
    return right.elts


@lru_cache(maxsize=256)
def _compiled(text: str) -> Evaluate:
    """The function of a condition that was checked before; a large space evaluates it a million times."""
    return _compile(ast.parse(text, mode="eval").body)


def _compile(node: ast.expr) -> Evaluate:
    match node:
        case ast.Constant(value=value):
            return lambda _: value
        case ast.Name(id=name):
            return lambda values: values[name] if name in values else _constant(name)
        case ast.BinOp(left=left, op=op, right=right):
            calculate, first, second = _ARITHMETIC[type(op)], _compile(left), _compile(right)
            return lambda values: calculate(_number(first(values)), _number(second(values)))
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            inner = _compile(operand)
            return lambda values: not _boolean(inner(values))
        case ast.UnaryOp(op=op, operand=operand):
            inner, sign = _compile(operand), -1 if isinstance(op, ast.USub) else 1
            return lambda values: sign * _number(inner(values))
        case ast.BoolOp(op=op, values=parts):
            functions, decisive = [_compile(part) for part in parts], isinstance(op, ast.Or)
            return lambda values: any(_boolean(part(values)) is decisive for part in functions) is decisive
        case ast.Compare(left=left, ops=ops, comparators=rights):
            return _compile_comparison(left, ops, rights)
        case ast.List(elts=elements) | ast.Tuple(elts=elements):
            functions = [_compile(element) for element in elements]
            return lambda values: [element(values) for element in functions]
    raise SearchSpaceError(f"where: {ast.unparse(node)!r} cannot be evaluated")


def _constant(name: str) -> bool:
    if name in _CONSTANTS:
        return _CONSTANTS[name]
    raise _EvaluationError(f"refers to {name!r}, which is not set (guard it with `or` or `and`)")


def _compile_comparison(left: ast.expr, ops: list[ast.cmpop], rights: list[ast.expr]) -> Evaluate:
    first = _compile(left)
    steps = [(_comparison(op), _compile(right)) for op, right in zip(ops, rights, strict=True)]

    def compare(values: Mapping[str, Any]) -> bool:
        before = first(values)
        for holds, function in steps:
            value = function(values)
            if not holds(before, value):
                return False
            before = value
        return True

    return compare


def _comparison(op: ast.cmpop) -> Callable[[Any, Any], bool]:
    if type(op) in _ORDER:
        order = _ORDER[type(op)]

        def ordered(left: Any, right: Any) -> bool:
            if isinstance(left, str) is not isinstance(right, str) or left is None or right is None:
                raise _EvaluationError(f"compares {shown(left)} with {shown(right)}")
            return order(left, right)

        return ordered
    if isinstance(op, (ast.In, ast.NotIn)):
        wanted = isinstance(op, ast.In)
        return lambda left, right: (left in right) is wanted
    equal = isinstance(op, ast.Eq)
    return lambda left, right: (left == right) is equal


def _number(value: Any) -> Any:
    if not isinstance(value, (bool, int, float)):
        raise _EvaluationError(f"does arithmetic with {shown(value)}")
    return value


def _boolean(value: Any) -> bool:
    if not isinstance(value, bool):
        raise _EvaluationError(f"uses {shown(value)} as true or false")
    return value
