"""A topic of the report: which studies it is about, its results and its sections."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, NotRequired, TypedDict

from report.document import Section
from report.judged_study import JudgedStudy

if TYPE_CHECKING:
    from report.analysis import Analysis


class Group(Enum):
    """Which studies have a section."""

    OWN = "of a kind of study that speaks for itself, and may stand alone"
    FRACTIONS = "about fractions of configurations: left out of studies that stand alone"
    RUNS = "how the trials went, whatever the study is about"


class Part(Enum):
    """The parts of the page below its first screen, in their order, each with its title."""

    HOW_SURE = "How sure"
    WHY = "Why"
    COST = "What it costs"
    DETAILS = "Details"

    @property
    def title(self) -> str:
        """Its heading in the page."""
        return self.value

    @property
    def anchor(self) -> str:
        """Its id in the page."""
        return f"part-{self.name.lower().replace('_', '-')}"


@dataclass(frozen=True)
class Topic:
    """A line of `report.sections.SECTIONS`, or the section that an installed package adds."""

    group: Group
    sections: Callable[[Analysis], Iterator[Section]]
    key: str | None = None
    """The key of its results in the JSON."""
    results: Callable[[JudgedStudy], object] | None = None
    """Plain values and numpy arrays, or None."""
    part: Part = Part.DETAILS
    """Where its sections stand on the page."""


class OwnResults(TypedDict):
    """What the results of every `OWN` section have."""

    sentences: list[str]
    """What the study shows; they open the page."""
    alone: bool
    """Whether fractions of configurations say nothing about it, so that the page leaves them out."""


class AnyOwnResults(OwnResults):
    """The results of any `OWN` section, also of an installed package, as far as the page looks at them."""

    cautions: NotRequired[list[str]]
    """What weakens the results."""
    complete: NotRequired[bool]
    """Whether all that the study asks for is there."""
