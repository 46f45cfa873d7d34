"""From lines to epochs: JSON objects, or the named groups of a pattern; all other lines are passed over."""

from __future__ import annotations

import json
import math
import re
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from robustness.errors import RobustnessError
from robustness.trial import EpochResult

EPOCH = "epoch"
Parse = Callable[[str], Mapping[str, float] | None]


def json_measures(line: str) -> dict[str, float] | None:
    """Return the numbers in a line that is a JSON object; None for any other line."""
    if not line.lstrip().startswith("{"):
        return None
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        return None
    if not isinstance(found, dict):
        return None
    return {name: number for name, value in found.items() if (number := _number(value)) is not None} or None


def pattern_measures(pattern: str) -> Parse:
    """Return a parser for the named groups of a pattern; a line whose groups are no numbers does not match."""
    compiled = re.compile(pattern)

    def parse(line: str) -> dict[str, float] | None:
        match = compiled.search(line)
        if match is None:
            return None
        try:
            return {name: float(text) for name, text in match.groupdict().items() if text is not None} or None
        except ValueError:
            return None

    return parse


class Epochs:
    """Puts measures together to epochs: lines of the same epoch are one, and a line without a number is the next."""

    def __init__(self, parse: Parse, metric: str) -> None:
        self._parse = parse
        self._metric = metric
        self._last = 0
        self._open: dict[str, float] = {}
        """The measures of the last epoch, to which further lines may belong."""
        self._start = time.perf_counter()
        self.measured = False
        """Whether the study's metric has come."""

    def add(self, line: str) -> Iterator[EpochResult]:
        """Yield the epoch that a line completes, if it does."""
        measures = dict(self._parse(line) or {})
        if not measures:
            return
        self.measured = self.measured or self._metric in measures
        number = measures.pop(EPOCH, None)
        if number is None:
            # Without a number only the metric marks an epoch; other lines are messages in between.
            if self._metric in measures:
                yield from self.close()
                self._last += 1
                self._open = measures
                yield from self.close()
            return
        if not math.isfinite(number) or number != int(number) or number < 0:
            raise RobustnessError(f"the command printed the epoch {number:g}, which is not an integer >= 0")
        if self._open and int(number) != self._last:
            yield from self.close()
        self._last = int(number)
        self._open |= measures

    def close(self) -> Iterator[EpochResult]:
        """Yield the last epoch."""
        if self._open:
            now = time.perf_counter()
            yield EpochResult(self._last, self._open, seconds=now - self._start)
            self._open, self._start = {}, now


def _number(value: Any) -> float | None:
    return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) and _fits(value) else None


def _fits(value: float) -> bool:
    return isinstance(value, float) or abs(value) < 2**63
