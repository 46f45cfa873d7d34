"""What goes wrong, in words for the person who can mend it: each message is one line."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


class RobustnessError(Exception):
    """The root of every error that this project raises on purpose; the command line exits with 2 on it."""


class StudyFileError(RobustnessError):
    """A study file that cannot be read or does not say what it must."""


class SearchSpaceError(RobustnessError):
    """A search space that cannot be read, drawn from, or has too few configurations."""


class StoreError(RobustnessError):
    """A store that cannot be opened, is in use, or holds something else than was expected."""


class TaskError(RobustnessError):
    """Data that is missing, damaged or not of the form its task needs."""


class ModelError(RobustnessError):
    """A model that does not exist or cannot be built with the options given."""


class MethodError(RobustnessError):
    """An arm that does not exist or cannot be built with the options given."""


class CheckpointError(RobustnessError):
    """A checkpoint that cannot be read or belongs to something else."""


class Diverged(Exception):
    """A loss that is no longer finite: the outcome of a trial, not a fault of the program."""

    def __init__(self, epoch: int, step: int) -> None:
        super().__init__(f"the loss is not finite in epoch {epoch}, step {step}")
        self.epoch = epoch
        self.step = step

    def __reduce__(self) -> tuple[type[Diverged], tuple[int, int]]:
        return type(self), (self.epoch, self.step)


def unknown_name(kind: str, name: object, allowed: Iterable[str]) -> str:
    """A line for a name that does not exist: the name, the nearest one that does, and all that do."""
    names = sorted(allowed)
    near = get_close_matches(str(name), names, n=1)
    hint = f"; did you mean {near[0]!r}?" if near else ""
    return f"unknown {kind} {str(name)!r}{hint} (there are: {', '.join(names)})"
