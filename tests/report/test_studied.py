"""The line under the title: what was run, how a trial is judged, and where imported runs come from."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path

import pandas as pd
import pytest
from support.importing import imported
from support.kinds import KINDS
from support.stores import AWKWARD, fill, made_study

from report.analysis import Analysis, analyse
from report.first_screen.endings import endings
from report.first_screen.studied import studied
from report.frames import load_frames
from report.page import render
from robustness.store import open_store


@pytest.fixture(scope="module")
def study_of(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Analysis]:
    return cache(lambda kind: KINDS[kind](tmp_path_factory.mktemp("kind")))


@pytest.mark.parametrize(
    ("kind", "line"),
    [
        (
            "two arms",
            "2 arms x 40 random configurations, one run each; learned nothing: validation AUC below 0.600 at the best "
            "epoch; good: at least 0.8; higher is better",
        ),
        ("a loss", "2 arms x 36 configurations, one run each; compared by value; lower is better"),
        ("two tasks", "2 arms x 36 configurations x 2 tasks, one run each; compared by value; higher is better"),
        ("unpaired", "2 arms x 36 configurations of their own, one run each; compared by value; higher is better"),
    ],
)
def test_it_says_what_was_run_and_how_it_is_judged(study_of: Callable[[str], Analysis], kind: str, line: str) -> None:
    assert studied(study_of(kind)).startswith(line)


@pytest.mark.parametrize("kind", ["two arms", "two tasks", "final models"])
def test_every_page_has_it(study_of: Callable[[str], Analysis], kind: str) -> None:
    line = studied(study_of(kind))
    assert line
    assert f'studied">{line}</p>' in render(study_of(kind)).replace("&#39;", "'")


def test_replicates_are_counted(tmp_path: Path) -> None:
    with open_store(f"sqlite:///{tmp_path / 'made.db'}") as store:
        analysis = analyse(fill(store, made_study(configurations=3, replicates=4)))
    assert studied(analysis).startswith("2 arms x 3 random configurations, 4 runs each;")


def test_divergence_counts_at_the_last_epoch_alone(tmp_path: Path) -> None:
    lines = {}
    for epoch in ("best", "last"):
        with open_store(f"sqlite:///{tmp_path / epoch}.db") as store:
            frames = load_frames(AWKWARD["every ending"](store))
        outcomes = {**frames.document["outcomes"], "epoch": epoch}
        document = {**frames.document, "outcomes": outcomes}
        lines[epoch] = studied(analyse(replace(frames, document=document)))
    assert " or diverged" not in lines["best"]
    assert "at the last epoch or diverged;" in lines["last"]


def test_an_import_counts_its_runs_and_names_its_file_without_the_folder(tmp_path: Path) -> None:
    rows = [
        {"arm": arm, "rate": rate, "seed": seed, "value": rate + seed}
        for arm in ("a", "b")
        for rate in (0.1, 0.2, 0.3, 0.4)
        for seed in ((0, 1, 2) if (arm, rate) == ("a", 0.2) else (0,))
        if (arm, rate) != ("b", 0.4)
    ]
    (tmp_path / "secret").mkdir()
    file = tmp_path / "secret" / "runs.csv"
    pd.DataFrame(rows).to_csv(file, index=False)
    with open_store(f"sqlite:///{tmp_path / 'runs.db'}") as store:
        imported(file, arm="arm", metric="value", missing="left-out").study.save(store, False)
        analysis = analyse(store.study("imported"))
    line = studied(analysis)
    assert line.startswith(
        "2 arms x 4 configurations: of these 8 combinations, 6 have one run each, 1 has 3 runs and 1 has none (runs of "
        "one combination differ in their seed);"
    )
    assert line.endswith("; imported from runs.csv")
    page = render(analysis)
    assert "made elsewhere" not in page.partition("<main")[0]


@pytest.mark.parametrize("kind", ["two arms", "two tasks", "final models", "unpaired", "a loss"])
def test_every_page_says_how_its_runs_ended(study_of: Callable[[str], Analysis], kind: str) -> None:
    analysis = study_of(kind)
    said = endings(analysis)
    counts = analysis.trials["status"].value_counts()
    assert f"{counts.sum():,} run" in said
    head = render(analysis).split('<nav aria-label="Contents"')[0]
    assert head.count(said) >= 1
    if set(counts.index) == {"finished"}:
        assert said == f"All {counts.sum():,} runs finished; none diverged or failed."


def test_runs_that_did_not_finish_are_counted_with_what_they_share(tmp_path: Path) -> None:
    with open_store(f"sqlite:///{tmp_path / 'made.db'}") as store:
        analysis = analyse(AWKWARD["every ending"](store))
    counts = analysis.trials["status"].value_counts()
    said = endings(analysis)
    assert said.startswith(f"Of {counts.sum()} runs, {counts['finished']} finished, {counts['diverged']} diverged")
    assert f"{counts['out_of_memory']} ran out of memory" in said
    pending = counts.get("planned", 0) + counts.get("running", 0)
    assert f" and {pending} ha" in said
    diverged = analysis.trials.loc[analysis.trials["status"] == "diverged", "arm"]
    assert (f"all of {diverged.iloc[0]}" in said) == (len(diverged) > 1 and len(set(diverged)) == 1)
