"""The sentences about gradient noise."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from report.sections.gradient_noise.entries import NoiseFigures, NoiseRatio, error_or_nan
from report.words import with_error


def sentences(noise: NoiseFigures, arms: Sequence[str]) -> list[str]:
    """What the figures say, from the noises at the paper's width and sigma to where noise explodes."""
    at = noise["at"]
    if at is None:
        return ["Nothing has been measured yet."]
    here = {p["arm"]: p for p in noise["points"] if (p["channels"], p["sigma"]) == (at["channels"], at["sigma"])}
    noises = ", ".join(
        f"{arm} {with_error(here[arm]['sd'], error_or_nan(here[arm]['sd_error']))}" for arm in arms if arm in here
    )
    said = [f"At sigma {at['sigma']:g} and {at['channels']} channels the gradient's standard deviation is {noises}."]
    pairs = {
        tuple(entry["arms"]): entry
        for entry in noise["ratios"]
        if (entry["channels"], entry["sigma"]) == (at["channels"], at["sigma"])
    }
    factors = [
        f"{first}'s is {with_error(entry['ratio'], error_or_nan(entry['error']))} times {second}'s"
        for (first, second), entry in pairs.items()
    ]
    if factors:
        said.append(f"That is: {'; '.join(factors)}.")
    share = scaling_share(pairs)
    if share is not None:
        said.append(
            f"On a logarithmic scale {with_error(100 * share[0], 100 * share[1])} % of the factor between mfvi and "
            "radial is there with mfvi_scaled, which has radial's noise in each weight and no shared radius."
        )
    first = [entry for entry in noise["explosions"] if entry["arm"] == arms[0] and entry["tenfold"] is not None]
    if first:
        grown = ", ".join(f"{entry['tenfold']:.2g} ({entry['channels']} channels)" for entry in first)
        said.append(f"{arms[0]}'s noise is ten times what it is at the smallest sigma from this sigma on: {grown}.")
    return said


def scaling_share(pairs: Mapping[tuple[str, ...], NoiseRatio]) -> tuple[float, float] | None:
    """log(mfvi / mfvi_scaled) / log(mfvi / radial) of the noises at one point; None without the three arms.

    It is 1 - log(mfvi_scaled / radial) / log(mfvi / radial), whose error is nearly that of the first logarithm.
    """
    scaled, radial = pairs.get(("mfvi_scaled", "radial")), pairs.get(("mfvi", "radial"))
    if scaled is None or radial is None or not radial["ratio"] > 1:
        return None
    whole = math.log(radial["ratio"])
    return 1.0 - math.log(scaled["ratio"]) / whole, error_or_nan(scaled["error"]) / scaled["ratio"] / whole
