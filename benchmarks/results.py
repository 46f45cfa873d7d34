"""What a benchmark finds: figures with their aims, printed as a table or as JSON."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Literal


@dataclass(frozen=True)
class Result:
    """One figure, and what it should be at most or at least."""

    name: str
    value: float
    unit: str = "x"
    """`x` for a ratio, else of what it is: `s`, `rows/s`, `MB`."""
    most: float | None = None
    least: float | None = None
    note: str = ""

    @property
    def met(self) -> bool | None:
        """Whether the aim was met; None where there is none."""
        if self.most is None and self.least is None:
            return None
        return (self.most is None or self.value <= self.most) and (self.least is None or self.value >= self.least)

    @property
    def aim(self) -> str:
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
    """The options that every benchmark has."""
    made = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    made.add_argument("--json", action="store_true", help="print JSON instead of a table")
    return made


def show(found: Iterable[Result], as_json: bool) -> int:
    """Print the results as they come; gives the exit code, 1 if an aim was missed."""
    results = []
    for result in found:
        results.append(result)
        if not as_json:
            print(line(result), flush=True)
    if as_json:
        json.dump([asdict(result) for result in results], sys.stdout)
    return 1 if any(result.met is False for result in results) else 0


def line(result: Result) -> str:
    """A result as a line of text."""
    verdict: dict[bool | None, Literal["", "met", "MISSED"]] = {None: "", True: "met", False: "MISSED"}
    return f"{result.name:72s} {result.words():>14s}  {result.aim:16s} {verdict[result.met]:6s} {result.note}".rstrip()


def read(text: str) -> list[Result]:
    """The results that a benchmark printed as JSON."""
    return [Result(**values) for values in json.loads(text)]


def markdown(results: Sequence[Result]) -> str:
    """A table for a page."""
    lines = ["| what | found | aim | |", "|---|---|---|---|"]
    for result in results:
        verdict = {None: "", True: "met", False: "**missed**"}[result.met]
        name = result.name + (f" ({result.note})" if result.note else "")
        lines.append(f"| {name} | {result.words()} | {result.aim} | {verdict} |")
    return "\n".join(lines)
