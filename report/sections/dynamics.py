"""Training dynamics: the paper's panels of training AUC, the terms of the loss and the gradient's noise.

The results are the epochs where an arm's training AUC turns down, its NLL term up, and its gradient noise rises, for
studies that measure that noise (`training.gradient_noise_every`). Every trial is examined by itself, by
`robustness.statistics.turning`; pre-training epochs are left out.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, NotRequired, TypedDict

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from report.document import Numbers, Picture, Section
from report.drawing.axes import label_ends, plain_numbers
from report.drawing.style import panel
from report.frames import KEY
from report.judged_study import JudgedStudy
from report.words import number, text
from robustness.statistics.turning import LEAST_VALUES, may_turn, turning_point
from robustness.store.epoch_summaries import trial_starts

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from report.analysis import Analysis

NOISE = "gradient_sd"
NOTHING: NDArray[np.float64] = np.empty(0)
TURNS = (("train_auc", "down"), ("nll", "up"), (NOISE, "up"))
"""The measures, and the way in which each turns where training falls apart."""
WORDS = {
    "train_auc": ("training AUC", "turns down"),
    "nll": ("NLL term", "turns up"),
    NOISE: ("gradient noise", "rises"),
}


class TrialTurn(TypedDict):
    """Where a trial turned, as `robustness.statistics.turning.Turn` has it; `epoch` is None if it did not."""

    configuration: int
    replicate: int
    last_epoch: int
    epoch: float | None
    best: NotRequired[float]
    end: NotRequired[float]
    fall: NotRequired[float]
    p_value: NotRequired[float]


class MeasureTurns(TypedDict):
    """How many trials of an arm turned in a measure, and the median epoch."""

    way: str
    of: int
    turned: int
    epoch: float | None
    trials: list[TrialTurn]


class TurnsResults(TypedDict):
    """`turns` of the JSON."""

    arms: dict[str, dict[str, MeasureTurns]]
    sentences: list[str]
    alone: bool


def results(study: JudgedStudy) -> TurnsResults | None:
    """For each arm and measure the trials that turned and where; None where no gradient noise was measured long enough.

    The gradient's noise is examined by its logarithm, since it grows by factors.
    """
    frames = study.frames
    epochs = frames.trained(*(measure for measure, _ in TURNS))
    if NOISE not in epochs or epochs.empty:
        return None
    starts = trial_starts(epochs, KEY)
    measured = np.add.reduceat(epochs[NOISE].notna().to_numpy(dtype=np.int64), starts)
    if not (measured >= LEAST_VALUES).any():
        return None
    arms = {arm: _arm(epochs, starts, arm) for arm in frames.arms}
    sentences = [_sentence(arm, measures) for arm, measures in arms.items()]
    return {"arms": arms, "sentences": sentences, "alone": len(frames.configurations) == 1}


def _arm(epochs: pd.DataFrame, starts: NDArray[np.int64], arm: str) -> dict[str, MeasureTurns]:
    """The turns of an arm's trials; `starts` are the first rows of all trials."""
    measures: dict[str, MeasureTurns] = {}
    numbers = epochs["epoch"].to_numpy(dtype=np.int64)
    # Frames of single trials would take most of the time of a large report.
    first = epochs[KEY].iloc[starts]
    own = (first["arm"] == arm).to_numpy()
    keys = first.loc[own, ["configuration", "replicate"]].to_numpy()
    ends = np.append(starts[1:], len(epochs))
    spans = list(zip(starts[own].tolist(), ends[own].tolist(), strict=True))
    for measure, way in TURNS:
        values = epochs[measure].to_numpy(dtype=float) if measure in epochs else np.full(len(epochs), np.nan)
        if measure == NOISE:
            values = np.log(values, out=np.full(len(values), np.nan), where=values > 0)
        worth = _may_turn(values, spans, up=way == "up")
        trials = [
            _trial(key, numbers[start:end], values[start:end] if maybe else NOTHING, measure, up=way == "up")
            for key, (start, end), maybe in zip(keys, spans, worth, strict=True)
        ]
        places = [trial["epoch"] for trial in trials if trial["epoch"] is not None]
        measures[measure] = {
            "way": way,
            "of": len(trials),
            "turned": len(places),
            "epoch": float(np.median(places)) if places else None,
            "trials": trials,
        }
    return measures


def _may_turn(values: NDArray[np.float64], spans: Sequence[tuple[int, int]], up: bool) -> NDArray[np.bool_]:
    """Which of the trials, each a span of the values, is worth a closer look; trials of one length together."""
    lengths, worth = np.array([end - start for start, end in spans], dtype=np.int64), np.zeros(len(spans), dtype=bool)
    starts = np.array([start for start, _ in spans], dtype=np.int64)
    for length in np.unique(lengths):
        these = np.flatnonzero(lengths == length)
        worth[these] = may_turn(values[starts[these, None] + np.arange(length)], up)
    return worth


def _trial(
    key: NDArray[np.int64], epochs: NDArray[np.int64], values: NDArray[np.float64], measure: str, up: bool
) -> TrialTurn:
    """Where the trial with this configuration and replicate turned, from a measure at each of its epochs, if any."""
    turn = turning_point(epochs, values, up=up) if len(values) else None
    trial: TrialTurn = {
        "configuration": int(key[0]),
        "replicate": int(key[1]),
        "last_epoch": int(epochs.max()),
        "epoch": None if turn is None else turn.epoch,
    }
    if turn is not None:
        trial["best"], trial["end"] = turn.best, turn.end
        if measure == NOISE:
            trial["best"], trial["end"] = float(np.exp(turn.best)), float(np.exp(turn.end))
        trial["fall"], trial["p_value"] = turn.fall, turn.p_value
    return trial


def _sentence(arm: str, measures: Mapping[str, MeasureTurns]) -> str:
    turns = "; ".join(
        f"{WORDS[measure][0]} {_turned(measure, measures[measure])}" for measure, _ in TURNS if measures[measure]["of"]
    )
    return f"{arm}: {turns or 'no epoch has been recorded'}."


def _turned(measure: str, entry: MeasureTurns) -> str:
    verb = WORDS[measure][1]
    if not entry["turned"]:
        return {"turns down": "never turns down", "turns up": "never turns up", "rises": "never rises"}[verb]
    if entry["of"] > 1:
        return f"{verb} in {entry['turned']} of {entry['of']} trials, after epoch {entry['epoch']:g} in the median"
    trial = entry["trials"][0]
    return f"{verb} after epoch {entry['epoch']:g} ({trial['best']:.3g} to {trial['end']:.3g} at the end)"


KEYS = ["configuration", "replicate"]
MEASURES = (
    ("train_auc", "training AUC"),
    ("nll", "NLL term of the loss"),
    ("kl", "KL term of the loss"),
    ("cross_entropy", "cross-entropy to the prior"),
    ("gradient_sd", "standard deviation of the NLL's gradient"),
)
ACCURACY = "train_accuracy"


def sections(analysis: Analysis) -> Iterator[Section]:
    """Each measure by epoch as a band over all pairs, with one chosen pair as lines; none if nothing was measured."""
    turns: TurnsResults | None = analysis.results.get("turns")
    turned = turns["arms"] if turns else {}
    chosen = choose_pair(analysis)
    pictures, rows = [], []
    for measure, words, epochs in _available(analysis):
        bands = _bands(epochs, measure)
        lines = _lines(analysis, measure, chosen)
        marks = {
            arm: epoch
            for arm, measures in turned.items()
            if measure in measures and (epoch := measures[measure]["epoch"]) is not None
        }
        pictures.append(
            Picture(
                f"dynamics-{measure.replace('_', '-')}",
                words[0].upper() + words[1:],
                f"{words} by epoch for each arm: the median and the middle 80 % of all pairs as a band"
                + (f", configuration {chosen[0]} as a line." if chosen else ".")
                + "".join(f" {text(arm, 40)} turns after epoch {epoch:g}." for arm, epoch in marks.items()),
                partial(_draw, analysis, bands, lines, words, marks),
            )
        )
        for arm in analysis.arms.names:
            if arm in bands:
                middle = bands[arm][0.5]
                rows.append((text(arm, 60), words, number(float(middle.iloc[0])), number(float(middle.iloc[-1]))))
    if not pictures:
        return
    of = "all trials" if analysis.pairs.empty else "the trials of complete pairs"
    notes = [f"Bands hold the middle 80 % of {of}, dotted lines are their medians."]
    if chosen:
        values = ", ".join(f"{name} {number(value)}" for name, value in analysis.hyperparameters_of(chosen[0]).items())
        drawn = f" ({values})" if values else ""
        notes.append(f"Solid lines are configuration {chosen[0]}{drawn}, {_which_pair(analysis)}.")
    if turned:
        notes.append(
            "Dashed vertical lines in an arm's colour mark the last epoch before a measure leaves its best level for "
            "good: by at least five standard errors from its best running mean, and with a trend after it."
        )
    yield Section(
        "dynamics",
        "Training dynamics",
        " ".join((turns and turns["sentences"]) or [_reading(analysis)]),
        tuple(pictures),
        Numbers(("Arm", "Measure", "Median at its first epoch", "Median at its last"), tuple(rows)),
        tuple(notes),
    )


def _in_pairs(epochs: pd.DataFrame, pairs: pd.DataFrame) -> NDArray[np.bool_]:
    """Whether each row belongs to the configuration and replicate of a pair."""
    block = 1 + int(max(epochs["replicate"].max(), pairs["replicate"].max())) if len(epochs) else 1
    own, theirs = (
        frame["configuration"].to_numpy(dtype=np.int64) * block + frame["replicate"].to_numpy(dtype=np.int64)
        for frame in (epochs, pairs)
    )
    return np.isin(own, theirs)


def _which_pair(analysis: Analysis) -> str:
    """How `choose_pair` chooses."""
    pairs = analysis.pairs
    lasting = pairs.groupby(KEYS)["epochs"].min() > 1
    among = ", of those in which every arm ran for more than one epoch" if lasting.any() and not lasting.all() else ""
    apart = "whose arms differ most" if len(analysis.arms.names) == 2 else "whose best and worst arm differ most"
    return f"the pair {apart}{analysis.in_metric} at the {analysis.epoch} epoch{among}"


def choose_pair(analysis: Analysis) -> tuple[int, int] | None:
    """The configuration and replicate of the complete pair whose arms differ most in their score."""
    if analysis.pairs.empty or len(analysis.arms.names) < 2:
        return None
    pairs = analysis.pairs
    # A trial that diverged at once has no line to show.
    lasting = pairs.loc[pairs.groupby(KEYS)["epochs"].transform("min") > 1]
    scores = (pairs if lasting.empty else lasting).pivot_table(
        index=KEYS, columns="arm", values="score", aggfunc="first"
    )
    apart = (scores.max(axis=1) - scores.min(axis=1)).fillna(-1.0)
    configuration, replicate = apart.index[int(np.argmax(apart.to_numpy()))]
    return int(configuration), int(replicate)


def _available(analysis: Analysis) -> Iterator[tuple[str, str, pd.DataFrame]]:
    """The measures of `MEASURES` that were recorded, with training accuracy in place of a training AUC."""
    for name, words in MEASURES:
        epochs = _measured(analysis, name)
        if epochs.empty and name == "train_auc":
            name, words, epochs = ACCURACY, "training accuracy", _measured(analysis, ACCURACY)
        if not epochs.empty:
            yield name, words, epochs


def _measured(analysis: Analysis, measure: str, pair: tuple[int, int] | None = None) -> pd.DataFrame:
    """`arm`, `epoch` and a measure where it is finite: of one pair, of all pairs, or of all trials without any."""
    epochs = analysis.epochs
    if measure == "kl" and {"cross_entropy", "entropy"} <= set(epochs.columns):
        values = epochs["cross_entropy"] - epochs["entropy"]
    elif measure in epochs.columns:
        values = epochs[measure]
    else:
        return epochs.iloc[:0]
    kept = analysis.frames.is_trained & np.isfinite(values.to_numpy(dtype=float))
    if pair is not None:
        kept &= ((epochs["configuration"] == pair[0]) & (epochs["replicate"] == pair[1])).to_numpy()
    elif not analysis.pairs.empty:
        kept &= _in_pairs(epochs, analysis.pairs)
    measured: pd.DataFrame = epochs.loc[kept, ["arm", "epoch"]].assign(**{measure: values[kept]})
    return measured


def _bands(epochs: pd.DataFrame, measure: str) -> dict[str, pd.DataFrame]:
    """For each arm a frame by epoch with the 10, 50 and 90 % points."""
    arms = ((str(arm), epochs.loc[epochs["arm"] == arm, ["epoch", measure]]) for arm in epochs["arm"].unique())
    points = np.array([0.1, 0.5, 0.9])
    return {arm: own.groupby("epoch")[measure].quantile(points).unstack() for arm, own in arms}  # noqa: PD010


def _lines(analysis: Analysis, measure: str, chosen: tuple[int, int] | None) -> dict[str, NDArray[np.float64]]:
    if chosen is None:
        return {}
    own = _measured(analysis, measure, chosen)
    return {str(arm): group[["epoch", measure]].to_numpy() for arm, group in own.groupby("arm")}


def _draw(
    analysis: Analysis,
    bands: dict[str, pd.DataFrame],
    lines: dict[str, NDArray[np.float64]],
    words: str,
    marks: Mapping[str, float],
) -> Figure:
    figure, axes = panel()
    ends = {}
    lowest = min(float(frame[0.1].min()) for frame in bands.values())
    highest = max(float(frame[0.9].max()) for frame in bands.values())
    for arm in analysis.arms.names:
        if arm not in bands:
            continue
        frame, colour = bands[arm], analysis.arms.colour(arm)
        x = frame.index.to_numpy(dtype=float)
        axes.fill_between(x, frame[0.1], frame[0.9], color=colour, alpha=0.18, linewidth=0)
        mark = "o" if len(x) == 1 else None
        axes.plot(x, frame[0.5], color=colour, linewidth=1.2, linestyle=(0, (1.5, 1.5)), marker=mark, markersize=4)
        ends[arm] = (float(x[-1]), float(frame[0.5].iloc[-1]))
        if arm in lines and len(lines[arm]) > 1:
            axes.plot(*lines[arm].T, color=colour, linewidth=1.8, linestyle=analysis.arms.dash(arm))
            ends[arm] = (float(lines[arm][-1, 0]), float(lines[arm][-1, 1]))
    if lowest > 0 and highest > 30 * lowest:
        axes.set_yscale("log")
        plain_numbers(axes.yaxis)
    for arm, epoch in marks.items():
        axes.axvline(epoch, color=analysis.arms.colour(arm), linewidth=1.3, linestyle=(0, (6, 3)))
        axes.annotate(
            f"{epoch:g}",
            (epoch, 1.0),
            xycoords=("data", "axes fraction"),
            xytext=(0, 2),
            textcoords="offset points",
            ha="center",
            fontsize=9,
        )
    axes.margins(x=0.02)
    axes.set_xlabel("epoch")
    axes.set_ylabel(words if len(words) < 30 else "gradient's standard deviation")
    label_ends(axes, ends, analysis.arms)
    return figure


def _reading(analysis: Analysis) -> str:
    for measure, words, sentence in (
        ("gradient_sd", "standard deviation of the NLL's gradient", "Over all epochs the median {words} is {medians}."),
        ("train_auc", "training AUC", "At the last epoch the median {words} is {medians}."),
        ("nll", "NLL term", "At the last epoch the median {words} is {medians}."),
    ):
        finite = _measured(analysis, measure)
        if finite.empty:
            continue
        if measure != "gradient_sd":
            finite = finite.loc[finite["epoch"] == finite.groupby("arm")["epoch"].transform("max")]
        median = finite.groupby("arm")[measure].median()
        medians = ", ".join(f"{number(float(median[a]))} for {text(a, 40)}" for a in analysis.arms.names if a in median)
        if medians:
            return sentence.format(words=words, medians=medians)
    return "No measure of training has been recorded."
