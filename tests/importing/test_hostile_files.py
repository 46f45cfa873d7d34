"""Files that no one means well with, and files of other programs: the right reading, or one line."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from support.hostile import is_one_safe_line
from support.importing import imported, rows_of

from robustness.errors import RobustnessError
from robustness.guards.printable import printable
from robustness.importing.pairing import Pairs

TEXT = "arm,rate,kind,metric\na,0.5,x,0.25\nb,0.5,x,0.75\na,1.5,y,0.5\nb,1.5,y,1.5\n"


def check_reading(path: Path) -> None:
    runs = imported(path).runs
    assert [dict(values) for values in runs.configurations] == [{"rate": 0.5, "kind": "x"}, {"rate": 1.5, "kind": "y"}]
    assert runs.epochs["metric"].tolist() == [0.25, 0.75, 0.5, 1.5]
    assert Pairs.of(runs) == Pairs(2, 0, 0)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le-bom", "gzip"])
def test_encodings_are_recognised(tmp_path: Path, encoding: str) -> None:
    path = tmp_path / "runs.csv"
    if encoding == "gzip":
        path.write_bytes(gzip.compress(TEXT.encode()))
    elif encoding == "utf-16-le-bom":
        path.write_bytes(b"\xff\xfe" + TEXT.encode("utf-16-le"))
    else:
        path.write_bytes(TEXT.encode(encoding))
    check_reading(path)


@pytest.mark.parametrize("delimiter", [";", "\t", "|"])
def test_delimiters_and_decimal_commas_are_recognised(tmp_path: Path, delimiter: str) -> None:
    path = tmp_path / "runs.csv"
    path.write_text(TEXT.replace(",", delimiter), encoding="utf-8")
    check_reading(path)
    path.write_text(TEXT.replace(",", delimiter).replace(".", ","), encoding="utf-8")
    check_reading(path)


def test_parquet_and_json_are_read_like_csv(tmp_path: Path) -> None:
    (tmp_path / "runs.csv").write_text(TEXT, encoding="utf-8")
    frame = pd.read_csv(tmp_path / "runs.csv")
    frame.to_parquet(tmp_path / "runs.parquet")
    frame.to_json(tmp_path / "records.json", orient="records")
    frame.to_json(tmp_path / "lines.json", orient="records", lines=True)
    for name in ("runs.parquet", "records.json", "lines.json"):
        check_reading(tmp_path / name)


def test_formulas_are_text(tmp_path: Path) -> None:
    path = tmp_path / "runs.csv"
    path.write_text("arm,kind,metric\na,=1+1,0.5\nb,=1+1,0.6\na,'=cmd,0.7\nb,'=cmd,0.7\n", encoding="utf-8")
    assert [dict(values) for values in imported(path).runs.configurations] == [{"kind": "=1+1"}, {"kind": "=cmd"}]


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"arm,rate,metric\na,1,0.\x005\n", "contains NUL bytes"),
        (
            ",".join(f"c{n}" for n in range(10_000)).encode() + b"\n" + b"1," * 9_999 + b"1\n",
            "exceed the limit of 1,000",
        ),
        (b"arm,metric\na,0.5,1,2\n", "has 4 cells, but the header has 2"),
        (b"arm,rate,metric\na,\xe4,0.5\n", "is not UTF-8"),
        (b"", "is empty"),
        (b"\n\n", "is empty"),
        (b"arm,arm,metric\na,b,1\n", "'arm' appears twice"),
        (gzip.compress(b"x" * 100, mtime=0)[:-5], "ends too early"),
        (b"PAR1 and no more", "cannot be read as parquet"),
        (b'{"a": [1, 2], "b": [1]}', "different lengths"),
        (b"[1, 2]", "list of records"),
        (b"[" * 100_000, "is not JSON"),
        (b"SQLite format 3\0", "is a database"),
    ],
)
def test_what_cannot_be_read_gets_one_line(tmp_path: Path, content: bytes, words: str) -> None:
    path = tmp_path / "runs.csv"
    path.write_bytes(content)
    with pytest.raises(RobustnessError, match=words) as refusal:
        imported(path)
    assert is_one_safe_line(printable(refusal.value))


def test_a_bomb_is_not_unpacked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ROBUSTNESS_LIMIT_RUNS_BYTES", "1000000")
    path = tmp_path / "runs.csv.gz"
    path.write_bytes(gzip.compress(b"a" * 50_000_000))
    with pytest.raises(RobustnessError, match="bytes exceed the limit of 1,000,000"):
        imported(path)


def test_epochs_in_any_order_are_the_same_runs(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    rows = [
        (arm, rate, seed, epoch, rng.random(), rng.random())
        for arm in "ab"
        for rate in (0.1, 0.2, 0.3)
        for seed in (5, 6)
        for epoch in range(1, 5)
    ]
    frame = pd.DataFrame(rows, columns=["arm", "rate", "seed", "epoch", "train_accuracy", "metric"])
    frame.to_csv(tmp_path / "sorted.csv", index=False)
    frame.sample(frac=1, random_state=0).to_csv(tmp_path / "shuffled.csv", index=False)
    for name, options in (("sorted", {}), ("shuffled", {"epoch": "epoch"})):
        runs = imported(tmp_path / f"{name}.csv", **options).runs
        assert (list(runs.levels), runs.seeds, len(runs.frame)) == (["rate"], [5, 6], 12)
        for row in rows_of(runs):
            chosen = (frame["arm"] == row.arm) & (frame["seed"] == runs.seeds[row.replicate])
            chosen &= frame["rate"] == row.hyperparameters["rate"]
            assert [value for _, value in row.curve] == frame.loc[chosen, "metric"].tolist()


def test_the_last_epoch_of_a_run_is_not_a_row_per_epoch(tmp_path: Path) -> None:
    frame = pd.DataFrame(
        {"arm": list("abababab"), "rate": [1, 1, 2, 2, 3, 3, 4, 4], "epoch": [3, 9, 4, 9, 9, 5, 9, 9], "metric": 0.5}
    )
    frame.to_csv(tmp_path / "runs.csv", index=False)
    runs = imported(tmp_path / "runs.csv", pruned="last-value").runs
    assert (len(runs.frame), list(runs.levels)) == (8, ["rate"])
    assert runs.frame["last_epoch"].tolist() == frame["epoch"].tolist()
