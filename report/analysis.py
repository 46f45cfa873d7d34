"""The analysis of a study: its judged trials, and all statistics of them as plain values.

    analysis = analyse(study_store)       # or frames
    analysis.results                      # the JSON of `robustness report --format json`: docs/report_json.md
    analysis.frames, .trials, .pairs      # what sections need beside it

The same store always yields the same results: bootstrap seeds are fixed, and no time of day is part of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, cast

import pandas as pd

from report.document import plain
from report.drawing.style import Arms
from report.frames import StudyFrames, load_frames
from report.judged_study import JudgedStudy
from report.records.estimates import JudgedOutcome, OutcomeFractions
from report.sections import own_results, section_results, stands_alone
from report.sections.hyperparameters import values_of
from report.sections.interactions import InteractionsResult
from report.sections.location import location
from report.sections.results import Head, Results
from report.sections.tasks import TaskResults
from report.sections.tasks import sentences as task_sentences
from report.sections.verdict import verdict
from report.watched import watched_sentence
from report.words import in_metric, metric_words, text, the_metric
from robustness.goal import Goal
from robustness.guards.outputs import GENERATOR
from robustness.guards.printable import printable_json
from robustness.store import StudyStore
from robustness.sweep.outcomes import Judge, Summary
from robustness.trial import PENDING

SHOWN_CONTRADICTIONS = 10


@dataclass(frozen=True)
class Analysis:
    """A study, judged and analysed: the one object that every section is made from."""

    study: JudgedStudy
    results: Results
    """Plain values only, as JSON has them; None where there is nothing to say."""

    @property
    def frames(self) -> StudyFrames:
        return self.study.frames

    def part(self, key: str) -> Any:
        """The results under a key that only an installed package knows; None if there are none."""
        return self.results.get(key)

    @cached_property
    def arms(self) -> Arms:
        """How each arm is drawn."""
        return Arms(tuple(self.frames.arms))

    @cached_property
    def alone(self) -> bool:
        """Whether the study stands alone, without fractions of configurations."""
        return stands_alone(self.results)

    @property
    def epoch(self) -> Summary:
        """The epoch at which the study judges: `best` or `last`."""
        return self.frames.rule

    @property
    def judge(self) -> Judge:
        """The judge at the study's epoch."""
        return self.study.judges[self.epoch]

    @property
    def good(self) -> float:
        return self.judge.good

    @property
    def nothing(self) -> float:
        return self.judge.nothing

    @property
    def goal(self) -> Goal:
        """Whether the metric is maximised or minimised."""
        return self.frames.goal

    @property
    def beyond(self) -> str:
        """The side of a threshold on which scores are better: `above` or `below`."""
        return "below" if self.goal.minimizes else "above"

    @property
    def primary(self) -> JudgedOutcome:
        return self.frames.primary

    @property
    def metric(self) -> str:
        """The column of `epochs` that holds the study's metric."""
        return self.frames.metric_column

    @property
    def metric_words(self) -> str:
        return text(metric_words(self.frames.metric), 30)

    @property
    def the_metric(self) -> str:
        """The metric's name, or `the metric` where it has none."""
        return text(the_metric(self.frames.metric), 30)

    @property
    def in_metric(self) -> str:
        """` in validation AUC`, behind a difference; nothing where the metric has no name."""
        return in_metric(self.frames.metric)

    @property
    def hyperparameters(self) -> list[str]:
        """The hyperparameters that differ between configurations."""
        return self.frames.varied

    @property
    def epochs(self) -> pd.DataFrame:
        return self.frames.epochs

    @cached_property
    def trials(self) -> pd.DataFrame:
        """The judged trials with `score` and `outcome` at the study's epoch."""
        judged = self.study.trials
        return judged.assign(score=judged[f"score_{self.epoch}"], outcome=judged[f"outcome_{self.epoch}"])

    @cached_property
    def pairs(self) -> pd.DataFrame:
        """The trials of complete pairs."""
        return self.trials.loc[self.trials["paired"]]

    def values(self, name: str) -> pd.Series[Any]:
        """The value of a hyperparameter for each row of `trials`."""
        values = self.trials["configuration"].map(self.frames.configurations[name])
        owner = self.frames.owners.get(name)
        return values if owner is None else values.where(self.trials["arm"] == owner)

    def hyperparameters_of(self, configuration: int) -> dict[str, object]:
        """The values of a configuration for the hyperparameters that differ."""
        return values_of(self.frames, configuration, self.hyperparameters)

    def outcomes(self, epoch: Summary) -> dict[str, OutcomeFractions]:
        """The fractions of each arm, judged at the best or last epoch."""
        return {arm: entry["at"][epoch] for arm, entry in self.results["arms"].items()}

    @property
    def reference_label(self) -> str | None:
        reference = self.frames.document.get("reference")
        return text(reference.get("label", "the reference"), 80) if reference else None

    def reference(self, outcome: JudgedOutcome, arm: str) -> float | None:
        """The fraction of an arm's outcome in the study's reference."""
        fraction = ((self.frames.document.get("reference") or {}).get(outcome) or {}).get(arm)
        return None if fraction is None else float(fraction)


def analyse(study: StudyStore | StudyFrames) -> Analysis:
    """Read a study, which may be running, and compute all statistics of the report."""
    judged = JudgedStudy.of(study if isinstance(study, StudyFrames) else load_frames(study))
    return Analysis(judged, plain(_results(judged)))


def as_json_text(results: Mapping[str, object]) -> str:
    """The results as the JSON text that the command writes."""
    return printable_json({"generator": GENERATOR, **results}, indent=2, allow_nan=False) + "\n"


def _results(study: JudgedStudy) -> dict[str, object]:
    frames, planned = study.frames, study.planned
    parts = section_results(study)
    own = own_results(parts)
    sentences = [sentence for entry in own for sentence in entry["sentences"]]
    if not stands_alone(parts):
        sentences += verdict(frames, study.outcome_counts, study.comparisons, study.score_comparisons)
        tasks = parts.get("tasks")
        if tasks is not None:
            sentences += task_sentences(cast(TaskResults, tasks), study)
        if study.sample.watch is not None:
            sentences.append(watched_sentence(frames, study.sample.watch))
    ended = not study.trials["status"].isin(PENDING).any()
    head: Head = {
        "study": frames.name,
        "complete": ended and all(entry.get("complete", True) for entry in own),
        "metric": frames.metric,
        "epoch": frames.rule,
        "goal": frames.goal.name,
        "primary": frames.primary if frames.has_thresholds else None,
        "verdict": sentences,
        "location": None
        if stands_alone(parts)
        else location(study, cast(list[InteractionsResult], parts["interactions"])),
        "sampling": {
            "strategy": frames.document["sampling"].get("strategy", "random"),
            "configurations": len(frames.configurations),
            "tasks": frames.tasks,
            "paired": frames.paired,
            "population": study.sample.population,
            "replicates": frames.replicates,
            "pairs": int(planned.loc[planned["paired"], ["configuration", "replicate"]].drop_duplicates().shape[0]),
        },
        "stopped": frames.stopped,
        "contradictions": {
            "count": len(frames.contradictions),
            "trials": [str(key) for key in frames.contradictions[:SHOWN_CONTRADICTIONS]],
        },
    }
    return {**head, **parts}
