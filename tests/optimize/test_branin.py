"""A complete search on a known function: Branin's, scaled to learning rate and rho."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.branin import branin, branin_study, score

from robustness.execution.inline import InlineExecutor
from robustness.optimize.proposals import SearchRun
from robustness.optimize.search import NOTHING, search
from robustness.store import Store, open_store
from robustness.study.study import Study


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with open_store(f"sqlite:///{tmp_path / 'store.db'}") as opened:
        yield opened


def optimised(study: Study, store: Store, stop_after: int | None = None) -> dict[str, list[SearchRun]]:
    """The runs of a search that is stopped after `stop_after` runs."""
    ended: list[SearchRun] = []

    class Counter:
        def started(self, *_: Any) -> None: ...

        def ended(self, _arm: str, run: SearchRun, _seconds: float) -> None:
            ended.append(run)

    def stop() -> bool:
        return stop_after is not None and len(ended) >= stop_after

    registered = store.register(study, NOTHING)
    with registered.lock():
        return search(study, registered, InlineExecutor(), Counter(), stop)


def median_of_random_search() -> float:
    generator = np.random.default_rng(0)
    rate = 10 ** generator.uniform(-5, -3, (4000, 10))
    rho = generator.uniform(-10, 0, (4000, 10))
    values = [
        min(branin({"learning_rate": x, "initial_rho": y}) for x, y in zip(*pair, strict=True))
        for pair in zip(rate, rho, strict=True)
    ]
    return float(np.median(values))


def test_ten_runs_beat_the_median_of_ten_random_runs_for_most_of_forty_seeds(store: Store) -> None:
    random = median_of_random_search()
    best = []
    gc.freeze()
    for seed in range(40):
        study = branin_study(name=f"branin {seed}", sampling={"seed": seed})
        runs = optimised(study, store)["only"]
        assert [run.status for run in runs] == ["finished"] * 10
        assert [run.score for run in runs] == [score(run.hyperparameters) for run in runs]
        best.append(min(branin(run.hyperparameters) for run in runs))
    gc.unfreeze()
    assert sum(value < random for value in best) >= 28


def test_the_same_seed_gives_the_same_proposals_and_another_seed_or_arm_others(store: Store, tmp_path: Path) -> None:
    study = branin_study(arms=["first", "second"], search={"runs": 5})
    runs = optimised(study, store)
    with open_store(f"sqlite:///{tmp_path / 'second.db'}") as second:
        assert optimised(study, second) == runs
    another_seed = branin_study(name="other", arms=["first", "second"], sampling={"seed": 1}, search={"runs": 3})
    other = optimised(another_seed, store)
    proposals = [run.hyperparameters for found in (*runs.values(), *other.values()) for run in found[:3]]
    assert len({str(proposal) for proposal in proposals}) == len(proposals)


def test_a_search_that_is_stopped_and_extended_proposes_what_an_undisturbed_one_would(
    store: Store, tmp_path: Path
) -> None:
    with open_store(f"sqlite:///{tmp_path / 'second.db'}") as second:
        whole = optimised(branin_study(arms=["first", "second"], search={"runs": 6}), second)
    shorter = branin_study(arms=["first", "second"], search={"runs": 5})
    assert sum(len(runs) for runs in optimised(shorter, store, stop_after=3).values()) == 3
    assert sum(len(runs) for runs in optimised(shorter, store, stop_after=4).values()) < 10
    assert optimised(shorter, store)["first"] == whole["first"][:5]
    assert optimised(branin_study(arms=["first", "second"], search={"runs": 6}), store) == whole


def test_a_new_arm_in_front_leaves_the_others_their_runs(store: Store) -> None:
    before = optimised(branin_study(arms=["second"], search={"runs": 3}), store)
    after = optimised(branin_study(arms=["first", "second"], search={"runs": 3}), store)
    assert after["second"] == before["second"]
    assert len(after["first"]) == 3


def test_runs_that_diverge_or_do_not_fit_are_recorded_and_avoided(store: Store) -> None:
    runs = optimised(branin_study("train_with_faults", search={"runs": 14}), store)["only"]
    statuses = [run.status for run in runs]
    assert set(statuses) == {"finished", "diverged", "out_of_memory"}
    assert len(runs) == 14
    # Over half of the space fails; the model proposes such configurations less often than random sampling would.
    assert statuses[7:].count("finished") >= 4
    frame = store.study("branin").trials()
    assert list(frame["status"]) == statuses
