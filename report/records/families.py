"""Families of comparisons, whose p-values are corrected for each other: by Holm, in a watched sweep by closed testing.

with_holm([Uncorrected(entry), ...])     # the entries, each with `p_adjusted`
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from copy import copy
from dataclasses import dataclass
from typing import Generic, TypeAlias, TypeVar

import pandas as pd

from report.records.comparisons import Corrected
from robustness.statistics.paired import holm
from robustness.statistics.sequential import anytime_p, closed

Entry = TypeVar("Entry", bound=Corrected)
Compared: TypeAlias = tuple[frozenset[str], str, str]
"""Two arms, an outcome and an epoch."""


@dataclass(frozen=True)
class Evidence:
    """The evidence of a watched sweep for a difference."""

    path: pd.Series[float]
    """The e-process, by configuration and replicate."""
    planned: Compared | None
    """The single comparison that the study names in advance."""


@dataclass(frozen=True)
class Uncorrected(Generic[Entry]):
    """A comparison whose p-value is not corrected yet: `p_adjusted` of its entry is None."""

    entry: Entry
    evidence: Evidence | None = None
    """None unless the sweep was watched."""
    compared: Compared | None = None
    """What the entry compares, where that may be what a watched study names in advance."""

    @property
    def is_planned(self) -> bool:
        """Whether a watched study names this comparison in advance."""
        planned = None if self.evidence is None else self.evidence.planned
        return planned is not None and self.compared == planned

    def corrected(self, p_adjusted: float | None) -> Entry:
        """The entry with its corrected p-value."""
        entry = copy(self.entry)
        entry["p_adjusted"] = p_adjusted
        return entry


def with_holm(family: Sequence[Uncorrected[Entry]]) -> list[Entry]:
    """The comparisons of one family, each with `p_adjusted`: Holm's over those that have a p-value, else None.

    Those of a watched sweep are corrected by closed testing; a planned comparison stands by itself.
    """
    if any(each.evidence is not None for each in family):
        adjusted = _closed(family)
    else:
        p_values = (each.entry["p_value"] for each in family)
        adjusted = iter(holm([p_value for p_value in p_values if p_value is not None]))
    return [
        each.corrected(each.entry["p_value"] if each.is_planned or each.entry["p_value"] is None else next(adjusted))
        for each in family
    ]


def _closed(family: Sequence[Uncorrected[Entry]]) -> Iterator[float]:
    """The corrected p-values of those that have one and are not planned."""
    yield from closed_p(
        [
            each.evidence.path
            for each in family
            if each.evidence is not None and not each.is_planned and each.entry["p_value"] is not None
        ]
    )


def closed_p(paths: Sequence[pd.Series[float]]) -> list[float]:
    """The p-value of each e-process of one family, by configuration and replicate, corrected by closed testing."""
    if not paths:
        return []
    together = pd.concat(list(paths), axis=1, keys=range(len(paths))).sort_index().ffill().fillna(1.0)
    return [anytime_p(path) for path in closed(together.to_numpy(dtype=float).T)]
