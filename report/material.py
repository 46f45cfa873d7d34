"""What the figures are drawn from: the study's frames, its judged trials and the analysis of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import pandas as pd

from report.drawing.style import Arms, text
from report.frames import StudyFrames
from robustness.sweep.outcomes import Judge


@dataclass(frozen=True)
class Material:
    """One study, ready to be drawn."""

    frames: StudyFrames
    judges: Mapping[str, Judge]
    judged: pd.DataFrame
    """The frame of trials as `report.judging.judge` gives it."""
    analysis: Mapping[str, Any]
    """All statistics, as `--format json` writes them."""

    @cached_property
    def arms(self) -> Arms:
        return Arms(tuple(self.frames.arms))

    @property
    def epoch(self) -> str:
        """At which epoch the study judges: `best` or `last`."""
        return self.frames.rule

    @property
    def metric(self) -> str:
        """The column of `epochs` that holds the study's metric."""
        return self.frames.metric_column

    @property
    def metric_words(self) -> str:
        return text(self.frames.metric.replace("_", " ").replace("auc", "AUC"), 30)

    @property
    def primary(self) -> str:
        return self.frames.primary

    @property
    def good(self) -> float:
        return self.judges[self.epoch].good

    @property
    def nothing(self) -> float:
        return self.judges[self.epoch].nothing

    @property
    def hyperparameters(self) -> list[str]:
        """Those that differ between configurations."""
        return self.frames.varied

    @property
    def epochs(self) -> pd.DataFrame:
        return self.frames.epochs

    @cached_property
    def trials(self) -> pd.DataFrame:
        """The judged trials with `score` and `outcome` at the study's own epoch."""
        return self.judged.assign(
            score=self.judged[f"score_{self.epoch}"], outcome=self.judged[f"outcome_{self.epoch}"]
        )

    @cached_property
    def pairs(self) -> pd.DataFrame:
        """The trials of complete pairs."""
        return self.trials.loc[self.trials["paired"]]

    def values(self, name: str) -> pd.Series[Any]:
        """A hyperparameter's value for each row of `trials`."""
        return self.trials["configuration"].map(self.frames.configurations[name])

    def hyperparameters_of(self, configuration: int) -> dict[str, Any]:
        """What a configuration has of the hyperparameters that differ."""
        row = self.frames.configurations.loc[configuration]
        return {name: row[name] for name in self.hyperparameters if not pd.isna(row[name])}

    def outcomes(self, epoch: str) -> dict[str, Mapping[str, Any]]:
        """For each arm and outcome its `count`, `of`, `fraction`, `low`, `high`, judged at the best or last epoch."""
        return {arm: found["at"][epoch] for arm, found in self.analysis["arms"].items()}

    @property
    def reference_label(self) -> str | None:
        reference = self.frames.document.get("reference")
        return text(reference.get("label", "the reference"), 80) if reference else None

    def reference(self, outcome: str, arm: str) -> float | None:
        """The fraction that the study's reference gives for an arm's outcome."""
        found = ((self.frames.document.get("reference") or {}).get(outcome) or {}).get(arm)
        return None if found is None else float(found)
