from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack
from typing import Any

import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import text
from support.store_samples import MFVI, RADIAL, SampleStudy, epoch, plan_of

from robustness.errors import StoreError
from robustness.store import Store, StudyStore, open_store
from robustness.store.buffer import Buffer
from robustness.store.spilling import write_spill
from robustness.trial import EpochResult, TrialKey

Outage = Callable[[], AbstractContextManager[None]]


class FakeTime:
    """A clock that only sleeping advances; `on_sleep` is called meanwhile."""

    def __init__(self) -> None:
        self.now = 0.0
        self.pauses: list[float] = []
        self.on_sleep: dict[int, Callable[[], Any]] = {}

    def clock(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds
        self.pauses.append(seconds)
        self.on_sleep.get(len(self.pauses), lambda: None)()


def run_a_trial(held: StudyStore, key: TrialKey = RADIAL, epochs: int = 3) -> None:
    with held.writer() as writer:
        writer.started(key, 1, "worker", "cpu")
        for number in range(1, epochs + 1):
            writer.epoch(key, epoch(number))
        writer.ended(key, "finished", 0.53, 3, seconds=1.5)


def test_a_trial_that_is_opened_again_has_left_nothing(sample: StudyStore) -> None:
    run_a_trial(sample, RADIAL)
    with sample.writer() as writer:
        writer.started(MFVI, 1, "worker", "cpu")
        writer.epoch(MFVI, epoch(1))
        writer.ended(MFVI, "failed", None, None, seconds=1.5, error="no disk")
    sample.save_predictions(MFVI, "test", {"labels": [0, 1]})
    before = sample.trials().set_index(["configuration", "arm"])
    assert sample.reopen(("failed", "timed_out")) == 1
    assert sample.states()[MFVI] == "planned"
    after = sample.trials().set_index(["configuration", "arm"])
    forgotten: Any = after.loc[(MFVI.configuration, MFVI.arm)]
    assert forgotten["attempts"] == 0
    assert forgotten[["started", "ended", "seconds", "worker", "device", "error", "metric"]].isna().all()
    assert sample.predictions("test") == {}
    others = after.index != (MFVI.configuration, MFVI.arm)
    pd.testing.assert_frame_equal(after[others], before[others])
    assert set(sample.epochs()["arm"]) == {"radial"}
    assert sample.reopen(("failed", "timed_out")) == 0


def test_what_is_written_is_read_back(sample: StudyStore) -> None:
    run_a_trial(sample)
    row: Any = sample.trials().set_index(["configuration", "arm"]).loc[(1, "radial")]
    assert (row["status"], row["metric"], row["metric_epoch"], row["seconds"]) == ("finished", 0.53, 3, 1.5)
    assert (row["attempts"], row["worker"], row["device"]) == (1, "worker", "cpu")
    assert pd.isna(row["error"])
    assert row["started"] <= row["ended"]
    epochs = sample.epochs()
    assert list(epochs["epoch"]) == [1, 2, 3]
    assert list(epochs["nll"]) == [1.0, 1 / 2, 1 / 3]
    assert list(epochs["seconds"]) == [0.25] * 3
    assert epochs["loss"].isna().all()


def test_writing_everything_twice_changes_nothing(sample: StudyStore) -> None:
    run_a_trial(sample)
    before = sample.trials(), sample.epochs()
    run_a_trial(sample)
    pd.testing.assert_frame_equal(sample.trials(), before[0])
    pd.testing.assert_frame_equal(sample.epochs(), before[1])


def test_the_same_epoch_written_again_is_one_row(sample: StudyStore) -> None:
    for value in (0.1, 0.2):
        with sample.writer() as writer:
            writer.epoch(RADIAL, EpochResult(1, {"nll": value}, curves={"steps": [value]}))
            writer.epoch(RADIAL, EpochResult(1, {"nll": value}, curves={"steps": [value]}))
    assert list(sample.epochs()["nll"]) == [0.2]
    assert list(sample.curves()["values"]) == [[0.2]]


def test_a_trial_that_starts_again_has_its_old_epochs_replaced(sample: StudyStore) -> None:
    with sample.writer() as writer:
        writer.started(RADIAL, 1)
        writer.started(MFVI, 1)
        for number in (1, 2, 3):
            writer.epoch(RADIAL, EpochResult(number, {"nll": 9.0}, curves={"steps": [9.0]}))
            writer.epoch(MFVI, epoch(number))
        writer.flush()
        writer.epoch(RADIAL, EpochResult(4, {"nll": 9.0}))
        writer.started(RADIAL, 2)
        writer.epoch(RADIAL, epoch(1))
    epochs = sample.epochs()
    assert list(epochs.loc[epochs["arm"] == "radial", "nll"]) == [1.0]
    assert len(epochs.loc[epochs["arm"] == "mfvi"]) == 3
    assert sample.curves().empty
    assert sample.trials().set_index(["configuration", "arm"]).loc[(1, "radial"), "attempts"] == 2


def test_a_trial_that_has_ended_is_never_opened_again(sample: StudyStore) -> None:
    run_a_trial(sample)
    before = sample.trials(), sample.epochs()
    for _ in range(2):
        with sample.writer() as writer:
            writer.started(RADIAL, 2)
            writer.epoch(RADIAL, EpochResult(2, {"nll": 100.0}))
            writer.epoch(RADIAL, epoch(4))
            writer.ended(RADIAL, "failed", error="too late")
    pd.testing.assert_frame_equal(sample.trials(), before[0])
    pd.testing.assert_frame_equal(sample.epochs(), before[1])


def test_a_trial_is_pending_until_it_ends(sample: StudyStore) -> None:
    planned = sample.pending()
    assert planned == [trial.key for trial in plan_of(SampleStudy()).trials]
    with sample.writer() as writer:
        writer.started(RADIAL, 1)
        writer.flush()
        assert sample.states()[RADIAL] == "running"
        assert sample.pending() == planned
        writer.ended(RADIAL, "out_of_memory", error="CUDA out of memory")
        assert RADIAL not in sample.pending()
    assert sample.counts() == {"planned": 5, "out_of_memory": 1}


def test_an_end_is_in_the_store_without_a_flush(sample: StudyStore, store_url: str) -> None:
    with sample.writer(flush_every=1e9, flush_rows=10**9) as writer:
        writer.started(RADIAL, 1)
        writer.epoch(RADIAL, epoch(1))
        with open_store(store_url) as other:
            assert other.study("sample").epochs().empty
        writer.ended(RADIAL, "finished", 0.5, 1)
        with open_store(store_url) as other:
            assert len(other.study("sample").epochs()) == 1
            assert other.study("sample").states()[RADIAL] == "finished"


@pytest.mark.parametrize("limits", [{"flush_every": 0.0}, {"flush_every": 1e9, "flush_rows": 2}])
def test_a_batch_goes_out_when_it_is_old_or_large(sample: StudyStore, limits: dict[str, Any]) -> None:
    with sample.writer(**limits) as writer:
        writer.epoch(RADIAL, epoch(1))
        writer.epoch(RADIAL, epoch(2))
        assert len(sample.epochs()) == 2


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, 1e-320, 1.7976931348623157e308])
def test_every_float_survives(sample: StudyStore, value: float) -> None:
    with sample.writer() as writer:
        writer.epoch(RADIAL, EpochResult(1, {"nll": value, "own": value}, seconds=value, curves={"steps": [value, 1]}))
        writer.ended(RADIAL, "diverged", value, 1, seconds=value)
    sample.save_note("facts", {"threshold": [value, "NaN", None]})
    row = sample.epochs().iloc[0]
    trial: Any = sample.trials().set_index(["configuration", "arm"]).loc[(1, "radial")]
    steps = sample.curves()["values"].iloc[0]
    threshold, *rest = sample.note("facts")["threshold"]
    found = [row["nll"], row["own"], row["seconds"], trial["metric"], trial["seconds"], steps[0], threshold]
    assert [repr(float(number)) for number in found] == [repr(value)] * len(found)
    assert (steps[1], rest) == (1, ["NaN", None])


def test_a_measure_that_is_nan_is_told_from_one_that_was_not_taken(sample: StudyStore, store: Store) -> None:
    with sample.writer() as writer:
        writer.epoch(RADIAL, EpochResult(1, {"nll": math.nan}))
    with store._database.read() as connection:
        from robustness.store.schema import epochs

        row = connection.execute(epochs.select()).one()
    assert math.isnan(row.nll)
    assert row.loss is None


@given(
    values=st.lists(st.floats(width=64), max_size=5), name=st.text(st.characters(exclude_categories=[]), max_size=20)
)
@settings(
    deadline=None,
    derandomize=True,
    max_examples=30,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
def test_any_note_survives(sample: StudyStore, values: list[float], name: str) -> None:
    content = {"values": values, name: {"nested": [name, None, True]}}
    sample.save_note("any", content)
    assert repr(sample.note("any")) == repr(content)


def test_numbers_of_other_libraries_are_numbers(sample: StudyStore) -> None:
    import numpy as np

    with sample.writer() as writer:
        measures: dict[str, Any] = {"nll": np.float32(0.5), "own": np.int64(3)}
        number: Any = np.int64(1)
        writer.epoch(RADIAL, EpochResult(1, measures))
        writer.ended(RADIAL, "finished", np.float64(0.5), number)
    sample.save_note("array", {"quantiles": np.array([0.5, math.nan]), "n": np.int64(4)})
    assert list(sample.epochs().loc[0, ["nll", "own"]]) == [0.5, 3.0]
    assert repr(sample.note("array")) == repr({"quantiles": [0.5, math.nan], "n": 4})


def test_text_that_a_database_cannot_hold_is_mended(sample: StudyStore) -> None:
    with sample.writer() as writer:
        writer.ended(RADIAL, "failed", error="nul \0 and half a pair \ud800")
    error = sample.trials().set_index(["configuration", "arm"]).loc[(1, "radial"), "error"]
    assert error == "nul \N{REPLACEMENT CHARACTER} and half a pair ?"


def test_a_measure_that_is_no_number_is_refused(sample: StudyStore) -> None:
    with sample.writer() as writer, pytest.raises(StoreError, match="1/radial, epoch 4: measure 'nll' is 'high'"):
        writer.epoch(RADIAL, EpochResult(4, {"nll": "high"}))  # type: ignore[dict-item]


def test_a_trial_that_is_not_planned_is_refused_until_it_is_added(sample: StudyStore) -> None:
    trial = plan_of(SampleStudy(configurations=5)).trials[-1]
    with sample.writer() as writer:
        with pytest.raises(StoreError, match="4/radial is not in the plan of study 'sample'"):
            writer.started(trial.key, 1)
        sample.add([trial])
        writer.started(trial.key, 1)
    assert sample.pending()[-1] == trial.key


def test_a_status_that_is_no_end_is_refused(sample: StudyStore) -> None:
    with sample.writer() as writer, pytest.raises(StoreError, match="cannot end as 'running'"):
        writer.ended(RADIAL, "running")


def test_a_short_outage_is_waited_out(sample: StudyStore, outage: Outage) -> None:
    time = FakeTime()
    with ExitStack() as away, sample.writer(patience=60, clock=time.clock, sleep=time.sleep) as writer:
        writer.started(RADIAL, 1)
        writer.flush()
        away.enter_context(outage())
        writer.epoch(RADIAL, epoch(1))
        # Events during the outage are buffered and do not raise.
        writer.ended(RADIAL, "finished", 0.5, 1)
        time.on_sleep[3] = away.close
        writer.flush()
        assert time.pauses == sorted(time.pauses)
        assert len(time.pauses) == 3
        assert sample.states()[RADIAL] == "finished"
        assert len(sample.epochs()) == 1
    assert not sample.spill.exists()


def test_a_connection_that_was_cut_is_made_again(store_url: str, sample: StudyStore, outage: Outage) -> None:
    with sample.writer() as writer:
        writer.epoch(RADIAL, epoch(1))
        writer.flush()
        with outage():
            pass
        writer.epoch(RADIAL, epoch(2))
        writer.flush()
    assert len(sample.epochs()) == 2


def test_a_long_outage_ends_in_a_file_that_the_next_writer_takes_in(sample: StudyStore, outage: Outage) -> None:
    time = FakeTime()
    values = {"nll": math.nan, "own": -math.inf}
    with sample.writer(patience=20, clock=time.clock, sleep=time.sleep, flush_every=1e9) as writer, outage():
        writer.started(RADIAL, 1, "worker", "cpu")
        writer.epoch(RADIAL, EpochResult(1, values, curves={"steps": [math.inf, 2.0]}))
        with pytest.raises(StoreError, match=r"unsaved results are in .*unsaved.jsonl"):
            writer.flush()
        assert sum(time.pauses) == pytest.approx(20)
        # A later result goes to the file as well.
        writer.ended(RADIAL, "finished", 0.5, 1)
    assert sample.spill.exists()
    assert sample.epochs().empty
    with sample.writer():
        pass
    assert not sample.spill.exists()
    assert sample.states()[RADIAL] == "finished"
    row = sample.epochs().iloc[0]
    assert math.isnan(row["nll"])
    assert row["own"] == -math.inf
    assert sample.curves()["values"].iloc[0] == [math.inf, 2.0]
    with sample.writer():
        pass
    assert len(sample.epochs()) == 1


def test_locking_takes_in_what_was_left(store: Store, sample: StudyStore, outage: Outage) -> None:
    with sample.writer(patience=0) as writer, outage(), pytest.raises(StoreError):
        writer.ended(RADIAL, "finished", 0.5, 1)
    study = SampleStudy()
    again = store.register(study, plan_of(study))
    assert RADIAL in again.pending()
    with again.lock():
        assert RADIAL not in again.pending()
    assert not sample.spill.exists()


def test_another_error_saves_what_it_can_and_stays_the_one_that_is_seen(sample: StudyStore) -> None:
    def sweep() -> None:
        with sample.writer(flush_every=1e9) as writer:
            writer.epoch(RADIAL, epoch(1))
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        sweep()
    assert len(sample.epochs()) == 1


def test_an_interrupt_within_an_outage_loses_nothing(sample: StudyStore, outage: Outage) -> None:
    time = FakeTime()

    def interrupt() -> None:
        raise KeyboardInterrupt

    time.on_sleep[2] = interrupt
    writer = sample.writer(clock=time.clock, sleep=time.sleep)
    with outage():
        writer.epoch(RADIAL, epoch(1))
        with pytest.raises(KeyboardInterrupt):
            writer.flush()
    assert sample.epochs().empty
    sample.writer().close()
    assert len(sample.epochs()) == 1


def test_results_that_were_left_of_another_study_are_not_mixed_in(sample: StudyStore) -> None:
    write_spill(sample.spill, {"study": "sample", "created": 1.0}, None, Buffer())
    with pytest.raises(StoreError, match="another study called 'sample'"):
        sample.writer()


@pytest.mark.parametrize("content", ["", "not JSON", '{"study": "sample"', "[1]"])
def test_a_damaged_file_of_results_is_named(sample: StudyStore, content: str) -> None:
    sample.spill.write_text(content)
    with pytest.raises(StoreError, match=r"unsaved.jsonl"):
        sample.writer()
    assert sample.spill.exists()


def test_a_fault_that_will_not_pass_is_not_waited_for(store: Store, sample: StudyStore) -> None:
    with sample.writer(flush_every=1e9) as writer:
        writer.epoch(RADIAL, epoch(1))
        with store._database.write() as connection:
            connection.execute(text("DELETE FROM robustness_studies"))
        with pytest.raises(StoreError, match="unsaved results are in"):
            writer.flush()
    assert sample.spill.exists()
