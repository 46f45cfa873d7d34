"""A store, a checkpoint and a model file written before the packages were rearranged: still read, resumed, reported.

`before_the_move.db` holds four studies: `kept_sweep` (complete), `kept_partial` (the same with three of its sixteen
trials), `kept_search` (a search with final models) and `kept_regression` (with winners). The study files beside it name
trainables as they did then, `robustness.training:train`; the JSON and CSV files are the reports of that time.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image
from scipy import stats
from statsmodels.stats.contingency_tables import mcnemar
from statsmodels.stats.multitest import multipletests
from support.trials import write_linear_set

from robustness import open_store
from robustness.cli import main

KEPT = Path(__file__).with_name("kept")
STUDIES = ("sweep", "search", "regression")
CHECKPOINTED_NLL = [0.7494899654388427, 0.6643899695078532, 0.6764608637491862]
"""The training NLL of the three epochs of trial 1/radial that the checkpoint holds."""
RECOMPUTED = {
    "thresholds": {"low", "high", "p_value", "favours", "favoured", "holds_from", "holds_to"},
    "arms": {"low", "high"},
    "paired": {"low", "high", "p_value", "p_adjusted"},
    "scores": {"low", "high", "p_value", "p_adjusted"},
    "profiles": {"low", "high", "area_low", "area_high"},
    "budget": {"low", "high", "needed_low", "needed_high"},
    "sensitivity": {"low", "high", "importance", "worst_value", "sensible_range"},
    "left_out": {"p_value", "favours", "changes"},
}
"""By part of the report, numbers of intervals and tests, which have other rules since: calculated again here."""
PROBABILITY = 0.426415
"""What the kept model says of a grey picture."""


@pytest.fixture
def store_url(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A copy of the kept store, in a working folder with the regression data that its study names."""
    shutil.copy(KEPT / "before_the_move.db", tmp_path / "kept.db")
    write_linear_set(tmp_path / "data")
    monkeypatch.chdir(tmp_path)
    return "sqlite:///kept.db"


def _numbers(value: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Every number, truth value and null of a JSON document with its path; sentences may be reworded, cautions move."""
    if isinstance(value, dict):
        for key, item in value.items():
            yield from _numbers(item, (*path, key))
    elif isinstance(value, list):
        if path[-1:] != ("cautions",):
            yield (*path, "length"), len(value)
        for place, item in enumerate(value):
            yield from _numbers(item, (*path, str(place)))
    elif not isinstance(value, str):
        yield path, value


def _by_number_of_trials(document: Any) -> Any:
    """The budgets of a report by their number of trials, of which reports of today have more."""
    for arm in document.get("budget", {}).get("arms", {}).values():
        arm["expected"] = {str(n): value for n, value in zip(arm.pop("trials"), arm["expected"], strict=True)}
    return document


def _trials(url: str, study: str) -> dict[tuple[Any, ...], tuple[str, str]]:
    """Status and metric of each trial; the metric as text, in which one NaN equals another."""
    with open_store(url) as store:
        frame = store.study(study).trials()
    rows = zip(frame["arm"], frame["configuration"], frame["replicate"], frame["status"], frame["metric"], strict=True)
    return {tuple(key): (status, repr(metric)) for *key, status, metric in rows}


@pytest.mark.parametrize("study", STUDIES)
def test_a_kept_study_reports_the_same_numbers(study: str, store_url: str, tmp_path: Path) -> None:
    out = tmp_path / "now.json"
    assert main(["report", f"kept_{study}", "--store", store_url, "--format", "json", "--out", str(out)]) == 0
    now, before = (
        dict(_numbers(_by_number_of_trials(json.loads(path.read_text(encoding="utf-8")))))
        for path in (out, KEPT / f"{study}.json")
    )
    assert len(before) > 100
    for path, value in before.items():
        if RECOMPUTED.get(path[0], set()) & set(path):
            continue
        if isinstance(value, float):
            assert now[path] == pytest.approx(value, rel=1e-9, abs=1e-12), path
        else:
            assert now[path] == value, path


def _entries(value: Any, *keys: str) -> Iterator[dict[str, Any]]:
    """Every mapping in a JSON document that has these keys."""
    items = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    if isinstance(value, dict) and set(keys) <= set(value):
        yield value
    for item in items:
        yield from _entries(item, *keys)


@pytest.mark.parametrize("study", STUDIES)
def test_the_intervals_and_tests_of_a_kept_study_are_those_of_other_libraries(
    study: str, store_url: str, tmp_path: Path
) -> None:
    out = tmp_path / "now.json"
    assert main(["report", f"kept_{study}", "--store", store_url, "--format", "json", "--out", str(out)]) == 0
    now = json.loads(out.read_text(encoding="utf-8"))
    for entry in _entries(
        {key: now[key] for key in ("arms", "sensitivity", "scores")}, "count", "of", "fraction", "low"
    ):
        if entry["of"]:
            wilson = stats.binomtest(int(entry["count"]), entry["of"]).proportion_ci(method="wilson")
            assert (entry["low"], entry["high"]) == pytest.approx((wilson.low, wilson.high))
    families: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for entry in now["paired"]:
        if entry["pairs"]:
            families.setdefault((entry["epoch"], entry["outcome"]), []).append(entry)
            b, c = entry["only_first"], entry["only_second"]
            table = [[entry["both"], b], [c, entry["neither"]]]
            asymptotic = mcnemar(table, exact=False, correction=False).pvalue if b + c else 1.0
            assert entry["p_value"] == pytest.approx(asymptotic)
            assert entry["p_exact"] == pytest.approx(mcnemar(table, exact=True).pvalue)
            assert (entry["low"] > 0 or entry["high"] < 0) is (entry["p_value"] < 0.05)
            assert entry["low"] < entry["difference"] < entry["high"]
    for family in families.values():
        adjusted = multipletests([entry["p_value"] for entry in family], method="holm")[1]
        assert [entry["p_adjusted"] for entry in family] == pytest.approx(list(adjusted))
    for entry in now["profiles"]["arms"].values():
        width = np.sqrt(np.log(2 / 0.05) / (2 * now["arms"]["radial"]["configurations"]))
        assert entry["low"] == pytest.approx(np.clip(np.array(entry["fraction"]) - width, 0, 1).tolist())
        assert entry["high"] == pytest.approx(np.clip(np.array(entry["fraction"]) + width, 0, 1).tolist())


@pytest.mark.parametrize("study", STUDIES)
def test_a_kept_study_exports_the_same_table(study: str, store_url: str, tmp_path: Path) -> None:
    out = tmp_path / "now.csv"
    assert main(["report", f"kept_{study}", "--store", store_url, "--format", "csv", "--out", str(out)]) == 0
    assert out.read_text(encoding="utf-8") == (KEPT / f"{study}.csv").read_text(encoding="utf-8")


@pytest.mark.parametrize(("study", "command"), [("sweep", "sweep"), ("search", "optimize"), ("regression", "sweep")])
def test_a_complete_kept_study_has_nothing_left_to_run(study: str, command: str, store_url: str) -> None:
    before = _trials(store_url, f"kept_{study}")
    assert main([command, str(KEPT / f"{study}.yaml"), "--store", store_url, "--inline", "--no-report"]) == 0
    assert _trials(store_url, f"kept_{study}") == before


def test_a_kept_sweep_goes_on_where_it_stopped_and_from_its_checkpoint(store_url: str, tmp_path: Path) -> None:
    before = {key: trial for key, trial in _trials(store_url, "kept_partial").items() if trial[0] == "finished"}
    assert len(before) == 3
    checkpoints = tmp_path / "kept_partial.checkpoints"
    checkpoints.mkdir()
    shutil.copy(KEPT / "checkpoint.pt", checkpoints / "1-radial-0.pt")
    study = str(KEPT / "sweep.yaml")
    words = ["sweep", study, "--set", "name=kept_partial", "--store", store_url, "--inline", "--no-report"]
    assert main(words) == 0
    after = _trials(store_url, "kept_partial")
    assert {key: after[key] for key in before} == before
    whole = _trials(store_url, "kept_sweep")
    assert {key: trial[0] for key, trial in after.items()} == {key: trial[0] for key, trial in whole.items()}
    with open_store(store_url) as store:
        epochs = store.study("kept_partial").epochs()
    resumed = epochs[(epochs["configuration"] == 1) & (epochs["arm"] == "radial")]
    # Bit for bit, since they come from the file and not from this processor.
    assert list(resumed["nll"])[:3] == CHECKPOINTED_NLL
    assert len(resumed) == 5


def test_a_kept_search_can_be_given_more_runs(store_url: str) -> None:
    before = _trials(store_url, "kept_search")
    study = str(KEPT / "search.yaml")
    words = ["optimize", study, "--set", "search.runs=4", "--store", store_url, "--inline", "--no-report"]
    assert main(words) == 0
    after = _trials(store_url, "kept_search")
    assert {key: after[key] for key in before} == before
    assert {arm for arm, _, _ in after.keys() - before.keys()} >= {"mfvi", "radial"}


def test_a_kept_regression_study_can_be_given_more_splits(store_url: str) -> None:
    before = _trials(store_url, "kept_regression")
    study = str(KEPT / "regression.yaml")
    words = ["sweep", study, "--set", "winners.replicates=4", "--store", store_url, "--inline", "--no-report"]
    assert main(words) == 0
    after = _trials(store_url, "kept_regression")
    assert {key: after[key] for key in before} == before
    assert len(after) == len(before) + 2


def test_a_kept_model_still_predicts(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    picture = tmp_path / "grey.png"
    Image.fromarray(np.full((16, 16, 3), 120, dtype=np.uint8)).save(picture)
    assert main(["predict", str(KEPT / "radial.model.pt"), str(picture), "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert shown["probability"] == pytest.approx(PROBABILITY, abs=1e-3)
