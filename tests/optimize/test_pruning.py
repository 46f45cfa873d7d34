"""Pruning: bad runs are stopped early, and the search finds the same winner."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import optuna
import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st
from support.branin import branin_document, branin_study, score
from support.databases import optuna_storage
from support.trainables import wait_for

import robustness
from robustness.errors import RobustnessError
from robustness.execution.inline import InlineExecutor
from robustness.execution.protocol import Executor
from robustness.execution.tune import TuneExecutor
from robustness.optimize.final_models import winners
from robustness.optimize.proposals import SearchRun, frozen, quiet
from robustness.optimize.pruning import unreached_median
from robustness.optimize.search import NOTHING, runs_in, search
from robustness.store import open_store
from robustness.study.changes import extends
from robustness.study.sections import Pruning
from robustness.study.study import Study
from robustness.trial import TrialKey

PRUNING = {"startup_runs": 3, "warmup_epochs": 3}
SEARCH = {"runs": 12, "sampler": "random", "pruning": PRUNING}
ARMS = ["first", "second"]


def slow_study(**changes: Any) -> Study:
    return branin_study("train_slowly", **{"arms": ARMS, "training": {"epochs": 8}, "search": SEARCH, **changes})


def searched(
    study: Study, url: str, executor: Executor | None = None
) -> tuple[dict[str, list[SearchRun]], dict[str, SearchRun]]:
    with open_store(url) as store:
        registered = store.register(study, NOTHING)
        runs = search(study, registered, executor or InlineExecutor())
        assert runs_in(study, registered) == runs
        return runs, winners(study, registered)


scores = st.dictionaries(st.integers(1, 6), st.sampled_from([0.1, 0.25, 0.5, 0.75, 0.9]), max_size=6)


@settings(deadline=None, derandomize=True, max_examples=200)
@given(scores, st.lists(scores, max_size=6), st.integers(1, 4), st.integers(0, 4))
def test_the_rule_is_that_of_optunas_median_pruner(
    of_run: dict[int, float], finished: list[dict[int, float]], startup: int, warmup: int
) -> None:
    ours = unreached_median(Pruning(startup_runs=startup, warmup_epochs=warmup), of_run, finished)
    with quiet():
        study = optuna.create_study(direction="maximize")
        for values in finished:
            # Optuna counts steps from 0.
            steps = {epoch - 1: value for epoch, value in values.items()}
            study.add_trial(optuna.trial.create_trial(value=0.5, intermediate_values=steps))
        running = optuna.trial.create_trial(
            state=optuna.trial.TrialState.RUNNING,
            intermediate_values={epoch - 1: value for epoch, value in of_run.items()},
        )
        theirs = optuna.pruners.MedianPruner(n_startup_trials=startup, n_warmup_steps=warmup).prune(study, running)
    assert (ours is not None) == theirs


def test_runs_that_are_behind_end_early_and_the_winner_is_that_of_a_search_without_pruning(tmp_path: Path) -> None:
    whole, best = searched(slow_study(search=SEARCH | {"pruning": None}), f"sqlite:///{tmp_path / 'whole.db'}")
    url = f"sqlite:///{tmp_path / 'pruned.db'}"
    runs, best_of_pruned = searched(slow_study(), url)
    for arm in ARMS:
        statuses = [run.status for run in runs[arm]]
        assert statuses[:3] == ["finished"] * 3
        assert set(statuses) == {"finished", "pruned"}
        assert [run.hyperparameters for run in runs[arm]] == [run.hyperparameters for run in whole[arm]]
        assert best_of_pruned[arm].number == best[arm].number
        assert best_of_pruned[arm].status == "finished"
        for run in runs[arm]:
            before = [score(r.hyperparameters) for r in runs[arm][: run.number] if r.status == "finished"]
            behind = run.number >= 3 and score(run.hyperparameters) < sorted(before)[len(before) // 2]
            if run.status == "pruned":
                assert behind
                assert list(run.values) == [2, 3, 4]
                assert run.score == score(run.hyperparameters) * 4 / 8
            else:
                assert list(run.values) == list(range(2, 9))
    with open_store(url, create=False) as store:
        frame = store.study("branin").trials()
        reasons = frame[frame["status"] == "pruned"]["error"]
        assert reasons.str.contains("up to epoch 4 is below the median of earlier runs there").all()


def test_a_run_that_has_done_all_its_epochs_is_finished(tmp_path: Path) -> None:
    late = slow_study(search=SEARCH | {"pruning": {"startup_runs": 1, "warmup_epochs": 7}})
    runs, _ = searched(late, f"sqlite:///{tmp_path / 'store.db'}")
    assert {run.status for of_arm in runs.values() for run in of_arm} == {"finished"}


@pytest.mark.xdist_group("ray")
@pytest.mark.usefixtures("local_ray")
def test_on_ray_the_same_runs_are_pruned_by_one_worker_as_in_one_process(tmp_path: Path) -> None:
    inline, _ = searched(slow_study(), f"sqlite:///{tmp_path / 'inline.db'}")
    url = f"sqlite:///{tmp_path / 'tune.db'}"
    assert searched(slow_study(), url, TuneExecutor(workers=1))[0] == inline
    with open_store(url, create=False) as store:
        assert store.study("branin").trials()["worker"].nunique() == 1


def test_killed_and_resumed_pruned_runs_stay_pruned(tmp_path: Path) -> None:
    expected, _ = searched(slow_study(), f"sqlite:///{tmp_path / 'undisturbed.db'}")
    every = [TrialKey(number, ARMS[number % 2]) for number in range(24)]
    key = every[19]
    assert "pruned" in {run.status for run in expected["second"][:9]}
    training = {"epochs": 8, "folder": str(tmp_path)}
    document = branin_document("train_slowly", arms=ARMS, search=SEARCH, training=training)
    path, url = tmp_path / "branin.yaml", f"sqlite:///{tmp_path / 'store.db'}"
    path.write_text(yaml.safe_dump(document))
    for other in every:
        if other != key:
            (tmp_path / f"{other}.go".replace("/", "-")).touch()
    source, tests = Path(robustness.__file__).parents[1], Path(__file__).parents[1]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, (source, tests)))}
    command = [sys.executable, "-m", "robustness", "optimize", str(path), "--store", url, "--inline", "--quiet"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment) as process:
        wait_for(tmp_path / f"{key}.begun".replace("/", "-"))
        process.kill()
        process.communicate()
    (tmp_path / f"{key}.go".replace("/", "-")).touch()
    study = slow_study(training=training)
    with open_store(url) as store:
        registered = store.study("branin")
        pruned = [key for key, status in registered.states().items() if status == "pruned"]
        assert pruned
        runs = search(study, registered, InlineExecutor())
        assert runs == expected
        attempts = registered.trials().set_index(["configuration", "arm"])["attempts"]
        assert all(attempts[key.configuration, key.arm] == 1 for key in pruned)


def test_optuna_shows_pruned_runs_with_their_epochs_and_samplers_hear_their_best_score(store_url: str) -> None:
    study = slow_study(arms=["only"])
    runs = searched(study, store_url)[0]["only"]
    with quiet(), optuna_storage(store_url) as storage:
        shown = optuna.load_study(study_name="branin/only", storage=storage).trials
    states = {"finished": "COMPLETE", "pruned": "PRUNED"}
    assert [trial.state.name for trial in shown] == [states[run.status] for run in runs]
    assert [trial.intermediate_values for trial in shown] == [dict(run.values) for run in runs]
    assert [trial.value for trial in shown] == [run.score for run in runs]
    pruned = next(run for run in runs if run.status == "pruned")
    told = frozen(pruned, study.space, "validation_auc", runs)
    assert (told.state.name, told.value) == ("COMPLETE", pruned.score)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"pruning": PRUNING}, "branin.yaml: pruning: belongs under `search`"),
        ({"search": None, "sampling": {"configurations": 3}, "pruning": {}}, "a sweep compares pairs of trials"),
        ({"search": {"pruning": {"startup": 3}}}, "search.pruning.startup: unknown key 'startup'; did you mean"),
        ({"search": {"pruning": "median"}}, "search.pruning: must be a mapping of keys to values, found 'median'"),
    ],
)
def test_pruning_of_pairs_and_bad_terms_are_refused(changes: dict[str, Any], words: str) -> None:
    with pytest.raises(RobustnessError) as refused:
        branin_study(**changes)
    assert words in str(refused.value)
    assert "\n" not in str(refused.value)


def test_pruning_makes_another_study_and_none_leaves_the_document_as_it_was() -> None:
    plain = branin_study().document()
    assert "pruning" not in plain["search"]
    assert branin_study(search={"runs": 10, "pruning": None}).document() == plain
    assert not extends(plain, branin_study(search={"runs": 10, "pruning": {}}).document())
