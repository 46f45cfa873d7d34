"""What commands show in a terminal: the progress of a study, live or once, tables, and a trial rerun for inspection."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from types import TracebackType
from typing import TextIO

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.padding import Padding
from rich.progress_bar import ProgressBar
from rich.table import Column, Table
from rich.text import Text

from robustness.api.progress_lines import ProgressLines
from robustness.execution.protocol import Ending, Started
from robustness.guards.printable import escaped, printable
from robustness.optimize.progress import SearchProgress
from robustness.sweep.progress import Progress, SweepProgress
from robustness.trial import NO_RESULT, EpochResult, TrialKey

MOST_ROWS = 16
"""Further running trials are counted, not listed."""
FILE_WIDTH = 160
"""The width of tables that are not printed to a terminal."""


class Display(ProgressLines):
    """Shows the progress of a running sweep, as a live block in a terminal and as plain lines elsewhere."""

    def __init__(self, progress: SweepProgress, quiet: bool = False, stream: TextIO | None = None) -> None:
        super().__init__(progress, quiet, stream)
        self._live: Live | None = None

    def __enter__(self) -> Display:
        if not self._quiet and self._stream.isatty():
            self._live = Live(
                get_renderable=lambda: progress_block(self.progress),
                console=Console(file=self._stream),
                refresh_per_second=2,
                transient=True,
            )
            self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._live is not None:
            self._live.stop()
        super().__exit__(kind, error, traceback)

    def _print_line(self, always: bool = False) -> None:
        """Print a plain line where no live block refreshes itself."""
        if self._live is None or always:
            super()._print_line(always)


class Printer:
    """An observer that prints each epoch and each ending, with its traceback, of trials that are not stored."""

    def __init__(self, metric: str) -> None:
        self.failed = False
        self._metric = metric

    def started(self, key: TrialKey, attempt: int, where: Started) -> None:
        print(printable(f"{key}: attempt {attempt} on {where.device}"))

    def epoch(self, key: TrialKey, result: EpochResult) -> None:
        value = result.measures.get(self._metric)
        print(printable(f"{key}: epoch {result.epoch}" + ("" if value is None else f", {self._metric} {value:.4f}")))

    def ended(self, key: TrialKey, ending: Ending) -> None:
        for line in (f"{key}: {ending.status}", *(ending.error or "").rstrip().splitlines()):
            print(escaped(line))
        self.failed = self.failed or ending.status in NO_RESULT


def progress_block(progress: Progress) -> Group:
    """The state of a sweep or search as a block for a terminal."""
    return Group(Text(printable(progress.line())), *_summary(progress), *_running_table(progress))


def _summary(progress: Progress) -> Iterator[RenderableType]:
    """A bar for the pairs of a sweep, a table for the arms of a search."""
    if isinstance(progress, SweepProgress):
        ended, planned = progress.pairs()
        # A bar alone does not end its line.
        yield Padding(ProgressBar(total=max(planned, 1), completed=ended, width=60), 0, expand=False)
    elif isinstance(progress, SearchProgress):
        found = ["in run"] if progress.searches == 1 else ["in search", "in run"]
        best = Column(Text(printable(f"best {progress.metric}")))
        table = Table("arm", "runs", best, *found, "final models", box=None, pad_edge=False)
        for label, arm in progress.arms.items():
            table.add_row(
                Text(printable(label)),
                f"{arm.ended['search']} of {arm.runs}" if arm.runs else "-",
                "-" if arm.best is None else f"{arm.best:.3f}",
                *(["-"] * len(found) if arm.winner is None else map(str, arm.winner[-len(found) :])),
                f"{arm.ended['final']} of {arm.final_models}" if arm.final_models else "-",
            )
        yield table


def _running_table(progress: Progress) -> Iterator[RenderableType]:
    """The running trials with their newest epochs; nothing if none is running."""
    if not progress.running:
        return
    table = Table("trial", "epoch", Column(Text(printable(progress.metric))), box=None, pad_edge=False)
    for key, newest in list(progress.running.items())[:MOST_ROWS]:
        planned = progress.epochs_of(key)
        epoch = "-" if newest is None else f"{newest.epoch}" + (f" of {planned}" if planned else "")
        value = None if newest is None else newest.measures.get(progress.metric)
        table.add_row(Text(printable(progress.trial_name(key))), epoch, "-" if value is None else f"{value:.3f}")
    yield table
    if len(progress.running) > MOST_ROWS:
        yield Text(f"and {len(progress.running) - MOST_ROWS} more")


def print_table(table: Table) -> None:
    """Print a table as wide as the terminal, or with a fixed width to a file or pipe."""
    Console(width=None if sys.stdout.isatty() else FILE_WIDTH).print(table)


def value_text(value: object) -> str:
    """A hyperparameter's value as a study file would have it, floats to four digits; unprintable text is escaped."""
    if isinstance(value, bool) or value is None:
        return {True: "true", False: "false", None: "null"}[value]
    return f"{value:.4g}" if isinstance(value, float) else printable(value)
