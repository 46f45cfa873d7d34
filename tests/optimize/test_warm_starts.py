from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from support.branin import SPACE, branin_study, score

from robustness.errors import StoreError
from robustness.execution.inline import InlineExecutor
from robustness.optimize.search import NOTHING, search
from robustness.optimize.warm_starts import fitted, warm_starts
from robustness.space.space import read_space
from robustness.store import Store, open_store
from robustness.study.study import Study
from robustness.sweep.plan import make_plan
from robustness.sweep.sweep import sweep


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with open_store(f"sqlite:///{tmp_path / 'store.db'}") as opened:
        yield opened


def swept(store: Store) -> Study:
    study = branin_study(name="swept", search=None, sampling={"configurations": 12, "seed": 4})
    plan = make_plan(study)
    sweep(study, plan, store.register(study, plan), InlineExecutor())
    return study


def test_a_search_begins_with_the_best_configurations_of_a_sweep(store: Store) -> None:
    best = sorted(make_plan(swept(store)).configurations, key=score, reverse=True)
    study = branin_study(search={"runs": 4, "warm_start": "swept", "warm_starts": 2})
    registered = store.register(study, NOTHING)
    starts = warm_starts(study, registered, store)
    assert starts == {"only": best[:2]}
    runs = search(study, registered, InlineExecutor(), starts=starts)["only"]
    assert [run.hyperparameters for run in runs[:2]] == best[:2]
    assert len(runs) == 4
    # The choice stays, even if the sweep changes.
    assert warm_starts(study, registered, store) == starts


def test_a_sweep_that_is_not_there_is_named(store: Store) -> None:
    study = branin_study(search={"warm_start": "swpet"})
    registered = store.register(study, NOTHING)
    with pytest.raises(StoreError, match=r"search.warm_start: .*'swpet'"):
        warm_starts(study, registered, store)


def test_parameters_are_moved_into_their_ranges_and_another_optimiser_is_left_out() -> None:
    options = read_space({"optimizer": "adam", "batch_size": 16, "samples": [1, 2], **SPACE}, "space").options
    drawn = {"optimizer": "amsgrad", "batch_size": 64, "samples": 4, "learning_rate": 0.01, "initial_rho": -4, "x": 1}
    assert fitted(options, drawn) == {"learning_rate": 1e-3, "initial_rho": -4.0}
    assert fitted(options, drawn | {"optimizer": "sgd"}) is None
    tree = read_space({"optimizer": {"sgd": {"momentum": [0.9, 0.5]}, "adam": {}}, "samples": [1, 2]}, "space").options
    assert fitted(tree, {"optimizer": "sgd", "momentum": 0.9, "samples": 2}) == {
        "optimizer": "sgd",
        "momentum": 0.9,
        "samples": 2,
    }
