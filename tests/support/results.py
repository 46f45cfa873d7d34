"""Entries of a report's results that a test expects to have a value, though their type allows None."""

from __future__ import annotations

from typing import TypeVar

from report.records.comparisons import Corrected, Tested
from report.records.estimates import Ends

Value = TypeVar("Value")


def present(value: Value | None) -> Value:
    """A value that must not be None."""
    assert value is not None
    return value


def ends(entry: Ends) -> tuple[float, float]:
    """Both ends of an interval that has them."""
    return present(entry["low"]), present(entry["high"])


def excludes_zero(entry: Ends) -> bool:
    """Whether an interval lies on one side of zero."""
    low, high = ends(entry)
    return low > 0 or high < 0


def p_value(entry: Tested) -> float:
    """The p-value of a test that has one."""
    return present(entry["p_value"])


def p_adjusted(entry: Corrected) -> float:
    """The p-value of a test that has one, after correction for the others of its family."""
    return present(entry["p_adjusted"])
