"""Robust, or uniformly mediocre: the spread of each arm's scores over configurations, apart from their level."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, TypedDict

from report.comparison import by_configuration, side_by_side, turned
from report.document import Numbers, Picture, Section
from report.drawing.style import panel
from report.judged_study import JudgedStudy
from report.records.estimates import Difference
from report.watched import NO_BANDS
from report.words import bracketed, score, signed_to, text
from robustness.statistics.spread import MEASURES, ORDER, spread, spread_differences

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from report.analysis import Analysis

WORDS = {
    "sd": "standard deviation",
    "iqr": "interquartile range",
    "lower_decile": "worst decile",
    "cvar": "mean of the worst quarter",
    "regret": "regret to its own best",
}
OTHERS = tuple(name for name in MEASURES if name != "regret")
REGRET = (
    "In the table, regret is how far the mean of an arm lies from its best score: what a random configuration loses."
)
NO_REGRET_INTERVAL = "It has no interval: resampling cannot produce a configuration better than the best one drawn."


class ArmSpread(TypedDict):
    """Level and spread of an arm's scores over configurations."""

    configurations: int
    mean: float
    sd: float
    iqr: float
    lower_decile: float
    cvar: float
    regret: float


class SpreadDifference(Difference):
    """The difference of a measure of spread, first arm minus second."""

    arms: list[str]
    measure: str


class SpreadResults(TypedDict):
    """The spread of each arm, and of every two compared arms on the configurations that both have."""

    arms: dict[str, ArmSpread]
    differences: list[SpreadDifference]


def results(study: JudgedStudy) -> SpreadResults:
    """Spread at the study's epoch; scores are means over replicates. No arm of a study with several tasks (`plane`)."""
    frames, judged = study.frames, study.planned
    if len(frames.tasks) > 1:
        return {"arms": {}, "differences": []}
    scores = judged[f"score_{frames.rule}"]
    arms: dict[str, ArmSpread] = {}
    for arm in frames.arms:
        own = frames.goal.oriented(by_configuration(side_by_side(judged, scores, [arm])).to_numpy(dtype=float)[:, 0])
        if len(own) < 2:
            continue
        found = spread(own)
        arms[arm] = {
            "configurations": len(own),
            "mean": float(frames.goal.oriented(own.mean())),
            "sd": found["sd"],
            "iqr": found["iqr"],
            "lower_decile": float(frames.goal.oriented(found["lower_decile"])),
            "cvar": float(frames.goal.oriented(found["cvar"])),
            "regret": found["regret"],
        }
    differences: list[SpreadDifference] = []
    for first, second in frames.compared:
        pairs = by_configuration(side_by_side(judged, scores, [first, second])).to_numpy(dtype=float)
        if len(pairs) < 2:
            continue
        oriented = frames.goal.oriented(pairs)
        for name, each in spread_differences(oriented[:, 0], oriented[:, 1]).items():
            # Deciles and tails are scores, which have the metric's own direction; spread has none.
            ends = (each.interval.low, each.interval.high)
            turned = frames.goal.minimizes and name in ("lower_decile", "cvar")
            low, high = (-ends[1], -ends[0]) if turned else ends
            differences.append(
                {
                    "arms": [first, second],
                    "measure": name,
                    "difference": -each.difference if turned else each.difference,
                    "low": low,
                    "high": high,
                    "interval": each.interval.method,
                }
            )
    return {"arms": arms, "differences": differences}


def sections(analysis: Analysis) -> Iterator[Section]:
    """The plane of performance against sensitivity, and the measures; none without two configurations."""
    found = analysis.results["spread"]
    if not found["arms"]:
        return
    listed = ", ".join(
        f"{text(arm, 60)} {score(entry['mean'])} with a standard deviation of {score(entry['sd'])}"
        for arm, entry in found["arms"].items()
    )
    picture = Picture(
        "spread-plane",
        "Performance against sensitivity",
        f"A point for each arm: its mean {analysis.metric_words} upwards, its standard deviation over configurations "
        f"to the right. {listed}.",
        partial(_draw, analysis, found["arms"]),
    )
    rows = [(text(arm, 60), *(score(value) for value in _values(entry))) for arm, entry in found["arms"].items()]
    for first, second in dict.fromkeys(tuple(entry["arms"]) for entry in found["differences"]):
        cells = {
            entry["measure"]: bracketed(*turned(entry), signed_to(3))
            for entry in found["differences"]
            if entry["arms"] == [first, second]
        }
        rows.append((f"{text(second, 40)} minus {text(first, 40)}", "", *(cells[name] for name in MEASURES)))
    watched = analysis.study.sample.watch is not None
    reasons = [[NO_BANDS]] if watched else [list(_why_none(found["differences"], name)) for name in OTHERS]
    notes = (
        "A robust arm lies high and to the left; an arm low and to the left is uniformly mediocre.",
        REGRET if watched else f"{REGRET} {NO_REGRET_INTERVAL}",
        *(reason for each in reasons for reason in each),
    )
    columns = ("Arm", "Mean", *(WORDS[name].capitalize() for name in MEASURES))
    reading = f"Mean {analysis.metric_words} over configurations: {listed}."
    yield Section("spread", "Level and spread", reading, (picture,), Numbers(columns, tuple(rows)), notes)


def _why_none(differences: Sequence[SpreadDifference], measure: str) -> Iterator[str]:
    """Why differences of a measure have no interval, with their arms where others have one, or so wide a one."""
    own = [entry for entry in differences if entry["measure"] == measure]
    for reason in dict.fromkeys(entry["interval"] for entry in own if entry["interval"].startswith("none")):
        without = [" minus ".join(reversed(entry["arms"])) for entry in own if entry["interval"] == reason]
        of = "" if len(without) == len(own) else f" of {text(', '.join(without), 200)}"
        yield f"No interval for the {WORDS[measure]}{of}: {reason.removeprefix('none: ')}."
    by_order = [" minus ".join(entry["arms"]) for entry in own if entry["interval"] == ORDER]
    if by_order:
        yield (
            f"A gap in the scores is so near the {WORDS[measure]} of {text(', '.join(by_order), 200)} that it may lie "
            "on either side: the interval contains both."
        )


def _values(entry: ArmSpread) -> tuple[float, ...]:
    """The mean and the measures in their order."""
    return entry["mean"], entry["sd"], entry["iqr"], entry["lower_decile"], entry["cvar"], entry["regret"]


def _draw(analysis: Analysis, arms: Mapping[str, ArmSpread]) -> Figure:
    figure, axes = panel()
    for arm, entry in arms.items():
        marker, colour = analysis.arms.marker(arm), analysis.arms.colour(arm)
        axes.plot(entry["sd"], entry["mean"], marker, color=colour, label=text(arm, 24))
    axes.set_xlabel("standard deviation over configurations")
    axes.set_ylabel(f"mean {analysis.metric_words}")
    axes.margins(0.15)
    axes.legend()
    return figure
