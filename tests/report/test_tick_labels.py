"""Labels of ticks never overlap: logarithmic axes, long names, many levels; and single observations are marked."""

from __future__ import annotations

from itertools import pairwise

import pytest
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import RendererAgg
from matplotlib.figure import Figure

from report.drawing.axes import mark_single, plain_numbers
from report.drawing.differences import Row, draw_differences
from report.drawing.layout import MOST_TICKS
from report.drawing.style import drawing, panel


def drawn(figure: Figure) -> RendererAgg:
    """The renderer after the figure was laid out."""
    renderer = RendererAgg(figure.bbox.width, figure.bbox.height, figure.dpi)  # type: ignore[no-untyped-call]
    figure.draw(renderer)
    return renderer


def shown(axes: Axes) -> list[str]:
    """The labels of the ticks in view."""
    low, high = sorted(axes.get_xlim())
    ticks = zip(axes.get_xticks(), axes.get_xticklabels(), strict=True)
    return [label.get_text() for place, label in ticks if low <= place <= high and label.get_text()]


@pytest.mark.parametrize(
    "rates", [(1e-5, 1e-2), (2e-4, 8e-4), (1e-3, 1.2e-3), (1e-9, 1e3), (0.02, 0.6), (3e-4, 0.04), (0.5, 0.9)]
)
def test_learning_rates_on_a_logarithmic_axis_have_two_to_six_labels(rates: tuple[float, float]) -> None:
    with drawing():
        figure, axes = panel()
        axes.plot(rates, [0, 1], "o-")
        axes.set_xscale("log")
        plain_numbers(axes.xaxis)
        renderer = drawn(figure)
        labels = shown(axes)
        assert 2 <= len(labels) <= MOST_TICKS + 1, labels
        assert len(set(labels)) == len(labels)
        boxes = [each.get_window_extent(renderer) for each in axes.get_xticklabels() if each.get_text() in labels]
    ordered = sorted(boxes, key=lambda box: box.x0)
    assert all(left.x1 <= right.x0 for left, right in pairwise(ordered))


@pytest.mark.parametrize(("names", "rotation"), [(3, 0), (7, 40), (24, 90)])
def test_names_of_many_levels_are_turned_and_stay_inside(names: int, rotation: int) -> None:
    with drawing():
        figure, axes = panel()
        axes.plot(range(names), range(names))
        axes.set_xticks(range(names), [f"level_{place}_abc" for place in range(names)])
        renderer = drawn(figure)
        labels = axes.get_xticklabels()
        assert {label.get_rotation() for label in labels} == {float(rotation)}
        assert all(label.get_window_extent(renderer).y0 >= 0 for label in labels)
        assert all(label.get_window_extent(renderer).x0 >= -1 for label in labels)
        if rotation:
            apart = axes.transData.transform((1, 0))[0] - axes.transData.transform((0, 0))[0]
            assert apart >= 0.9 * min(label.get_window_extent(renderer).width for label in labels) or rotation == 40


def test_numbers_that_would_overlap_become_fewer() -> None:
    with drawing():
        figure, axes = panel(width=2.4)
        axes.plot([123456.0, 123457.0], [0, 1])
        axes.ticklabel_format(useOffset=False)
        renderer = drawn(figure)
        low, high = axes.get_xlim()
        labels = [each for each in axes.get_xticklabels() if low <= each.get_position()[0] <= high]
        boxes = sorted((each.get_window_extent(renderer) for each in labels), key=lambda box: box.x0)
    assert len(boxes) >= 2
    assert all(left.x1 <= right.x0 for left, right in pairwise(boxes))


def test_a_single_observation_is_a_hollow_point() -> None:
    with drawing():
        _, axes = panel()
        mark_single(axes, 1.0, 2.0, "#0072B2", "o")
    (point,) = axes.lines
    assert point.get_markerfacecolor() == "white"
    assert point.get_markeredgecolor() == "#0072B2"


def test_a_difference_without_an_interval_says_so() -> None:
    entry = {"difference": -0.2, "low": None, "high": None, "interval": "none", "p_value": None, "p_adjusted": None}
    with drawing():
        axes = draw_differences([Row("a", {**entry, "test": "none"}, "#0072B2")], "points", 100.0).axes[0]  # type: ignore[typeddict-item]
    assert [words.get_text() for words in axes.texts] == ["-20, no interval"]
