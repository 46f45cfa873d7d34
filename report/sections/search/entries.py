"""The results of a search, entry by entry, as the JSON has them (`docs/report_json.md`, `search`)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias, TypedDict, final

from robustness.space.options import Scalar


class Winner(TypedDict):
    """The best finished run of a search."""

    search: int
    number: int
    score: float
    hyperparameters: Mapping[str, object]


class Run(TypedDict):
    """One run, and the best score of its search so far."""

    search: int
    number: int
    configuration: int
    hyperparameters: Mapping[str, object]
    status: str
    score: float | None
    seconds: float | None
    best_so_far: float | None


class RunCounts(TypedDict):
    """How many runs ended, how, and how long they took."""

    wanted: int
    ended: int
    status: dict[str, int]
    seconds: float


class OneSearch(RunCounts):
    """One of an arm's searches, numbered from 1."""

    search: int
    winner: Winner | None


@final
class SearchedRange(TypedDict):
    """A hyperparameter searched between two bounds."""

    low: float
    high: float
    log: bool


@final
class SearchedChoices(TypedDict):
    """A hyperparameter searched among choices."""

    choices: list[Scalar]


SearchedOption: TypeAlias = SearchedRange | SearchedChoices


class SearchedArm(RunCounts):
    """All searches of an arm: counts and winner are over all of them."""

    winner: Winner | None
    space: dict[str, SearchedOption]
    searches: list[OneSearch]
    runs: list[Run]


class SearchResults(TypedDict):
    """`search` of the JSON."""

    sentences: list[str]
    cautions: list[str]
    alone: bool
    complete: bool
    objective: str
    searches: int
    sampler: str | None
    startup: int | None
    warm_start: str | None
    warm_starts: int | None
    arms: dict[str, SearchedArm]
