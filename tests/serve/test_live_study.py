from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from support.searches import fill_search, made_search
from support.stores import Made, fill, made_study, mixed, note_by_cell, typical, untrained_note

from report.analysis import analyse
from robustness.serve.live_study import LiveStudy
from robustness.store import Store, StudyStore, open_store
from robustness.study.sections import Stop
from robustness.sweep.plan import make_plan
from robustness.sweep.stopping import Decision
from robustness.sweep.trial_judge import TrialJudge
from robustness.trial import EpochResult, Trial


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with open_store(f"sqlite:///{tmp_path / 'made.db'}") as opened:
        yield opened


def live(study: StudyStore) -> dict[str, Any]:
    """The snapshot of a study after one look."""
    found = LiveStudy(study)
    assert found.look()
    return found.snapshot()


def replicated(store: Store) -> StudyStore:
    return fill(store, made_study(replicates=3))


def three_arms(store: Store) -> StudyStore:
    return fill(store, made_study(arms=("mfvi", "radial", "deterministic"), configurations=20))


def by_cell(store: Store) -> StudyStore:
    outcomes = {"learned_nothing": {"no_better_than_untrained": 0.01, "below": None}}
    return fill(store, made_study(outcomes=outcomes), note=note_by_cell(0.7))


def untrained(store: Store) -> StudyStore:
    outcomes = {"learned_nothing": {"no_better_than_untrained": 0.01, "below": None}, "primary": "good"}
    return fill(store, made_study(outcomes=outcomes), note=untrained_note())


def watched(store: Store) -> StudyStore:
    study = replace(made_study(configurations=40, replicates=2), stop=Stop(minimum_pairs=1000))
    return fill(store, study)


def unfinished_watched(store: Store) -> StudyStore:
    study = replace(made_study(configurations=30, arms=("mfvi", "radial", "deterministic")), stop=Stop())

    def make(trial: Trial, epochs: int) -> Made | None:
        kinds = {7: Made("failed", [], "ValueError"), 20: Made("running", [0.6]), 22: None}
        return kinds.get(trial.configuration, typical(trial, epochs)) if trial.arm == "mfvi" else typical(trial, epochs)

    return fill(store, study, make)


@pytest.mark.parametrize("make", [mixed, replicated, three_arms, by_cell, untrained, watched, unfinished_watched])
def test_fractions_and_comparisons_are_those_of_the_report(store: Store, make: Callable[[Store], StudyStore]) -> None:
    study = make(store)
    found = live(study)["outcomes"]
    results: Any = analyse(study).results
    primary = study.document()["outcomes"]["primary"]
    for entry in found["fractions"]:
        expected = results["arms"][entry["arm"]][primary]
        for name in ("count", "of"):
            assert entry[name] == expected[name]
        for name in ("fraction", "low", "high"):
            assert entry[name] == pytest.approx(expected[name], abs=1e-9), (entry["arm"], name)
    main = [entry for entry in results["paired"] if entry["epoch"] == "best" and entry["outcome"] == primary]
    assert len(found["comparisons"]) == len(main)
    for entry, expected in zip(found["comparisons"], main, strict=True):
        assert entry["arms"] == expected["arms"]
        assert entry["difference"] == pytest.approx(expected["difference"], abs=1e-9)
        assert entry["low"] == pytest.approx(expected["low"], abs=1e-6)
        assert entry["high"] == pytest.approx(expected["high"], abs=1e-6)
        assert entry["p_value"] == pytest.approx(expected["p_adjusted"], rel=1e-6)


def test_the_stopping_evidence_is_that_on_which_the_sweep_decides(store: Store) -> None:
    study = replace(made_study(configurations=40), stop=Stop(minimum_pairs=10))
    filled = fill(store, study)
    decision = Decision.of(study, make_plan(study), TrialJudge.of(filled), filled)
    found = live(filled)["outcomes"]
    (expected,) = decision.evidence()
    (entry,) = found["comparisons"]
    assert found["anytime"]
    assert entry["p_value"] == expected["p_adjusted"]
    assert (entry["low"], entry["high"]) == (expected["low"], expected["high"])
    assert entry["decided"] == expected["decided"]
    filled.save_note("stopped", decision.note() or {"reason": "decided"})
    again = LiveStudy(filled)
    again.look()
    assert again.state == "finished"
    assert again.snapshot()["outcomes"]["stopped"] in ("decided", "futility")


def test_many_small_looks_see_what_one_look_sees(store: Store) -> None:
    chance = random.Random(5)
    study = made_study(configurations=8)
    registered = store.register(study, make_plan(study))
    followed = LiveStudy(registered)
    followed.look()
    with registered.writer(flush_every=0.0) as writer:
        for trial in make_plan(study).trials[:13]:
            made = typical(trial, 12)
            writer.started(trial.key, 1, "host:1", "cpu")
            for number, score in enumerate(made.scores, 1):
                if chance.random() < 0.3:
                    followed.look()
                writer.epoch(trial.key, EpochResult(number, {"validation_auc": score}, number == 1, 1.0))
            if trial.configuration == 3:
                writer.ended(trial.key, "failed", None, None, "ValueError: no", 3.0)
            elif trial.configuration < 6:
                writer.ended(trial.key, "finished", max(made.scores[1:]), 5, None, 12.0)
            if chance.random() < 0.5:
                followed.look()
        writer.flush()
        followed.look()
        fresh = LiveStudy(registered)
        fresh.look()
    one, other = followed.snapshot(), fresh.snapshot()
    volatile = {"at", "alive", "work_done"}
    assert {key: value for key, value in one.items() if key not in volatile} == {
        key: value for key, value in other.items() if key not in volatile
    }
    assert one["counts"] == {"planned": 3, "interrupted": 1, "finished": 10, "failed": 2}
    assert followed.curves.as_json() == fresh.curves.as_json()
    lengths = {curve["trial"]: len(curve["points"]) for curve in followed.curves.as_json().values()}
    assert set(lengths.values()) == {12}
    assert len(lengths) == 13


def test_failures_running_trials_and_what_is_left_are_told(store: Store) -> None:
    study = mixed(store)
    with study.lock():
        found = live(study)
        assert found["state"] == "running"
        assert found["running"] == 1
        (running,) = found["workers"]
        assert (running["trial"], running["worker"], running["device"]) == ("6/mfvi", "maker", "cpu")
        assert running["started"] is not None
        assert found["seconds_left"] > 0
        assert found["work_left"] >= found["seconds_left"]
    errors = {entry["trial"]: (entry["status"], entry["error"]) for entry in found["failed"]}
    assert errors["2/mfvi"] == ("failed", "ValueError: <b>no</b>")
    assert errors["1/mfvi"] == ("out of memory", "CUDA out of memory")
    assert errors["3/mfvi"] == ("timed out", "")
    assert "--only 2/mfvi --inline" in next(e["reproduce"] for e in found["failed"] if e["trial"] == "2/mfvi")
    after = LiveStudy(study, " --store X")
    after.look()
    stopped = after.snapshot()
    assert stopped["state"] == "stopped"
    assert stopped["workers"] == []
    assert stopped["seconds_left"] is None
    assert stopped["command"] == "robustness sweep STUDY.yaml --store X"


def test_a_search_shows_the_runs_and_scores_of_each_arm(store: Store) -> None:
    study = made_search()
    filled = fill_search(store, study)
    found = live(filled)
    assert found["kind"] == "search"
    assert found["outcomes"] is None
    assert set(found["search"]) == {arm.label for arm in study.arms}
    assert all(entry["runs"]["done"] > 0 and entry["best"] is not None for entry in found["search"].values())
    assert found["command"].startswith("robustness optimize")
