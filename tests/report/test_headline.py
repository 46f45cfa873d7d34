from __future__ import annotations

import itertools
from math import comb, factorial
from pathlib import Path

import pandas as pd
import pytest
from scipy.stats import binomtest
from simulated_studies import store_url, write_study
from statsmodels.stats.contingency_tables import mcnemar
from statsmodels.stats.proportion import proportion_confint

from report.frames import pair_counts
from report.headline import headline
from report.statistics.pairs import PairCounts, exact_mcnemar, paired_difference_interval
from report.statistics.proportions import wilson
from robustness.cli import main


def results(first: list[str | None], second: list[str | None]) -> pd.DataFrame:
    rows = [
        (number, arm, 0, "finished" if outcome else "out_of_memory", outcome)
        for number, pair in enumerate(zip(first, second, strict=True))
        for arm, outcome in zip(("mfvi", "radial"), pair, strict=True)
    ]
    return pd.DataFrame(rows, columns=["configuration", "arm", "replicate", "status", "outcome"])


DOCUMENT = {"outcomes": {"primary": "learned_nothing"}, "arms": [{"label": "mfvi"}, {"label": "radial"}]}


def test_the_headline_is_the_one_of_the_issue() -> None:
    nothing, good = "learned_nothing", "good"
    frame = results([nothing] * 9 + [good] * 3, [nothing] * 2 + [good] * 10)
    first, paired = headline(frame, DOCUMENT)
    assert first == ("mfvi learned nothing in 9 of 12 (75 %, 95 % interval 47-91 %), radial in 2 of 12 (17 %, 5-45 %)")
    assert "only mfvi 7, only radial 0, exact McNemar p = 0.016" in paired
    assert paired.startswith("paired, mfvi - radial: +58 % of 12 pairs")


def test_trials_that_are_left_out_are_said() -> None:
    frame = results(["good", None, "good"], ["learned_nothing", "good", None])
    lines = headline(frame, DOCUMENT)
    assert lines[0].startswith("mfvi learned nothing in 0 of 2")
    assert "of 1 pairs" in lines[1]
    assert lines[2] == "left out: 2 trials ran out of memory"


def test_a_stopped_study_shows_its_confidence_sequence_and_no_fixed_sample_test() -> None:
    note = {"arms": ["mfvi", "radial"], "pairs": 20, "difference": 0.5, "low": 0.02, "high": 0.8, "level": 0.05}
    text = " ".join(headline(results(["good"], ["good"]), DOCUMENT, note))
    assert "95 % confidence sequence +2 to +80 %" in text
    assert "McNemar" not in text
    assert "interval" not in text


@pytest.mark.parametrize(("k", "n"), [(0, 12), (9, 12), (71, 86), (5, 5)])
def test_wilson_agrees_with_statsmodels(k: int, n: int) -> None:
    assert wilson(k, n) == pytest.approx(proportion_confint(k, n, method="wilson"), abs=1e-12)


@pytest.mark.parametrize(("b", "c"), [(0, 0), (7, 0), (3, 9), (44, 8)])
def test_mcnemar_agrees_with_statsmodels(b: int, c: int) -> None:
    ours = exact_mcnemar(PairCounts(5, b, c, 10))
    assert ours == pytest.approx(mcnemar([[5, b], [c, 10]], exact=True).pvalue)
    assert ours == pytest.approx(1.0 if b + c == 0 else binomtest(b, b + c).pvalue)


def test_the_paired_interval_covers_as_often_as_it_says() -> None:
    """Exactly, over every table of 15 pairs, for a few truths."""
    n = 15
    tables = [t for t in itertools.product(range(n + 1), repeat=3) if sum(t) <= n]
    intervals = {t: paired_difference_interval(PairCounts(*t, n - sum(t))) for t in tables}
    for both, first, second in [(0.2, 0.5, 0.1), (0.3, 0.2, 0.2), (0.05, 0.1, 0.6)]:
        neither = 1 - both - first - second
        covered = 0.0
        for (a, b, c), (low, high) in intervals.items():
            d = n - a - b - c
            ways = comb(n, a) * factorial(n - a) // (factorial(b) * factorial(c) * factorial(d))
            chance = ways * both**a * first**b * second**c * neither**d
            covered += chance * (low <= first - second <= high)
        assert 0.93 <= covered <= 1.0


def test_pairs_are_counted_by_configuration_and_replicate() -> None:
    frame = results(["good", "between", "good", None], ["good", "good", "between", "good"])
    assert pair_counts(frame, "mfvi", "radial", "good") == PairCounts(1, 1, 1, 0)


def test_the_csv_of_a_study_is_the_same_bytes_each_time_it_is_swept(
    tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    path = write_study(tmp_path)
    files = []
    for name in ("one", "two"):
        url = store_url(tmp_path, name)
        assert main(["sweep", str(path), "--store", url, "--inline", "--quiet"]) == 0
        shown = capfdbinary.readouterr().out
        assert b"first learned nothing in" in shown
        assert b"report: reports/simulated.csv" in shown
        assert main(["report", "simulated", "--store", url, "--format", "csv"]) == 0
        files.append(capfdbinary.readouterr().out)
        assert (tmp_path / "reports" / "simulated.csv").read_bytes() == files[-1]
    assert files[0] == files[1]
    assert b"outcome" in files[0]
    assert not any(word in files[0] for word in (b"seconds", b"worker", b"attempts"))
