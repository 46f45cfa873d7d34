"""Final models in the report: their figures, the arms against each other, and stores that are not as they should be."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest
from numpy.typing import NDArray
from support.results import present
from support.searches import PAPER, fill_search, made_predictions, made_search, write_run
from support.stores import HOSTILE, renamed_arms

from report.analysis import Analysis, analyse, as_json_text
from report.page import render
from robustness import metrics
from robustness.optimize.search import NOTHING, trial_of
from robustness.store import Store, open_store
from robustness.trainables.classification.predictions import measures_on_test
from robustness.trial import TrialKey

MEASURES: tuple[Literal["accuracy", "nll", "calibration_error"], ...] = ("accuracy", "nll", "calibration_error")


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with open_store(f"sqlite:///{tmp_path / 'store.db'}") as opened:
        yield opened


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Analysis:
    """Two arms with two models each, an arm without uncertainty and an ensemble made of it."""

    def predictions(arm: str, replicate: int) -> dict[str, NDArray[Any]]:
        return made_predictions(arm, replicate, draws=1 if arm == "deterministic" else 4)

    study = made_search(arms=["mfvi", "radial", "deterministic", "deep_ensemble"])
    with open_store(f"sqlite:///{tmp_path_factory.mktemp('made') / 'store.db'}") as opened:
        return analyse(fill_search(opened, study, predictions=predictions))


def test_an_arms_figures_are_the_means_of_its_models_own(made: Analysis) -> None:
    found = made.results["finals"]
    assert list(found["arms"]) == ["mfvi", "radial", "deterministic", "deep_ensemble"]
    for arm in ("mfvi", "radial"):
        each = found["arms"][arm]
        models = [measures_on_test(**made_predictions(arm, replicate)) for replicate in range(2)]
        for entry in each["auc"]:
            name = f"test_auc_{round(100 * entry['referred'])}"
            values = [model[name] for model in models]
            assert entry["mean"] == pytest.approx(np.mean(values))
            assert entry["between"] == pytest.approx(np.std(values, ddof=1) / math.sqrt(2))
            # The error of a mean of two models on the same patients lies below the mean of their errors.
            assert 0.3 < present(entry["error"]) / np.mean([model[f"{name}_error"] for model in models]) < 1.2
        for measure in MEASURES:
            assert each[measure]["mean"] == pytest.approx(np.mean([model[f"test_{measure}"] for model in models]))
        assert each["seconds_per_epoch"] == {"mean": 2.5, "between": pytest.approx(0.5), "between_searches": None}
        assert each["parameters"]["mean"] == 1000
        assert each["reference"] == PAPER[arm]
    assert found["best"] == max(found["arms"], key=lambda arm: present(found["arms"][arm]["auc"][0]["mean"]))
    assert (found["pictures"], found["patients"]) == (60, 30)


def test_the_curves_run_through_the_tables_figures_inside_their_bands(made: Analysis) -> None:
    for each in made.results["finals"]["arms"].values():
        curve = dict(zip(each["referral"]["referred"], each["referral"]["auc"], strict=True))
        assert [curve[entry["referred"]] for entry in each["auc"]] == [entry["mean"] for entry in each["auc"]]
        for value, low, high in zip(*(each["referral"][key] for key in ("auc", "low", "high")), strict=True):
            assert value is None or low <= value <= high


def test_one_network_without_draws_can_refer_nothing(made: Analysis) -> None:
    each = made.results["finals"]["arms"]["deterministic"]
    assert not each["refers"]
    assert [entry["mean"] is None for entry in each["auc"]] == [False, True, True, True]
    ensemble = made.results["finals"]["arms"]["deep_ensemble"]
    assert ensemble["refers"]
    assert (ensemble["models"], ensemble["members"], ensemble["made_of"]) == (1, 3, "deterministic")
    assert ensemble["parameters"]["mean"] == 3000
    page = render(made)
    assert "equally sure of every picture: deterministic can refer none" in page


def test_arms_are_compared_on_the_same_patients(made: Analysis) -> None:
    found = made.results["finals"]
    assert len(found["comparisons"]) == 6
    entry = next(each for each in found["comparisons"] if each["arms"] == ["mfvi", "radial"])
    means = {arm: present(found["arms"][arm]["auc"][0]["mean"]) for arm in ("mfvi", "radial")}
    assert entry["difference"] == pytest.approx(means["mfvi"] - means["radial"])
    assert present(entry["low"]) < present(entry["difference"]) < present(entry["high"])

    def gap(labels: NDArray[Any], *scores: NDArray[Any]) -> float:
        aucs = [metrics.auc(labels, each) for each in scores]
        return float(np.mean(aucs[:2]) - np.mean(aucs[2:]))

    arrays = [made_predictions(arm, replicate) for arm in ("mfvi", "radial") for replicate in range(2)]
    scores = [each["probabilities"].mean(axis=0)[:, 1] for each in arrays]
    error = metrics.bootstrap_standard_error(gap, (arrays[0]["labels"], *scores), 1000, arrays[0]["patients"])
    assert entry["pictures_error"] == pytest.approx(error, rel=0.1)
    between = [present(found["arms"][arm]["auc"][0]["between"]) for arm in ("mfvi", "radial")]
    assert entry["models_error"] == pytest.approx(math.hypot(*between))


def test_the_planned_comparison_stands_by_itself_and_the_others_pay_for_looking(made: Analysis) -> None:
    found = made.results["finals"]
    assert found["planned"] == ["mfvi", "radial"]
    for entry in found["comparisons"]:
        assert present(entry["p_value"]) <= present(entry["p_adjusted"]) <= present(entry["p_among_all"])
    planned = next(each for each in found["comparisons"] if each["arms"] == found["planned"])
    assert planned["p_adjusted"] == planned["p_value"]
    others = sorted(present(each["p_value"]) for each in found["comparisons"] if each is not planned)
    smallest = min(present(each["p_adjusted"]) for each in found["comparisons"] if each is not planned)
    assert smallest == pytest.approx(min(1.0, 5 * others[0]))


def test_the_verdict_opens_with_the_planned_comparison_and_the_page_has_every_part(made: Analysis) -> None:
    found = made.results
    opening = found["verdict"][0]
    radial, mfvi = (found["finals"]["arms"][arm]["auc"][0] for arm in ("radial", "mfvi"))
    assert f"radial reaches a test AUC of {radial['mean']:.3f} ± {radial['error']:.3f}" in opening
    assert f"mfvi {mfvi['mean']:.3f} ± {mfvi['error']:.3f}: a difference of" in opening
    page = render(made)
    for name in ("finals", "compared", "referral", "calibration", "winning", "history", "slices", "configurations"):
        assert f'id="{name}"' in page
    for name in ("outcomes", "profiles", "pairs", "thresholds"):
        assert f'id="{name}"' not in page
    assert '<td class="short">0.943</td>' in page
    assert "The figures of a paper stand beside ours" in page
    assert "robustness optimize made" in page
    assert "robustness sweep" not in page
    assert len(page) < 2_000_000


def test_the_json_text_is_the_same_each_time(store: Store) -> None:
    registered = fill_search(store, made_search())
    first, second = (as_json_text(analyse(registered).results) for _ in range(2))
    assert first == second
    assert json.loads(first)["complete"] is True


def test_models_of_a_configuration_that_no_longer_wins_do_not_count(store: Store) -> None:
    fill_search(store, made_search())
    more = made_search(search={"runs": 5, "startup": 2})
    registered = store.register(more, NOTHING)
    drawn = more.space_of("mfvi").draw("random", 5, 0)[4]
    trial = trial_of(more, TrialKey(registered.next_configuration(), "mfvi"), drawn, "search", 4)
    write_run(registered, trial, "finished", [0.95, 0.96])
    found = analyse(registered).results
    assert list(found["finals"]["arms"]) == ["radial"]
    assert "No final model of mfvi has been tested yet." in found["finals"]["cautions"]
    assert any("radial 4 of 5" in sentence for sentence in found["search"]["cautions"])
    assert found["complete"] is False


def one_class(arm: str, replicate: int) -> dict[str, NDArray[Any]]:
    return {**made_predictions(arm, replicate), "labels": np.zeros(60, dtype=np.int64)}


def one_patient(arm: str, replicate: int) -> dict[str, NDArray[Any]]:
    return {**made_predictions(arm, replicate), "patients": np.zeros(60, dtype=np.int64)}


def other_pictures(arm: str, replicate: int) -> dict[str, NDArray[Any]]:
    return made_predictions(arm, replicate, pictures=60 if arm == "mfvi" else 40)


def not_yet(arm: str, replicate: int) -> dict[str, NDArray[Any]] | None:
    return made_predictions(arm, replicate) if arm == "mfvi" and replicate == 0 else None


def no_pictures(arm: str, replicate: int) -> dict[str, NDArray[Any]]:
    return made_predictions(arm, replicate, pictures=0)


def not_numbers(arm: str, replicate: int) -> dict[str, NDArray[Any]]:
    found = made_predictions(arm, replicate)
    return {**found, "probabilities": np.full_like(found["probabilities"], np.nan)}


@pytest.mark.parametrize(
    ("predictions", "said"),
    [
        (one_class, "no AUC can be computed"),
        (one_patient, "too few models or patients for an interval"),
        (other_pictures, "predicted other pictures than the rest: "),
        (not_yet, "No final model of radial has been tested yet"),
        (no_pictures, "no AUC can be computed"),
        (not_numbers, "no AUC can be computed"),
    ],
)
def test_an_awkward_test_set_gives_a_page_that_says_so(
    store: Store, predictions: Callable[..., Any], said: str
) -> None:
    page = render(analyse(fill_search(store, made_search(), predictions=predictions)))
    assert said in page
    assert ">nan" not in page


def test_one_arm_has_nothing_to_be_compared_with(store: Store) -> None:
    analysis = analyse(fill_search(store, made_search(arms=["radial"], finals={"replicates": 2})))
    assert analysis.results["finals"]["comparisons"] == []
    assert "reach these AUCs: radial" in analysis.results["verdict"][0]
    assert 'id="compared"' not in render(analysis)


def test_more_than_two_classes_are_judged_by_confidence(store: Store) -> None:
    def predictions(arm: str, replicate: int) -> dict[str, NDArray[Any]]:
        rng = np.random.default_rng([len(arm), replicate])
        labels = np.arange(60) % 3
        logits = rng.normal(0, 1, (4, 60, 3)) + 2 * np.eye(3)[labels]
        shares = np.exp(logits) / np.exp(logits).sum(axis=-1, keepdims=True)
        return {"labels": labels, "patients": np.arange(60) // 2, "probabilities": shares.astype(np.float32)}

    analysis = analyse(fill_search(store, made_search(), predictions=predictions))
    found = analysis.results["finals"]["arms"]["radial"]
    expected = [measures_on_test(**predictions("radial", replicate))["test_auc_10"] for replicate in range(2)]
    assert found["auc"][1]["mean"] == pytest.approx(np.mean(expected))
    assert found["calibration"][0]["lower"] >= 0.3
    assert "the most probable class is right" in render(analysis)


def test_markup_in_names_is_text(store: Store) -> None:
    study = replace(renamed_arms(made_search(), *HOSTILE), name=f"made {HOSTILE[0]}")
    page = render(analyse(fill_search(store, study)))
    assert HOSTILE[0] not in page.replace("&lt;", "")
    assert HOSTILE[1] not in page
    assert "&lt;script&gt;alert(1)" in page
