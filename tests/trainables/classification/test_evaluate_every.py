"""`evaluate_every`: fewer evaluations, the same results where there are any."""

from __future__ import annotations

from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest
import torch
from support.trials import small_trial

from report.frames import load_frames
from robustness.cli import main
from robustness.store import open_store
from robustness.study.loading import load_study
from robustness.sweep.chance import counted_epochs
from robustness.trainables.classification import final_training, training
from robustness.trainables.classification.training import Run, train
from robustness.trial import EpochResult, Trial


def epochs_of(trial: Trial) -> dict[int, dict[str, Any]]:
    """Everything about each epoch of a trial except its duration."""
    return {each.epoch: asdict(replace(each, seconds=0.0)) for each in train(trial)}


@pytest.mark.parametrize("method", ["radial", "mc_dropout"])
@pytest.mark.parametrize(("every", "evaluated"), [(2, {2, 4, 5}), (3, {3, 5}), (9, {5})])
def test_evaluated_epochs_are_equal_to_the_byte_and_others_only_lack_the_validation_set(
    method: str, every: int, evaluated: set[int]
) -> None:
    plain = epochs_of(small_trial(method, {"epochs": 5}))
    sparse = epochs_of(small_trial(method, {"epochs": 5, "evaluate_every": every}))
    assert sparse.keys() == plain.keys()
    for epoch, result in sparse.items():
        measures = plain[epoch]["measures"]
        kept = {name: value for name, value in measures.items() if not name.startswith("validation_")}
        assert len(kept) < len(measures)
        assert result == plain[epoch] | {"measures": measures if epoch in evaluated else kept}


def test_a_resumed_trial_evaluates_the_same_epochs(tmp_path: Path) -> None:
    trial = small_trial(training={"epochs": 4, "evaluate_every": 3, "checkpoint_every": 1})
    saved = replace(trial, checkpoint=str(tmp_path / "trial.pt"))
    running = train(saved)
    next(running), next(running)
    assert epochs_of(saved) == epochs_of(trial)


def test_the_best_of_the_evaluated_epochs_becomes_the_final_model(tmp_path: Path) -> None:
    trial = replace(
        small_trial(training={"epochs": 5, "evaluate_every": 2}),
        metric="validation_auc",
        checkpoint=str(tmp_path / "final.pt"),
    )
    results = list(final_training.train(trial))
    evaluated = {each.epoch: each.measures["validation_auc"] for each in results if each.epoch in (2, 4, 5)}
    assert results[-1].measures["chosen_epoch"] == max(evaluated, key=lambda epoch: (evaluated[epoch], -epoch))


def test_patience_counts_epochs_and_ends_after_an_evaluation() -> None:
    def trained(every: int, scores: dict[int, float]) -> int:
        run = Run.start(small_trial("mfvi_tweaked", {"epochs": 40, "evaluate_every": every}, {"patience": 4}))
        while not run.over():
            epoch = run.trained + 1
            measures = {run.trial.metric: scores.get(epoch, 0.5)} if run.is_evaluated(epoch) else {}
            run.epochs.append(EpochResult(epoch, measures, pretraining=epoch <= run.schedule.pretrain_epochs))
        return run.trained

    pretrained = Run.start(small_trial("mfvi_tweaked", {"epochs": 40})).schedule.pretrain_epochs
    improved = pretrained + 3 + (pretrained + 3) % 2
    # The best epoch is `improved`; four epochs later nothing is better.
    assert trained(1, {improved: 0.9}) == improved + 4
    assert trained(2, {improved: 0.9}) == improved + 4
    assert trained(3, {}) % 3 == 0


@pytest.mark.parametrize(
    ("options", "count"),
    [((), 8), (("evaluate_every=3",), 3), (("evaluate_every=2",), 5), (("evaluate_every=50",), 1)],
)
def test_chance_is_the_best_of_as_many_evaluations_as_a_trial_has(options: tuple[str, ...], count: int) -> None:
    length = ("epochs=9", "pretrain_epochs=1")
    study = load_study("quickstart", [f"training.{option}" for option in (*length, *options)])
    assert counted_epochs(study) == count


def test_validation_images_are_prepared_once_unless_they_are_many(monkeypatch: pytest.MonkeyPatch) -> None:
    run = Run.start(small_trial())
    first = run.validation_batches()
    run.evaluate(1)
    assert run.validation_batches() is first
    monkeypatch.setattr(training, "MOST_KEPT_BYTES", 10)
    large = Run.start(small_trial())
    assert large.validation_batches() is not large.validation_batches()
    assert all(torch.equal(a, b) for a, b in zip(first, large.validation_batches(), strict=True))


def test_a_sweep_stores_and_reports_epochs_without_the_metric(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'store.db'}"
    sizes = {
        "task": "{name: synthetic_fundus, image_size: 16, train: 24, validation: 24, test: 8}",
        "model": "{name: vgg_small, base_channels: 2, depth: short}",
        "sampling.configurations": "2",
        "training": "{epochs: 5, evaluation_samples: 2, evaluate_every: 2}",
        "outcomes.learned_nothing": "{below: 0.6}",
    }
    settings = [word for key, value in sizes.items() for word in ("--set", f"{key}={value}")]
    page = tmp_path / "page.html"
    assert main(["sweep", "quickstart", "--inline", "--quiet", "--no-report", "--store", url, *settings]) == 0
    assert main(["report", "quickstart", "--store", url, "--out", str(page)]) == 0
    with open_store(url, create=False) as store:
        study = store.study("quickstart")
        epochs, trials, frames = study.epochs(), study.trials(), load_frames(study)
    evaluated = epochs[epochs["validation_auc"].notna()]
    assert set(evaluated["epoch"]) == {2, 4, 5}
    assert set(epochs["epoch"]) == {1, 2, 3, 4, 5}
    key = ["configuration", "arm", "replicate"]
    assert trials.set_index(key)["metric"].to_dict() == evaluated.groupby(key)["validation_auc"].max().to_dict()
    assert set(frames.trials["last_epoch"]) == {5}
    assert set(frames.trials["best_epoch"]) <= {2, 4, 5}
    assert frames.trials.set_index(key)["best"].to_dict() == trials.set_index(key)["metric"].to_dict()
    assert page.stat().st_size > 10_000
