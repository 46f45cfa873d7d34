from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from support.files import continual_trial, write_idx_files
from support.recording import Recording
from support.trainables import wait_for
from support.trials import regression_trial, write_linear_set

from robustness.execution.inline import InlineExecutor
from robustness.execution.protocol import Share, Started, Terms, never
from robustness.execution.tune import TuneExecutor
from robustness.trial import EpochResult, Trial, TrialKey

pytestmark = [pytest.mark.xdist_group("ray"), pytest.mark.usefixtures("local_ray")]


def quick(count: int) -> Iterator[Trial]:
    return (Trial("study", 0, number, "arm", trainable="support.trainables:quick") for number in range(count))


def test_two_workers_report_the_same_as_inline() -> None:
    inline, tune = Recording(), Recording()
    InlineExecutor().run(quick(8), inline, Terms())
    TuneExecutor(workers=2).run(quick(8), tune, Terms())
    assert tune.epochs == inline.epochs
    assert tune.statuses() == inline.statuses()


def test_each_fault_gets_its_status_and_the_others_finish(tmp_path: Path) -> None:
    faults = [None, "raises", "out_of_memory", "killed", "nan", "hangs", "killed_once", None, None]
    expected = ["finished", "failed", "out_of_memory", "failed", "diverged", "timed_out", *["finished"] * 3]
    trials = (
        Trial(
            "study",
            0,
            number,
            "arm",
            hyperparameters={"fault": fault},
            training={"folder": str(tmp_path)},
            trainable="support.trainables:faulty",
        )
        for number, fault in enumerate(faults)
    )
    recording = Recording()
    TuneExecutor(workers=3).run(trials, recording, Terms(max_attempts=2, trial_timeout=20.0))
    assert recording.statuses() == dict(enumerate(expected))
    processes = [(tmp_path / f"{number}.attempts").read_text().split() for number in range(len(faults))]
    assert [len(tried) for tried in processes] == [1, 2, 1, 2, 1, 1, 2, 1, 1]
    attempts = [attempt for attempt, _ in recording.starts[TrialKey(6, "arm")]]
    assert attempts == [1, 2]
    # A process that ran out of memory runs no further trial.
    spent = processes[2][0]
    assert sum(spent in tried for tried in processes[3:]) == 0


def test_a_trial_sees_its_own_gpu_or_none(tmp_path: Path) -> None:
    trials = [
        Trial("study", 0, number, "arm", training={"folder": str(tmp_path)}, trainable="support.trainables:sees_gpus")
        for number in range(2)
    ]

    def share(trial: Trial) -> Share:
        return Share(cpu=1, gpu=float(trial.configuration))

    recording = Recording()
    TuneExecutor(workers=1).run(iter(trials), recording, Terms(share=share, max_attempts=1))
    assert set(recording.statuses().values()) == {"finished"}
    assert (tmp_path / "0.gpus").read_text() == ""
    assert (tmp_path / "1.gpus").read_text() in ("0", "1")


def test_four_half_gpus_run_at_once_and_a_whole_one_waits(tmp_path: Path) -> None:
    """Each of four trials waits for the other three, so they end only if all four run together."""
    trials = [
        Trial("study", 0, number, "arm", training={"folder": str(tmp_path)}, trainable="support.trainables:meets")
        for number in range(5)
    ]
    recording = Recording()

    def share(trial: Trial) -> Share:
        return Share(cpu=1, gpu=1.0 if trial.configuration == 4 else 0.5)

    TuneExecutor().run(iter(trials), recording, Terms(share=share, max_attempts=1))
    assert set(recording.statuses().values()) == {"finished"}
    devices = [recording.starts[trial.key][0][1].device for trial in trials]
    assert sorted(devices[:4]) == ["gpu 0", "gpu 0", "gpu 1", "gpu 1"]
    assert devices[4] in ("gpu 0", "gpu 1")
    # Four halves fill both GPUs: the fifth trial saw at least one of them leave before it started.
    assert (tmp_path / "4.saw").read_text() != "0"


def test_a_relative_path_refers_to_the_folder_of_the_sweep(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "score.txt").write_text("0.75")
    monkeypatch.chdir(tmp_path)
    trials = [
        Trial("study", 0, number, "arm", task={"file": "data/score.txt"}, trainable="support.trainables:reads_a_file")
        for number in range(4)
    ]
    recording = Recording()
    TuneExecutor(workers=2).run(iter(trials), recording, Terms(max_attempts=1))
    assert set(recording.statuses().values()) == {"finished"}
    assert [epochs[0].measures["validation_auc"] for epochs in recording.epochs.values()] == [0.75] * 4


class Refusing(Recording):
    """An observer that fails at the second epoch reported to it."""

    def epoch(self, key: TrialKey, result: EpochResult) -> None:
        super().epoch(key, result)
        if sum(map(len, self.epochs.values())) == 2:
            raise RuntimeError("the disk is full")


def test_an_error_in_the_driver_ends_the_run_cleanly_and_is_raised() -> None:
    with pytest.raises(RuntimeError, match="the disk is full"):
        TuneExecutor(workers=2).run(quick(40), Refusing(), Terms())
    recording = Recording()
    TuneExecutor(workers=2).run(quick(4), recording, Terms())
    assert len(recording.endings) == 4


def test_the_observer_ends_trials_as_pruned_and_the_worker_continues_with_others() -> None:
    class Pruning(Recording):
        def epoch(self, key: TrialKey, result: EpochResult) -> str | None:  # type: ignore[override]
            super().epoch(key, result)
            return "behind" if key.configuration % 2 and result.epoch == 2 else None

    recording = Pruning()
    TuneExecutor(workers=1).run(quick(6), recording, Terms())
    assert recording.statuses() == {number: "pruned" if number % 2 else "finished" for number in range(6)}
    assert [len(epochs) for epochs in recording.epochs.values()] == [3, 2] * 3
    assert {ending.error for ending in recording.endings.values()} == {None, "behind"}
    assert len({where.worker for ((_, where),) in recording.starts.values()}) == 1


def test_a_stop_in_the_middle_of_an_epoch_ends_the_run(tmp_path: Path) -> None:
    recording = Recording()
    trials = (
        Trial("study", 0, n, "arm", training={"folder": str(tmp_path)}, trainable="support.trainables:never_ends")
        for n in range(6)
    )

    def stop() -> bool:
        return (tmp_path / "0.begun").exists()

    TuneExecutor(workers=1).run(trials, recording, Terms(), stop)
    wait_for(tmp_path / "0.begun")
    assert recording.endings == {}


def test_trials_start_in_the_order_of_the_plan() -> None:
    order: list[int] = []

    class Order(Recording):
        def started(self, key: TrialKey, attempt: int, where: Started) -> None:
            super().started(key, attempt, where)
            order.append(key.configuration)

    TuneExecutor(workers=1).run(quick(10), Order(), Terms(), never)
    assert order == list(range(10))


def test_a_worker_is_reused_for_many_trials_and_seconds_are_measured() -> None:
    recording = Recording()
    start = time.monotonic()
    TuneExecutor(workers=1).run(quick(10), recording, Terms())
    assert {where.worker for ((_, where),) in recording.starts.values()} == {
        recording.starts[TrialKey(0, "arm")][0][1].worker
    }
    assert 0 < sum(ending.seconds for ending in recording.endings.values()) < time.monotonic() - start


def test_nothing_to_do_needs_no_ray() -> None:
    TuneExecutor(address="nowhere:1").run(iter(()), Recording(), Terms())


def test_built_in_trainables_that_load_their_own_data_run_on_workers(tmp_path: Path) -> None:
    trials = [
        continual_trial(write_idx_files(tmp_path), "mfvi", epochs=1),
        replace(regression_trial(write_linear_set(tmp_path)), configuration=3),
    ]
    inline, tune = Recording(), Recording()
    InlineExecutor().run(iter(trials), inline, Terms())
    TuneExecutor(workers=1).run(iter(trials), tune, Terms())
    assert tune.statuses() == {2: "finished", 3: "finished"}
    measures = [
        {key: [epoch.measures for epoch in epochs] for key, epochs in recording.epochs.items()}
        for recording in (inline, tune)
    ]
    assert measures[0] == measures[1]
