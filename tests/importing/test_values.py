from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from robustness.importing.values import numbers_in


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1))
def test_text_is_read_to_the_last_digit(values: list[float]) -> None:
    texts = pd.Series([repr(value) for value in values])
    assert numbers_in(texts).tolist() == values
    assert numbers_in(texts.astype(object)).tolist() == values


@pytest.mark.parametrize("dtype", ["float64", "Float64", "int64", "Int64"])
def test_numbers_stay_as_they_are(dtype: str) -> None:
    assert numbers_in(pd.Series([1, 2], dtype=dtype)).tolist() == [1.0, 2.0]


def test_what_is_no_number_is_nan() -> None:
    cells = pd.Series([" 2.5 ", "two", "", None, math.nan, "nan", [1], 3], dtype=object)
    np.testing.assert_array_equal(numbers_in(cells), [2.5, *[math.nan] * 6, 3.0])
    assert math.isnan(numbers_in(pd.Series([pd.NA, 1], dtype="Int64"))[0])


def test_infinite_numbers_stay_infinite() -> None:
    assert numbers_in(pd.Series(["inf", "-Infinity", "1.0"])).tolist() == [math.inf, -math.inf, 1.0]
