"""The default of a study: trained beside the draws, and counted as none of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from support.studies import small, store_url, write_study

from report.analysis import analyse
from robustness.errors import RobustnessError, StoreError
from robustness.execution.inline import InlineExecutor
from robustness.store import open_store
from robustness.study.loading import load_study, make_study
from robustness.sweep.plan import make_plan
from robustness.sweep.progress import SweepProgress
from robustness.sweep.shards import Shard
from robustness.sweep.sweep import SweepResult, sweep
from robustness.sweep.untrained import chosen, covers, edges_of
from robustness.trial import DEFAULT_CONFIGURATION, TrialKey

DEFAULT = {"rate": 0.1}


def swept(path: Path, url: str) -> SweepResult:
    study = load_study(str(path))
    plan = make_plan(study)
    with open_store(url) as store:
        registered = store.register(study, plan)
        with registered.lock():
            return sweep(study, plan, registered, InlineExecutor())


def test_the_default_is_trained_in_every_arm_and_replicate_and_is_no_draw(tmp_path: Path) -> None:
    sampling = {"configurations": 5, "replicates": 2, "seed": 3}
    swept(write_study(tmp_path, sampling=sampling), store_url(tmp_path, "without"))
    path = write_study(tmp_path, sampling=sampling, default=DEFAULT)
    assert swept(path, store_url(tmp_path)) == SweepResult(24, 0, 0)
    with open_store(store_url(tmp_path)) as store, open_store(store_url(tmp_path, "without")) as other:
        study, before = analyse(store.study("simulated")), analyse(other.study("simulated"))
        progress = SweepProgress.of(store.study("simulated"))
    own = study.results["tunability"]
    assert own is not None
    assert own["default"] == DEFAULT
    assert {arm: entry["replicates"] for arm, entry in own["arms"].items()} == {"first": 2, "second": 2}
    assert progress.tallies() == {"pairs": (10, 10), "trials of the default": (4, 4)}
    assert progress.fractions()["first"][1] == 10
    assert DEFAULT_CONFIGURATION not in study.frames.configurations.index
    assert before.results["tunability"] is None
    # Beside it, only what depends on times may differ.
    own_keys = {"tunability", "best_of"}
    same = {key: value for key, value in study.results.items() if key not in own_keys}
    assert same == {key: value for key, value in before.results.items() if key not in own_keys}


def test_a_default_may_be_added_to_a_finished_study_and_not_changed(tmp_path: Path) -> None:
    swept(write_study(tmp_path), store_url(tmp_path))
    assert swept(write_study(tmp_path, default=DEFAULT), store_url(tmp_path)).run == 2
    more = {"configurations": 8, "seed": 3}
    assert swept(write_study(tmp_path, default=DEFAULT, sampling=more), store_url(tmp_path)).run == 6
    changes: list[dict[str, Any]] = [{"default": {"rate": 0.2}}, {}]
    for changed in changes:
        with pytest.raises(StoreError, match="default"):
            swept(write_study(tmp_path, sampling=more, **changed), store_url(tmp_path))


def test_a_sweep_that_stops_on_its_evidence_has_trained_its_default(tmp_path: Path) -> None:
    changes: dict[str, Any] = {"sampling": {"configurations": 40, "seed": 3}, "stop": {"minimum_pairs": 5}}
    # The default is added after the sweep has been decided.
    assert swept(write_study(tmp_path, "decided", **changes), store_url(tmp_path)).stopped == "decided"
    found = swept(write_study(tmp_path, "decided", default=DEFAULT, **changes), store_url(tmp_path))
    assert (found.run, found.stopped) == (2, "decided")
    with open_store(store_url(tmp_path)) as store:
        own = analyse(store.study("simulated")).results["tunability"]
    assert own is not None
    assert own["arms"]["second"]["default"] == 0.9
    assert all(gain["low"] is None for gain in own["arms"]["second"]["gains"])


def test_a_winner_is_never_the_default(tmp_path: Path) -> None:
    path = write_study(tmp_path, default=DEFAULT, winners={"replicates": 3})
    assert swept(path, store_url(tmp_path)).run == 10 + 2 + 4
    with open_store(store_url(tmp_path)) as store:
        keys = list(store.study("simulated").states())
    assert [key for key in keys if key.of_default] == [
        TrialKey(DEFAULT_CONFIGURATION, "first"),
        TrialKey(DEFAULT_CONFIGURATION, "second"),
    ]


def test_the_default_is_in_one_shard(tmp_path: Path) -> None:
    plan = make_plan(load_study(str(write_study(tmp_path, default=DEFAULT))))
    shards = [Shard(number, 2).keys(plan) for number in (1, 2)]
    assert sum(key.of_default for keys in shards for key in keys) == 2
    assert sorted(key for keys in shards for key in keys) == sorted(trial.key for trial in plan.trials)


def test_thresholds_from_chance_are_those_of_the_draws() -> None:
    default = {
        "optimizer": "sgd",
        "learning_rate": 0.01,
        "batch_size": 16,
        "variational_samples": 1,
        "initial_rho": -0.001,
    }
    without, study = make_study(small(), "study"), make_study(small(default=default), "study")
    plan, before = make_plan(study), make_plan(without)
    assert plan.drawn == before.trials
    assert plan.trials[0].hyperparameters == {**default, "momentum": 0.9}
    assert chosen(plan) == chosen(before)
    assert edges_of(plan) == edges_of(before)
    assert covers({"by_cell": {}}, plan)


def test_the_arms_own_spaces_take_their_part_of_it(tmp_path: Path) -> None:
    arms = ["first", {"name": "second", "method": "second", "space": {"width": [1, 2, 3, 4, 5, 6]}}]
    path = write_study(tmp_path, arms=arms, default={**DEFAULT, "width": 4})
    assert swept(path, store_url(tmp_path)) == SweepResult(12, 0, 0)
    first, second = make_plan(load_study(str(path))).trials[:2]
    assert (first.hyperparameters, first.own) == (DEFAULT, ())
    assert (second.hyperparameters, second.own) == ({**DEFAULT, "width": 4}, ("width",))


@pytest.mark.parametrize(
    ("changes", "line"),
    [
        ({"default": {"rate": 2.0}}, "default.rate: must be a number from 0.001 to 1, found 2.0"),
        ({"default": {}}, "default.rate: is missing"),
        ({"default": {**DEFAULT, "rat": 1}}, "default.rat: unknown hyperparameter 'rat'; did you mean 'rate'"),
        (
            {"default": DEFAULT, "search": {"runs": 5}, "outcomes": {"learned_nothing": None, "good": None}},
            "default: is only for sweeps",
        ),
    ],
)
def test_a_default_outside_the_space_gets_one_line(tmp_path: Path, changes: dict[str, Any], line: str) -> None:
    path = write_study(tmp_path, **changes)
    with pytest.raises(RobustnessError) as raised:
        load_study(str(path))
    assert str(raised.value).startswith(f"{path}: {line}")
    assert "\n" not in str(raised.value)
