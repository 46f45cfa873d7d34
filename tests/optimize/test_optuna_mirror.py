"""Optuna's tables in our database: they do not interfere with ours, and Optuna's dashboard shows the search."""

from __future__ import annotations

import json
import threading
import urllib.request
from contextlib import closing
from pathlib import Path
from wsgiref.simple_server import WSGIRequestHandler, make_server

import optuna
import pytest
from sqlalchemy import create_engine, inspect
from sqlalchemy.pool import NullPool
from support.branin import branin_study
from support.databases import optuna_storage

from robustness.execution.inline import InlineExecutor
from robustness.optimize.optuna_mirror import open_mirror
from robustness.optimize.proposals import SearchRun, quiet
from robustness.optimize.search import NOTHING, search
from robustness.store import open_store
from robustness.store.connection import read_url
from robustness.store.migrations import REVISIONS, version


def searched(url: str, runs: int = 4) -> dict[str, list[SearchRun]]:
    study = branin_study("train_with_faults", arms=["first", "second"], search={"runs": runs, "sampler": "random"})
    with open_store(url) as store:
        return search(study, store.register(study, NOTHING), InlineExecutor())


def test_optuna_reads_every_run_with_its_state_and_constraint(store_url: str) -> None:
    runs = searched(store_url, 8)
    with quiet(), optuna_storage(store_url) as storage:
        assert optuna.study.get_all_study_names(storage) == ["branin/first", "branin/second"]
        for arm, ours in runs.items():
            study = optuna.load_study(study_name=f"branin/{arm}", storage=storage)
            assert [dict(trial.params) for trial in study.trials] == [dict(run.hyperparameters) for run in ours]
            for trial, run in zip(study.trials, ours, strict=True):
                assert trial.user_attrs["status"] == run.status
                assert trial.value == (run.score if run.status == "finished" else 0.5)
                assert (trial.constraints["fits"] > 0) == (run.status == "out_of_memory")
    assert {run.status for run in (*runs["first"], *runs["second"])} == {"finished", "diverged", "out_of_memory"}


def test_both_find_their_own_version_in_the_same_database(store_url: str) -> None:
    with quiet(), optuna_storage(store_url) as storage:
        optuna.create_study(storage=storage, study_name="someone's own")
    searched(store_url)
    engine = create_engine(read_url(store_url), poolclass=NullPool)
    with engine.connect() as connection:
        assert version(connection) == REVISIONS[-1]
        assert {"alembic_version", "robustness_version", "studies", "trials"} <= set(
            inspect(connection).get_table_names()
        )
    with quiet(), optuna_storage(store_url) as storage:
        assert len(optuna.study.get_all_study_names(storage)) == 3
    with open_store(store_url, create=False) as store:
        assert store.names() == ["branin"]
        assert len(store.study("branin").trials()) == 8


def test_a_copy_that_lacks_runs_is_made_up_for(store_url: str) -> None:
    study = branin_study(search={"runs": 3, "sampler": "random"})
    place = {"learning_rate": 1e-4, "initial_rho": -3.0}
    other = {"learning_rate": 2e-4, "initial_rho": -4.0}
    url = read_url(store_url)
    with open_mirror(url, "branin", "validation_auc") as mirror:
        assert mirror.update("only", study.space, [SearchRun(0, place, "running")])
    with open_mirror(url, "branin", "validation_auc") as mirror:
        ended = [SearchRun(0, place, "finished", 0.7), SearchRun(1, other, "failed"), SearchRun(2, other, "running")]
        assert mirror.update("only", study.space, ended)
        assert mirror.update("only", study.space, ended)
    with quiet(), optuna_storage(store_url) as storage:
        trials = optuna.load_study(study_name="branin/only", storage=storage).trials
        assert [trial.state.name for trial in trials] == ["COMPLETE", "FAIL", "RUNNING"]
        assert trials[0].value == 0.7


class Quiet(WSGIRequestHandler):
    def log_message(self, *_: object) -> None: ...


@pytest.mark.filterwarnings("ignore")
def test_optunas_dashboard_lists_the_runs(tmp_path: Path) -> None:
    from optuna_dashboard import wsgi

    url = f"sqlite:///{tmp_path / 'store.db'}"
    runs = searched(url)
    with quiet(), optuna_storage(url) as storage:
        server = make_server("127.0.0.1", 0, wsgi(storage), handler_class=Quiet)
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            base = f"http://127.0.0.1:{server.server_port}/api"
            listed = {entry["study_name"]: entry for entry in _get(f"{base}/studies")["study_summaries"]}
            assert set(listed) == {"branin/first", "branin/second"}
            detail = _get(f"{base}/studies/{listed['branin/first']['study_id']}")
            assert [trial["number"] for trial in detail["trials"]] == [run.number for run in runs["first"]]
        finally:
            server.shutdown()
            server.server_close()
            thread.join()


def _get(address: str) -> dict[str, list[dict[str, object]]]:
    with closing(urllib.request.urlopen(address, timeout=60)) as answer:  # noqa: S310
        found: dict[str, list[dict[str, object]]] = json.load(answer)
    return found
