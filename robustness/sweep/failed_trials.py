"""Trials that ended without a result, grouped by the error that ended them: each error once, with its trials."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from robustness.errors import plural
from robustness.trial import NO_RESULT, Status, TrialKey

LONGEST_ERROR = 400
"""Characters of an error in a list of trials: as many as the line that an executor stores."""
DID: dict[Status, str] = {"failed": "failed", "timed_out": "timed out", "out_of_memory": "ran out of memory"}
MOST_ARMS = 8
"""Arms that a line names; further ones are counted."""


@dataclass(frozen=True)
class FailedTrials:
    """Trials that ended alike, with the same last line of their errors."""

    status: Status
    error: str
    """The last line, which names the exception; empty if none is known."""
    trials: tuple[TrialKey, ...]

    @property
    def by_arm(self) -> str:
        """How many trials of which arm, the most frequent first: `3 of sgd, 1 of adam`."""
        return of_arms(key.arm for key in self.trials)


def failed_trials(
    states: Mapping[TrialKey, Status], errors: Mapping[TrialKey, str], statuses: Collection[Status] = NO_RESULT
) -> list[FailedTrials]:
    """Return the trials with these statuses, grouped by status and error, the largest group first."""
    groups: dict[tuple[Status, str], list[TrialKey]] = {}
    for key, status in states.items():
        if status in statuses:
            groups.setdefault((status, last_line(errors.get(key, ""))), []).append(key)
    found = [FailedTrials(status, error, tuple(keys)) for (status, error), keys in groups.items()]
    return sorted(found, key=lambda group: -len(group.trials))


def failure_lines(groups: list[FailedTrials], what_next: str) -> list[str]:
    """Return what the end of a run says about trials without a result; nothing if every trial has one.

    `what_next` names the ways to list and to rerun them.
    """
    if not groups:
        return []
    statuses: dict[Status, list[TrialKey]] = {}
    for group in groups:
        statuses.setdefault(group.status, []).extend(group.trials)
    how = ", ".join(
        f"{len(keys):,} {DID[status]} ({of_arms(key.arm for key in keys)})" for status, keys in statuses.items()
    )
    lines = [f"trials without a result: {how}; all fractions and means leave them out"]
    most = groups[0]
    if most.error:
        kind = "error" if len(groups) == 1 else f"most frequent of {plural(len(groups), 'error')}"
        lines.append(f"{kind}: {most.error} ({plural(len(most.trials), 'trial')}: {most.by_arm})")
    return [*lines, what_next]


def of_arms(arms: Iterable[str]) -> str:
    """Return how often each arm occurs, the most frequent first: `3 of sgd, 1 of adam`."""
    counts = Counter(arms).most_common()
    shown = ", ".join(f"{count:,} of {arm}" for arm, count in counts[:MOST_ARMS])
    rest = len(counts) - MOST_ARMS
    return f"{shown} and of {plural(rest, 'further arm')}" if rest > 0 else shown


def last_line(error: str) -> str:
    """Return the last line of an error, cut between two words if it is very long."""
    lines = error.strip().splitlines()
    line = lines[-1] if lines else ""
    if len(line) <= LONGEST_ERROR:
        return line
    cut = line[: LONGEST_ERROR - 2]
    return f"{cut.rpartition(' ')[0] or cut} …"
