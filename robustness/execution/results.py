"""Checking what a trainable yields, in the worker: a result that could not be stored ends its trial, not the sweep."""

from __future__ import annotations

import math
import operator
from collections.abc import Iterable, Mapping
from decimal import Decimal
from itertools import islice
from numbers import Real
from typing import Any

from robustness.errors import RobustnessError
from robustness.execution.wording import one_line
from robustness.trial import LARGEST, EpochResult

MOST_EPOCHS = 1_000_000
"""Maximum number of results that one trial may yield."""
MOST_MEASURES = 1_000
"""Maximum number of measures, and of curves, in one result."""
MOST_CURVE_VALUES = 1_000_000
"""Maximum number of values in all curves of one result."""
LONGEST_NAME = 200
"""Maximum number of characters in the name of a measure or curve."""
LARGEST_EPOCH = 2**31 - 1
"""The largest epoch number that every database can hold."""


class BadResult(RobustnessError):
    """A trainable yielded something that is not a valid result; another attempt would yield it again."""


class ResultChecker:
    """Checks the results of one attempt in their order; a result that passes consists of plain numbers and text."""

    def __init__(self) -> None:
        self.count = 0
        """How many results have passed."""
        self._last = -1

    def check(self, result: object) -> EpochResult:
        """Return the result with all its numbers as plain floats; raises `BadResult` if it is not valid."""
        if not isinstance(result, EpochResult):
            raise BadResult(f"the trainable yielded {described(result)} instead of an EpochResult")
        if self.count == MOST_EPOCHS:
            raise BadResult(f"the trainable yielded more than {MOST_EPOCHS:,} epochs")
        epoch = self._epoch(result.epoch)
        checked = EpochResult(
            epoch,
            _measures(result.measures, epoch),
            _flag(result.pretraining, epoch),
            _seconds(result.seconds, epoch),
            _curves(result.curves, epoch),
        )
        self.count += 1
        self._last = epoch
        return checked

    def _epoch(self, value: object) -> int:
        try:
            epoch = None if isinstance(value, bool) else operator.index(value)  # type: ignore[arg-type]
        except (TypeError, ValueError):
            epoch = None
        if epoch is None or not 0 <= epoch <= LARGEST_EPOCH:
            raise BadResult(
                f"the epoch of a result must be an integer from 0 to {LARGEST_EPOCH}, not {described(value)}"
            )
        if epoch <= self._last:
            raise BadResult(f"epoch {epoch} follows epoch {self._last}: the epochs of a trial must increase")
        return epoch


def as_number(value: object) -> float | None:
    """Return a real number of Python, numpy or torch as a float, a 0-dimensional array included; None if it is none."""
    if type(value) is float:
        return value
    if getattr(value, "shape", None) == () and hasattr(value, "item"):
        value = value.item()
    if not isinstance(value, (Real, Decimal)):
        return None
    try:
        return float(value)
    except (ArithmeticError, ValueError):
        return None


def _bounded(number: float) -> float:
    return math.copysign(math.inf, number) if abs(number) > LARGEST else number


def described(value: object) -> str:
    """Return a value as it appears in a message: a short value itself, of anything else the kind."""
    if value is None or type(value) in (bool, int, float, complex):
        # The digits of a huge integer would take minutes to compute.
        huge = type(value) is int and abs(value) >= 10**30
        return "a huge integer" if huge else repr(value)
    if type(value) in (str, bytes):
        short = value[:40]  # type: ignore[index]
        return one_line(repr(short)) + ("…" if len(value) > len(short) else "")  # type: ignore[arg-type]
    name = one_line(type(value).__name__, 60)
    return f"{'an' if name[:1].lower() in 'aeiou' else 'a'} {name}"


def _measures(measures: object, epoch: int) -> dict[str, float]:
    return {name: _number(value, f"epoch {epoch}: the measure {name!r}") for name, value in _items(measures, epoch)}


def _curves(curves: object, epoch: int) -> dict[str, list[float]]:
    checked: dict[str, list[float]] = {}
    left = MOST_CURVE_VALUES
    for name, values in _items(curves, epoch, "curves"):
        checked[name] = _curve(values, left, f"epoch {epoch}: the curve {name!r}")
        left -= len(checked[name])
    return checked


def _curve(values: Any, most: int, what: str) -> list[float]:
    if isinstance(values, (str, bytes, Mapping)) or not isinstance(values, Iterable):
        raise BadResult(f"{what} is {described(values)}, not a sequence of numbers")
    if hasattr(values, "tolist") and getattr(values, "shape", (most + 1,))[0] <= most:
        values = values.tolist()
    read = list(islice(values, most + 1))
    if len(read) > most:
        raise BadResult(f"{what} is too long: a result can hold {MOST_CURVE_VALUES:,} values in all its curves")
    return [_number(value, f"a value of {what}") for value in read]


def _items(mapping: object, epoch: int, kind: str = "measures") -> list[tuple[str, Any]]:
    """Return the names and values of a mapping; bounded, whatever its class claims."""
    if not isinstance(mapping, Mapping):
        raise BadResult(f"epoch {epoch}: {kind} must map names to numbers, found {described(mapping)}")
    items = list(islice(mapping.items(), MOST_MEASURES + 1))
    if len(items) > MOST_MEASURES:
        raise BadResult(f"epoch {epoch}: more than {MOST_MEASURES:,} {kind}")
    return [(_name(name, epoch, kind), value) for name, value in items]


def _name(name: object, epoch: int, kind: str) -> str:
    if not isinstance(name, str):
        raise BadResult(f"epoch {epoch}: the names of {kind} must be text, found {described(name)}")
    text = str.__str__(name)
    if not text or len(text) > LONGEST_NAME or not text.isprintable() or text.startswith("$"):
        raise BadResult(
            f"epoch {epoch}: {described(text)} cannot name one of the {kind}: a name has 1 to {LONGEST_NAME} printable "
            "characters and does not start with $"
        )
    return text


def _number(value: object, what: str) -> float:
    number = as_number(value)
    if number is None:
        raise BadResult(f"{what} is {described(value)}, not a number")
    return _bounded(number)


def _flag(value: object, epoch: int) -> bool:
    number = as_number(value)
    if number not in (0.0, 1.0):
        raise BadResult(f"epoch {epoch}: pretraining must be True or False, not {described(value)}")
    return bool(number)


def _seconds(value: object, epoch: int) -> float:
    number = as_number(value)
    if number is None or not math.isfinite(number) or number < 0:
        raise BadResult(f"epoch {epoch}: seconds must be a finite number >= 0, not {described(value)}")
    return number
