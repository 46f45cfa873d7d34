"""The performance of final models on the test set, arm by arm and against each other.

An arm's figure is the mean over its models of each model's own figure (never that of their predictions together, which
would be an ensemble); if the search was repeated, it is the mean over searches of these means. Three errors go with it:
over 1,000 resamples of patients with the models as they are, as in the paper's table, between the models of a search,
and between searches (`robustness.statistics.nested`). Everything comes from the predictions in the store.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from report.frames import StudyFrames
from report.judged_study import JudgedStudy
from report.sections.finals.sentences import final_cautions, final_sentences
from report.sections.finals.tested_models import FinalModel, Tested, arms_of, tested_models
from robustness.metrics import REFERRED
from robustness.optimize.ensembles import members_in
from robustness.statistics.calibration import calibration_buckets
from robustness.statistics.nested import (
    Figures,
    arm_mean,
    between_models,
    between_searches,
    difference_of_arms,
    model_weights,
)
from robustness.statistics.paired import holm
from robustness.statistics.referral import patient_weights, referred_aucs

GRID = tuple(round(0.05 * step, 2) for step in range(11))
"""Referred fractions of the curves; those of the table are among them."""
RESAMPLES, FEWER = 1000, 200
MANY_PICTURES = 5000
"""From this number of pictures on, fewer resamples: the errors are small and take long."""
MEASURES = ("accuracy", "nll", "calibration_error", "seconds_per_epoch", "parameters")


@dataclass(frozen=True, eq=False)
class ArmAucs:
    """The AUCs of an arm's models for the test set and its resamples."""

    samples: NDArray[np.float64]
    """[models, 1 + resamples, grid], the test set itself first."""
    searches: tuple[int, ...]
    """The search, from 0, of each model."""

    def by_search(self, values: Iterable[float]) -> Figures:
        """A figure of each model, by search."""
        figures: dict[int, list[float]] = {search: [] for search in self.searches}
        for search, value in zip(self.searches, values, strict=True):
            figures[search].append(float(value))
        return figures

    def at(self, place: int) -> Figures:
        """The AUC of each model on the test set at a place of the grid, by search."""
        return self.by_search(self.samples[:, 0, place])

    @cached_property
    def means(self) -> NDArray[np.float64]:
        """The arm's mean, [1 + resamples, grid]: every search counts the same."""
        return np.average(self.samples, axis=0, weights=model_weights(self.searches))


def results(study: JudgedStudy) -> dict[str, Any] | None:
    """The test results; None for a study without tested final models."""
    frames = study.frames
    tested, foreign = tested_models(frames)
    if tested is None:
        return None
    resamples = RESAMPLES if len(tested.labels) < MANY_PICTURES else FEWER
    models = arms_of(tested)
    weights = _weights(tested, resamples)
    aucs = {
        arm: ArmAucs(
            np.stack([_aucs(tested, model, weights) for model in own]), tuple(model.key.search for model in own)
        )
        for arm, own in models.items()
    }
    arms = {arm: _arm(frames, tested, models[arm], aucs[arm]) for arm in models}
    planned = _planned(frames, list(arms))
    scored = {arm: each for arm, each in aucs.items() if np.isfinite(each.samples[:, 0, 0]).all()}
    compared = comparisons(scored, planned, members_in(frames.document))
    known = [arm for arm in arms if arms[arm]["auc"][0]["mean"] is not None]
    best = max(known, key=lambda arm: arms[arm]["auc"][0]["mean"], default=None)
    label = (frames.document.get("reference") or {}).get("label", "the reference")
    finals: dict[str, Any] = {
        "alone": True,
        "pictures": len(tested.labels),
        "patients": len(np.unique(tested.patients)),
        "classes": tested.classes,
        "positives": int((tested.labels == 1).sum()) if tested.classes == 2 else None,
        "resamples": resamples,
        "referred": list(REFERRED),
        "best": best,
        "searches": frames.searches,
        "arms": arms,
        "planned": planned,
        "comparisons": compared,
        "reference": str(label) if any(each["reference"] for each in arms.values()) else None,
    }
    return {"sentences": final_sentences(finals), "cautions": final_cautions(frames, finals, foreign), **finals}


def _weights(tested: Tested, resamples: int) -> NDArray[np.float64]:
    """A row of ones, the test set itself, then the resamples."""
    return np.concatenate([np.ones((1, len(tested.labels))), patient_weights(tested.patients, resamples)])


def _aucs(tested: Tested, model: FinalModel, weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """[1 + resamples, grid]; NaN beyond nothing referred if the model is equally sure of everything.

    Resamples of one patient would all be alike and claim to be certain: they are NaN, too.
    """
    fractions = GRID if model.refers else GRID[:1]
    aucs = np.full((len(weights), len(GRID)), math.nan)
    rows = len(weights) if len(np.unique(tested.patients)) > 1 else 1
    arrays = (tested.labels, model.mean, model.uncertainty)
    aucs[:rows, : len(fractions)] = referred_aucs(*arrays, fractions, weights[:rows])
    return aucs


def _arm(frames: StudyFrames, tested: Tested, models: Sequence[FinalModel], scores: ArmAucs) -> dict[str, Any]:
    """The figures of an arm's models."""
    samples, means = scores.samples, scores.means
    low, high = (_over_resamples(means[1:], point) for point in (0.025, 0.975))
    reference = ((frames.document.get("reference") or {}).get("auc_after_referral") or {}).get(models[0].key.arm)
    aucs = []
    for fraction in REFERRED:
        place = GRID.index(fraction)
        spread = means[1:, place][np.isfinite(means[1:, place])]
        error = float(spread.std(ddof=1)) if len(spread) > 1 else math.nan
        figures = scores.at(place)
        repeated = between_searches(figures)
        aucs.append(
            {
                "referred": fraction,
                "mean": _number(arm_mean(figures)),
                "error": _number(error),
                "between": _number(between_models(figures)),
                "between_searches": _number(repeated),
                "total_error": _number(math.hypot(error, repeated) if len(figures) > 1 else error),
            }
        )
    events, probabilities = tested.events(models)
    return {
        "models": len(models),
        "searches": len(set(scores.searches)),
        "members": models[0].members,
        "made_of": models[0].made_of,
        "run": models[0].run + 1 if frames.searches == 1 else None,
        "refers": all(model.refers for model in models),
        "auc": aucs,
        **{name: _mean(scores.by_search(model.measures[name] for model in models)) for name in MEASURES},
        "referral": {
            "referred": list(GRID),
            "auc": [_number(value) for value in means[0]],
            "low": low,
            "high": high,
        },
        "calibration": [vars(each) for each in calibration_buckets(events, probabilities, tested.patients)],
        "replicates": [
            {
                "search": model.key.search + 1,
                "run": model.run + 1,
                "configuration": model.key.configuration,
                "replicate": model.key.replicate,
                "auc": [_number(samples[place, 0, GRID.index(fraction)]) for fraction in REFERRED],
                **{name: _number(model.measures[name]) for name in (*MEASURES, "chosen_epoch")},
            }
            for place, model in enumerate(models)
        ],
        "reference": [float(value) for value in reference] if reference else None,
    }


def _planned(frames: StudyFrames, tested: Sequence[str]) -> list[str] | None:
    """The two arms whose comparison the study file plans; None if it plans none or one of them was not tested."""
    planned = (frames.document.get("finals") or {}).get("planned")
    return [str(arm) for arm in planned] if planned and set(planned) <= set(tested) else None


def comparisons(
    arms: Mapping[str, ArmAucs], planned: Sequence[str] | None, members: Mapping[str, str]
) -> list[dict[str, Any]]:
    """Every two arms: the difference of their mean AUCs at each referred fraction, tested with nothing referred.

    All arms have the same resamples of patients, so they are paired; an ensemble also shares its searches with the arm
    that provides its members. `searches` is the smaller number of searches of the two arms: with 1, the interval says
    nothing about other searches. `p_adjusted` is Holm's over all pairs but the planned one, which stands by itself;
    `p_among_all` counts it in.
    """
    entries: list[dict[str, Any]] = []
    for first, second in combinations(arms, 2):
        one, other = arms[first], arms[second]
        shared = members.get(first, first) == members.get(second, second)
        at: list[dict[str, Any]] = []
        for fraction in REFERRED:
            place = GRID.index(fraction)
            resampled = one.means[1:, place] - other.means[1:, place]
            difference = difference_of_arms(one.at(place), other.at(place), resampled, shared)
            at.append({"referred": fraction, **{name: _number(value) for name, value in vars(difference).items()}})
        searches = min(len(set(one.searches)), len(set(other.searches)))
        unreferred = {name: at[0][name] for name in at[0] if name != "referred"}
        entries.append({"arms": [first, second], "searches": searches, **unreferred, "at": at})
    tested = [entry for entry in entries if entry["p_value"] is not None]
    # The planned comparison is a single test; the others were selected among all pairs, and are corrected for that.
    others = [entry for entry in tested if set(entry["arms"]) != set(planned or ())]
    for entry in entries:
        entry["p_adjusted"] = entry["p_among_all"] = entry["p_value"]
    for key, family in (("p_among_all", tested), ("p_adjusted", others)):
        for entry, value in zip(family, holm([entry["p_value"] for entry in family]), strict=True):
            entry[key] = value
    return entries


def _over_resamples(samples: NDArray[np.float64], point: float) -> list[float | None]:
    """The quantile over resamples [resamples, grid] of each column, those without a value left out."""
    columns = [column[np.isfinite(column)] for column in samples.T]
    return [None if len(column) < 2 else float(np.quantile(column, point)) for column in columns]


def _mean(figures: Figures) -> dict[str, float | None]:
    errors = {"between": between_models(figures), "between_searches": between_searches(figures)}
    return {"mean": _number(arm_mean(figures)), **{name: _number(error) for name, error in errors.items()}}


def _number(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None
