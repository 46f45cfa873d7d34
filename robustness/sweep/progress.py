"""How far a sweep is: a live display in a terminal, plain lines elsewhere, and the same from the store for `status`."""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import TracebackType
from typing import TYPE_CHECKING, Any, TextIO

from robustness.execution.protocol import Started
from robustness.sweep.outcomes import UNTRAINED_NOTE, Judge, Outcome
from robustness.trial import COUNTED, ENDED, NO_RESULT, EpochResult, Status, TrialKey

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.live import Live

    from robustness.store.study_store import StudyStore

LINE_EVERY = 10.0
"""Seconds between two plain lines."""
MOST_ROWS = 16
"""More running trials than this are counted, not listed."""


@dataclass
class Progress:
    """What is known of a sweep under way: the state that both displays show."""

    study: str
    metric: str
    outcome: str
    epochs: int | None
    """Epochs of a trial, where the study says how many."""
    states: dict[TrialKey, Status]
    outcomes: dict[TrialKey, Outcome | None] = field(default_factory=dict)
    running: dict[TrialKey, EpochResult | None] = field(default_factory=dict)
    epoch_seconds: dict[str, tuple[int, float]] = field(default_factory=dict)
    """For each arm how many epochs were measured and how long they took together."""
    winners: int | None = None
    """How many trials the winners have beyond the plan, as long as none is planned at the most; None without any."""

    @staticmethod
    def of(store: StudyStore) -> Progress:
        """The progress of a study as the store has it."""
        document = store.document()
        judge = Judge.of(document, store.note(UNTRAINED_NOTE))
        progress = Progress(
            study=str(document["name"]),
            metric=str(document["outcomes"]["metric"]),
            outcome=str(document["outcomes"]["primary"]),
            epochs=document["training"].get("epochs"),
            states={},
        )
        if document.get("winners"):
            # Not needed by other studies, of which it would make `status` slower.
            from robustness.study.sections import Winners
            from robustness.sweep.winners import count_further

            terms = Winners.model_validate(document["winners"])
            progress.winners = count_further(terms, len(document["arms"]), store.configurations().values())
        for key, status, metric, *_ in store.results():
            progress.states[key] = status
            if status in ENDED:
                progress.outcomes[key] = judge.outcome(status, metric)
        for key, seconds in store.seconds().items():
            if progress.states[key] == "finished":
                progress._measure(key.arm, progress.epochs or 1, seconds)
        newest = store.newest_epochs()
        for key, status in progress.states.items():
            if status == "running":
                progress.running[key] = newest.get(key)
        return progress

    def pairs(self) -> tuple[int, int]:
        """How many pairs are done, of how many."""
        planned = {key: status for key, status in self.states.items() if not self._further(key)}
        open_pairs = {(key.configuration, key.replicate) for key, status in planned.items() if status not in ENDED}
        every = {(key.configuration, key.replicate) for key in planned}
        return len(every) - len(open_pairs), len(every)

    def winners_trials(self) -> tuple[int, int]:
        """How many of the winners' further trials are done, of how many."""
        further = [status for key, status in self.states.items() if self._further(key)]
        # Where every trial of the plan failed, there is no winner.
        some = any(status not in ENDED or status in COUNTED for status in self.states.values())
        return sum(status in ENDED for status in further), len(further) or (self.winners or 0) * some

    def done(self) -> bool:
        """Whether every trial has ended, those that are still to be planned included."""
        pairs, winners = self.pairs(), self.winners_trials()
        return pairs[0] == pairs[1] and winners[0] == winners[1]

    def _further(self, key: TrialKey) -> bool:
        """Whether it is a winner's, beyond the plan: of such a study each configuration is planned once."""
        return self.winners is not None and key.replicate > 0

    def fractions(self) -> dict[str, tuple[int, int]]:
        """For each arm: how many trials show the study's primary outcome, of how many that count."""
        found = {key.arm: (0, 0) for key in self.states}
        for key, outcome in self.outcomes.items():
            if outcome is not None and not self._further(key):
                shown, counted = found[key.arm]
                found[key.arm] = shown + (outcome == self.outcome), counted + 1
        return found

    def failures(self) -> dict[str, int]:
        """How many trials ended in each way that is not a result."""
        counts = Counter(self.states.values())
        return {status: counts[status] for status in (*NO_RESULT, "diverged") if counts[status]}

    def seconds_left(self) -> float | None:
        """The epochs that are left times how long an epoch of the arm took, over the trials that run at once."""
        measured = {arm: seconds / count for arm, (count, seconds) in self.epoch_seconds.items() if count}
        if not measured:
            return None
        usual = sum(measured.values()) / len(measured)
        work = 0.0
        for key, status in self.states.items():
            if status in ENDED:
                continue
            newest = self.running.get(key)
            done = 0 if newest is None else newest.epoch
            work += max((self.epochs or 1) - done, 0) * measured.get(key.arm, usual)
        if not any(self._further(key) for key in self.states):
            work += (self.winners or 0) * (self.epochs or 1) * usual
        return work / max(len(self.running), 1)

    def planned(self, keys: Iterable[TrialKey]) -> None:
        self.states.update(dict.fromkeys(keys, "planned"))

    def started(self, key: TrialKey) -> None:
        self.states[key] = "running"
        self.running[key] = None

    def epoch(self, key: TrialKey, result: EpochResult) -> None:
        self.running[key] = result
        if self.epochs is not None:
            self._measure(key.arm, 1, result.seconds)

    def ended(self, key: TrialKey, status: Status, outcome: Outcome | None, seconds: float) -> None:
        self.states[key] = status
        self.outcomes[key] = outcome
        self.running.pop(key, None)
        if self.epochs is None:
            self._measure(key.arm, 1, seconds)

    def _measure(self, arm: str, epochs: int, seconds: float) -> None:
        count, total = self.epoch_seconds.get(arm, (0, 0.0))
        self.epoch_seconds[arm] = count + epochs, total + seconds

    def complaints(self) -> list[str]:
        """A line for each trial without a result, with the command that runs it again by itself."""
        return [
            f"{status.replace('_', ' ')}: {key} (robustness sweep {self.study} --only {key} --inline)"
            for key, status in self.states.items()
            if status in NO_RESULT
        ]

    def line(self) -> str:
        """The whole state in one line."""
        done, every = self.pairs()
        parts = [f"{self.study}: {done} of {every} pairs"]
        if self.winners is not None:
            parts.append("{} of {} trials of winners".format(*self.winners_trials()))
        parts.append(f"{len(self.running)} trials running")
        left = self.seconds_left()
        if left is not None and not self.done():
            parts.append(f"about {in_words(left)} left")
        parts += [
            f"{arm} {self.outcome.replace('_', ' ')} {shown} of {counted}"
            for arm, (shown, counted) in self.fractions().items()
            if counted
        ]
        parts += [f"{count} {status.replace('_', ' ')}" for status, count in self.failures().items()]
        return ", ".join(parts)

    def table(self) -> RenderableType:
        """The whole state as a block for a terminal."""
        from rich.console import Group
        from rich.padding import Padding
        from rich.progress_bar import ProgressBar
        from rich.text import Text

        done, every = self.pairs()
        # A bar alone does not end its line.
        bar = Padding(ProgressBar(total=max(every, 1), completed=done, width=60), 0, expand=False)
        running = {str(key): newest for key, newest in self.running.items()}
        return Group(Text(self.line()), bar, *running_table(running, self.metric, self.epochs))

    def as_json(self) -> Mapping[str, Any]:
        """The whole state as plain values."""
        done, every = self.pairs()
        return {
            "study": self.study,
            "pairs": {"done": done, "all": every},
            **(
                {}
                if self.winners is None
                else {"winners": dict(zip(("done", "all"), self.winners_trials(), strict=True))}
            ),
            "trials": dict(sorted(Counter(self.states.values()).items())),
            "running": running_json(self.running),
            "seconds_left": self.seconds_left(),
            self.outcome: {
                arm: {"shown": shown, "counted": counted} for arm, (shown, counted) in self.fractions().items()
            },
            "failures": self.failures(),
        }


def running_table(
    running: Mapping[str, EpochResult | None], metric: str, epochs: int | None
) -> Iterator[RenderableType]:
    """A table of what runs, by name, with its newest epoch; nothing if nothing runs."""
    from rich.table import Table
    from rich.text import Text

    if not running:
        return
    rows = Table("trial", "epoch", metric, box=None, pad_edge=False)
    for name, newest in list(running.items())[:MOST_ROWS]:
        epoch = "-" if newest is None else f"{newest.epoch}" + (f" of {epochs}" if epochs else "")
        value = None if newest is None else newest.measures.get(metric)
        rows.add_row(Text(name), epoch, "-" if value is None else f"{value:.3f}")
    yield rows
    if len(running) > MOST_ROWS:
        yield Text(f"and {len(running) - MOST_ROWS} more")


def running_json(running: Mapping[TrialKey, EpochResult | None]) -> list[dict[str, Any]]:
    """What runs, and its newest epoch, as plain values."""
    return [{"trial": str(key), "epoch": None if newest is None else newest.epoch} for key, newest in running.items()]


class Display:
    """Shows a `Progress` while a sweep runs; a `SweepWatcher` of `robustness.sweep.recording`, and a context."""

    def __init__(self, progress: Progress, quiet: bool = False, stream: TextIO | None = None) -> None:
        self.progress = progress
        self._stream = stream or sys.stderr
        self._quiet = quiet
        self._live: Live | None = None
        self._last_line = -LINE_EVERY

    def __enter__(self) -> Display:
        if not self._quiet and self._stream.isatty():
            from rich.console import Console
            from rich.live import Live

            console = Console(file=self._stream)
            self._live = Live(get_renderable=self.progress.table, console=console, refresh_per_second=2, transient=True)
            self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._live is not None:
            self._live.stop()
        self._show(always=True)

    def planned(self, keys: Sequence[TrialKey]) -> None:
        self.progress.planned(keys)

    def started(self, key: TrialKey, where: Started) -> None:  # noqa: ARG002  where it runs is in the store
        self.progress.started(key)
        self._show()

    def epoch(self, key: TrialKey, result: EpochResult) -> None:
        self.progress.epoch(key, result)
        self._show()

    def ended(self, key: TrialKey, status: Status, outcome: Outcome | None, seconds: float) -> None:
        self.progress.ended(key, status, outcome, seconds)
        self._show()

    def _show(self, always: bool = False) -> None:
        """A plain line, not too often; a terminal's display refreshes itself."""
        now = time.monotonic()
        if self._quiet or (self._live is not None and not always):
            return
        if always or now - self._last_line >= LINE_EVERY:
            self._last_line = now
            print(self.progress.line(), file=self._stream, flush=True)


def in_words(seconds: float) -> str:
    """A duration as a person would say it."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    if seconds < 90 * 60:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h" if seconds < 48 * 3600 else f"{seconds / 86400:.1f} days"
