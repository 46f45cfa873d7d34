"""Shards: any order of them, merged, is byte for byte the sweep in one; what is missing or foreign is named."""

from __future__ import annotations

import random
import shutil
from pathlib import Path
from typing import Any

import pytest
from support.databases import postgres_database
from support.result_types import without_times
from support.studies import results, small, store_url, write, write_study

from report.analysis import analyse, as_json_text
from robustness.cli import main
from robustness.store import open_store
from robustness.sweep.outcomes import UNTRAINED_NOTE

SHARDS = 20


def run_shard(study: str, folder: Path, number: int, of: int, *words: str) -> int:
    store = store_url(folder, f"shard-{number}")
    return main(["sweep", study, "--shard", f"{number}/{of}", "--store", store, "--inline", "--quiet", *words])


def merge(folder: Path, *names: str) -> int:
    stores = names or tuple(str(path) for path in sorted(folder.glob("shard-*.db")))
    return main(["merge", *stores, "--into", str(folder / "all.db")])


def as_json(url: str, name: str = "simulated") -> str:
    with open_store(url, create=False) as store:
        return as_json_text(without_times(analyse(store.study(name)).results))


def study_of(folder: Path, **changes: Any) -> str:
    options = {"sampling": {"configurations": 43, "replicates": 2, "seed": 3}, **changes}
    return str(write_study(folder, **options))


@pytest.fixture(scope="module")
def twenty(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with twenty shards, run in any order, and the sweep in one."""
    folder = tmp_path_factory.mktemp("shards")
    study = study_of(folder)
    numbers = list(range(1, SHARDS + 1))
    random.Random(0).shuffle(numbers)
    for number in numbers:
        assert run_shard(study, folder, number, SHARDS) == 0
    assert main(["sweep", study, "--store", store_url(folder, "one"), "--inline", "--quiet", "--no-report"]) == 0
    return folder


@pytest.fixture
def shards(twenty: Path, tmp_path: Path) -> Path:
    """A copy of them."""
    for path in twenty.iterdir():
        shutil.copy(path, tmp_path)
    return tmp_path


def test_twenty_shards_in_any_order_merge_to_the_bytes_of_one_sweep(
    shards: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    stores = [str(path) for path in shards.glob("shard-*.db")]
    random.Random(1).shuffle(stores)
    assert merge(shards, *stores) == 0
    assert "20 shards with 172 trials merged into" in capsys.readouterr().out
    assert results(store_url(shards, "all")) == results(store_url(shards, "one"))
    assert as_json(store_url(shards, "all")) == as_json(store_url(shards, "one"))
    # The merged store is a study like any other: complete, consistent, and it can be extended.
    study = study_of(shards, sampling={"configurations": 45, "replicates": 2, "seed": 3})
    assert main(["sweep", study, "--store", store_url(shards, "all"), "--inline", "--quiet", "--no-report"]) == 0
    with open_store(store_url(shards, "all"), create=False) as store:
        assert store.study("simulated").counts() == {"finished": 180}


def test_shards_merge_into_postgresql(shards: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with postgres_database() as url:
        stores = [str(path) for path in shards.glob("shard-*.db")]
        assert main(["merge", *stores, "--into", url]) == 0
        assert "20 shards with 172 trials merged" in capsys.readouterr().out
        assert results(url) == results(store_url(shards, "one"))
        assert as_json(url) == as_json(store_url(shards, "one"))


def test_each_shard_runs_its_own_configurations_with_all_arms_and_replicates(twenty: Path) -> None:
    with open_store(store_url(twenty, "shard-3"), create=False) as store:
        ended = [key for key, status in store.study("simulated").states().items() if status == "finished"]
    assert {key.configuration for key in ended} == {2, 22, 42}
    assert len(ended) == 3 * 2 * 2


def test_a_missing_shard_is_named_and_nothing_is_written(shards: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (shards / "shard-7.db").unlink()
    assert merge(shards) == 2
    assert "shard 7/20 missing" in capsys.readouterr().err
    with open_store(store_url(shards, "all")) as store:
        assert store.names() == []


@pytest.mark.parametrize(
    ("changes", "line"),
    [
        ({"name": "other"}, "shard-5.db: holds a shard of the study 'other'"),
        ({"training": {"epochs": 2}}, "shard-5.db: holds a shard of another study than"),
        ({"sampling": {"configurations": 44, "replicates": 2, "seed": 3}}, "sampling.configurations: 43, now 44"),
    ],
)
def test_a_shard_of_another_study_is_named(
    changes: dict[str, Any], line: str, shards: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (shards / "shard-5.db").unlink()
    assert run_shard(study_of(shards, **changes), shards, 5, SHARDS) == 0
    assert merge(shards) == 2
    error = capsys.readouterr().err
    assert line in error
    assert len(error.splitlines()) == 1


def test_an_unfinished_a_repeated_and_a_whole_store_are_named(shards: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with open_store(store_url(shards, "shard-4")) as store:
        store.study("simulated").reopen(["finished"])
    assert merge(shards) == 2
    assert "shard 4/20 has 8 trials left to run: resume it with --shard 4/20" in capsys.readouterr().err
    shutil.copy(shards / "shard-3.db", shards / "shard-again.db")
    assert merge(shards) == 2
    assert "shard-again.db: holds shard 3/20, and so does" in capsys.readouterr().err
    assert merge(shards, str(shards / "one.db")) == 2
    assert "one.db: holds the whole study 'simulated'" in capsys.readouterr().err
    assert run_shard(study_of(shards), shards, 2, 3) == 0
    (shards / "shard-again.db").unlink()


def test_a_study_that_is_there_already_is_not_merged_into(shards: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert merge(shards) == 0
    assert merge(shards) == 2
    assert "already holds the study 'simulated'" in capsys.readouterr().err


def test_a_shard_resumes_and_has_a_store_of_its_own_by_default(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    study = study_of(tmp_path)
    for _ in range(2):
        assert main(["sweep", study, "--shard", "2/3", "--inline"]) == 0
        assert "shard 2/3 of simulated is done" in capsys.readouterr().out
    with open_store("sqlite:///shard-2-of-3.db", create=False) as store:
        assert store.study("simulated").trials()["attempts"].max() == 1
    assert not list(tmp_path.glob("*.html"))


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (["--shard", "0/3"], "must be K/N with 1 <= K <= N, such as 3/20, found '0/3'"),
        (["--shard", "4/3"], "found '4/3'"),
        (["--shard", "a"], "found 'a'"),
        (["--shard", "1/99"], "the study has 43 configurations, so at most 43 shards"),
        (["--shard", "1/2", "--only", "0/first"], "--shard: cannot be combined with --only"),
        (["--shard", "1/2", "--set", "stop={}", "--set", "sampling.replicates=1"], "a study with `stop` looks at all"),
    ],
)
def test_a_wrong_shard_is_one_line(
    words: list[str], line: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["sweep", study_of(tmp_path), "--inline", "--store", store_url(tmp_path), *words]) == 2
    error = capsys.readouterr().err
    assert line in error
    assert len(error.splitlines()) == 1
    assert not (tmp_path / "store.db").exists()


def test_shards_measure_the_same_baseline(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, value in (("NETWORKS", 8), ("NETWORKS_OF_ARM", 4)):
        monkeypatch.setattr(f"robustness.sweep.untrained.{name}", value)
    study = write(
        tmp_path,
        small(
            sampling__configurations=2,
            training__epochs=1,
            training__pretrain_epochs=0,
            task__train=16,
            task__validation=16,
            outcomes__learned_nothing={"no_better_than_guessing": 0.01},
        ),
    )
    for number in (1, 2):
        assert run_shard(study, tmp_path, number, 2) == 0
    assert merge(tmp_path) == 0
    assert main(["sweep", study, "--store", store_url(tmp_path, "one"), "--inline", "--quiet", "--no-report"]) == 0
    notes = []
    for name in ("all", "one"):
        with open_store(store_url(tmp_path, name), create=False) as store:
            notes.append(store.study("small").note(UNTRAINED_NOTE))
    assert notes[0] == notes[1]
    assert results(store_url(tmp_path, "all"), "small") == results(store_url(tmp_path, "one"), "small")
    with open_store(store_url(tmp_path, "shard-2")) as store:
        store.study("small").save_note(UNTRAINED_NOTE, {**notes[0], "threshold": notes[0]["threshold"] + 0.1})
    (tmp_path / "all.db").unlink()
    assert merge(tmp_path) == 2
    assert "shard-2.db: its baseline of learned_nothing differs" in capsys.readouterr().err
