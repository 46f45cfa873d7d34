"""Whether final models know their own errors: referral curves, and calibration as in the paper's figure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from report.document import Numbers, Picture, Section
from report.drawing.axes import label_ends
from report.drawing.style import INK, panel
from report.sections.finals.entries import CalibrationBucket, FinalArm, FinalsResults
from report.words import bracketed, minus, percent, text

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from report.analysis import Analysis


def sections(analysis: Analysis) -> Iterator[Section]:
    """Referral and calibration of final models; none before any has been tested."""
    finals: FinalsResults | None = analysis.results.get("finals")
    if finals:
        yield from _referral(analysis, finals)
        yield from _calibration(analysis, finals)


def _referral(analysis: Analysis, finals: FinalsResults) -> Iterator[Section]:
    """The AUC of the remaining pictures by the fraction referred, with bands; none if no arm can refer."""
    arms = {arm: each for arm, each in finals["arms"].items() if len(_curve(each)[0]) > 1}
    if not arms:
        return
    gains = "; ".join(f"{text(arm, 60)} {_gain(each)}" for arm, each in arms.items())
    pictures = [
        Picture(
            "referral",
            "AUC by fraction referred",
            f"The AUC of what is left after the most uncertain pictures were referred, a line for each arm: {gains}.",
            partial(_draw_together, analysis, arms),
        )
    ]
    lowest, highest = _range(arms)
    for place, arm in enumerate(arms):
        pictures.append(
            Picture(
                f"referral-{place}",
                f"AUC by fraction referred, {text(arm)}",
                f"The AUC of {text(arm, 60)} with its 95 % band; the other arms as thin lines.",
                partial(_draw_referral, analysis, arms, arm, (lowest, highest)),
            )
        )
    rows = [
        (text(arm, 60), f"{percent(fraction)} %", minus(bracketed(auc, low, high)))
        for arm, curve in ((arm, each["referral"]) for arm, each in arms.items())
        for fraction, auc, low, high in zip(curve["referred"], curve["auc"], curve["low"], curve["high"], strict=True)
    ]
    yield Section(
        "referral",
        "Referring the uncertain",
        f"The AUC from nothing to 30 % referred: {gains}.",
        tuple(pictures),
        Numbers(("Arm", "Referred", "AUC of the rest"), tuple(rows)),
        (
            "A picture is referred where the model's draws disagree most (mutual information). Bands hold 95 % of the "
            "resamples of patients; a curve that rises says that the model knows where it is wrong.",
        ),
    )


def _calibration(analysis: Analysis, finals: FinalsResults) -> Iterator[Section]:
    """How often predictions came true, by predicted probability: the paper's figure; one panel for each arm."""
    known = {
        arm: error
        for arm, each in finals["arms"].items()
        if each["calibration"] and (error := each["calibration_error"]["mean"]) is not None
    }
    if not known:
        return
    words = "the picture is positive" if finals["classes"] == 2 else "the most probable class is right"
    errors = ", ".join(f"{text(arm, 60)} {known[arm]:.3f}" for arm in sorted(known, key=lambda arm: known[arm]))
    pictures, rows = [], []
    for place, (arm, error) in enumerate(known.items()):
        buckets = finals["arms"][arm]["calibration"]
        pictures.append(
            Picture(
                f"calibration-{place}",
                f"Calibration of {text(arm)}",
                f"In ten buckets of the probability that {words}: how often it was so, with 95 % intervals. The "
                f"diagonal is perfect calibration; the calibration error is {error:.3f}.",
                partial(_draw_calibration, analysis, arm, buckets),
            )
        )
        rows += [
            (
                text(arm, 60),
                f"{bucket['lower']:.1f} to {bucket['lower'] + 0.1:.1f}",
                str(bucket["count"]),
                f"{bucket['probability']:.3f}",
                minus(bracketed(bucket["share"], bucket["low"], bucket["high"])),
            )
            for bucket in buckets
        ]
    yield Section(
        "calibration",
        "Calibration",
        f"Expected calibration error, from the best: {errors}.",
        tuple(pictures),
        Numbers(("Arm", "Bucket", "Predictions", "Mean probability", "Came true"), tuple(rows)),
        (
            f"The probability is that {words}. Intervals count a patient's pictures as one draw, and a picture that "
            "several models predict once. Bars at the foot: the share of predictions in each bucket.",
        ),
    )


def _draw_together(analysis: Analysis, arms: Mapping[str, FinalArm]) -> Figure:
    figure, axes = panel()
    ends = {}
    for arm, each in arms.items():
        x, y = _curve(each)
        axes.plot(x, y, color=analysis.arms.colour(arm), linestyle=analysis.arms.dash(arm), linewidth=1.8)
        ends[arm] = (x[-1], y[-1])
    _label_referral(axes)
    label_ends(axes, ends, analysis.arms)
    return figure


def _draw_referral(analysis: Analysis, arms: Mapping[str, FinalArm], arm: str, ends: tuple[float, float]) -> Figure:
    figure, axes = panel()
    for other, each in arms.items():
        if other != arm:
            axes.plot(*_curve(each), color=INK, linewidth=0.8, alpha=0.35)
    colour = analysis.arms.colour(arm)
    curve = arms[arm]["referral"]
    band = [
        (100 * fraction, low, high)
        for fraction, low, high in zip(curve["referred"], curve["low"], curve["high"], strict=True)
        if low is not None and high is not None
    ]
    if band:
        axes.fill_between(*np.array(band).T, color=colour, alpha=0.2, linewidth=0)
    axes.plot(*_curve(arms[arm]), color=colour, linestyle=analysis.arms.dash(arm), linewidth=2.0)
    axes.set_ylim(*ends)
    _label_referral(axes)
    return figure


def _label_referral(axes: Axes) -> None:
    axes.set_xlabel("% referred, the most uncertain first")
    axes.set_ylabel("AUC of the rest")
    axes.margins(x=0.02)


def _draw_calibration(analysis: Analysis, arm: str, buckets: Sequence[CalibrationBucket]) -> Figure:
    figure, axes = panel(height=3.9)
    colour = analysis.arms.colour(arm)
    total = sum(bucket["count"] for bucket in buckets)
    centres = [bucket["lower"] + 0.05 for bucket in buckets]
    axes.bar(centres, [bucket["count"] / total for bucket in buckets], width=0.09, color=INK, alpha=0.18, linewidth=0)
    axes.plot([0, 1], [0, 1], color=INK, linewidth=1, linestyle=(0, (4, 3)))
    x = np.array([bucket["probability"] for bucket in buckets])
    y = np.array([bucket["share"] for bucket in buckets])
    errors = np.abs(np.array([[bucket["low"], bucket["high"]] for bucket in buckets]).T - y)
    marker, dash = analysis.arms.marker(arm), analysis.arms.dash(arm)
    axes.errorbar(
        x, y, errors, color=colour, marker=marker, markersize=5, linewidth=1.6, linestyle=dash, elinewidth=1.2
    )
    axes.set_xlim(-0.02, 1.02)
    axes.set_ylim(-0.02, 1.02)
    axes.set_xlabel("predicted probability")
    axes.set_ylabel("share that came true")
    return figure


def _curve(each: FinalArm) -> tuple[list[float], list[float]]:
    """Percentages referred and the AUCs that are known."""
    curve = each["referral"]
    pairs = [(100 * x, y) for x, y in zip(curve["referred"], curve["auc"], strict=True) if y is not None]
    return [x for x, _ in pairs], [y for _, y in pairs]


def _range(arms: Mapping[str, FinalArm]) -> tuple[float, float]:
    """One range of heights for all panels, so that they can be compared."""
    curves = [each["referral"] for each in arms.values()]
    known = [values for curve in curves for values in (curve["auc"], curve["low"], curve["high"])]
    values = [value for each in known for value in each if value is not None]
    pad = 0.04 * max(max(values) - min(values), 0.02)
    return min(values) - pad, max(values) + pad


def _gain(each: FinalArm) -> str:
    first, last = each["auc"][0]["mean"], each["auc"][-1]["mean"]
    return "unknown" if first is None or last is None else f"{first:.3f} to {last:.3f}"
