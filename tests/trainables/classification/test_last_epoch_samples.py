"""`last_epoch_samples`: more draws at the last epoch, and the training set beside the validation set."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import Any

import numpy as np
import pytest
import torch
from support.studies import small
from support.trials import small_trial

from robustness.errors import StudyFileError
from robustness.metrics import METRICS
from robustness.study.loading import make_study
from robustness.sweep.chance import counted_epochs
from robustness.trainables.classification.training import Run, train
from robustness.trial import Trial


def epochs_of(trial: Trial) -> list[dict[str, Any]]:
    return [asdict(replace(each, seconds=0.0)) for each in train(trial)]


def test_only_the_last_epoch_changes_and_training_itself_does_not() -> None:
    plain = epochs_of(small_trial("mfvi", {"epochs": 3, "evaluation_samples": 2}))
    more = epochs_of(small_trial("mfvi", {"epochs": 3, "evaluation_samples": 2, "last_epoch_samples": 8}))
    assert more[:2] == plain[:2]
    added = {f"training_{name}" for name in ("auc", "accuracy", "nll", "calibration_error")}
    assert more[2]["measures"].keys() == plain[2]["measures"].keys() | added
    same = {name for name in plain[2]["measures"] if not name.startswith("validation_")}
    assert {name: more[2]["measures"][name] for name in same} == {name: plain[2]["measures"][name] for name in same}
    assert more[2]["measures"]["validation_nll"] != plain[2]["measures"]["validation_nll"]


def test_as_many_draws_as_before_are_the_same_draws() -> None:
    plain = epochs_of(small_trial("radial", {"epochs": 2, "evaluation_samples": 3}))
    same = epochs_of(small_trial("radial", {"epochs": 2, "evaluation_samples": 3, "last_epoch_samples": 3}))
    assert plain[1]["measures"].items() <= same[1]["measures"].items()


def test_the_nll_of_the_training_set_is_that_of_a_deterministic_network_without_augmentation() -> None:
    trial = small_trial("deterministic", {"epochs": 2, "last_epoch_samples": 16})
    run = Run.start(trial)
    results = [run.next_epoch(), run.next_epoch()]
    images, labels = run.train_set.batch(slice(0, len(run.train_set))), run.train_set.labels
    with torch.no_grad():
        logits = run.ensemble.logits(images, run.ensemble.means())[0]
    expected = torch.nn.functional.cross_entropy(logits, labels)
    assert results[1].measures["training_nll"] == pytest.approx(float(expected), rel=1e-4)
    accuracy = float((logits.argmax(1) == labels).float().mean())
    assert results[1].measures["training_accuracy"] == pytest.approx(accuracy)
    assert np.isfinite(results[1].measures["training_auc"])


def study_of(**outcomes: Any) -> dict[str, Any]:
    return small(training={"epochs": 2, "last_epoch_samples": 16}, outcomes={"epoch": "last", **outcomes})


def test_a_study_is_judged_by_the_training_set() -> None:
    study = make_study(study_of(metric="training_nll", learned_nothing={"above": 0.69}, good={"at_most": 0.4}), "here")
    assert study.outcomes.goal == "minimize"
    assert counted_epochs(study) == 1
    assert METRICS["training_nll"].goal == "minimize"


@pytest.mark.parametrize(
    ("change", "line"),
    [
        ({"training": {"epochs": 2}}, "training_auc is measured only with training.last_epoch_samples"),
        ({"outcomes": {"epoch": "best"}}, "must be last, where training_auc is measured"),
        ({"outcomes": {"learned_nothing": {"no_better_than_untrained": 0.01}}}, "needs a metric of the validation set"),
        ({"outcomes": {"learned_nothing": {"no_better_than_start": 0.01}}}, "needs a metric of the validation set"),
    ],
)
def test_what_cannot_be_measured_is_refused_in_one_line(change: dict[str, Any], line: str) -> None:
    document = study_of(metric="training_auc", learned_nothing={"below": 0.6}, good={"at_least": 0.8})
    for section, values in change.items():
        document[section] = values if section == "training" else document[section] | values
    with pytest.raises(StudyFileError, match=line):
        make_study(document, "here")
