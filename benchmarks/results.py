"""Results of a benchmark: figures with their targets, printed as a table or as JSON."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Literal


@dataclass(frozen=True)
class Result:
    """One figure and its target: at most `most` or at least `least`."""

    name: str
    value: float
    unit: str = "x"
    """`x` for a ratio, else a unit such as `s`, `rows/s` or `MB`."""
    most: float | None = None
    least: float | None = None
    note: str = ""

    @property
    def met(self) -> bool | None:
        """Whether the target was met; None if there is none."""
        if self.most is None and self.least is None:
            return None
        return (self.most is None or self.value <= self.most) and (self.least is None or self.value >= self.least)

    @property
    def target(self) -> str:
        if self.most is not None:
            return f"at most {self.most:g}"
        return "" if self.least is None else f"at least {self.least:g}"

    def words(self) -> str:
        """The value with its unit."""
        digits = (
            f"{self.value:,.0f}"
            if self.value >= 1000
            else f"{self.value:.3g}"
            if self.value < 0.1
            else f"{self.value:.2f}"
        )
        return f"{digits} {self.unit}"


def parser(description: str | None) -> argparse.ArgumentParser:
    """Argument parser with the options common to all benchmarks."""
    common = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    common.add_argument("--json", action="store_true", help="print JSON instead of a table")
    return common


def show(stream: Iterable[Result], as_json: bool) -> int:
    """Print results as they arrive; return the exit code, 1 if a target was missed."""
    results = []
    for result in stream:
        results.append(result)
        if not as_json:
            print(line(result), flush=True)
    if as_json:
        json.dump([asdict(result) for result in results], sys.stdout)
    return 1 if any(result.met is False for result in results) else 0


def line(result: Result) -> str:
    """A result as a line of text."""
    verdict: dict[bool | None, Literal["", "met", "MISSED"]] = {None: "", True: "met", False: "MISSED"}
    text = f"{result.name:72s} {result.words():>14s}  {result.target:16s} {verdict[result.met]:6s} {result.note}"
    return text.rstrip()


def read(text: str) -> list[Result]:
    """Parse the results that a benchmark printed as JSON."""
    return [Result(**values) for values in json.loads(text)]


def markdown(results: Sequence[Result]) -> str:
    """Results as a Markdown table."""
    lines = ["| what | measured | target | |", "|---|---|---|---|"]
    for result in results:
        verdict = {None: "", True: "met", False: "**missed**"}[result.met]
        name = result.name + (f" ({result.note})" if result.note else "")
        lines.append(f"| {name} | {result.words()} | {result.target} | {verdict} |")
    return "\n".join(lines)
