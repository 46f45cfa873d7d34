"""A lock that is lost lets a second sweep in; the first one must then stop, and the numbers must be right."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import ExitStack, suppress
from pathlib import Path

import pytest
from support.store_samples import MFVI, RADIAL, SampleStudy, epoch, plan_of
from support.studies import results, write_study
from support.trainables import wait_for

from robustness.errors import ReplacedError, StoreError, TakenOverError
from robustness.store import Store, StudyStore, Writer, open_store
from robustness.store.buffer import Buffer, TrialRecords
from robustness.store.spilling import write_spill
from robustness.trial import TrialKey

ROOT = Path(__file__).parents[2]
LoseLock = Callable[[str], None]


def extend(study: StudyStore, _writer: Writer) -> None:
    study.add(plan_of(SampleStudy(configurations=5)).trials[-2:])


def begin(_study: StudyStore, writer: Writer) -> None:
    writer.started(RADIAL, 2)
    writer.flush()


def record(_study: StudyStore, writer: Writer) -> None:
    writer.epoch(RADIAL, epoch(9))
    writer.flush()


def start_many(_study: StudyStore, writer: Writer) -> None:
    writer.started(MFVI)
    writer.started(RADIAL)
    writer.close()


def record_after_the_end(_study: StudyStore, writer: Writer) -> None:
    writer.epoch(TrialKey(2, "radial"), epoch(1))
    writer.ended(TrialKey(2, "radial"), "finished", 0.1, 1)


WRITES: dict[str, Callable[[StudyStore, Writer], object]] = {
    "start": begin,
    "epoch": record,
    "end": lambda _, writer: writer.ended(RADIAL, "finished", 0.9, 9),
    "many at once": start_many,
    "close": lambda _, writer: writer.close(),
    "watch": lambda _, writer: writer.watch(),
    "note": lambda study, _: study.save_note("fact", 1),
    "further trials": extend,
    "reset": lambda study, _: study.reopen(("finished", "failed")),
    "predictions": lambda study, _: study.save_predictions(MFVI, "test", {"labels": [0, 1]}),
    "new writer": lambda study, _: study.writer().ended(RADIAL, "failed"),
    "epoch of an ended trial": record_after_the_end,
}


@pytest.mark.parametrize("write", WRITES)
def test_whoever_was_replaced_can_write_nothing(
    write: str, sample: StudyStore, store_url: str, lose_lock: LoseLock
) -> None:
    """The second sweep enters, the first one tries to write: it is told, and the store stays as it is."""
    with ExitStack() as stack, open_store(store_url) as other:
        stack.enter_context(sample.lock())
        writer = sample.writer(flush_every=1e9, clock=lambda: time.monotonic() + 1e6 * (write == "watch"))
        writer.started(RADIAL, 1)
        writer.epoch(RADIAL, epoch(1))
        writer.flush()
        if write == "watch":
            writer._watched_at = writer._flushed_at = 0.0
        lose_lock("sample")
        second = other.study("sample")
        stack.enter_context(second.lock())
        with second.writer() as winner:
            winner.started(RADIAL, 1)
            winner.epoch(RADIAL, epoch(1))
            winner.epoch(RADIAL, epoch(2))
            winner.ended(TrialKey(2, "radial"), "finished", 0.7, 1)
        before = contents(second)
        with pytest.raises(TakenOverError, match="another sweep took over the study 'sample'") as refusal:
            WRITES[write](sample, writer)
        assert "\n" not in str(refusal.value)
        # Whatever it still has in its hands is dropped.
        with suppress(TakenOverError):
            writer.epoch(MFVI, epoch(1))
            writer.close()
        assert contents(second) == before
        assert not sample.spill.exists()
        with second.writer() as winner:
            winner.ended(RADIAL, "finished", 0.53, 2)
        assert second.states()[RADIAL] == "finished"


def contents(study: StudyStore) -> tuple[str, str, object]:
    return study.trials().to_csv(), study.epochs().to_csv(), study.note("fact")


def test_a_lost_lock_is_taken_again_before_anybody_else_comes(
    sample: StudyStore, store_url: str, lose_lock: LoseLock
) -> None:
    with sample.lock(), sample.writer() as writer, open_store(store_url) as other:
        lose_lock("sample")
        deadline = time.monotonic() + 30
        writer.started(RADIAL, 1)
        writer.flush()
        with pytest.raises(StoreError, match="another sweep of study 'sample' is running"):
            other.study("sample").lock().__enter__()
        assert time.monotonic() < deadline
        writer.ended(RADIAL, "finished", 0.5, 1)


@pytest.mark.parametrize("complete", [True, False])
@pytest.mark.parametrize("of_the_last", [True, False])
def test_unsaved_results_of_a_writer_that_was_replaced_are_taken_in_only_if_they_are_whole(
    sample: StudyStore, complete: bool, of_the_last: bool
) -> None:
    """An outage left epoch 2 and the end of a trial unsaved; another sweep restarted the trial and was killed."""
    with sample.lock(), sample.writer() as writer:
        writer.started(RADIAL, 1)
        writer.epoch(RADIAL, epoch(1))
        token = sample._fence.token
    if not of_the_last:
        with sample.lock(), sample.writer() as writer:
            writer.started(RADIAL, 1)
    started = {"attempt": 1, "worker": None, "device": None, "time": 1.0} if complete else None
    end = {"status": "finished", "metric": 0.52, "metric_epoch": 2, "error": None, "seconds": 1.0, "time": 2.0}
    end["checksum"] = None
    record = {"epoch": 2, "pretraining": False, "seconds": 1.0, "measures": {"nll": 0.5}, "curves": {}}
    buffer = Buffer()
    buffer.put(RADIAL, TrialRecords(started, {2: record}, end))
    head = {"study": "sample", "created": sample._created}
    write_spill(sample.spill, head, token, buffer)
    with sample.lock():
        finished = sample.states()[RADIAL] == "finished"
        numbers = sample.epochs()["epoch"].tolist()
    assert not sample.spill.exists()
    assert finished == (complete or of_the_last)
    # Whole results replace all epochs; the rest of the last writer's results joins those that it had saved.
    assert numbers == ([2] if complete else [1, 2] if of_the_last else [])


def test_a_study_that_somebody_deleted_is_missed_at_once(store: Store, sample: StudyStore) -> None:
    from sqlalchemy import text

    with sample.lock(), sample.writer(flush_every=1e9) as writer:
        writer.epoch(RADIAL, epoch(1))
        with store._database.write() as connection:
            connection.execute(text("DELETE FROM robustness_studies"))
        with pytest.raises(StoreError, match=r"no longer in store .*unsaved results are in"):
            writer.flush()
        with pytest.raises(ReplacedError):
            sample.save_note("fact", 1)


def start(path: Path, url: str) -> subprocess.Popen[str]:
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "tests")])}
    words = ["sweep", str(path), "--store", url, "--inline", "--quiet", "--no-report"]
    return subprocess.Popen(
        [sys.executable, "-m", "robustness", *words],
        env=environment,
        cwd=path.parent,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def test_a_second_sweep_takes_over_a_study_whose_lock_was_lost(
    store_url: str, tmp_path: Path, lose_lock: LoseLock
) -> None:
    """Real processes: the first sweep is stopped in the middle, and continues when the second is done."""
    url = store_url.replace("?timeout=0.2", "")
    training = {"epochs": 3, "pause": 0.1, "folder": str(tmp_path)}
    path = write_study(tmp_path, sampling={"configurations": 4, "seed": 5}, training=training)
    with start(path, url) as first:
        wait_for(tmp_path / "begun", longer_than=30)
        first.send_signal(signal.SIGSTOP)
        lose_lock("simulated")
        with start(path, url) as second:
            _, errors = second.communicate()
        assert (second.returncode, errors) == (0, "")
        first.send_signal(signal.SIGCONT)
        _, errors = first.communicate()
    assert first.returncode == 1
    assert errors.startswith("robustness: another sweep took over the study 'simulated' in store ")
    assert errors.count("\n") == 1
    disturbed = results(url)
    with start(path, f"sqlite:///{tmp_path / 'whole.db'}") as whole:
        whole.communicate()
    assert disturbed == results(f"sqlite:///{tmp_path / 'whole.db'}")
    with open_store(url, create=False) as store:
        assert store.study("simulated").epochs().groupby(["configuration", "arm"]).size().tolist() == [3] * 8
