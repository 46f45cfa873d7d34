"""Another seed: shares of the variance with intervals, and which random stream the seed's share comes from."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, TypedDict

import numpy as np
import pandas as pd

from report.document import Numbers, Section
from report.judged_study import JudgedStudy
from report.records.estimates import Ends
from report.words import bracketed, exact_percent, spaced, text
from robustness.statistics.variance_shares import Share, hyperparameter_share, stream_shares

if TYPE_CHECKING:
    from report.analysis import Analysis


class VarianceShare(Ends):
    """A share of the variance of an arm's scores."""

    share: float | None


class ArmSeeds(TypedDict):
    """The share of the hyperparameters and, of what is left, that of each stream that was varied alone."""

    configurations: int
    hyperparameters: VarianceShare | None
    streams: dict[str, VarianceShare]
    largest: str | None
    """The stream whose interval lies above those of all others."""


def results(study: JudgedStudy) -> dict[str, ArmSeeds] | None:
    """For each arm the shares; None without replicates, and for a watched sweep."""
    frames = study.frames
    if study.sample.watch is not None:
        return None
    sampling = frames.document["sampling"]
    arms: dict[str, ArmSeeds] = {}
    for arm in frames.arms:
        streams = {}
        groups = study.paired_scores(arm)
        if sampling.get("vary"):
            table = _scores(study, arm)
            streams = (
                stream_shares(_by_stream(table, sampling["vary"], int(sampling["replicates"]))) if len(table) else {}
            )
            groups = list(table.to_numpy(dtype=float))
        share = hyperparameter_share(groups)
        if share is None and not streams:
            continue
        arms[arm] = {
            "configurations": len(groups),
            "hyperparameters": None if share is None else _entry(share),
            "streams": {name: _entry(each) for name, each in streams.items()},
            "largest": _largest(streams),
        }
    return arms or None


def _scores(study: JudgedStudy, arm: str) -> pd.DataFrame:
    """Scores [configurations, trials] of those configurations that have all of them."""
    own = study.trials[(study.trials["arm"] == arm) & study.trials["counted"]]
    wide = own.set_index(["configuration", "replicate"])[f"score_{study.frames.rule}"].unstack("replicate")  # noqa: PD010
    return wide.dropna().astype(float)


def _by_stream(table: pd.DataFrame, vary: list[str], replicates: int) -> dict[str, np.ndarray]:
    """Scores [configurations, replicates] of each stream; the first column is the trial that they share."""
    values = table.to_numpy(dtype=float)
    each = replicates - 1
    return {
        name: np.concatenate([values[:, :1], values[:, 1 + place * each : 1 + (place + 1) * each]], axis=1)
        for place, name in enumerate(vary)
    }


def _entry(share: Share) -> VarianceShare:
    return {
        "share": share.value,
        "low": share.interval.low,
        "high": share.interval.high,
        "interval": share.interval.method,
    }


def _largest(streams: dict[str, Share]) -> str | None:
    for name, share in streams.items():
        others = [other for key, other in streams.items() if key != name]
        if share.value > 0 and all(share.interval.low > other.interval.high for other in others):
            return name
    return None


def sections(analysis: Analysis) -> Iterator[Section]:
    """The shares of each arm; none without replicates."""
    found = analysis.results["seeds"]
    if not found:
        return
    rows, clauses = [], []
    for arm, entry in found.items():
        own = entry["hyperparameters"]
        if own is not None:
            rows.append((text(arm, 60), "hyperparameters, of all", _cell(own)))
        rows += [
            (text(arm, 60), f"{spaced(name)}, of the seed", _cell(each)) for name, each in entry["streams"].items()
        ]
        if entry["streams"]:
            largest = entry["largest"]
            clauses.append(f"{text(arm, 60)}: {'undecided' if largest is None else spaced(largest)}")
        elif own is not None:
            clauses.append(f"{text(arm, 60)}: {_cell(own)} hyperparameters")
    streams = any(entry["streams"] for entry in found.values())
    reading = (
        f"The random stream that matters most, each varied alone: {'; '.join(clauses)}."
        if streams
        else f"Share of the variance of scores, the rest being the seed's: {'; '.join(clauses)}."
    )
    notes = (
        "Each stream was varied alone around the first replicate, with the others held, so their shares do not include "
        "how streams act together.",
    )
    columns = ("Arm", "Part", "Share of the variance [95 %]")
    yield Section("seeds", "With other seeds", reading, (), Numbers(columns, tuple(rows)), notes if streams else ())


def _cell(entry: VarianceShare) -> str:
    return bracketed(entry["share"], entry["low"], entry["high"], exact_percent)
