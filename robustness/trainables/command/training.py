"""Training by a command: its arguments from the trial, its epochs from what it prints, its end as an outcome."""

from __future__ import annotations

import signal
import tempfile
import time
from collections.abc import Generator, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from robustness.errors import TrialFailed, shown
from robustness.trainables.command.lines import LineReader, Tail
from robustness.trainables.command.options import CommandOptions
from robustness.trainables.command.process import Process
from robustness.trainables.command.results import Epochs, json_measures, pattern_measures
from robustness.trainables.command.study import trial_options, values_of
from robustness.trainables.command.words import filled
from robustness.trial import EpochResult, Trial

OUT_OF_MEMORY = (
    *("out of memory", "outofmemory", "memoryerror", "cannot allocate memory", "can't allocate memory"),
    *("not enough memory", "bad_alloc", "resource_exhausted"),
)
"""Words by which a program's last lines say, in lower case, that it ran out of memory."""
_KILLED = (-signal.SIGKILL, 128 + signal.SIGKILL)


def train(trial: Trial) -> Generator[EpochResult]:
    """Run the trial's command, and yield its epochs as it prints them; raises TrialFailed if it does not succeed."""
    start = time.monotonic()
    options = trial_options(trial.training)
    with _folder(trial) as folder:
        words = filled(options.command, values_of(trial, str(folder)))
        file = None if options.metrics.file is None else folder / options.metrics.file
        if file is not None:
            # An interrupted attempt may have left it.
            file.unlink(missing_ok=True)
        deadline = None if trial.timeout is None else start + trial.timeout
        yield from _epochs(words, options, file, trial, deadline)


def _epochs(
    words: list[str], options: CommandOptions, file: Path | None, trial: Trial, deadline: float | None
) -> Generator[EpochResult]:
    pattern = options.metrics.pattern
    epochs = Epochs(json_measures if pattern is None else pattern_measures(pattern), trial.metric)
    tail = Tail()
    with Process(words) as process, _Follower(file) as follower:
        try:
            for line, stream in process.lines(deadline):
                if stream is None:
                    for found in follower.lines():
                        yield from epochs.add(found)
                    continue
                tail.add(line, stream)
                if file is None and (stream == "stdout" or pattern is not None):
                    yield from epochs.add(line)
        except TimeoutError:
            yield from epochs.close()
            raise _failure(f"took longer than trial_timeout ({trial.timeout:g} s)", tail, "timed_out") from None
        for found in follower.lines(to_end=True):
            yield from epochs.add(found)
        yield from epochs.close()
    _check_end(process.answer, tail)
    if not epochs.measured:
        raise _failure(_never_came(options, trial, file), tail)


def _check_end(answer: str, tail: Tail) -> None:
    """Raise TrialFailed unless the command ended with the exit code 0."""
    try:
        code = int(answer)
    except ValueError:
        raise _failure(f"the command {answer or 'ended without an exit code'}", tail) from None
    if code == 0:
        return
    if code in _KILLED:
        raise _failure("the command was killed (SIGKILL), probably because memory ran out", tail, "out_of_memory")
    how = f"was ended by {_signal_name(-code)}" if code < 0 else f"exited with code {code}"
    if any(words in tail.text().lower() for words in OUT_OF_MEMORY):
        raise _failure(f"the command ran out of memory and {how}", tail, "out_of_memory", complaint=True)
    raise _failure(f"the command {how}", tail, complaint=True)


def _failure(what: str, tail: Tail, status: Any = "failed", complaint: bool = False) -> TrialFailed:
    """Return the error of a trial: the last lines of output, and one line that says what happened."""
    line = f"{what}; its last line: {tail.last(complaint)}"
    return TrialFailed("\n".join(filter(None, (tail.text(), line))), status)


def _never_came(options: CommandOptions, trial: Trial, file: Path | None) -> str:
    if options.metrics.pattern is not None:
        return f"metrics.pattern never matched a line with {trial.metric!r}"
    if file is not None and not file.exists():
        return f"the command never wrote {shown(options.metrics.file)}"
    where = "to standard output" if file is None else f"to {shown(options.metrics.file)}"
    return f"the command never wrote a JSON object with {trial.metric!r} {where}"


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


@contextmanager
def _folder(trial: Trial) -> Iterator[Path]:
    """The folder of the run; a temporary one if the trial has none, or it cannot be made on this machine."""
    if trial.folder is not None:
        path = Path(trial.folder)
        with suppress(OSError):
            path.mkdir(parents=True, exist_ok=True)
        if path.is_dir():
            yield path
            return
    with tempfile.TemporaryDirectory(prefix="robustness-run-", ignore_cleanup_errors=True) as temporary:
        yield Path(temporary)


class _Follower:
    """Reads the lines that are appended to a file, which need not exist yet."""

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._place = 0
        self._reader = LineReader()

    def __enter__(self) -> _Follower:
        return self

    def __exit__(self, *_: object) -> None:
        self._path = None

    def lines(self, to_end: bool = False) -> Iterator[str]:
        """Yield the new lines, including with `to_end` one that does not end."""
        if self._path is None:
            return
        with suppress(OSError), self._path.open("rb") as file:
            file.seek(self._place)
            while data := file.read(65_536):
                self._place += len(data)
                yield from self._reader.feed(data)
        if to_end:
            yield from self._reader.close()
