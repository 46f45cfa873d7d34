"""The data inside the page: nothing that statistics need is rounded, and what is only drawn is small."""

from __future__ import annotations

import base64
import gzip
import json
import math
import zlib
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from report import embedding
from report.exploring.axes import axes, stops
from report.exploring.curves import MISSING, MOST_BYTES, shown_range, thinned
from report.exploring.data import COUNTED, PAIRED, PLANNED, explore_data
from report.exploring.packing import Packed, pack, pack_rows
from report.exports import results_csv
from report.judging import own_scores


def unpacked(packed: Packed) -> dict[str, np.ndarray[Any, Any]]:
    """The arrays as the page's script reads them."""
    content, start, arrays = zlib.decompress(base64.b64decode(packed["content"])), 0, {}
    for name, kind, length in packed["arrays"]:
        size = int(kind[1])
        part = np.frombuffer(content[start : start + length * size], dtype=np.uint8)
        arrays[name] = np.ascontiguousarray(part.reshape(size, length).T).view(f"<{kind}").ravel()
        start += length * size
    assert start == len(content)
    return arrays


@given(st.lists(st.floats(), max_size=20), st.lists(st.integers(-32768, 32767), max_size=20))
def test_arrays_are_packed_to_the_last_bit(floats: list[float], integers: list[int]) -> None:
    packed = pack({"a": np.array(floats, dtype=float), "b": np.array(integers, dtype=np.int16)})
    found = unpacked(packed)
    assert found["a"].tobytes() == np.array(floats, dtype=float).tobytes()
    assert found["b"].tolist() == integers


def test_rows_of_text_are_packed_by_column() -> None:
    rows = [("0", "<b>", "–"), ("1", "é", "2")]
    columns = json.loads(zlib.decompress(base64.b64decode(pack_rows(rows))))
    assert [tuple(row) for row in zip(*columns, strict=True)] == rows


@given(st.floats(1e-8, 1e3), st.floats(1.001, 1e6), st.booleans())
def test_stops_rise_from_the_smallest_value_to_the_largest(low: float, factor: float, logarithmic: bool) -> None:
    found = stops(low, low * factor, logarithmic)
    assert found[0] == low
    assert found[-1] == low * factor
    assert all(a < b for a, b in pairwise(found))
    assert len(found) < 130


def test_stops_are_round_numbers() -> None:
    assert stops(3e-4, 0.02, True)[1:4] == [4e-4, 5e-4, 6e-4]
    assert -4.0 in stops(-6.0, 0.0, False)


def test_learning_curves_are_thinned_to_what_a_small_chart_shows() -> None:
    trials, count = 30_000, 200
    epochs = np.tile(np.arange(1, count + 1), 3)
    values = np.concatenate([np.linspace(0, 1, count), np.full(count, math.nan), np.linspace(1, 0, count)])
    owners = np.repeat([0, 1, 2], count)
    curves = thinned(pd.Series(epochs), values, owners, trials)
    assert curves.steps.size <= max(MOST_BYTES, 16 * trials)
    assert (curves.low, curves.high) == (0.0, 1.0)
    first = curves.steps[0].astype(float) / (MISSING - 1)
    middles = (np.array(curves.epochs) - 1) / (count - 1)
    assert np.abs(first - middles).max() < 0.01
    assert (curves.steps[1] == MISSING).all()
    assert (curves.steps[3:] == MISSING).all()


def test_one_value_far_away_does_not_flatten_the_others() -> None:
    values = np.append(np.linspace(0.2, 0.9, 500), 1e35)
    low, high = shown_range(values)
    assert 0.15 < low < 0.25
    assert 0.85 < high < 0.95
    assert shown_range(np.array([0.5, 0.5])) == (0.0, 1.0)


@pytest.mark.parametrize("name", ["every ending", "replicates", "three arms"])
def test_the_data_has_each_trial_as_it_was_judged(awkward: Callable[[str], Any], name: str) -> None:
    analysis = awkward(name).analysis
    data = explore_data(analysis)
    assert data is not None
    arrays, trials = unpacked(data["packed"]), analysis.trials
    width = len(data["arms"])
    assert len(arrays["score"]) == width * len(arrays["configuration"]) == len(trials)
    order = trials.assign(place=[data["arms"].index(arm) for arm in trials["arm"]])
    order = order.sort_values(["configuration", "replicate", "place"])
    np.testing.assert_array_equal(arrays["score"], own_scores(order, analysis.epoch))
    flags = PLANNED + COUNTED * order["counted"].astype(int) + PAIRED * order["paired"].astype(int)
    assert arrays["flags"].tolist() == flags.tolist()
    for place, axis in enumerate(axes(analysis.frames)):
        assert axis.entry == data["axes"][place]
        np.testing.assert_array_equal(arrays[f"axis{place}"], axis.column)


def test_a_large_table_of_results_is_compressed(awkward: Callable[[str], Any], monkeypatch: pytest.MonkeyPatch) -> None:
    frames = awkward("replicates").analysis.frames
    assert embedding.csv_link(frames)["href"].startswith("data:text/csv")
    monkeypatch.setattr(embedding, "_LARGE_CSV", 10)
    link = embedding.csv_link(frames)
    assert link["name"] == f"{link['plain']}.gz"
    content = base64.b64decode(link["href"].removeprefix("data:application/gzip;base64,"))
    assert gzip.decompress(content).decode() == results_csv(frames)
