"""The learning curves that a live page draws: of trials that run, and of those that ended last."""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Iterable, Mapping
from typing import Any

from robustness.store.following import FollowedTrial, News
from robustness.trial import EpochResult

MOST_ENDED = 60
"""Curves of ended trials that are kept."""
MOST_POINTS = 400
"""Points of a curve that are kept; of a longer one, every second is dropped."""


class Curves:
    """The values of one measure by epoch, for each trial that is shown."""

    def __init__(self, measure: str) -> None:
        self._measure = measure
        self._points: dict[int, list[tuple[int, float]]] = {}
        self._trials: dict[int, FollowedTrial] = {}
        self._ended: OrderedDict[int, None] = OrderedDict()
        self.changed: set[int] = set()
        """The rows whose curves differ since this was last cleared; also those that are shown no more."""

    def follow(self, news: News) -> None:
        """Add what a look has found."""
        if news.everything:
            self.changed |= set(self._points)
            self._points, self._trials, self._ended = {}, {}, OrderedDict()
        for row in news.restarted:
            self._forget(row)
        for trial in news.trials:
            self._trials[trial.row] = trial
            if trial.status == "running":
                self._ended.pop(trial.row, None)
            elif trial.ended is not None and (trial.row in self._points or trial.row in news.epochs):
                self._ended[trial.row] = None
                self.changed.add(trial.row)
        self.add(news.epochs)
        while len(self._ended) > MOST_ENDED:
            self._forget(self._ended.popitem(last=False)[0])

    def add(self, epochs: Mapping[int, Iterable[EpochResult]]) -> None:
        """Add epochs of trials."""
        for row, results in epochs.items():
            points = self._points.setdefault(row, [])
            for result in results:
                value = result.measures.get(self._measure)
                if value is not None and math.isfinite(value):
                    points.append((result.epoch, value))
            if len(points) > MOST_POINTS:
                points[:-1] = points[:-1:2]
            self.changed.add(row)

    def add_ended(self, trials: Iterable[FollowedTrial], epochs: Mapping[int, Iterable[EpochResult]]) -> None:
        """Add trials that ended before the first look."""
        for trial in trials:
            self._trials[trial.row] = trial
            self._ended[trial.row] = None
        self.add(epochs)

    def as_json(self, rows: Iterable[int] | None = None) -> dict[str, Any]:
        """The curves of some trials, or of all, by trial; None for one that is shown no more."""
        shown = self._points if rows is None else rows
        return {str(row): self._curve(row) for row in shown}

    def _curve(self, row: int) -> dict[str, Any] | None:
        points, trial = self._points.get(row), self._trials.get(row)
        if points is None or trial is None:
            return None
        rounded = [[epoch, float(f"{value:.5g}")] for epoch, value in points]
        return {"trial": str(trial.key), "arm": trial.key.arm, "status": trial.status, "points": rounded}

    def _forget(self, row: int) -> None:
        self._ended.pop(row, None)
        if self._points.pop(row, None) is not None:
            self.changed.add(row)
