"""What a study of the soap bubble shows: where draws lie, beside theory, and how well the two agree."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from report.frames import KEY, StudyFrames
from robustness.statistics.paired import holm
from robustness.trainables.theory.densities import gaussian_radius_moments, radial_radius_moments

TRAINABLE = "soap_bubble"
LEVEL = 0.05
CURVES = ("radius_edges", "radius_counts", "weight_edges", "weight_counts")


def soap_bubble(frames: StudyFrames) -> dict[str, Any] | None:
    """Each layer and arm with its moments, tests and histograms; None for a study of another kind.

    `layers` is a list with an entry for each trial that has ended, those of low dimension first.
    """
    if frames.document["trainable"] != TRAINABLE:
        return None
    methods = {str(arm["label"]): str(arm["method"]) for arm in frames.document["arms"]}
    curves = frames.curves.set_index([*KEY, "name"])["values"].to_dict() if len(frames.curves) else {}
    layers = []
    for _, row in frames.epochs.iterrows():
        key = tuple(row[KEY])
        own = {name: curves[(*key, name)] for name in CURVES}
        layers.append(_entry(row, methods[str(row["arm"])], own, frames.configurations))
    layers.sort(key=lambda entry: entry["dimension"])
    return {"alone": True, "sentences": _sentences(layers, frames.arms), "layers": layers}


def _entry(
    row: pd.Series[Any], method: str, curves: Mapping[str, Sequence[float]], configurations: pd.DataFrame
) -> dict[str, Any]:
    dimension = int(row["dimension"])
    drawn = configurations.loc[row["configuration"]]
    mean, sd = radial_radius_moments() if method == "radial" else gaussian_radius_moments(dimension)
    return {
        "arm": row["arm"],
        "method": method,
        "replicate": int(row["replicate"]),
        "layer": f"{drawn['layer']} {int(drawn['inputs'])} to {int(drawn['outputs'])}",
        "dimension": dimension,
        "samples": int(row["samples"]),
        "radius": {
            "mean": row["radius_mean"],
            "sd": row["radius_sd"],
            "theory_mean": mean,
            "theory_sd": sd,
            "ks_distance": row["ks_distance"],
            "p_value": row["ks_p_value"],
            "edges": list(curves["radius_edges"]),
            "counts": list(curves["radius_counts"]),
        },
        "weight": {
            "sd": row["weight_sd"],
            "theory_sd": 1.0 / math.sqrt(dimension) if method == "radial" else 1.0,
            "ks_distance": row["weight_ks_distance"],
            "p_value": row["weight_ks_p_value"],
            "edges": list(curves["weight_edges"]),
            "counts": list(curves["weight_counts"]),
        },
    }


def _sentences(layers: Sequence[Mapping[str, Any]], arms: Sequence[str]) -> list[str]:
    if not layers:
        return ["Nothing has been drawn yet, so there is nothing to say."]
    told = []
    for dimension in sorted({entry["dimension"] for entry in layers}, reverse=True):
        here = [e for arm in arms for e in layers if e["dimension"] == dimension and e["arm"] == arm]
        first = {entry["arm"]: entry["radius"] for entry in reversed(here)}
        parts = ", ".join(
            f"{found['mean']:.2f} ± {found['sd']:.2f} with {arm} (theory {found['theory_mean']:.2f} ± "
            f"{found['theory_sd']:.2f})"
            for arm, found in sorted(first.items(), key=lambda item: arms.index(item[0]))
        )
        told.append(f"Of {dimension:,} weights a draw is so many sigmas away from its mean: {parts}.")
    tests = [entry[what] for entry in layers for what in ("radius", "weight")]
    smallest = min(holm([test["p_value"] for test in tests]))
    largest = max(test["ks_distance"] for test in tests)
    says = "Samples and theory differ" if smallest < LEVEL else "Theory lies on the samples"
    told.append(
        f"{says}: of {len(tests)} Kolmogorov-Smirnov tests the largest distance is {largest:.4f}, the smallest "
        f"p-value {smallest:.2g} after Holm's correction."
    )
    return told
