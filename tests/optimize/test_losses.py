"""Searches for the lowest loss: proposals, pruning, winners and their mirror in Optuna's tables."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
from optuna.storages import RDBStorage
from optuna.study import StudyDirection
from support.studies import store_url, write_study

from robustness.execution.inline import InlineExecutor
from robustness.goal import MAXIMIZE, MINIMIZE
from robustness.optimize.final_models import winners
from robustness.optimize.proposals import SearchRun, state_of
from robustness.optimize.pruning import unreached_median
from robustness.optimize.search import NOTHING, search
from robustness.store import open_store
from robustness.study.loading import load_study
from robustness.study.sections import Pruning, Winners
from robustness.sweep.winners import Candidate, Place, choose
from robustness.trial import TrialKey

TERMS = Pruning(startup_runs=2, warmup_epochs=0)


@pytest.mark.parametrize("loss", [0.1, 0.3, 0.35, 0.5])
def test_pruning_of_a_loss_is_the_mirror_of_that_of_a_score(loss: float) -> None:
    finished = [{1: 0.3}, {1: 0.4}]
    found = unreached_median(TERMS, {1: loss}, finished, MINIMIZE)
    mirrored = unreached_median(TERMS, {1: -loss}, [{1: -run[1]} for run in finished], MAXIMIZE)
    assert found == (None if mirrored is None else -mirrored)
    assert (found is not None) == (loss > 0.35)


def test_the_winner_of_a_loss_has_the_lowest() -> None:
    tried = [Candidate(TrialKey(number, "a"), {}, loss) for number, loss in enumerate((0.4, 0.2, math.nan, 0.3))]
    assert choose(tried, Winners(replicates=2), MINIMIZE) == {Place("a"): TrialKey(1, "a")}


def test_a_run_that_diverged_is_as_bad_as_the_worst() -> None:
    runs = [SearchRun(0, {}, "finished", 0.4), SearchRun(1, {}, "finished", 0.9), SearchRun(2, {}, "diverged")]
    assert state_of(runs[2], "validation_nll", runs, MINIMIZE)[1] == 0.9
    assert state_of(runs[2], "my_loss", runs, MINIMIZE)[1] == 0.9
    assert state_of(runs[2], "validation_auc", runs, MAXIMIZE)[1] == 0.5


def test_a_search_finds_the_lowest_loss_and_optuna_shows_its_direction(tmp_path: Path) -> None:
    changes = {
        "arms": ["only"],
        "outcomes": {"metric": "error", "goal": "minimize"},
        "search": {"runs": 6, "sampler": "random"},
        "sampling": {"seed": 3},
    }
    study = load_study(str(write_study(tmp_path, "streamed_error", **changes)))
    with open_store(store_url(tmp_path)) as store:
        registered = store.register(study, NOTHING)
        with registered.lock():
            runs = search(study, registered, InlineExecutor())["only"]
        best = winners(study, registered)["only"]
    scores = [run.score for run in runs]
    assert best.score == min(score for score in scores if score is not None)
    storage = RDBStorage(store_url(tmp_path))
    assert [each.directions for each in storage.get_all_studies()] == [[StudyDirection.MINIMIZE]]
    storage.engine.dispose()
