from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterator
from pathlib import Path

import pandas as pd
import pytest
from support.stores import AWKWARD, fill, made_study, mixed, typical

from report.exports import results_csv, results_table, write_parquet
from report.frames import load_frames
from robustness.store import Store, open_store


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with open_store(f"sqlite:///{tmp_path / 'made.db'}") as opened:
        yield opened


def test_the_same_study_run_twice_gives_the_same_bytes(tmp_path: Path, store: Store) -> None:
    with open_store(f"sqlite:///{tmp_path / 'other.db'}") as other:
        assert results_csv(fill(store, made_study())) == results_csv(fill(other, made_study()))


def test_the_order_in_which_trials_ended_leaves_no_trace(tmp_path: Path, store: Store) -> None:
    study = made_study()
    with open_store(f"sqlite:///{tmp_path / 'other.db'}") as other:
        fill(other, study, lambda trial, epochs: typical(trial, epochs) if trial.configuration > 5 else None)
        assert results_csv(fill(other, study)) == results_csv(fill(store, study))


def test_numbers_read_back_exactly(store: Store) -> None:
    study = mixed(store)
    table = results_table(load_frames(study))
    rows = list(csv.DictReader(io.StringIO(results_csv(study))))
    assert len(rows) == len(table) == 24
    for row, (_, own) in zip(rows, table.iterrows(), strict=True):
        assert int(row["configuration"]) == own["configuration"]
        assert float(row["learning_rate"]) == own["learning_rate"]
        assert (row["best"] == "" and math.isnan(own["best"])) or float(row["best"]) == own["best"]


def test_what_may_differ_between_runs_is_left_out(store: Store) -> None:
    text = results_csv(mixed(store))
    header = text.splitlines()[0].split(",")
    assert not {"seconds", "attempts", "started", "ended", "worker", "device", "error"} & set(header)
    assert "maker" not in text
    # A trial under way is as good as planned.
    assert "running" not in text


def test_gaps_do_not_turn_whole_numbers_into_fractions(store: Store) -> None:
    rows = list(csv.DictReader(io.StringIO(results_csv(fill(store, made_study())))))
    assert {row["best_epoch"].isdigit() for row in rows} == {True}
    assert {row["batch_size"].isdigit() for row in rows} == {True}
    assert {row["learning_rate_decay"] for row in rows} >= {"", "0.96", "1.0"}


@pytest.mark.parametrize("kind", ["every ending", "non-ASCII names", "empty study", "replicates"])
def test_parquet_holds_the_same_table(store: Store, tmp_path: Path, kind: str) -> None:
    study = AWKWARD[kind](store)
    write_parquet(study, tmp_path / "results.parquet")
    read = pd.read_parquet(tmp_path / "results.parquet")
    table = results_table(load_frames(study))
    assert list(read.columns) == list(table.columns)
    assert read["best"].tolist() == pytest.approx(table["best"].tolist(), nan_ok=True)
    assert read["arm"].tolist() == table["arm"].tolist()
