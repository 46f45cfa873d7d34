"""Which hyperparameters are on a logarithmic axis, on the page and in figures."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from report.exploring.axes import axes
from report.scales import is_logarithmic
from report.sections.interactions.drawings import draw_scores
from robustness.api.importing import from_dataframe


@pytest.mark.parametrize(
    ("values", "declared", "expected"),
    [
        ([0.001, 0.1], False, True),
        ([0.001, 0.099], False, False),
        ([16, 256], False, False),
        ([16, 256], True, True),
        ([1e-5, 100.0, float("nan")], False, True),
        ([0.0, 1000.0], True, False),
        ([-1.0, 1000.0], False, False),
        ([], True, False),
    ],
)
def test_an_axis_is_logarithmic_from_a_factor_of_a_hundred_on(
    values: list[float], declared: bool, expected: bool
) -> None:
    assert is_logarithmic(values, declared=declared) is expected


def test_imported_learning_rates_are_logarithmic_on_the_page_and_in_figures(tmp_path: Path) -> None:
    rows = [
        {"arm": arm, "rate": 10.0 ** (place - 6), "width": place + 1, "value": 0.3 + 0.04 * place + better}
        for place in range(12)
        for arm, better in (("a", 0.0), ("b", 0.1))
    ]
    found = from_dataframe(
        pd.DataFrame(rows), study="rates", store=f"sqlite:///{tmp_path / 's.db'}", arm="arm", metric="value"
    )
    analysis = found.analysis
    assert {axis.entry["name"]: axis.entry["log"] for axis in axes(analysis.frames)} == {"rate": True, "width": False}
    figures = [draw_scores(analysis, ["a", "b"], name) for name in ("rate", "width")]
    assert [figure.axes[0].get_xscale() for figure in figures] == ["log", "linear"]
