from __future__ import annotations

from pathlib import Path

import pytest
from support.studies import write_study

from robustness.store import open_store
from robustness.store.following import Follower, News
from robustness.store.study_store import StudyStore
from robustness.study.loading import load_study
from robustness.sweep.plan import make_plan
from robustness.trial import EpochResult, TrialKey

METRIC = "validation_auc"
FIRST, SECOND = TrialKey(0, "first"), TrialKey(0, "second")


@pytest.fixture
def written(store_url: str, tmp_path: Path) -> str:
    study = load_study(str(write_study(tmp_path)))
    with open_store(store_url) as store:
        store.register(study, make_plan(study))
    return store_url


def epoch(number: int, value: float = 0.5) -> EpochResult:
    return EpochResult(number, {METRIC: value, "loss": 1.0}, False, 2.0)


def seen(news: News, follower: Follower) -> dict[str, str]:
    """The status of each trial that is news."""
    assert all(follower.trials[trial.row] == trial for trial in news.trials)
    return {str(trial.key): trial.status for trial in news.trials}


def numbers(news: News, follower: Follower) -> dict[str, list[int]]:
    """The epochs of each trial that are news."""
    return {str(follower.trials[row].key): [each.epoch for each in results] for row, results in news.epochs.items()}


def test_each_look_reads_only_what_is_new(written: str) -> None:
    with open_store(written) as writing, open_store(written, create=False) as reading:
        follower = Follower(reading.study("simulated"), METRIC)
        first = follower.look()
        assert first.everything
        assert set(seen(first, follower).values()) == {"planned"}
        assert len(first.trials) == 10
        assert not follower.look().trials
        with writing.study("simulated").writer(flush_every=0.0) as writer:
            writer.started(FIRST, 1, "host:1", "cpu")
            writer.epoch(FIRST, epoch(1))
            writer.flush()
            news = follower.look()
            assert not news.everything
            assert seen(news, follower) == {"0/first": "running"}
            assert numbers(news, follower) == {"0/first": [1]}
            writer.epoch(FIRST, epoch(2))
            writer.epoch(FIRST, epoch(3, float("nan")))
            writer.flush()
            news = follower.look()
            assert seen(news, follower) == {}
            assert numbers(news, follower) == {"0/first": [2, 3]}
            # The last epoch and the end arrive together with a trial that started and ended since.
            writer.epoch(FIRST, epoch(4))
            writer.ended(FIRST, "finished", 0.5, 4, None, 8.0)
            writer.started(SECOND, 2, "host:2", "cpu")
            writer.epoch(SECOND, epoch(1))
            writer.ended(SECOND, "failed", None, None, "Traceback\n  ...\nValueError: at the end", 1.0)
            news = follower.look()
        assert seen(news, follower) == {"0/first": "finished", "0/second": "failed"}
        assert numbers(news, follower) == {"0/first": [4], "0/second": [1]}
        failed = next(trial for trial in news.trials if trial.key == SECOND)
        assert (failed.error, failed.worker, failed.attempts) == ("ValueError: at the end", "host:2", 2)
        last = follower.look()
        assert not last.everything
        assert not [*last.trials, *last.epochs, *last.restarted]


def test_a_trial_that_starts_again_loses_its_epochs(written: str) -> None:
    with open_store(written) as writing, open_store(written, create=False) as reading:
        follower = Follower(reading.study("simulated"), METRIC)
        follower.look()
        with writing.study("simulated").writer() as writer:
            writer.started(FIRST, 1)
            writer.epoch(FIRST, epoch(1))
            writer.epoch(FIRST, epoch(2))
            writer.flush()
            follower.look()
            writer.started(FIRST, 2)
            writer.epoch(FIRST, epoch(1))
            writer.flush()
            news = follower.look()
        assert [follower.trials[row].key for row in news.restarted] == [FIRST]
        assert numbers(news, follower) == {"0/first": [1]}


def test_trials_that_are_reset_are_noticed(written: str) -> None:
    with open_store(written) as writing, open_store(written, create=False) as reading:
        follower = Follower(reading.study("simulated"), METRIC)
        study = writing.study("simulated")
        with study.writer() as writer:
            writer.started(FIRST, 1)
            writer.epoch(FIRST, epoch(1))
            writer.ended(FIRST, "failed", None, None, "ValueError", 1.0)
            writer.started(SECOND, 1)
        follower.look()
        study.plan_again()
        assert seen(follower.look(), follower) == {"0/second": "planned"}
        study.reopen(["failed"])
        news = follower.look()
        assert news.everything
        assert set(seen(news, follower).values()) == {"planned"}
        # One reset and run again in between has the same counts.
        with study.writer() as writer:
            writer.started(FIRST, 1)
            writer.ended(FIRST, "finished", 0.5, 1, None, 1.0)
        follower.look()
        study.reopen(["finished"])
        with study.writer() as writer:
            writer.started(SECOND, 1)
            writer.ended(SECOND, "finished", 0.5, 1, None, 1.0)
        follower.look()
        states = {trial.key: trial.status for trial in follower.trials.values()}
        assert states == study.states()


def test_a_password_in_an_error_is_hidden(postgres_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    study = load_study(str(write_study(tmp_path)))
    with open_store(postgres_url) as store:
        registered = store.register(study, make_plan(study))
        with registered.writer() as writer:
            writer.started(FIRST)
            writer.ended(
                FIRST, "failed", error="OperationalError: postgresql://me:hunter2@db/x password=hunter3 failed"
            )
        news = Follower(registered, METRIC).look()
    (error,) = [trial.error for trial in news.trials if trial.error]
    assert error is not None
    assert "hunter" not in error


def test_a_lock_is_seen_without_being_disturbed(written: str) -> None:
    with open_store(written) as writing, open_store(written, create=False) as reading:
        locked: StudyStore = writing.study("simulated")
        watched = reading.study("simulated")
        assert not watched.is_locked()
        for _ in range(3):
            with locked.lock():
                assert watched.is_locked()
                assert watched.is_locked()
                locked.save_note("still", "mine")
            assert not watched.is_locked()
