from __future__ import annotations

from pathlib import Path

import pytest
from support.branin import branin_study, score

from robustness.execution.tune import TuneExecutor
from robustness.optimize.search import NOTHING, search
from robustness.store import open_store


@pytest.mark.xdist_group("ray")
@pytest.mark.usefixtures("local_ray")
def test_several_workers_at_once_try_distinct_configurations_and_each_arm_gets_its_runs(tmp_path: Path) -> None:
    study = branin_study(arms=["first", "second"], search={"runs": 6})
    with open_store(f"sqlite:///{tmp_path / 'store.db'}") as store:
        registered = store.register(study, NOTHING)
        runs = search(study, registered, TuneExecutor(workers=3))
        assert set(registered.states().values()) == {"finished"}
        # A second search has nothing to do.
        assert search(study, registered, TuneExecutor(workers=3)) == runs
    for found in runs.values():
        assert [run.number for run in found] == list(range(6))
        assert len({str(run.hyperparameters) for run in found}) == 6
        assert [run.score for run in found] == [score(run.hyperparameters) for run in found]
