"""The performance of final models on the test set, arm by arm and against each other.

An arm's figure is the mean over its models of each model's own figure (never that of their predictions together, which
would be an ensemble); if the search was repeated, it is the mean over searches of these means. Three errors go with it:
over 1,000 resamples of patients with the models as they are, as in the paper's table, between the models of a search,
and between searches (`robustness.statistics.nested`). Everything comes from the predictions in the store.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from report.frames import StudyFrames
from report.judged_study import JudgedStudy
from report.sections.finals.arm_aucs import GRID, ArmAucs, finite
from report.sections.finals.comparisons import comparisons
from report.sections.finals.entries import (
    ArmMeasures,
    CalibrationBucket,
    FinalArm,
    FinalFigures,
    FinalsResults,
    MeanFigure,
    ModelFigures,
    ReferredAuc,
)
from report.sections.finals.sentences import final_cautions, final_sentences
from report.sections.finals.tested_models import FinalModel, Tested, arms_of, tested_models
from robustness.metrics import REFERRED
from robustness.optimize.ensembles import members_in
from robustness.statistics.calibration import Bucket, calibration_buckets
from robustness.statistics.nested import (
    Figures,
    arm_mean,
    between_models,
    between_searches,
)
from robustness.statistics.referral import patient_weights, referred_aucs

RESAMPLES, FEWER = 1000, 200
MANY_PICTURES = 5000
"""From this number of pictures on, fewer resamples: the errors are small and take long."""


def results(study: JudgedStudy) -> FinalsResults | None:
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
    known = {arm: mean for arm, each in arms.items() if (mean := each["auc"][0]["mean"]) is not None}
    best = max(known, key=lambda arm: known[arm], default=None)
    label = (frames.document.get("reference") or {}).get("label", "the reference")
    finals: FinalFigures = {
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


def _arm(frames: StudyFrames, tested: Tested, models: Sequence[FinalModel], scores: ArmAucs) -> FinalArm:
    """The figures of an arm's models."""
    means = scores.means
    low, high = (_over_resamples(means[1:], point) for point in (0.025, 0.975))
    reference = ((frames.document.get("reference") or {}).get("auc_after_referral") or {}).get(models[0].key.arm)
    aucs: list[ReferredAuc] = []
    for fraction in REFERRED:
        place = GRID.index(fraction)
        spread = means[1:, place][np.isfinite(means[1:, place])]
        error = float(spread.std(ddof=1)) if len(spread) > 1 else math.nan
        figures = scores.at(place)
        repeated = between_searches(figures)
        aucs.append(
            {
                "referred": fraction,
                "mean": finite(arm_mean(figures)),
                "error": finite(error),
                "between": finite(between_models(figures)),
                "between_searches": finite(repeated),
                "total_error": finite(math.hypot(error, repeated) if len(figures) > 1 else error),
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
        **_measures(models, scores),
        "referral": {
            "referred": list(GRID),
            "auc": [finite(value) for value in means[0]],
            "low": low,
            "high": high,
        },
        "calibration": [_bucket(each) for each in calibration_buckets(events, probabilities, tested.patients)],
        "replicates": [_model(model, scores.samples[place, 0]) for place, model in enumerate(models)],
        "reference": [float(value) for value in reference] if reference else None,
    }


def _measures(models: Sequence[FinalModel], scores: ArmAucs) -> ArmMeasures:
    def mean(name: str) -> MeanFigure:
        return _mean(scores.by_search(model.measures[name] for model in models))

    return {
        "accuracy": mean("accuracy"),
        "nll": mean("nll"),
        "calibration_error": mean("calibration_error"),
        "seconds_per_epoch": mean("seconds_per_epoch"),
        "parameters": mean("parameters"),
    }


def _model(model: FinalModel, aucs: NDArray[np.float64]) -> ModelFigures:
    """The figures of one model; `aucs` [grid] are those for the test set itself."""
    return {
        "search": model.key.search + 1,
        "run": model.run + 1,
        "configuration": model.key.configuration,
        "replicate": model.key.replicate,
        "auc": [finite(aucs[GRID.index(fraction)]) for fraction in REFERRED],
        "accuracy": finite(model.measures["accuracy"]),
        "nll": finite(model.measures["nll"]),
        "calibration_error": finite(model.measures["calibration_error"]),
        "seconds_per_epoch": finite(model.measures["seconds_per_epoch"]),
        "parameters": finite(model.measures["parameters"]),
        "chosen_epoch": finite(model.measures["chosen_epoch"]),
    }


def _bucket(bucket: Bucket) -> CalibrationBucket:
    return {
        "lower": bucket.lower,
        "count": bucket.count,
        "probability": bucket.probability,
        "share": bucket.share,
        "low": bucket.low,
        "high": bucket.high,
    }


def _planned(frames: StudyFrames, tested: Sequence[str]) -> list[str] | None:
    """The two arms whose comparison the study file plans; None if it plans none or one of them was not tested."""
    planned = (frames.document.get("finals") or {}).get("planned")
    return [str(arm) for arm in planned] if planned and set(planned) <= set(tested) else None


def _over_resamples(samples: NDArray[np.float64], point: float) -> list[float | None]:
    """The quantile over resamples [resamples, grid] of each column, those without a value left out."""
    columns = [column[np.isfinite(column)] for column in samples.T]
    return [None if len(column) < 2 else float(np.quantile(column, point)) for column in columns]


def _mean(figures: Figures) -> MeanFigure:
    return {
        "mean": finite(arm_mean(figures)),
        "between": finite(between_models(figures)),
        "between_searches": finite(between_searches(figures)),
    }
