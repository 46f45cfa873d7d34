"""`robustness status` of a study with `search`: runs and final models of each arm, never pairs."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from support.branin import SPACE, branin_study
from support.studies import store_url

import robustness
from robustness.cli import main
from robustness.optimize.plan import plan_search
from robustness.optimize.progress import SearchProgress
from robustness.optimize.search import NOTHING, trial_of
from robustness.store import open_store
from robustness.study.loading import load_study
from robustness.trial import EpochResult, TrialKey

PLACE = {"learning_rate": 1e-4, "initial_rho": -3.0}


@pytest.fixture
def url(tmp_path: Path) -> str:
    """Two arms of four runs and two final models: three runs and one model have ended, one run failed, one runs."""
    study = branin_study(
        arms=["first", "second"],
        training={"epochs": 6},
        search={"runs": 4, "epochs": 3},
        finals={"replicates": 2},
    )
    first = [TrialKey(0, "first"), TrialKey(2, "first"), TrialKey(4, "first")]
    second = [TrialKey(1, "second"), TrialKey(3, "second")]
    final = TrialKey(5, "first")
    with open_store(store_url(tmp_path)) as store:
        registered = store.register(study, NOTHING)
        runs = [(run, key) for keys in (first, second) for run, key in enumerate(keys)]
        registered.add([trial_of(study, key, PLACE, "search", run) for run, key in runs])
        registered.add([trial_of(study, final, PLACE, "final", 1)])
        with registered.writer() as writer:
            for key, score in zip(first[:2], (0.5, 0.875), strict=True):
                writer.started(key, 1, "host:1", "cpu")
                writer.ended(key, "finished", score, 2, None, 6.0)
            writer.started(first[2], 1, "host:1", "cpu")
            writer.ended(first[2], "pruned", 0.9, 2, "behind", 2.0)
            writer.started(second[0], 1, "host:1", "cpu")
            writer.ended(second[0], "failed", None, None, "ValueError", 1.0)
            writer.started(final, 1, "host:1", "cpu")
            writer.ended(final, "finished", 0.8, 5, None, 12.0)
            writer.started(second[1], 1, "host:2", "cpu")
            writer.epoch(second[1], EpochResult(1, {"validation_auc": 0.75}, False, 2.0))
    return store_url(tmp_path)


def test_runs_and_final_models_are_counted_for_each_arm(url: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["status", "branin", "--store", url, "--json"]) == 0
    (status,) = json.loads(capsys.readouterr().out)
    assert status["arms"] == {
        # Only a finished run can be the best: the pruned one does not count.
        "first": {
            "runs": {"done": 3, "all": 4},
            "best": 0.875,
            "best_run": 2,
            "best_search": 1,
            "final_models": {"done": 1, "all": 2},
        },
        "second": {
            "runs": {"done": 1, "all": 4},
            "best": None,
            "best_run": None,
            "best_search": None,
            "final_models": {"done": 0, "all": 2},
        },
    }
    assert status["objective"] == "validation_auc"
    assert status["running"] == [{"trial": "3/second", "epoch": 1}]
    assert status["failures"] == {"failed": 1, "pruned": 1}
    assert "pairs" not in status
    assert "learned_nothing" not in status
    # 1 + 3 runs of 3 epochs and 1 + 2 models of 6, without the epoch that is done: 29 epochs at 2 s, one at a time.
    assert status["seconds_left"] == pytest.approx(58.0)


def test_the_table_shows_arms_what_runs_and_what_failed(url: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["status", "--store", url]) == 0
    shown = capsys.readouterr().out
    assert "branin: 4 of 8 runs and 1 of 4 final models done, 1 trial running, about 58 s left" in " ".join(
        shown.split()
    )
    assert "second, run 2" in shown
    assert "0.875" in shown
    assert "failed: second, run 1" in shown
    assert "pairs" not in shown
    assert "learned" not in shown


@pytest.mark.parametrize("name", ["fundus_final", "retinopathy_vgg", "deepdrid_final"])
def test_what_is_still_to_come_is_what_the_plan_says(name: str, tmp_path: Path) -> None:
    study = load_study(name, check_data=False)
    with open_store(store_url(tmp_path)) as store:
        progress = SearchProgress.of(store.register(study, NOTHING))
    planned = {arm["arm"]: (arm["runs"], arm["final_models"]) for arm in plan_search(study)["arms"]}
    assert {label: (arm.runs, arm.final_models) for label, arm in progress.arms.items()} == planned
    assert progress.metric == plan_search(study)["objective"]
    assert not progress.done()
    assert progress.seconds_left() is None


def test_models_of_a_run_that_is_no_longer_the_best_do_not_count(url: str) -> None:
    with open_store(url) as store:
        registered = store.study("branin")
        assert SearchProgress.of(registered).counts("final") == (1, 4)
        study = branin_study(arms=["first", "second"], search={"runs": 4, "epochs": 3})
        key = TrialKey(registered.next_configuration(), "first")
        registered.add([trial_of(study, key, PLACE, "search", 3)])
        with registered.writer() as writer:
            writer.started(key, 1, "host:1", "cpu")
            writer.ended(key, "finished", 0.95, 2, None, 6.0)
        progress = SearchProgress.of(registered)
    assert progress.arms["first"].winners == {0: (0.95, 4)}
    assert progress.counts("final") == (0, 4)


def test_a_search_that_has_ended_is_done(tmp_path: Path) -> None:
    study = branin_study(search={"runs": 1})
    assert study.space.data == SPACE
    with open_store(store_url(tmp_path)) as store:
        registered = store.register(study, NOTHING)
        registered.add([trial_of(study, TrialKey(0, "only"), PLACE, "search", 0)])
        with registered.writer() as writer:
            writer.started(TrialKey(0, "only"), 1, "host:1", "cpu")
            writer.ended(TrialKey(0, "only"), "diverged", None, None, "NaN", 1.0)
        progress = SearchProgress.of(registered)
    assert progress.done()
    assert progress.line() == "branin: 1 of 1 runs done, 0 trials running; 1 diverged"


def test_status_needs_neither_torch_nor_ray_nor_frames(url: str) -> None:
    code = (
        "import sys\n"
        "from robustness.cli import main\n"
        f"code = main(['status', '--store', {url!r}])\n"
        "heavy = {'torch', 'ray', 'pandas', 'numpy', 'optuna', 'scipy', 'pydantic'}\n"
        "sys.exit(code or ' '.join(heavy & set(sys.modules)) or 0)\n"
    )
    environment = {**os.environ, "PYTHONPATH": str(Path(robustness.__file__).parents[1])}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == 0, done.stderr
    assert "4 of 8 runs" in done.stdout
