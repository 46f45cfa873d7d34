"""Infinite metrics and those beyond 1e60 are diverged runs, as in a sweep; nobody is asked about them."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
from support.importing import imported, rows_of

from robustness.errors import RobustnessError
from robustness.importing.summary import summary_lines


def written(folder: Path, cells: list[str]) -> Path:
    lines = ["arm,rate,fit", *(f"{'ab'[place % 2]},{1 + place // 2},{cell}" for place, cell in enumerate(cells))]
    path = folder / "runs.csv"
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.mark.parametrize("cell", ["-1e61", "1.7e308", "inf", "-inf"])
def test_a_huge_metric_is_a_diverged_run(tmp_path: Path, cell: str) -> None:
    found = imported(written(tmp_path, ["0.5", cell, "0.6", "-9e59"]), metric="fit", goal="maximize")
    assert [row.status for row in rows_of(found.runs)] == ["finished", "diverged", "finished", "finished"]
    assert [value for row in rows_of(found.runs) for _, value in row.curve] == [
        0.5,
        math.copysign(math.inf, float(cell)),
        0.6,
        -9e59,
    ]
    (line,) = [line for line in summary_lines(found) if line.startswith("decided")]
    assert line.endswith("1 of 4 runs infinite or beyond ±1e+60; b 1: counted as diverged")


def test_nan_is_still_asked_about(tmp_path: Path) -> None:
    path = written(tmp_path, ["0.5", "1e200", "0.6", "nan"])
    with pytest.raises(RobustnessError, match=r"1 of 4 runs without a result \(1 empty or NaN; b 1\)"):
        imported(path, metric="fit", goal="maximize")


def test_a_run_is_judged_by_the_epochs_before(tmp_path: Path) -> None:
    path = tmp_path / "epochs.csv"
    rows = ["arm,rate,epoch,fit"]
    rows += [f"{arm},{rate},{epoch},{0.1 * epoch}" for arm in "ab" for rate in (1, 2) for epoch in (1, 2, 3)]
    rows[-1] = "b,2,3,1e99"
    path.write_text("\n".join(rows) + "\n")
    found = imported(path, metric="fit", goal="maximize", epoch="epoch", hyperparameters=["rate"], judged="best")
    assert [row.status for row in rows_of(found.runs)] == ["finished"] * 3 + ["diverged"]
    assert found.study._trials().frame["metric"].tolist() == pytest.approx([0.3, 0.3, 0.3, 0.2])
