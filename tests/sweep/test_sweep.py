from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml
from support.studies import results, store_url, write_study
from support.trials import SMALL_TASK

from robustness.errors import RobustnessError, StoreError
from robustness.execution.inline import InlineExecutor
from robustness.execution.protocol import Executor, Observer, Started, Terms, never
from robustness.execution.tune import TuneExecutor
from robustness.store import open_store
from robustness.study.loading import load_study
from robustness.sweep.plan import make_plan
from robustness.sweep.recording import Recorder
from robustness.sweep.stopping import STOPPED_NOTE
from robustness.sweep.sweep import SweepResult, read_keys, sweep
from robustness.trial import EpochResult, Trial, TrialKey


def swept(path: Path, url: str, executor: Executor, stop: Callable[[], bool] | None = None) -> SweepResult:
    study = load_study(str(path))
    plan = make_plan(study)
    with open_store(url) as store:
        registered = store.register(study, plan)
        with registered.lock():
            return sweep(study, plan, registered, executor, stop=stop or (lambda: False))


@pytest.mark.xdist_group("ray")
@pytest.mark.usefixtures("local_ray")
def test_inline_one_worker_and_two_give_the_same_results(tmp_path: Path) -> None:
    path = write_study(tmp_path, sampling={"configurations": 5, "replicates": 2, "seed": 3})
    executors: dict[str, Executor] = {"inline": InlineExecutor(), "one": TuneExecutor(1), "two": TuneExecutor(2)}
    for name, executor in executors.items():
        assert swept(path, store_url(tmp_path, name), executor) == SweepResult(20, 0, 0)
    texts = {results(store_url(tmp_path, name)) for name in executors}
    assert len(texts) == 1


@pytest.mark.xdist_group("ray")
@pytest.mark.usefixtures("local_ray")
def test_real_training_gives_the_same_bytes_inline_and_on_two_workers(tmp_path: Path) -> None:
    document = {
        "name": "simulated",
        "task": SMALL_TASK,
        "model": {"name": "vgg_small", "base_channels": 4, "depth": "short"},
        "arms": ["mfvi", "radial"],
        "space": {
            "optimizer": {"amsgrad": {"learning_rate": [0.001, 0.0001]}},
            "batch_size": [16],
            "variational_samples": [1, 2],
            "initial_rho": [-4, -2],
        },
        "sampling": {"configurations": 3, "seed": 1},
        "training": {"epochs": 3, "pretrain_epochs": 1, "evaluation_samples": 2, "checkpoint_every": 1},
        "outcomes": {"learned_nothing": {"below": 0.5}, "good": {"at_least": 0.9}},
    }
    path = tmp_path / "small.yaml"
    path.write_text(yaml.safe_dump(document))
    assert swept(path, store_url(tmp_path, "inline"), InlineExecutor()).run == 6
    assert swept(path, store_url(tmp_path, "two"), TuneExecutor(2)).run == 6
    # A trial stopped after an epoch resumes from its checkpoint.
    swept(path, store_url(tmp_path, "stopped"), StoppedAfter(1))
    assert len(list(tmp_path.glob("*.checkpoints/*.pt"))) == 1
    swept(path, store_url(tmp_path, "stopped"), InlineExecutor())
    assert not list(tmp_path.glob("*.checkpoints"))
    assert len({results(store_url(tmp_path, name)) for name in ("inline", "two", "stopped")}) == 1


def test_a_sweep_that_is_stopped_again_and_again_loses_nothing_and_runs_nothing_twice(tmp_path: Path) -> None:
    path = write_study(tmp_path)
    swept(path, store_url(tmp_path, "whole"), InlineExecutor())
    ended = []
    for epochs in (1, 3, 2, 100):
        found = swept(path, store_url(tmp_path), StoppedAfter(epochs))
        ended.append(found.run)
    assert ended == [0, 1, 0, 9]
    assert results(store_url(tmp_path)) == results(store_url(tmp_path, "whole"))
    assert swept(path, store_url(tmp_path), InlineExecutor()).run == 0


class StoppedAfter(InlineExecutor):
    """The inline executor, stopped after a number of epochs."""

    def __init__(self, epochs: int) -> None:
        super().__init__()
        self._left = epochs

    def run(self, trials: Iterator[Trial], observer: Observer, terms: Terms, stop: Callable[[], bool] = never) -> None:
        def out_of_epochs() -> bool:
            self._left -= 1
            return self._left < 0 or stop()

        super().run(trials, observer, terms, out_of_epochs)


def test_a_trial_is_judged_by_its_best_epoch_and_pretraining_never_counts(tmp_path: Path) -> None:
    swept(write_study(tmp_path), store_url(tmp_path), InlineExecutor())
    with open_store(store_url(tmp_path)) as store:
        study = store.study("simulated")
        trials, epochs = study.trials(), study.epochs()
    counted = epochs[~epochs.pretraining]
    best = counted.loc[counted.groupby(["configuration", "arm"]).validation_auc.idxmax()]
    merged = trials.merge(best, on=["configuration", "arm"])
    assert (merged.metric == merged.validation_auc).all()
    assert (merged.metric_epoch == merged.epoch).all()
    assert (epochs[epochs.pretraining].epoch == 1).all()


def test_a_store_that_fails_cuts_the_sweep_short_and_it_can_go_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write_study(tmp_path)
    heard = Recorder.ended
    calls = []

    def failing(self, key, ending):  # type: ignore[no-untyped-def]
        calls.append(key)
        if len(calls) == 4:
            raise StoreError("the disk is full")
        heard(self, key, ending)

    with monkeypatch.context() as patch:
        patch.setattr(Recorder, "ended", failing)
        with pytest.raises(StoreError, match="the disk is full"):
            swept(path, store_url(tmp_path), InlineExecutor())
    assert swept(path, store_url(tmp_path), InlineExecutor()) == SweepResult(7, 0, 0)


def test_a_decided_difference_ends_the_sweep_early(tmp_path: Path) -> None:
    path = write_study(
        tmp_path,
        "decided",
        sampling={"configurations": 40, "seed": 3},
        stop={"level": 0.05, "minimum_pairs": 5},
    )
    found = swept(path, store_url(tmp_path), InlineExecutor())
    assert found.stopped == "decided"
    assert 0 < found.run < 80
    with open_store(store_url(tmp_path)) as store:
        note = store.study("simulated").note(STOPPED_NOTE)
    # Seven pairs in a row to one side are what it takes: (0.2 * 1.998^7 + 0.77 * 1.56^7 + ...) / 2 > 20.
    assert note["reason"] == "decided"
    assert note["pairs"] == note["configurations"] == 7
    assert 0 < note["low"] <= note["difference"] == 1.0
    # A decided study stays decided: nothing more runs.
    assert swept(path, store_url(tmp_path), InlineExecutor()).run == 0


def test_a_watched_sweep_with_replicates_is_resumed_and_extended_to_the_same_bytes(tmp_path: Path) -> None:
    changes: dict[str, Any] = {
        "arms": ["first", "second", "third"],
        "stop": {"arms": ["first", "second"], "minimum_pairs": 30},
    }
    path = write_study(tmp_path, sampling={"configurations": 4, "replicates": 2, "seed": 3}, **changes)
    swept(path, store_url(tmp_path, "whole"), InlineExecutor())
    for epochs in (5, 20, 1000):
        swept(path, store_url(tmp_path), StoppedAfter(epochs))
    assert results(store_url(tmp_path)) == results(store_url(tmp_path, "whole"))
    path = write_study(tmp_path, sampling={"configurations": 6, "replicates": 2, "seed": 3}, **changes)
    assert swept(path, store_url(tmp_path), InlineExecutor()).run == 2 * 2 * 3
    swept(path, store_url(tmp_path, "at once"), InlineExecutor())
    assert results(store_url(tmp_path)) == results(store_url(tmp_path, "at once"))


def test_replicates_cannot_be_added_to_a_watched_sweep(tmp_path: Path) -> None:
    swept(write_study(tmp_path, stop={}), store_url(tmp_path), InlineExecutor())
    more = write_study(tmp_path, stop={}, sampling={"configurations": 5, "replicates": 2, "seed": 3})
    with pytest.raises(StoreError, match=r"sampling.replicates: 1, now 2.*arms, tasks, runs and searches can be added"):
        swept(more, store_url(tmp_path), InlineExecutor())


def test_an_extended_sweep_that_goes_on_is_no_longer_noted_as_stopped(tmp_path: Path) -> None:
    sampling = {"configurations": 40, "seed": 3}
    path = write_study(tmp_path, "decided", sampling=sampling, stop={"minimum_pairs": 5})
    assert swept(path, store_url(tmp_path), InlineExecutor()).stopped == "decided"
    path = write_study(tmp_path, "decided", sampling=sampling, stop={"minimum_pairs": 50})
    assert swept(path, store_url(tmp_path), InlineExecutor()).stopped is None
    with open_store(store_url(tmp_path)) as store:
        assert not store.study("simulated").note(STOPPED_NOTE)


@pytest.mark.parametrize("word", ["3", "x/first", "1/third", "99/first", "1/first/x", "1/first/0/0"])
def test_a_trial_that_does_not_exist_is_refused_in_one_line(tmp_path: Path, word: str) -> None:
    plan = make_plan(load_study(str(write_study(tmp_path))))
    with pytest.raises(RobustnessError) as caught:
        read_keys([word], plan)
    assert "\n" not in str(caught.value)


def test_trials_are_named_by_configuration_arm_and_replicate(tmp_path: Path) -> None:
    plan = make_plan(load_study(str(write_study(tmp_path, sampling={"configurations": 5, "replicates": 2}))))
    assert read_keys(["3/first", "0/second/1"], plan) == [TrialKey(3, "first"), TrialKey(0, "second", 1)]


def test_a_watcher_is_told_what_the_store_has(tmp_path: Path) -> None:
    told: list[str] = []

    class Watching:
        def planned(self, keys: Sequence[TrialKey]) -> None:
            told.append(f"{len(keys)} planned")

        def started(self, key: TrialKey, where: Started) -> None:
            told.append(f"{key} on {where.device}")

        def epoch(self, key: TrialKey, result: EpochResult) -> None:
            told.append(f"{key} epoch {result.epoch}")

        def ended(self, key: TrialKey, status: str, outcome: str | None, seconds: float) -> None:
            told.append(f"{key} {status} {outcome}" if seconds >= 0 else "")

    study = load_study(str(write_study(tmp_path, sampling={"configurations": 1})))
    plan = make_plan(study)
    with open_store(store_url(tmp_path)) as store:
        sweep(study, plan, store.register(study, plan), InlineExecutor(), Watching(), only=[TrialKey(0, "second")])
    assert told == ["0/second on cpu", *(f"0/second epoch {n}" for n in (1, 2, 3)), "0/second finished between"]
