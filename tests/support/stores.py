"""Stores with made-up trials, written to a real store without training, for tests that read stores.

    with open_store(url) as store:
        study_store = fill(store, made_study())          # two arms, 12 pairs, 12 epochs
        study_store = AWKWARD["three arms"](store)       # edge cases for reports

Everything except the times is the same in every run: numbers depend on (configuration, arm, replicate).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np

from robustness.store import Store, StudyStore
from robustness.study.arms import Arm
from robustness.study.loading import make_study
from robustness.study.study import Study
from robustness.sweep.plan import make_plan
from robustness.trial import EpochResult, Status, Trial

WIDE_SPACE: dict[str, Any] = {
    "optimizer": {
        "sgd": {"learning_rate": {"low": 1e-4, "high": 1e-2, "scale": "log"}, "momentum": 0.9},
        "amsgrad": {"learning_rate": {"low": 1e-5, "high": 1e-3, "scale": "log"}},
    },
    "batch_size": [16, 32, 64, 128, 256],
    "variational_samples": [1, 2, 4],
    "initial_rho": [-6, -4, -2, 0],
}
"""A continuous space, from which any number of configurations can be drawn."""

HOSTILE = ("<script>alert(1)</script>", '"><img src=x onerror=alert(2)>')
"""Names that a page must show as text."""


@dataclass(frozen=True)
class Made:
    """The results of a made-up trial: `scores` are the metric of its epochs after pre-training."""

    status: Status = "finished"
    scores: Sequence[float] = ()
    error: str | None = None
    measures: bool = True
    """Whether its epochs have the usual measures besides the metric."""
    start: float | None = None
    """The metric of its untrained network, recorded as epoch 0."""


Maker = Callable[[Trial, int], Made | None]
"""The results of a trial with this number of epochs after pre-training; None leaves it planned."""


@cache
def _checked(
    name: str, arms: tuple[str, ...], configurations: int, replicates: int, epochs: int, wide: bool, strategy: str
) -> Study:
    data = {
        "name": name,
        "description": "Made-up numbers.",
        "task": {"name": "synthetic_fundus", "image_size": 32, "train": 500},
        "model": {"name": "vgg_small", "base_channels": 16, "depth": "short"},
        "arms": list(arms),
        "space": WIDE_SPACE if wide else "paper_random",
        "sampling": {"strategy": strategy, "configurations": configurations, "replicates": replicates, "seed": 0},
        "training": {"epochs": epochs, "pretrain_epochs": 1, "evaluation_samples": 4},
        "outcomes": {
            "metric": "validation_auc",
            "epoch": "best",
            "learned_nothing": {"below": 0.6},
            "good": {"at_least": 0.8},
        },
    }
    return make_study(data, f"{name}.yaml", check_data=False)


def made_study(
    name: str = "made",
    arms: Sequence[str] = ("mfvi", "radial"),
    configurations: int = 12,
    replicates: int = 1,
    epochs: int = 12,
    wide: bool = False,
    strategy: str = "random",
    outcomes: Mapping[str, Any] | None = None,
    reference: Mapping[str, Any] | None = None,
) -> Study:
    """A checked study of the synthetic task; `outcomes` replaces keys of it; `epochs` includes pre-training."""
    study = _checked("made", tuple(arms), configurations, replicates, epochs, wide, strategy)
    if outcomes is not None:
        content = {**study.outcomes.model_dump(), **outcomes}
        study = replace(study, outcomes=type(study.outcomes).model_validate(content))
    if reference is not None:
        from robustness.study.sections import Reference

        study = replace(study, reference=Reference.model_validate(dict(reference)))
    return replace(study, name=name)


def renamed_arms(study: Study, *labels: str) -> Study:
    """The study with other labels for its arms, including ones that a study file may not have."""
    arms = (Arm(label, arm.method, arm.options) for label, arm in zip(labels, study.arms, strict=True))
    return replace(study, arms=tuple(arms))


def typical(trial: Trial, epochs: int) -> Made:
    """Trials learn unless noise dominates: mean-field mostly for small rhos, radial nearly everywhere."""
    number = sum(ord(letter) * (place + 1) for place, letter in enumerate(trial.method))
    rng = np.random.default_rng([trial.seed, trial.configuration, trial.replicate, number])
    values = trial.hyperparameters
    rho, rate = float(values.get("initial_rho", -4)), float(values.get("learning_rate", 1e-3))
    lost = {"mfvi": 0.13 * (rho + 6), "radial": 0.04 * (rho + 6)}.get(trial.method, 0.07 * (rho + 6))
    lost += 0.12 * abs(math.log10(rate) + 3) + abs(rng.normal(0, 0.05))
    final = float(np.clip(0.93 - lost, 0.5, 0.97))
    rise = 1 - np.exp(-np.arange(1, epochs + 1) / max(1.0, epochs / 4))
    scores = np.clip(0.5 + (final - 0.5) * rise + rng.normal(0, 0.01, epochs), 0.01, 0.99)
    return Made(scores=[float(score) for score in scores])


def fill(store: Store, study: Study, make: Maker = typical, note: Mapping[str, Any] | None = None) -> StudyStore:
    """Register the study and write the results of `make`; `note` is the note on untrained networks."""
    plan = make_plan(study)
    registered = store.register(study, plan)
    if note is not None:
        registered.save_note("untrained", dict(note))
    epochs = int(study.training["epochs"])
    pretraining = int(study.training["pretrain_epochs"])
    with registered.writer() as writer:
        # A writer saves each end immediately; saving many in one transaction is ten times faster.
        writer._flush_if_due = lambda **_: None  # type: ignore[method-assign]
        for place, trial in enumerate(plan.trials):
            if place % 100 == 0:
                writer.flush()
            made = make(trial, epochs - pretraining)
            if made is None:
                continue
            writer.started(trial.key, 1, "maker", "cpu")
            finite = {}
            for result in _epochs(trial, made, pretraining):
                number = result.epoch
                writer.epoch(trial.key, result)
                score = result.measures.get(trial.metric, math.nan)
                if not result.pretraining and math.isfinite(score):
                    finite[number] = score
            if made.status == "running":
                continue
            best = max(finite, key=lambda number: (finite[number], -number)) if finite else None
            metric = None if best is None else finite[best]
            writer.ended(trial.key, made.status, metric, best, made.error, seconds=1.5 * len(made.scores))
    return registered


def _epochs(trial: Trial, made: Made, pretraining: int) -> list[EpochResult]:
    if not made.scores and made.status != "diverged":
        return []
    scores = [0.6] * pretraining + list(made.scores)
    start = [] if made.start is None else [EpochResult(0, {trial.metric: made.start}, pretraining=True)]
    return start + [
        EpochResult(
            epoch,
            {trial.metric: score, **(_measures(epoch, score, trial) if made.measures else {})},
            pretraining=epoch <= pretraining,
            seconds=1.5,
        )
        for epoch, score in enumerate(scores, start=1)
    ]


def _measures(epoch: int, score: float, trial: Trial) -> dict[str, float]:
    noisy = 0.02 if trial.method == "radial" else 0.4
    return {
        "loss": 40.0 + 60.0 / epoch,
        "nll": 0.7 - 0.4 * (score - 0.5),
        "cross_entropy": 60.0 / epoch + 40.0,
        "entropy": -20.0 + 1.0 / epoch,
        "train_auc": min(1.0, score + 0.01),
        "train_accuracy": 0.5 + (score - 0.5) / 2,
        "validation_accuracy": 0.5 + (score - 0.5) / 2,
        "validation_nll": 0.7 - 0.3 * (score - 0.5),
        "validation_calibration_error": 0.05,
        "sigma_low": 0.01,
        "sigma_median": 0.02,
        "sigma_high": 0.05,
        **({"gradient_sd": noisy * (1 + 1 / epoch)} if epoch % 3 == 1 else {}),
    }


def from_table(table: Mapping[tuple[Any, ...], float | Made | None]) -> Maker:
    """A maker with the score, or a Made, of each (configuration, arm) or (configuration, arm, replicate)."""

    def make(trial: Trial, epochs: int) -> Made | None:
        found = table.get((trial.configuration, trial.arm, trial.replicate))
        found = table.get((trial.configuration, trial.arm)) if found is None else found
        return found if found is None or isinstance(found, Made) else Made(scores=[float(found)] * epochs)

    return make


def always(made: float | Made | None) -> Maker:
    """A maker with the same results for every trial."""

    def make(trial: Trial, epochs: int) -> Made | None:
        return Made(scores=[made] * epochs) if isinstance(made, float) else made

    return make


def note_by_cell(value: float, guessing: float = 0.62, low: float = 0.61, high: float = 0.64) -> dict[str, Any]:
    """A note with the threshold, or the gain required, of the cells of `paper_random`, and four networks in each."""
    cells = [f"{arm} {rho}" for arm in ("mfvi", "radial") for rho in (-6, -4, -2, 0)]
    entry = {"value": value, "low": value - 0.02, "high": value + 0.03, "networks": 4}
    part = {
        "evaluations": 11,
        "scores": [0.5, 0.55, 0.66, 0.7] * 8,
        "permutation": {"count": 300_000, "point": guessing, "low": low, "high": high},
        "threshold": guessing,
        "by_cell": dict.fromkeys(cells, entry),
    }
    return {
        "level": 0.01,
        "arms": [cell.split()[0] for cell in cells for _ in range(4)],
        "cells": [cell for cell in cells for _ in range(4)],
        "mixed": 32,
        "edges": None,
        "folded": True,
        "starts": [0.5, 0.55, 0.66, 0.7] * 8,
        "summaries": {summary: {**part, "summary": summary} for summary in ("best", "last")},
    }


def untrained_note(summary: str = "best", evaluations: int = 11, count: int = 200) -> dict[str, Any]:
    """A note on untrained networks as a sweep writes it: scores about 0.56, permutations about 0.55."""
    rng = np.random.default_rng(5)
    scores, permutation = rng.normal(0.56, 0.02, count), rng.normal(0.55, 0.02, 500)
    points = [float(np.quantile(values, 0.99, method="inverted_cdf")) for values in (scores, permutation)]
    return {
        "summary": summary,
        "evaluations": evaluations,
        "scores": scores.tolist(),
        "permutation": permutation.tolist(),
        "threshold": max(points),
    }


def _mixed(trial: Trial, epochs: int) -> Made | None:
    """Trials of every status."""
    kinds: dict[int, Made | None] = {
        1: Made("out_of_memory", [0.6], "CUDA out of memory"),
        2: Made("failed", [], "ValueError: <b>no</b>"),
        3: Made("timed_out", [0.7, 0.71]),
        4: Made("diverged", [0.85, 0.86]),
        5: Made("diverged", []),
        6: Made("running", [0.6, 0.65]),
        7: None,
    }
    return kinds.get(trial.configuration, typical(trial, epochs)) if trial.arm == "mfvi" else typical(trial, epochs)


def mixed(store: Store) -> StudyStore:
    """Two arms, 12 pairs; the trials of the first arm have every status."""
    return fill(store, made_study("mixed"), _mixed)


def hostile(store: Store) -> StudyStore:
    """Names and error texts that are markup."""
    study = renamed_arms(made_study(f"study {HOSTILE[0]}"), *HOSTILE)
    study = replace(study, description=HOSTILE[1])

    def make(trial: Trial, epochs: int) -> Made:
        return Made("failed", [], HOSTILE[0]) if trial.configuration == 2 else typical(trial, epochs)

    return fill(store, study, make)


def paper_like(store: Store, configurations: int = 86, epochs: int = 150, wide: bool = False) -> StudyStore:
    """A study of the size of the paper's, with its numbers as reference; or a larger one."""
    reference = {
        "label": "Farquhar, Osborne and Gal 2020",
        "pairs": 86,
        "learned_nothing": {"mfvi": 0.82, "radial": 0.39},
        "good": {"mfvi": 0.11, "radial": 0.44},
        "winners": {
            "mfvi": {
                "optimizer": "sgd",
                "learning_rate": 0.001,
                "learning_rate_decay": 0.98,
                "batch_size": 16,
                "variational_samples": 4,
                "initial_rho": -6,
            },
            "radial": {
                "optimizer": "adam",
                "learning_rate": 0.0001,
                "batch_size": 64,
                "variational_samples": 1,
                "initial_rho": -6,
            },
        },
    }
    study = made_study(
        "paper_like",
        configurations=configurations,
        epochs=epochs,
        wide=wide,
        reference=reference,
        outcomes={"learned_nothing": {"no_better_than_untrained": 0.01, "below": None}},
    )
    return fill(store, study, note=untrained_note(evaluations=epochs - 1))


def _missing_epochs(trial: Trial, epochs: int) -> Made:
    return Made(scores=[] if trial.configuration % 3 else [0.7] * (epochs // 2), measures=False)


AWKWARD: dict[str, Callable[[Store], StudyStore]] = {
    "empty study": lambda store: fill(store, made_study("empty"), always(None)),
    "all failed": lambda store: fill(store, made_study("failed"), always(Made("failed", [], "RuntimeError: no"))),
    "one arm": lambda store: fill(store, made_study("one arm", arms=("radial",))),
    "three arms": lambda store: fill(store, made_study("three arms", arms=("mfvi", "radial", "mc_dropout"))),
    "one pair": lambda store: fill(store, made_study("one pair", configurations=1)),
    "ties everywhere": lambda store: fill(store, made_study("ties"), always(0.7)),
    "NaN everywhere": lambda store: fill(store, made_study("nan"), always(math.nan)),
    "500 configurations": lambda store: fill(store, made_study("large", configurations=500, epochs=4)),
    "non-ASCII names": lambda store: fill(store, renamed_arms(made_study("étude 漢字 ☃"), "Übung", "радиальный")),
    "missing epochs": lambda store: fill(store, made_study("missing epochs"), _missing_epochs),
    "every ending": mixed,
    "one class of outcome": lambda store: fill(
        store, made_study("all good"), lambda t, e: Made(scores=[0.9 + t.configuration / 1000] * e)
    ),
    "replicates": lambda store: fill(store, made_study("replicates", configurations=8, replicates=3)),
    "whole grid": lambda store: fill(store, made_study("grid", configurations=None, epochs=4, strategy="grid")),  # type: ignore[arg-type]
    "hostile names": hostile,
    "unknown threshold": lambda store: fill(
        store, made_study("unknown", outcomes={"learned_nothing": {"no_better_than_untrained": 0.01, "below": None}})
    ),
}
"""Edge cases for reports: each function fills a study and returns it."""
