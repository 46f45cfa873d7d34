"""The sweep judges trials as they end, the report judges all of them at once: both must say the same."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from support.stores import Made, fill, made_study, mixed, note_by_cell, paper_like

from report.frames import load_frames
from report.judged_study import JudgedStudy
from robustness.execution.inline import InlineExecutor
from robustness.store import Store, StudyStore, open_store
from robustness.study.study import Study
from robustness.sweep.plan import make_plan
from robustness.sweep.recording import Recorder
from robustness.sweep.stopping import Decision
from robustness.sweep.sweep import terms_of
from robustness.sweep.trial_judge import TrialJudge
from robustness.trial import Trial


def varied(trial: Trial, epochs: int) -> Made:
    """Scores about the thresholds, from starts of either side; one trial whose metric is never a number."""
    generator = np.random.default_rng([trial.configuration, len(trial.arm)])
    if trial.configuration == 3:
        return Made(scores=[math.inf] * epochs, start=0.5)
    scores = [float(score) for score in generator.uniform(0.5, 0.85, epochs)]
    return Made(
        "diverged" if trial.configuration == 4 else "finished", scores, start=float(generator.uniform(0.3, 0.7))
    )


def ruled(rule: str, value: float = 0.1) -> Callable[[Store], StudyStore]:
    def make(store: Store) -> StudyStore:
        study = made_study(outcomes={"learned_nothing": {rule: 0.01}}, configurations=30, epochs=4)
        return fill(store, study, varied, note_by_cell(value))

    return make


KINDS: dict[str, Callable[[Store], StudyStore]] = {
    "mixed": mixed,
    "one threshold of untrained networks": lambda store: paper_like(store, configurations=12, epochs=6),
    "guessing": ruled("no_better_than_guessing"),
    "untrained networks by cell": ruled("no_better_than_untrained", 0.7),
    "start": ruled("no_better_than_start"),
}


@pytest.mark.parametrize("kind", KINDS)
def test_the_sweep_and_the_report_judge_a_trial_alike(tmp_path: Path, kind: str) -> None:
    with open_store(f"sqlite:///{tmp_path / 'made.db'}") as store:
        study = KINDS[kind](store)
        judged = JudgedStudy.of(load_frames(study)).trials.set_index(["configuration", "arm", "replicate"])
        sweeps = TrialJudge.of(study)
        for trial in study.results():
            ours = judged.loc[tuple(trial.key[:3]), "outcome_best"]
            assert (None if pd.isna(ours) else ours) == sweeps.outcome(trial.key, trial.status, trial.metric), trial
    assert judged["outcome_best"].nunique() == 3


def test_the_rule_of_starts_is_that_of_its_definition(tmp_path: Path) -> None:
    """A trial learned if it is good, or beats guessing and gains more over its folded start than its cell requires."""
    with open_store(f"sqlite:///{tmp_path / 'made.db'}") as store:
        judged = JudgedStudy.of(load_frames(ruled("no_better_than_start")(store))).trials
    for row in judged.itertuples():
        made = varied(Trial("", 0, int(row.configuration), str(row.arm)), 3)
        assert made.start is not None
        scores = [score for score in made.scores if math.isfinite(score)]
        for summary, score in (("best", max(scores, default=0)), ("last", [0, *scores][-1])):
            lost = summary == "last" and row.status == "diverged"
            learned = score >= 0.8 or (score > 0.62 and score - max(made.start, 1 - made.start) > 0.1)
            assert (getattr(row, f"outcome_{summary}") != "learned_nothing") == (learned and not lost)


def test_a_running_sweep_and_the_store_judge_alike(tmp_path: Path) -> None:
    """A finished trial whose metric was never a number learned nothing, as it ends and when it is read again."""
    study: Study = made_study(outcomes={"learned_nothing": {"no_better_than_start": 0.01}}, configurations=3)
    study = replace(study, trainable="support.trainables:odd_metric")
    plan = make_plan(study)
    shown: dict[Any, Any] = {}

    class Watcher:
        def started(self, *_: object) -> None: ...

        def epoch(self, *_: object) -> None: ...

        def ended(self, key: object, _: object, outcome: object, __: object) -> None:
            shown[key] = outcome

    with open_store(f"sqlite:///{tmp_path / 'made.db'}") as store:
        registered = store.register(study, plan)
        registered.save_note("untrained", note_by_cell(0.1))
        judge = TrialJudge.of(registered)
        recorder = Recorder(study, judge, None, Watcher(), Decision.of(study, plan, judge, registered))
        with registered.writer() as writer:
            recorder.writer = writer
            InlineExecutor().run(iter(plan.trials), recorder, terms_of(study), lambda: False)
        again = TrialJudge.of(registered)
        stored = {trial.key: again.outcome(trial.key, trial.status, trial.metric) for trial in registered.results()}
        report = JudgedStudy.of(load_frames(registered)).trials
    assert shown == stored
    assert [shown[trial.key] for trial in plan.trials if trial.arm == "mfvi"] == ["learned_nothing"] * 2 + ["good"]
    assert report["outcome_best"].tolist() == [stored[trial.key] for trial in plan.trials]
