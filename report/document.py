"""The parts of a report: sections with pictures, tables and galleries, and the plain values of its JSON."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from markupsafe import Markup

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class Picture:
    """One panel: the function that draws it, and its description for those who cannot see it."""

    name: str
    """Unique in the report; the name of its file and the beginning of its ids."""
    title: str
    description: str
    draw: Callable[[], Figure]


class Link(str):
    """A cell of a table that leads to a section of the page: its text, and the section's name."""

    __slots__ = ("section",)
    section: str

    @staticmethod
    def to(section: str, words: str) -> Link:
        """The words as a link to the section of this name."""
        link = Link(words)
        link.section = section
        return link

    def __html__(self) -> str:
        """The link as templates write it."""
        return Markup('<a href="#{}">{}</a>').format(self.section, str(self))


@dataclass(frozen=True)
class Numbers:
    """The table beside a picture."""

    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class Thumbnail:
    """A small picture with a few lines under it."""

    source: str
    """Its address: a data URL, since the page sends no request to any host."""
    words: str
    """For those who cannot see it."""
    lines: tuple[str, ...]


@dataclass(frozen=True)
class Gallery:
    """Thumbnails that belong together."""

    title: str
    thumbnails: tuple[Thumbnail, ...]


@dataclass(frozen=True)
class Section:
    """A part of the report: one question, the answer of the data, the pictures and the numbers behind them."""

    name: str
    title: str
    reading: str
    """One sentence, computed from the data."""
    pictures: tuple[Picture, ...] = ()
    numbers: Numbers | None = None
    notes: tuple[str, ...] = ()
    """How to read the pictures, and what they leave out."""
    galleries: tuple[Gallery, ...] = ()
    short: str = ""
    """The title in the contents, if that is another."""


def drawn_of(most: int, every: int, what: str, where: str = "the table") -> tuple[str, ...]:
    """`6 of 10 pairs are drawn; the table has all.`, where a section draws no more than the first."""
    return (f"{most} of {every} {what} are drawn; {where} has all.",) if most < every else ()


def plain(value: Any) -> Any:
    """The value as JSON has it: no numpy, and None for a number that is not finite."""
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if isinstance(value, (np.generic, np.ndarray)):
        return plain(value.tolist())
    if value is pd.NA:
        return None
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value
