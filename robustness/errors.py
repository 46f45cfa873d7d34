"""Exception classes; each message is one line, written for the person who can fix the problem."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from itertools import islice
from pathlib import Path
from typing import Literal

MOST_NAMES = 2_000
"""Files of a folder among which a misspelt one is looked for."""


class RobustnessError(Exception):
    """Root of all errors that this project raises deliberately; the command line exits with status 2."""


class StudyFileError(RobustnessError):
    """A study file that is unreadable or invalid."""


class SearchSpaceError(RobustnessError):
    """A search space that is unreadable, invalid or too small."""


class StoreError(RobustnessError):
    """A store that cannot be opened, is locked, or does not hold the expected contents."""


class TakenOverError(StoreError):
    """Another sweep has taken over the study, so this one must not write any more."""


class ReplacedError(StoreError):
    """The database is not the one that was opened: it was deleted or replaced in the meantime."""


class TaskError(RobustnessError):
    """Task data that is missing, damaged or malformed."""


class ModelError(RobustnessError):
    """An unknown model, or one that cannot be built with its options."""


class MethodError(RobustnessError):
    """An unknown arm, or one that cannot be built with its options."""


class CheckpointError(RobustnessError):
    """A checkpoint that is unreadable or belongs to a different trial or model."""


class Diverged(Exception):
    """The loss became NaN or infinite: an outcome of a trial, not a program error."""

    def __init__(self, epoch: int, step: int) -> None:
        super().__init__(f"the loss is not finite in epoch {epoch}, step {step}")
        self.epoch = epoch
        self.step = step

    def __reduce__(self) -> tuple[type[Diverged], tuple[int, int]]:
        return type(self), (self.epoch, self.step)


class TrialFailed(RobustnessError):
    """A program that trains a trial did not succeed; the last line says how, the lines before are its own.

    It is tried again only if the study asks for more attempts: a program that exits with an error does so on purpose.
    """

    def __init__(self, text: str, status: Literal["failed", "out_of_memory", "timed_out"] = "failed") -> None:
        super().__init__(text)
        self.status = status

    def __reduce__(self) -> tuple[type[TrialFailed], tuple[str, str]]:
        return type(self), (str(self), self.status)


def missing_file(path: Path) -> str:
    """`no such file`, with the nearest name in its folder, or that the folder is missing too."""
    try:
        names = [entry.name for entry in islice(path.parent.iterdir(), MOST_NAMES)]
    except OSError:
        return f"no such file; the folder {str(path.parent)!r} does not exist either"
    closest = get_close_matches(path.name, names, n=1)
    return f"no such file; did you mean {str(path.with_name(closest[0]))!r}?" if closest else "no such file"


def unknown_name(kind: str, name: object, allowed: Iterable[str]) -> str:
    """One-line message for an unknown name: the name with its closest match or, where nothing is near, all names."""
    names = sorted(allowed)
    closest = get_close_matches(str(name), names, n=1)
    hint = f"; did you mean {closest[0]!r}?" if closest else f" (choose from: {', '.join(names)})"
    return f"unknown {kind} {shown(str(name))}{hint}"


def shown(value: object, longest: int = 60) -> str:
    """Return a value as it appears in a one-line message: its repr, cut when it is long."""
    text = repr(value)
    return text if len(text) <= longest else f"{text[: longest - 1]}…"


def dotted(path: Sequence[str | int]) -> str:
    """Return the path to a value as `arms.0.name`; keys that could garble a terminal appear as their repr."""
    return ".".join(shown_key(key) for key in path)


def shown_key(key: str | int) -> str:
    """Return a key as it appears in a one-line message."""
    text = str(key)
    return (text if len(text) <= 60 else f"{text[:59]}…") if text.isprintable() else shown(text)


def plural(count: int, noun: str) -> str:
    """Return `1 trial`, `2 trials`."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"
