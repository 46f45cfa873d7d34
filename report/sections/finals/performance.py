"""The performance of final models on the test set, arm by arm and against each other.

An arm's figure is the mean over its models of each model's own figure (never that of their predictions together, which
would be an ensemble). Two errors go with it: over 1,000 resamples of patients with the models as they are, as in the
paper's table, and between the models. Everything comes from the predictions in the store.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from report.frames import StudyFrames
from report.judged_study import JudgedStudy
from report.sections.finals.sentences import final_cautions, final_sentences
from report.sections.finals.tested_models import FinalModel, Tested, arms_of, tested_models
from robustness.metrics import REFERRED
from robustness.statistics.calibration import calibration_buckets
from robustness.statistics.paired import holm
from robustness.statistics.referral import between, difference_of_means, patient_weights, referred_aucs

GRID = tuple(round(0.05 * step, 2) for step in range(11))
"""Referred fractions of the curves; those of the table are among them."""
RESAMPLES, FEWER = 1000, 200
MANY_PICTURES = 5000
"""From this number of pictures on, fewer resamples: the errors are small and take long."""
MEASURES = ("accuracy", "nll", "calibration_error", "seconds_per_epoch", "parameters")


def results(study: JudgedStudy) -> dict[str, Any] | None:
    """The test results; None for a study without tested final models."""
    frames = study.frames
    tested, foreign = tested_models(frames)
    if tested is None:
        return None
    resamples = RESAMPLES if len(tested.labels) < MANY_PICTURES else FEWER
    models = arms_of(tested)
    weights = _weights(tested, resamples)
    samples = {arm: np.stack([_aucs(tested, model, weights) for model in own]) for arm, own in models.items()}
    arms = {arm: _arm(frames, tested, models[arm], samples[arm]) for arm in models}
    planned = _planned(frames, list(arms))
    compared = comparisons({arm: each for arm, each in samples.items() if np.isfinite(each[:, 0, 0]).all()}, planned)
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


def _arm(
    frames: StudyFrames, tested: Tested, models: Sequence[FinalModel], samples: NDArray[np.float64]
) -> dict[str, Any]:
    """The figures of an arm's models; samples [models, 1 + resamples, grid]."""
    means = samples.mean(axis=0)
    low, high = (_over_resamples(means[1:], point) for point in (0.025, 0.975))
    reference = ((frames.document.get("reference") or {}).get("auc_after_referral") or {}).get(models[0].key.arm)
    aucs = []
    for fraction in REFERRED:
        place = GRID.index(fraction)
        spread = means[1:, place][np.isfinite(means[1:, place])]
        error = float(spread.std(ddof=1)) if len(spread) > 1 else math.nan
        values = samples[:, 0, place]
        aucs.append(
            {
                "referred": fraction,
                "mean": _number(values.mean()),
                "error": _number(error),
                "between": _number(between(values)),
            }
        )
    events, probabilities = tested.events(models)
    return {
        "models": len(models),
        "members": models[0].members,
        "made_of": models[0].made_of,
        "run": models[0].run + 1,
        "refers": all(model.refers for model in models),
        "auc": aucs,
        **{name: _mean([model.measures[name] for model in models]) for name in MEASURES},
        "referral": {
            "referred": list(GRID),
            "auc": [_number(value) for value in means[0]],
            "low": low,
            "high": high,
        },
        "calibration": [vars(each) for each in calibration_buckets(events, probabilities, tested.patients)],
        "replicates": [
            {
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
    samples: Mapping[str, NDArray[np.float64]], planned: Sequence[str] | None = None
) -> list[dict[str, Any]]:
    """Every two arms: the difference of their mean AUCs at each referred fraction, tested with nothing referred.

    Samples [models, 1 + resamples, grid] of each arm; the same resamples of patients for all, so they are paired.
    `p_adjusted` is Holm's over all pairs but the planned one, which stands by itself; `p_among_all` counts it in.
    """
    entries: list[dict[str, Any]] = []
    for first, second in combinations(samples, 2):
        at: list[dict[str, Any]] = []
        for fraction in REFERRED:
            place = GRID.index(fraction)
            one, other = samples[first][:, :, place], samples[second][:, :, place]
            difference = difference_of_means(
                one[:, 0].tolist(), other[:, 0].tolist(), one[:, 1:].mean(axis=0) - other[:, 1:].mean(axis=0)
            )
            at.append({"referred": fraction, **{name: _number(value) for name, value in vars(difference).items()}})
        entries.append(
            {"arms": [first, second], **{name: at[0][name] for name in at[0] if name != "referred"}, "at": at}
        )
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


def _mean(values: Sequence[float]) -> dict[str, float | None]:
    return {"mean": _number(float(np.mean(values))), "between": _number(between(values))}


def _number(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None
