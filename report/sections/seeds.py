"""Another seed: shares of the variance with intervals, and which random stream the seed's share comes from."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, TypedDict

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from report.document import Numbers, Section
from report.judged_study import JudgedStudy
from report.records.estimates import Ends
from report.watched import NO_BANDS
from report.words import bracketed, exact_percent, spaced, text
from robustness.statistics.variance_shares import (
    Share,
    crossed_shares,
    hyperparameter_share,
    share_beside_streams,
    stream_shares,
)

if TYPE_CHECKING:
    from report.analysis import Analysis


class VarianceShare(Ends):
    """A share of the variance of an arm's scores."""

    share: float | None


class ArmSeeds(TypedDict):
    """Shares of the variance and, of the seed's, the share of each stream that was varied alone."""

    configurations: int
    shares: dict[str, VarianceShare]
    """Of `hyperparameters` and, in a study with tasks, of the `task`, its `interaction` with them and the `seed`."""
    streams: dict[str, VarianceShare]
    largest: str | None
    """The stream whose interval lies above those of all others; none in a watched sweep, which has no intervals."""


def results(study: JudgedStudy) -> dict[str, ArmSeeds] | None:
    """For each arm the shares; None without replicates."""
    frames = study.frames
    sampling = frames.document["sampling"]
    arms: dict[str, ArmSeeds] = {}
    for arm in frames.arms:
        streams: dict[str, Share] = {}
        if sampling.get("vary"):
            table = _scores(study, arm)
            configurations = len(table)
            varied = _by_stream(table, sampling["vary"], int(sampling["replicates"]))
            beside = share_beside_streams(varied) if configurations else None
            shares = {} if beside is None else {"hyperparameters": beside}
            # A single stream has no others to be compared with.
            streams = stream_shares(varied) if configurations and len(varied) > 1 else {}
        else:
            groups = study.paired_scores[arm]
            configurations, shares = len(groups), _shares(study, arm, groups)
        if not shares and not streams:
            continue
        arms[arm] = {
            "configurations": configurations,
            "shares": {name: _entry(each) for name, each in shares.items()},
            "streams": {name: _entry(each) for name, each in streams.items()},
            "largest": _largest(streams) if study.sample.watch is None else None,
        }
    return arms or None


def _shares(study: JudgedStudy, arm: str, groups: list[NDArray[np.float64]]) -> dict[str, Share]:
    """The shares of an arm; none where nothing can be told apart."""
    tasks = len(study.frames.tasks)
    if tasks < 2:
        share = hyperparameter_share(groups)
        return {} if share is None else {"hyperparameters": share}
    own = study.planned[(study.planned["arm"] == arm) & study.planned["counted"]]
    wide = own.set_index(["configuration", "replicate"])[f"score_{study.frames.rule}"].unstack("replicate")  # noqa: PD010
    complete = wide.sort_index(axis=1).dropna().to_numpy(dtype=float)
    if len(complete) < 2 or complete.shape[1] % tasks:
        return {}
    found = crossed_shares(complete.reshape(len(complete), tasks, -1))
    return {} if any(math.isnan(share.value) for share in found.values()) else found


def _scores(study: JudgedStudy, arm: str) -> pd.DataFrame:
    """Scores [configurations, trials] of those configurations that have all of them."""
    own = study.trials[(study.trials["arm"] == arm) & study.trials["counted"]]
    wide = own.set_index(["configuration", "replicate"])[f"score_{study.frames.rule}"].unstack("replicate")  # noqa: PD010
    return wide.dropna().astype(float)


def _by_stream(table: pd.DataFrame, vary: list[str], replicates: int) -> dict[str, NDArray[np.float64]]:
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
        rows += [(text(arm, 60), f"{spaced(name)}, of all", _cell(each)) for name, each in entry["shares"].items()]
        rows += [
            (text(arm, 60), f"{spaced(name)}, of the seed", _cell(each)) for name, each in entry["streams"].items()
        ]
        if entry["streams"]:
            largest = entry["largest"]
            clauses.append(f"{text(arm, 60)}: {'undecided' if largest is None else spaced(largest)}")
        else:
            listed = ", ".join(f"{spaced(name)} {_cell(each)}" for name, each in entry["shares"].items())
            clauses.append(f"{text(arm, 60)}: {listed}")
    streams = any(entry["streams"] for entry in found.values())
    reading = (
        f"The random stream that matters most, each varied alone: {'; '.join(clauses)}."
        if streams
        else f"Shares of the variance of scores: {'; '.join(clauses)}."
    )
    notes = []
    varied = analysis.study.frames.document["sampling"].get("vary")
    if varied:
        listed = ", ".join(spaced(name) for name in varied)
        notes.append(
            f"Each of these streams was varied alone around the first replicate, with the others held: {listed}. "
            "Shares do not include how streams act together, and what streams that were not varied change counts as "
            "hyperparameters."
        )
    if analysis.study.sample.watch is not None:
        notes.append(NO_BANDS)
    columns = ("Arm", "Part", "Share of the variance [95 %]")
    yield Section("seeds", "With other seeds", reading, (), Numbers(columns, tuple(rows)), tuple(notes))


def _cell(entry: VarianceShare) -> str:
    return bracketed(entry["share"], entry["low"], entry["high"], exact_percent)
