"""A study with its judged trials: the input of the `results` of every section."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from report.comparison import Sample, comparisons, outcome_counts, score_comparisons
from report.frames import TASK_BLOCK, StudyFrames
from report.judging import judge_trials, worst_scores
from report.records.comparisons import PairedComparison, ScoreComparison
from report.records.estimates import ArmCounts
from report.scales import around
from report.watched import up_to
from robustness.metrics import find_metric
from robustness.sweep.outcomes import SUMMARIES, Judge, Summary, judges


@dataclass(frozen=True)
class JudgedStudy:
    """The frames of a study, the judges at the best and last epoch, and their outcomes of every trial."""

    frames: StudyFrames
    judges: Mapping[str, Judge]
    trials: pd.DataFrame
    """The frame of trials as `report.judging.judge_trials` returns it."""
    sample: Sample
    whole: JudgedStudy | None = None
    """The study that this is a restriction of."""

    @staticmethod
    def of(frames: StudyFrames) -> JudgedStudy:
        """Judge every trial of a study by its own thresholds."""
        own = judges(frames.document, frames.untrained)
        sample, trials = Sample.of(frames), judge_trials(frames, own)
        return JudgedStudy(frames, own, trials if sample.watch is None else up_to(sample.watch.prefix, trials), sample)

    def restricted(self, kept: pd.Series[bool]) -> JudgedStudy:
        """The study with some of its judged trials alone, as the page's script recomputes it for a reader.

        Nothing is judged again: what counts, is paired or stands in for a missing score is as in the whole study, and
        so are the thresholds of profiles and the standard deviation of a task.
        """
        sample = replace(self.sample, whole=self.planned)
        return replace(self, trials=self.trials.loc[kept], sample=sample, whole=self)

    @cached_property
    def planned(self) -> pd.DataFrame:
        """The trials that fractions are over: winners' further replicates would weight their configurations more.

        Of a watched sweep, only the finished prefix of its configurations.
        """
        planned = self.trials.loc[self.trials["replicate"] % TASK_BLOCK < self.frames.replicates]
        watch = self.sample.watch
        return planned if watch is None else planned.loc[planned["configuration"] < watch.prefix]

    @cached_property
    def single_epoch(self) -> bool:
        """Whether the best and the last epoch of every trial are one and the same, as of most imported runs."""
        same = all(self.trials[f"{name}_best"].equals(self.trials[f"{name}_last"]) for name in ("score", "outcome"))
        return same and bool((self.frames.trials["epochs"].fillna(0) <= 1).all())

    @property
    def epochs_shown(self) -> tuple[Summary, ...]:
        """The epochs at which results are shown: best and last, or the study's alone where they are the same."""
        return (self.frames.rule,) if self.single_epoch else SUMMARIES

    @cached_property
    def default(self) -> pd.DataFrame | None:
        """The judged trials of the study's default configuration; None if it names none."""
        own = self.frames.default
        return None if own is None else judge_trials(own, self.judges, worst_scores(self.frames))

    @cached_property
    def outcome_counts(self) -> dict[str, ArmCounts]:
        """The fractions of each arm (`report.comparison.outcome_counts`)."""
        counts = outcome_counts(self.planned, self.frames)
        watch = self.sample.watch
        return counts if watch is None else watch.with_sequences(counts, self.planned, self.frames.rule)

    @cached_property
    def comparisons(self) -> list[PairedComparison]:
        """Every paired comparison of two arms (`report.comparison.comparisons`)."""
        return comparisons(self.planned, self.frames, self.sample, self.epochs_shown)

    @cached_property
    def score_comparisons(self) -> list[ScoreComparison]:
        """Every comparison of two arms by their scores (`report.comparison.score_comparisons`)."""
        return score_comparisons(self.planned, self.frames, self.sample, self.epochs_shown)

    @cached_property
    def score_range(self) -> tuple[float, float]:
        """The ends of the axis of thresholds: chance and a perfect value where known, else the observed range."""
        if self.whole is not None:
            return self.whole.score_range
        known = find_metric(self.frames.metric).useful_range
        if known is not None:
            return known
        scores = self.planned[[f"score_{summary}" for summary in SUMMARIES]].to_numpy(dtype=float)
        finite = scores[np.isfinite(scores)]
        if not finite.size or finite.min() == finite.max():
            centre = float(finite[0]) if finite.size else 0.5
            return around(centre)
        return float(finite.min()), float(finite.max())

    @cached_property
    def paired_scores(self) -> dict[str, list[NDArray[np.float64]]]:
        """By arm the scores of its trials in complete pairs at the study's epoch, an array for each configuration."""
        paired = self.planned[self.planned["paired"]].sort_values("configuration", kind="stable")
        return {arm: self._by_configuration(paired[paired["arm"] == arm]) for arm in self.frames.arms}

    def _by_configuration(self, trials: pd.DataFrame) -> list[NDArray[np.float64]]:
        scores = trials[f"score_{self.frames.rule}"].to_numpy(dtype=float)
        _, firsts = np.unique(trials["configuration"].to_numpy(), return_index=True)
        ends = [*firsts[1:].tolist(), len(scores)]
        return [scores[first:end] for first, end in zip(firsts.tolist(), ends, strict=True)] if len(scores) else []
