"""The sweep judges trials as they end, the report judges all of them at once: both must say the same."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest
from support.stores import mixed, paper_like

from report.frames import load_frames
from report.judged_study import JudgedStudy
from robustness.store import StudyStore, open_store
from robustness.sweep.outcomes import Judge


@pytest.mark.parametrize("kind", ["mixed", "untrained"])
def test_the_sweep_and_the_report_judge_a_trial_alike(tmp_path: Path, kind: str) -> None:
    with open_store(f"sqlite:///{tmp_path / 'made.db'}") as store:
        study: StudyStore = mixed(store) if kind == "mixed" else paper_like(store, configurations=12, epochs=6)
        judged = JudgedStudy.of(load_frames(study)).trials
        sweeps = Judge.of(study.document(), study.note("untrained"))
    for row in judged.itertuples():
        ours = None if pd.isna(row.outcome_best) else row.outcome_best
        assert ours == sweeps.outcome(row.status, None if pd.isna(row.best) else row.best), row
