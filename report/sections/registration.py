"""Whether the study is as it was registered before anything ran, and every later change."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, TypedDict

from report.document import Section
from report.judged_study import JudgedStudy
from report.words import text
from robustness.study.registration import changes_since, is_intact

if TYPE_CHECKING:
    from report.analysis import Analysis


class RegistrationResults(TypedDict):
    """The latest registration of the study, and what changed since."""

    hash: str
    time: str
    commit: str | None
    version: str
    registrations: int
    intact: bool
    """Whether no entry of the registration was edited."""
    as_registered: bool
    changes: list[str]


def results(study: JudgedStudy) -> RegistrationResults | None:
    """The registration; None of a study that was not registered."""
    entries = study.frames.registration
    if not entries:
        return None
    last = entries[-1]
    changes = changes_since(last, study.frames.document)
    intact = is_intact(entries)
    return {
        "hash": last["hash"],
        "time": last["time"],
        "commit": last["commit"],
        "version": last["version"],
        "registrations": len(entries),
        "intact": intact,
        "as_registered": intact and not changes,
        "changes": changes,
    }


def sections(analysis: Analysis) -> Iterator[Section]:
    """A line for each change, or that there was none; nothing of a study that was not registered."""
    found = analysis.results["registration"]
    if found is None:
        return
    when = f"registered at {text(found['time'], 40)}"
    if not found["intact"]:
        reading = f"The registration in the store was edited: it does not match its hash ({when})."
    elif found["changes"]:
        count = len(found["changes"])
        reading = f"{count} {'change' if count == 1 else 'changes'} since the study was {when}."
    else:
        reading = f"As registered: study and analysis are those {when}."
    notes = (
        *(text(line, 200) for line in found["changes"]),
        f"Hash of the registration: {text(found['hash'], 80)}. Compare it with the one that was printed then.",
    )
    yield Section("registration", "Registered beforehand", reading, notes=notes)
