"""Any finite metric makes a page and JSON: normal numbers, huge ones, which count as infinite, and tiny ones."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.importing import imported
from support.result_types import misfits
from support.stores import Made, fill, from_table, made_study

from report.analysis import Analysis, analyse, as_json_text
from report.exports import results_table
from report.first_screen.screen import first_screen
from report.frames import load_frames
from report.judged_study import JudgedStudy
from report.page import pictures, render
from report.scales import around
from report.sections.cautions import cautions
from report.sections.results import Results
from robustness.errors import RobustnessError
from robustness.store import open_store
from robustness.trial import LARGEST

SIZES = [1.0, 1e3, 1e59, 1e80, 1e120, 1e200, 1e300, 1.7e308, 5e-324, 1e-310, 1e-200, 1e-60]
METRICS = st.one_of(
    st.sampled_from([sign * size for size in SIZES for sign in (1, -1)] + [0.0]),
    st.floats(-10, 10),
    st.floats(allow_nan=False, allow_infinity=False),
)

THRESHOLDS = METRICS.filter(lambda value: abs(value) <= LARGEST)
"""An import refuses others."""


@st.composite
def runs(draw: st.DrawFn) -> tuple[pd.DataFrame, dict[str, Any]]:
    """A table of runs whose metric has one to five different values or is any number, and the options to import it."""
    arms = ["a", "b", "c"][: draw(st.integers(2, 3))]
    tasks, paired = draw(st.sampled_from([[""], ["s", "t"]])), draw(st.booleans())
    size, replicates = draw(st.sampled_from([2, 13, 30])), draw(st.integers(1, 2))
    kinds = draw(st.lists(METRICS, min_size=1, max_size=5))
    generator = np.random.default_rng(draw(st.integers(0, 1000)))
    spread, epochs = draw(st.booleans()), draw(st.sampled_from([1, 1, 3]))
    rows = [
        {
            "arm": arm,
            "task": task,
            "rate": (number + (0 if paired else 100 * place)) / 7 + 0.01,
            "seed": seed,
            "epoch": epoch,
            "fit": -(10.0 ** generator.uniform(-320, 308)) if spread else float(generator.choice(kinds)),
        }
        for task in tasks
        for place, arm in enumerate(arms)
        for number in range(size)
        for seed in range(replicates)
        for epoch in range(1, epochs + 1)
    ]
    goal = draw(st.sampled_from(["maximize", "minimize"]))
    options: dict[str, Any] = {"metric": "fit", "goal": goal, "hyperparameters": ["rate"], "missing": "left-out"}
    if draw(st.booleans()):
        low, high = sorted(draw(st.tuples(THRESHOLDS, THRESHOLDS)))
        worse, better = (low, high) if goal == "maximize" else (high, low)
        options |= {"learned_nothing": worse, "good": better}
    frame = pd.DataFrame(rows)
    frame = frame.drop(columns="epoch") if epochs == 1 else frame
    return (frame if len(tasks) > 1 else frame.drop(columns="task")), options


def analysed(frame: pd.DataFrame, folder: Path, **options: Any) -> Analysis:
    frame.to_csv(folder / "runs.csv", index=False)
    with open_store(f"sqlite:///{folder / 'runs.db'}") as store:
        imported(folder / "runs.csv", **options).study.save(store, True)
        return analyse(load_frames(store.study("imported")))


def one_of_two(size: float, folder: Path, **options: Any) -> Analysis:
    """Thirty pairs; the scores of b are minus ten to a power of up to `size`."""
    generator = np.random.default_rng(0)
    rates = 10 ** generator.uniform(-4, 0, 30)
    rows = [{"arm": "a", "rate": rate, "fit": generator.uniform(0, 1)} for rate in rates]
    rows += [{"arm": "b", "rate": rate, "fit": -(10 ** generator.uniform(0, size))} for rate in rates]
    return analysed(pd.DataFrame(rows), folder, metric="fit", goal="maximize", hyperparameters=["rate"], **options)


def numbers_in(value: object) -> Iterator[float]:
    if isinstance(value, float):
        yield value
    elif isinstance(value, dict | list):
        for each in value.values() if isinstance(value, dict) else value:
            yield from numbers_in(each)


@settings(max_examples=12, derandomize=True, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(made=runs())
def test_any_finite_metric_makes_a_page_and_json(made: tuple[pd.DataFrame, dict[str, Any]], tmp_path: Path) -> None:
    frame, options = made
    analysis = analysed(frame, tmp_path, **options)
    written = as_json_text(analysis.results)
    results = json.loads(written, parse_constant=lambda name: pytest.fail(f"{name} in the JSON"))
    assert all(abs(number) < 1e250 for number in numbers_in(results))
    if analysis.frames.has_thresholds:
        results.pop("generator")
        assert list(misfits(results, Results)) == []
    trials = frame.drop(columns=["fit", "epoch"], errors="ignore").drop_duplicates()
    assert len(results_table(analysis.frames, analysis.study.trials)) == len(trials)
    page = render(analysis)
    assert first_screen(analysis).sentence
    for word in (">nan<", ">inf<", "−inf", "-inf", "nan "):
        assert word not in page


@pytest.mark.parametrize("thresholds", [{}, {"good": 0.5, "learned_nothing": 0.0}])
@pytest.mark.parametrize("size", [20, 60, 120, 200, 308])
def test_a_fit_that_diverges_has_a_verdict(size: float, thresholds: dict[str, float], tmp_path: Path) -> None:
    analysis = one_of_two(size, tmp_path, **thresholds)
    (entry,) = analysis.results["scores"]
    assert entry["first_wins"]["count"] == 30
    assert entry["low"] is not None
    assert all(math.isfinite(number) for number in numbers_in(entry))
    assert render(analysis)


def test_the_page_says_that_huge_scores_count_as_infinite(tmp_path: Path) -> None:
    analysis = one_of_two(120, tmp_path)
    huge = int((analysis.frames.trials["status"] == "diverged").sum())
    assert 5 < huge < 25
    (said,) = [line for line in cautions(analysis) if "infinite" in line]
    assert said.startswith(
        f"{huge} of b's 30 trials diverged before they reported a finite fit (numbers beyond ±1e+60 count as "
        "infinite). In means, each counts as "
    )
    assert not [line for line in cautions(one_of_two(20, tmp_path)) if "infinite" in line]


def test_a_store_of_an_earlier_version_may_hold_huge_scores(tmp_path: Path) -> None:
    made: dict[tuple[Any, ...], Made] = {(number, "mfvi"): Made(scores=[0.5 + number / 50]) for number in range(12)}
    made |= {(number, "radial"): Made(scores=[-1e150 if number < 4 else 0.7]) for number in range(12)}
    study = made_study(epochs=2, outcomes={"metric": "own", "learned_nothing": {"below": 0.6}})
    with open_store(f"sqlite:///{tmp_path / 'runs.db'}") as store:
        filled = fill(store, study, from_table(made))
        analysis = analyse(load_frames(filled))
    assert analysis.results["contradictions"]["count"] == 0
    radial = analysis.trials[analysis.trials["arm"] == "radial"].sort_values("configuration")
    assert radial["outcome_best"].tolist() == ["learned_nothing"] * 4 + ["between"] * 8
    assert radial["score_best"].tolist() == [0.5] * 4 + [0.7] * 8
    assert render(analysis)


@pytest.mark.parametrize("value", [0.0, 3.0, -1e59, 1e59, LARGEST])
def test_equal_scores_have_an_axis_about_them(value: float, tmp_path: Path) -> None:
    low, high = around(value)
    assert low < value < high
    frame = pd.DataFrame([{"arm": arm, "rate": rate, "fit": value} for arm in "ab" for rate in range(1, 20)])
    analysis = analysed(frame, tmp_path, metric="fit", goal="minimize", hyperparameters=["rate"])
    study = analysis.study
    assert isinstance(study, JudgedStudy)
    assert study.score_range == (low, high)


def test_ticks_of_huge_scores_are_short(tmp_path: Path) -> None:
    analysis = one_of_two(59, tmp_path)
    drawn = 0
    for picture, _ in pictures(analysis):
        figure = picture.draw()
        figure.canvas.draw()
        for axes in figure.axes:
            for axis in (axes.xaxis, axes.yaxis):
                labels = [label.get_text() for label in axis.get_ticklabels()]
                assert max(map(len, labels), default=0) < 40, (picture.name, labels)
                drawn += len(labels)
    assert drawn > 50


@pytest.mark.parametrize("good", [1e61, math.inf, math.nan])
def test_a_threshold_that_no_score_can_reach_is_refused(good: float, tmp_path: Path) -> None:
    with pytest.raises(RobustnessError, match="must be finite, and at most 1e\\+60 in size"):
        one_of_two(20, tmp_path, good=good, learned_nothing=0.0)
