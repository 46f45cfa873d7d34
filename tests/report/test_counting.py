"""One way of counting and rounding on every page: configurations x replicates, halves away from zero, never -0."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from support.stores import AWKWARD, Made, fill, from_table, made_study

from report.analysis import analyse
from report.page import write_report
from report.records.estimates import Difference, Fraction
from report.sections.verdict import headline
from report.words import (
    beside_zero,
    bracketed,
    mean_change,
    p_number,
    percent,
    points,
    share,
    share_cell,
    signed,
    signed_to,
)
from robustness.store import open_store

MINUS_ZERO = re.compile(r"[-\N{MINUS SIGN}]0(?:\.0+)?(?![\d.eE])")


def sentences(value: Any) -> Iterator[str]:
    """Every text in a JSON document."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for item in value.values() if isinstance(value, dict) else value:
            yield from sentences(item)


def seen(page: Path) -> str:
    """What a reader sees: the page without scripts, styles and attributes."""
    text = re.sub(r"<(script|style|svg)\b.*?</\1>", " ", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    return re.sub(r"<[^>]*>", " ", text)


@pytest.mark.parametrize("kind", sorted(AWKWARD))
def test_nothing_is_rounded_to_minus_zero(awkward: Callable[[str], Any], kind: str) -> None:
    written = awkward(kind)
    texts = [*sentences(dict(written.analysis.results)), headline(written.analysis), seen(written.page)]
    assert [found.group() for text in texts for found in MINUS_ZERO.finditer(text)] == []


@pytest.mark.parametrize("text", ["by -0 points", "−0.000 to 1", "(-0.0)", "-0"])
def test_minus_zero_would_be_found(text: str) -> None:
    assert MINUS_ZERO.search(text)
    assert not MINUS_ZERO.search("-0.05, -0.001, 10-0.5, 1e-05")


def test_replicates_are_counted_as_configurations_x_replicates(tmp_path: Path) -> None:
    """8 configurations x 4 replicates are neither 32 configurations nor "9 of 26 (40 %)"."""
    scores: dict[tuple[Any, ...], Any] = {
        (c, arm, r): 0.5 if (c + r) % 4 < lost else 0.9
        for arm, lost in (("mfvi", 3), ("radial", 1), ("mc_dropout", 1))
        for c in range(8)
        for r in range(4)
    }
    scores[2, "mfvi", 0] = scores[2, "mfvi", 1] = scores[5, "radial", 3] = Made("out_of_memory")
    study = made_study(arms=("mfvi", "radial", "mc_dropout"), configurations=8, replicates=4)
    with open_store(f"sqlite:///{tmp_path / 'made.db'}") as store:
        analysis = analyse(fill(store, study, from_table(scores)))
    text = headline(analysis)
    assert "Share of 8 paired configurations x up to 4 replicates that learned nothing: mfvi" in text
    assert "mfvi was good in 23 % of 8 configurations x up to 4 replicates (95 % interval" in text
    page = seen(write_report(analysis, tmp_path / "page.html"))
    assert "32 paired configurations" not in page
    assert not re.search(r"\d+\.\d+ of \d", page)
    assert "8 x up to 4" in page
    two = made_study("two", configurations=8, replicates=4)
    scores = {key: value for key, value in scores.items() if key[1] != "mc_dropout" and not isinstance(value, Made)}
    full = {(c, arm, r): scores.get((c, arm, r), 0.5) for c in range(8) for arm in ("mfvi", "radial") for r in range(4)}
    with open_store(f"sqlite:///{tmp_path / 'two.db'}") as store:
        text = headline(analyse(fill(store, two, from_table(full))))
    shares = r"mfvi learned nothing in 78 % of 8 configurations x 4 replicates \(95 % interval \d+-\d+ %\), radial"
    assert re.match(shares, text)
    assert re.search(r"score test, p = \S+, 8 configurations x 4 replicates\)", text)


def test_fractions_are_written_in_one_way() -> None:
    once: Fraction = {
        "count": 3,
        "of": 8,
        "configurations": 8,
        "replicates": 1,
        "effective": 8.0,
        "fraction": 0.375,
        "low": 0.2,
        "high": 0.6,
        "interval": "Wilson",
    }
    assert share(once) == "3 of 8 (38 %, 95 % interval 20-60 %)"
    assert share_cell(once) == "37.5\u00a0% (3 of 8) [20.0\u00a0% to 60.0\u00a0%]"
    four: Fraction = {**once, "count": 12, "of": 32, "replicates": 4}
    assert share(four) == "38 % of 8 configurations x 4 replicates (95 % interval 20-60 %)"
    assert share(four, "", over=False) == "38 % (20-60 %)"
    assert share_cell(four) == "37.5\u00a0% (8 x 4) [20.0\u00a0% to 60.0\u00a0%]"
    assert share({**four, "of": 31, "low": None, "high": None}) == "38 % of 8 configurations x up to 4 replicates"


def test_an_estimate_has_the_digits_of_its_interval_and_is_not_written_as_an_end_of_it() -> None:
    assert bracketed(-0.0005, -0.0014, 0.0004, signed_to(3)) == "-0.0005 [-0.0014 to +0.0004]"
    assert bracketed(0.00001, -0.001, 0.001, signed_to(3)) == "0.000 [-0.001 to +0.001]"
    assert bracketed(0.2, 0.2, 0.3) == "0.200 [0.200 to 0.300]", "an end that is the estimate"
    assert bracketed(0.2 - 1e-9, 0.2, 0.3) == "0.200 [0.200 to 0.300]", "more digits would not tell them apart"
    entry: Difference = {"difference": -0.0005, "low": -0.0014, "high": 0.0004, "interval": "Student"}
    assert mean_change(entry) == "-0.0005 (95 % interval -0.0014 to +0.0004)"


def test_halves_are_rounded_away_from_zero() -> None:
    assert [percent(value) for value in (0.125, 0.145, 0.375, 0.0049, 0.005)] == ["13", "15", "38", "0", "1"]
    assert [signed(value) for value in (0.5, -0.5, -0.4, 12.5, -12.5)] == ["+1", "-1", "0", "+13", "-13"]


def test_an_end_that_leaves_out_zero_is_not_rounded_to_it() -> None:
    entry: Difference = {"difference": 0.07, "low": 0.002, "high": 0.14, "interval": "Tango"}
    assert points(entry) == "+7.0 points (95 % interval +0.2 to +14.0)"
    assert points({**entry, "low": 0.0}) == "+7 points (95 % interval 0 to +14)"
    assert beside_zero(-0.0004, signed, 3) == "-0.0004"
    assert [p_number(value) for value in (0.0496, 0.0502, 0.05, 0.054)] == ["0.0496", "0.0502", "0.05", "0.054"]
    assert 0.0499 < float(p_number(0.0499999)) < 0.05
