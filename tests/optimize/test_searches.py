"""`finals.searches`: the whole search repeated with other seeds, each time with its own final models."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from optuna.study import get_all_study_names
from support.branin import branin_document, branin_study
from support.studies import store_url
from support.trials import SMALL_TASK

from robustness.cli import main
from robustness.errors import StoreError
from robustness.execution.inline import InlineExecutor
from robustness.optimize.final_models import final_trials, is_done, train_finals, winners
from robustness.optimize.plan import plan_search
from robustness.optimize.progress import SearchProgress
from robustness.optimize.search import NOTHING, runs_in, search, trial_of
from robustness.store import Store, open_store
from robustness.store.study_store import StudyStore
from robustness.streams import Streams
from robustness.study.loading import make_study
from robustness.study.study import Study
from robustness.trial import SEARCH_BLOCK, EpochResult, TrialKey

ARMS = ["first", "second"]
SEARCH = {"runs": 5, "startup": 2}


def repeated(searches: int, **changes: Any) -> Study:
    return branin_study(arms=ARMS, search=SEARCH, finals={"replicates": 2, "searches": searches}, **changes)


def optimize(store: Store, study: Study) -> StudyStore:
    """What `robustness optimize` does, without its displays."""
    registered = store.register(study, NOTHING)
    for number in range(study.searches):
        search(study, registered, InlineExecutor(), search_number=number)
        train_finals(study, registered, InlineExecutor(), search_number=number)
    return registered


def stored(study: StudyStore, searches: range) -> dict[TrialKey, tuple[Any, ...]]:
    """Each trial of these searches: its stage, run, status, score and configuration."""
    configurations = study.configurations()
    return {
        trial.key: (trial.stage, trial.run, trial.status, trial.metric, configurations[trial.key.configuration])
        for trial in study.results()
        if trial.key.search in searches
    }


def test_the_first_search_is_the_only_one_of_a_study_without_repeats(tmp_path: Path) -> None:
    with open_store(store_url(tmp_path)) as store, open_store(store_url(tmp_path, "single")) as single:
        alone = optimize(single, branin_study(arms=ARMS, search=SEARCH, finals={"replicates": 2}))
        three = optimize(store, repeated(3))
        assert stored(three, range(1)) == stored(alone, range(3))
        assert len(stored(three, range(3))) == 3 * len(stored(alone, range(1))) == 3 * (2 * 5 + 2 * 2)


def test_searches_differ_in_proposals_and_random_streams(tmp_path: Path) -> None:
    study = repeated(2)
    with open_store(store_url(tmp_path)) as store:
        registered = optimize(store, study)
        proposals = [
            [run.hyperparameters for run in runs_in(study, registered, number)["first"]] for number in range(2)
        ]
        trials = [final_trials(study, registered, number)[0] for number in range(2)]
    assert not any(values in proposals[1] for values in proposals[0])
    assert [trial.configuration // SEARCH_BLOCK for trial in trials] == [0, 1]
    assert Streams.of(trials[0]).key("initialisation") != Streams.of(trials[1]).key("initialisation")


def test_searches_runs_and_replicates_may_be_added_later(tmp_path: Path) -> None:
    with open_store(store_url(tmp_path)) as store, open_store(store_url(tmp_path, "later")) as later:
        expected = optimize(store, repeated(3))
        optimize(later, repeated(1))
        assert not is_done(repeated(3), later.study("branin"), finals=True)
        grown = optimize(later, repeated(3))
        assert stored(grown, range(3)) == stored(expected, range(3))
        assert is_done(repeated(3), grown, finals=True)

        more = branin_study(arms=ARMS, search={**SEARCH, "runs": 6}, finals={"replicates": 3, "searches": 3})
        grown = optimize(later, more)
        assert stored(expected, range(3)).items() <= stored(grown, range(3)).items()
        for number in range(3):
            assert {len(runs) for runs in runs_in(more, grown, number).values()} == {6}
            assert len(final_trials(more, grown, number)) == 2 * 3


def test_a_search_cannot_be_left_out_once_it_has_run(tmp_path: Path) -> None:
    with open_store(store_url(tmp_path)) as store:
        store.register(repeated(3), NOTHING)
        with pytest.raises(StoreError, match=r"finals\.searches: 3, now 2"):
            store.register(repeated(2), NOTHING)
        with pytest.raises(StoreError, match="finals"):
            store.register(branin_study(arms=ARMS, search=SEARCH), NOTHING)


def test_a_study_without_repeats_keeps_its_document() -> None:
    single = branin_study(arms=ARMS, search=SEARCH, finals={"replicates": 2})
    assert "searches" not in single.document()["finals"]
    assert single.hash == repeated(1).hash
    assert repeated(2).hash != single.hash
    assert repeated(2).document()["finals"]["searches"] == 2


@pytest.mark.parametrize("value", [0, -1, 1.5, "3", 1001])
def test_a_bad_number_of_searches_is_refused_in_one_line(
    value: object, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "branin.yaml"
    path.write_text(yaml.safe_dump(branin_document(finals={"searches": value})))
    assert main(["optimize", str(path), "--store", store_url(tmp_path)]) == 2
    assert "finals.searches" in capsys.readouterr().err
    assert not (tmp_path / "store.db").exists()


def test_an_interrupted_search_resumes_with_the_same_proposals(tmp_path: Path) -> None:
    study = repeated(2)
    with open_store(store_url(tmp_path)) as store, open_store(store_url(tmp_path, "cut")) as cut:
        expected = optimize(store, study)
        registered = cut.register(study, NOTHING)
        search(study, registered, InlineExecutor())
        # The final models of the first search are still to come when the second is cut short.
        polls = iter(range(1000))
        search(study, registered, InlineExecutor(), stop=lambda: next(polls) > 3, search_number=1)
        assert 0 < len(runs_in(study, registered, 1)["first"]) < 5
        assert stored(optimize(cut, study), range(2)) == stored(expected, range(2))


def test_optuna_has_a_study_for_each_arm_and_search(tmp_path: Path) -> None:
    with open_store(store_url(tmp_path)) as store:
        optimize(store, repeated(3))
    assert sorted(get_all_study_names(store_url(tmp_path))) == sorted(
        f"branin/{arm}{search}" for arm in ARMS for search in ("", "/search 2", "/search 3")
    )


def test_plan_and_status_count_all_searches(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    study = repeated(3)
    plan = plan_search(study)
    assert [(arm["runs"], arm["final_models"]) for arm in plan["arms"]] == [(15, 6), (15, 6)]
    assert (plan["searches"], plan["trials"]) == (3, 42)
    path = tmp_path / "branin.yaml"
    finals = {"replicates": 2, "searches": 3}
    path.write_text(yaml.safe_dump(branin_document(arms=ARMS, search=SEARCH, finals=finals)))
    assert main(["plan", str(path)]) == 0
    assert "first: 15 runs in 3 searches, 6 final models" in capsys.readouterr().out
    with open_store(store_url(tmp_path)) as store:
        registered = store.register(study, NOTHING)
        search(study, registered, InlineExecutor())
        train_finals(study, registered, InlineExecutor())
        progress = SearchProgress.of(registered)
        assert {label: (arm.runs, arm.final_models) for label, arm in progress.arms.items()} == {
            arm["arm"]: (arm["runs"], arm["final_models"]) for arm in plan["arms"]
        }
        assert progress.tallies() == {"runs": (10, 30), "final models": (4, 12)}
        search(study, registered, InlineExecutor(), search_number=1)
        with registered.writer() as writer:
            key = final_trials(study, registered, 1)[0].key
            registered.add(final_trials(study, registered, 1)[:1])
            writer.started(key, 1, "host:1", "cpu")
            writer.epoch(key, EpochResult(1, {"validation_auc": 0.5}))
        best = [winners(study, registered, number)["second"] for number in range(2)]
    winner = max(range(2), key=lambda number: best[number].score or 0.0)
    assert main(["status", "branin", "--store", store_url(tmp_path)]) == 0
    shown = capsys.readouterr().out
    assert "20 of 30 runs and 4 of 12 final models done" in " ".join(shown.split())
    assert "first, search 2, final model 1" in shown
    assert "in search" in shown
    assert main(["status", "branin", "--store", store_url(tmp_path), "--json"]) == 0
    (status,) = json.loads(capsys.readouterr().out)
    assert status["searches"] == 3
    assert status["arms"]["second"]["best_search"] == winner + 1
    assert status["arms"]["second"]["best_run"] == best[winner].number + 1


def test_the_command_shows_which_search_runs_and_the_best_of_each(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "branin.yaml"
    finals = {"replicates": 1, "searches": 2}
    path.write_text(yaml.safe_dump(branin_document(arms=ARMS, search={"runs": 2, "startup": 1}, finals=finals)))
    assert main(["optimize", str(path), "--store", store_url(tmp_path), "--inline"]) == 0
    output, errors = capsys.readouterr()
    assert "first: search 2 of 2, run 1 of 2 finished" in errors
    assert "second: search 1 of 2, final model 1 finished" in errors
    assert output.count("first: best validation_auc") == 2
    assert "in search 2 of 2, run " in output
    # Done once, nothing is left to run.
    assert main(["optimize", str(path), "--store", store_url(tmp_path), "--inline"]) == 0
    assert "run 1 of 2" not in capsys.readouterr().err


def small_study(searches: int) -> Study:
    """Pictures of 16 px, trained for real."""
    document: dict[str, Any] = {
        "name": "small",
        "task": SMALL_TASK | {"test": 40},
        "model": {"name": "vgg_small", "base_channels": 4, "depth": "short"},
        "arms": ["radial", {"name": "pair", "method": "radial_ensemble", "members": 2}],
        "space": {
            "optimizer": "adam",
            "learning_rate": {"low": 1e-3, "high": 1e-2, "scale": "log"},
            "batch_size": 32,
            "initial_rho": {"low": -8, "high": -2},
        },
        "search": {"runs": 2, "epochs": 2},
        "finals": {"replicates": 2, "searches": searches},
        "training": {"epochs": 2, "pretrain_epochs": 1, "evaluation_samples": 2},
        "outcomes": {"learned_nothing": {"below": 0.5}, "good": {"at_least": 0.8}},
    }
    return make_study(document, "small.yaml")


def test_trained_models_and_ensembles_of_the_first_search_are_byte_for_byte_the_same(tmp_path: Path) -> None:
    with open_store(store_url(tmp_path)) as store, open_store(store_url(tmp_path, "single")) as single:
        alone, both = optimize(single, small_study(1)), optimize(store, small_study(2))
        kept = ["configuration", "arm", "replicate", "epoch", "train_auc", "validation_auc", "loss"]
        frames = [study.epochs()[kept] for study in (alone, both)]
        first = frames[1].loc[frames[1]["configuration"] < SEARCH_BLOCK].reset_index(drop=True)
        assert first.equals(frames[0].reset_index(drop=True))
        expected, predicted = (study.predictions("test") for study in (alone, both))
    assert set(expected) == {key for key in predicted if key.search == 0}
    for key, arrays in expected.items():
        assert all(np.array_equal(arrays[name], predicted[key][name]) for name in arrays)
    # The second search has its own models, and an ensemble of them.
    others = {key.arm: arrays for key, arrays in predicted.items() if key.search == 1}
    assert set(others) == {"radial", "pair"}
    members = [predicted[key]["probabilities"] for key in sorted(predicted) if key.arm == "radial" and key.search == 1]
    assert np.array_equal(others["pair"]["probabilities"], np.concatenate(members))
    assert not any(np.array_equal(arrays["probabilities"], members[0]) for arrays in expected.values())


def test_the_searches_of_a_store_share_no_numbers(tmp_path: Path) -> None:
    with open_store(store_url(tmp_path)) as store:
        registered = store.register(repeated(2), NOTHING)
        assert [registered.next_configuration(number) for number in range(3)] == [0, 10**6, 2 * 10**6]
        place = {"learning_rate": 1e-4, "initial_rho": -3.0}
        registered.add([trial_of(repeated(2), TrialKey(SEARCH_BLOCK - 1, "first"), place, "search", 0)])
        with pytest.raises(StoreError, match="search 1 has used all 1,000,000 numbers"):
            registered.next_configuration()
        assert registered.next_configuration(1) == SEARCH_BLOCK
