from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import create_engine, text
from support.studies import write_study

from robustness.serve.watched_store import TOLERATED, WatchedStore
from robustness.store import Store, open_store
from robustness.store.connection import read_url
from robustness.study.loading import load_study
from robustness.sweep.plan import make_plan
from robustness.trial import TrialKey

KEPT = Path(__file__).parents[1] / "store" / "kept" / "before_the_move.db"


def add(store: Store, folder: Path, **changes: Any) -> None:
    study = load_study(str(write_study(folder, **changes)))
    store.register(study, make_plan(study))


def looks(watched: WatchedStore, count: int = TOLERATED + 1) -> set[str] | None:
    """What the last of several looks returns, for problems that may be passing."""
    found: set[str] | None = None
    for _ in range(count):
        found = watched.look()
    return found


def test_it_waits_for_a_store_that_does_not_exist_yet(store_url: str, tmp_path: Path) -> None:
    watched = WatchedStore(store_url)
    assert watched.look() is None
    assert watched.problem is not None
    assert len(watched.problem.splitlines()) == 1
    with open_store(store_url) as store:
        assert watched.look() == set()
        assert watched.problem is None
        add(store, tmp_path)
        assert watched.look() == {"simulated"}
        add(store, tmp_path, name="other")
        assert watched.look() == {"other"}
        assert list(watched.studies) == ["simulated", "other"]
        assert watched.look() == set()
        with store.study("other").writer() as writer:
            writer.started(TrialKey(0, "first"))
            writer.flush()
            assert watched.look() == {"other"}
        # The same study with more configurations is read afresh.
        add(store, tmp_path, sampling={"configurations": 6, "seed": 3})
        assert "simulated" in (watched.look() or ())
        assert watched.studies["simulated"].overview()["tallies"] == [{"noun": "pairs", "done": 0, "all": 6}]
    watched.close()


def test_a_lock_that_is_taken_or_left_is_noticed_without_a_write(store_url: str, tmp_path: Path) -> None:
    with open_store(store_url) as store:
        add(store, tmp_path)
        watched = WatchedStore(store_url)
        watched.look()
        states = [watched.studies["simulated"].state]
        with store.study("simulated").lock():
            watched.look()
            states.append(watched.studies["simulated"].state)
        assert watched.look() == {"simulated"}
        states.append(watched.studies["simulated"].state)
        assert states == ["waiting", "running", "stopped"]
        watched.close()


def test_a_sweep_that_stopped_on_its_evidence_has_finished(store_url: str, tmp_path: Path) -> None:
    with open_store(store_url) as store:
        add(store, tmp_path, stop={"minimum_pairs": 2})
        study = store.study("simulated")
        watched = WatchedStore(store_url)
        with study.lock():
            with study.writer() as writer:
                writer.started(TrialKey(0, "first"))
                writer.ended(TrialKey(0, "first"), "finished", 0.9, 1, None, 1.0)
            watched.look()
            assert watched.studies["simulated"].overview()["state"] == "running"
            # The last thing that the driver writes; no trial changes with it.
            study.save_note("stopped", {"reason": "decided", "comparisons": []})
        assert watched.look() == {"simulated"}
        assert watched.studies["simulated"].state == "finished"
        assert watched.studies["simulated"].snapshot()["outcomes"]["stopped"] == "decided"
        watched.close()


def test_a_store_that_is_deleted_and_comes_back(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'store.db'}"
    with open_store(url) as store:
        add(store, tmp_path)
    watched = WatchedStore(url)
    assert watched.look() == {"simulated"}
    (tmp_path / "store.db").unlink()
    assert looks(watched) is None
    assert "store.db" in str(watched.problem)
    assert not watched.studies
    with open_store(url) as store:
        add(store, tmp_path, name="second")
    assert watched.look() == {"second"}
    assert watched.problem is None
    watched.close()


def test_a_database_that_is_dropped_is_one_line(postgres_url: str, tmp_path: Path) -> None:
    with open_store(postgres_url) as store:
        add(store, tmp_path)
    watched = WatchedStore(postgres_url)
    assert watched.look() == {"simulated"}
    engine = create_engine(read_url(postgres_url))
    with engine.begin() as connection:
        connection.execute(text("DROP TABLE robustness_epochs, robustness_curves, robustness_predictions CASCADE"))
        connection.execute(text("DROP TABLE robustness_trials CASCADE"))
    assert looks(watched) is None
    assert len(str(watched.problem).splitlines()) == 1
    engine.dispose()
    watched.close()


def test_looking_leaves_no_trace(tmp_path: Path) -> None:
    folder = tmp_path / "place"
    folder.mkdir()
    url = f"sqlite:///{folder / 'store.db'}"
    with open_store(url) as store:
        add(store, tmp_path)

    def trace() -> dict[str, tuple[bytes, int]]:
        return {path.name: (path.read_bytes(), path.stat().st_mtime_ns) for path in folder.iterdir()}

    before = trace()
    watched = WatchedStore(url)
    looks(watched)
    watched.close()
    assert trace() == before


def test_an_older_file_is_shown_as_it_is_and_afresh_once_it_was_upgraded(tmp_path: Path) -> None:
    shutil.copy(KEPT, tmp_path / "kept.db")
    url = f"sqlite:///{tmp_path / 'kept.db'}"
    watched = WatchedStore(url)
    assert watched.look() == {"kept_sweep", "kept_partial", "kept_search", "kept_regression"}
    assert (tmp_path / "kept.db").read_bytes() == KEPT.read_bytes()
    assert watched.look() == set()
    with open_store(url):
        pass
    assert looks(watched, 2) is not None
    assert list(watched.studies) == ["kept_sweep", "kept_partial", "kept_search", "kept_regression"]
    watched.close()


def test_an_older_schema_on_a_server_is_one_line(postgres_url: str) -> None:
    with open_store(postgres_url):
        pass
    engine = create_engine(read_url(postgres_url))
    with engine.begin() as connection:
        table = connection.execute(
            text("SELECT table_name FROM information_schema.tables WHERE table_name LIKE '%version%'")
        ).scalar()
        connection.execute(text(f"UPDATE \"{table}\" SET version_num = '0003'"))  # noqa: S608
    engine.dispose()
    watched = WatchedStore(postgres_url)
    assert watched.look() is None
    assert "older schema" in str(watched.problem)
    watched.close()


@pytest.mark.parametrize("content", [b"", b"not a database" * 100, b"SQLite format 3\0" + b"\0" * 200])
def test_a_file_that_is_no_store_is_one_line(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "store.db").write_bytes(content)
    watched = WatchedStore(f"sqlite:///{tmp_path / 'store.db'}")
    assert looks(watched) is None
    assert len(str(watched.problem).splitlines()) == 1
    watched.close()
