"""From a source and the meaning of its columns to runs: numbered configurations, replicates, and epochs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from robustness.errors import RobustnessError, shown
from robustness.guards.limits import check
from robustness.guards.tables import plain
from robustness.importing.columns import STATUSES
from robustness.importing.options import ImportOptions
from robustness.importing.run_blocks import check_epochs, epochs_of, number_runs
from robustness.importing.runs import RUN, SourceTable
from robustness.importing.understanding import Understood
from robustness.importing.values import Levels, bounded, levels_of, numbers_in
from robustness.study.arms import check_label

KEY = ["task", "configuration", "arm", "replicate"]


@dataclass(frozen=True)
class Runs:
    """Runs as an imported study stores them."""

    frame: pd.DataFrame
    """One row for each run: task, configuration, arm, replicate, status, started, ended, seconds, last (the metric at
    the last epoch; NaN without one), last_epoch (0 without one)."""
    epochs: pd.DataFrame
    """`run` (a row of `frame`), `epoch`, the metric, and further measures; sorted by run and epoch."""
    configurations: Sequence[Mapping[str, Any]]
    levels: Mapping[str, NDArray[np.int64]]
    """The codes of each hyperparameter [configurations], -1 where a configuration has none."""
    metric: str
    goal: str
    source: str
    kind: str
    adaptive: bool | None
    """Whether configurations depended on earlier results; None until `proposing` has settled it."""
    assumed: bool = False
    """Whether `adaptive` is an assumption, because the source does not record it."""
    seeds: Sequence[Any] = ()
    """The seeds, where the source has them: those of the replicates, if configurations share seeds."""
    unknown_statuses: Mapping[str, int] = field(default_factory=dict)
    """How many runs have each status that is not known; they are judged by their metric."""
    remarks: Sequence[str] = ()
    """What was decided about runs without a result, in sentences."""

    @property
    def arms(self) -> list[str]:
        """The labels of the arms, in the order of their first runs."""
        return [str(arm) for arm in self.frame["arm"].unique()]

    @property
    def tasks(self) -> list[str]:
        return [str(task) for task in self.frame["task"].unique()]

    def of(self, chosen: NDArray[np.bool_]) -> Runs:
        """These runs alone, with all configurations."""
        places = np.cumsum(chosen) - 1
        epochs = self.epochs[chosen[self.epochs["run"].to_numpy()]]
        epochs = epochs.assign(run=places[epochs["run"].to_numpy()])
        return replace(self, frame=self.frame[chosen].reset_index(drop=True), epochs=epochs.reset_index(drop=True))


def assemble(table: SourceTable, understood: Understood, options: ImportOptions) -> Runs:
    """The runs of a source; raises RobustnessError with one line if they cannot be told apart."""
    first, epochs = _split(table, understood, options)
    check("trials", len(first), table.source, RobustnessError)
    arms = _labels(first, understood.arm, table, "arm")
    tasks = _labels(first, understood.task, table, "task")
    levels = {
        name: levels_of(first[column], options.digits, f"{table.source}: {column}")
        for name, column in understood.hyperparameters.items()
    }
    configuration, distinct = _configurations(levels, len(first))
    replicate, seeds = _replicates(first, understood.seed, configuration, arms, tasks, table, options)
    statuses, unknown = _statuses(first, understood.status)
    frame = pd.DataFrame(
        {
            "task": tasks,
            "configuration": configuration,
            "arm": arms,
            "replicate": replicate,
            "status": statuses,
            "started": _times(first, understood.started),
            "ended": _times(first, understood.ended),
            "seconds": _seconds(first, understood),
        }
    )
    runs = Runs(
        frame=_with_last(frame, epochs, understood.metric),
        epochs=epochs,
        configurations=[
            {name: level.distinct[level.codes[place]] for name, level in levels.items() if level.codes[place] >= 0}
            for place in distinct
        ],
        levels={name: level.codes[distinct] for name, level in levels.items()},
        metric=understood.metric,
        goal=understood.goal,
        source=table.source,
        kind=table.kind,
        adaptive=table.adaptive,
        seeds=seeds,
        unknown_statuses=unknown,
    )
    _check_unique(runs, table, options)
    return runs


def with_real_replicates(runs: Runs) -> Runs:
    """The runs with replicates that configurations share: seeds that do not recur become places in a configuration.

    Runs that each have a seed of their own, one run for each configuration and arm, are no replicates.
    """
    frame = runs.frame
    by_configuration = frame.groupby(["task", "configuration"])["replicate"]
    if not runs.seeds or by_configuration.nunique().max() == len(runs.seeds):
        return runs
    if frame.duplicated(["task", "configuration", "arm"]).any():
        return replace(runs, frame=frame.assign(replicate=(by_configuration.rank(method="dense") - 1).astype(np.int64)))
    return replace(runs, frame=frame.assign(replicate=0))


def _split(table: SourceTable, understood: Understood, options: ImportOptions) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The first row of each run, and the epochs of all runs."""
    frame, metric = table.frame, understood.metric
    if table.epochs is not None:
        epochs = table.epochs[metric].rename(columns={RUN: "run", "value": metric})
        for name in table.further:
            if name != metric and name in table.epochs:
                other = table.epochs[name].rename(columns={RUN: "run", "value": name})
                epochs = epochs.merge(other, on=["run", "epoch"], how="outer")
        measures = [name for name in epochs.columns if name not in ("run", "epoch")]
        epochs = epochs.assign(**{name: bounded(epochs[name].to_numpy(dtype=float)) for name in measures})
        return frame, epochs.sort_values(["run", "epoch"], kind="stable").reset_index(drop=True)
    values, present = _numbers(frame, str(understood.metric_column), table.source)
    values = bounded(values)
    if understood.epoch is None:
        numbers = np.ones(len(frame), dtype=np.int64)
        if understood.last_epoch is not None:
            ends = pd.to_numeric(frame[understood.last_epoch], errors="coerce").fillna(1).clip(1, 2**31 - 1)
            numbers = ends.to_numpy(dtype=np.int64)
        rows = pd.DataFrame({"run": np.arange(len(frame)), "epoch": numbers, metric: values})
        return frame, rows[present].reset_index(drop=True)
    keys = [understood.arm, understood.task, understood.run, understood.seed, *understood.hyperparameters.values()]
    runs = number_runs(frame, [name for name in keys if name is not None])
    numbers = epochs_of(frame[understood.epoch], table.source)
    check_epochs(runs, numbers, table.source, options)
    first = frame.loc[~pd.Series(runs).duplicated().to_numpy()].reset_index(drop=True)
    if understood.status is not None:
        # The status of a run is that of its last row.
        last = ~pd.Series(runs).duplicated(keep="last").to_numpy()
        statuses = frame.loc[last, understood.status].to_numpy()[np.argsort(runs[last])]
        first = first.assign(**{understood.status: statuses})
    rows = pd.DataFrame({"run": runs, "epoch": numbers, metric: values})
    return first, rows.sort_values(["run", "epoch"], kind="stable").reset_index(drop=True)


def _numbers(frame: pd.DataFrame, column: str, source: str) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """The metric in a column [n], and whether there is one; raises RobustnessError for text."""
    cells = frame[column]
    if pd.api.types.is_numeric_dtype(cells):
        numbers = cells.to_numpy(dtype=float, na_value=np.nan)
        return numbers, ~np.isnan(numbers)
    text = cells.astype(object).where(cells.notna(), "").astype(str).str.strip()
    numbers = numbers_in(text)
    present = (text != "").to_numpy() & ~text.str.lower().isin(["none", "null", "<na>"]).to_numpy()
    bad = present & np.isnan(numbers) & (text.str.lower().str.lstrip("+-") != "nan").to_numpy()
    if bad.any():
        place = int(np.argmax(bad))
        raise RobustnessError(f"{source}, line {place + 2}: {column}: {shown(text.iloc[place])} is not a number")
    return numbers, present


def _labels(first: pd.DataFrame, column: str | None, table: SourceTable, what: str) -> list[str]:
    """The arm or task of each run."""
    if column is None:
        return [table.name if what == "arm" else ""] * len(first)
    codes, distinct = pd.factorize(first[column].astype(object).where(first[column].notna(), ""))
    labels = [plain(str(label)).strip() for label in distinct]
    for code, label in enumerate(labels):
        place = f"{table.source}, line {int(np.argmax(codes == code)) + 2}" if table.kind == "csv" else table.source
        if not label:
            raise RobustnessError(f"{place}: column {shown(column)} is empty, so the run has no {what}")
        check_label(label, f"{place}: the {what}")
    return [labels[code] for code in codes]


def _configurations(levels: Mapping[str, Levels], count: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The configuration of each run [n], in the order of their first runs, and the first run of each."""
    combined = np.zeros(count, dtype=np.int64)
    for level in levels.values():
        combined = pd.factorize(combined * (len(level.distinct) + 1) + level.codes + 1)[0].astype(np.int64)
    return combined, np.flatnonzero(~pd.Series(combined).duplicated().to_numpy())


def _replicates(
    first: pd.DataFrame,
    seed: str | None,
    configuration: NDArray[np.int64],
    arms: Sequence[str],
    tasks: Sequence[str],
    table: SourceTable,
    options: ImportOptions,
) -> tuple[NDArray[np.int64], list[Any]]:
    """The replicate of each run: the place of its seed among all seeds, or its number among equal runs."""
    if seed is not None:
        level = levels_of(first[seed], options.digits, f"{table.source}: {seed}")
        if (level.codes >= 0).all():
            order = sorted(range(len(level.distinct)), key=lambda code: _sort_key(level.distinct[code]))
            places = np.empty(len(order), dtype=np.int64)
            places[order] = np.arange(len(order))
            replicates: NDArray[np.int64] = places[level.codes]
            return replicates, [level.distinct[code] for code in order]
        if (level.codes >= 0).any():
            place = int(np.argmax(level.codes < 0))
            raise RobustnessError(f"{table.source}, line {place + 2}: column {shown(seed)} is empty")
    keys = pd.DataFrame({"configuration": configuration, "arm": arms, "task": tasks})
    counted: NDArray[np.int64] = np.asarray(keys.groupby(list(keys.columns), sort=False).cumcount(), dtype=np.int64)
    return counted, []


def _sort_key(value: Any) -> tuple[int, Any]:
    return (0, value) if isinstance(value, int | float) else (1, str(value))


def _statuses(first: pd.DataFrame, column: str | None) -> tuple[list[str], dict[str, int]]:
    """The status of each run, and how many runs have each status that is not known."""
    if column is None:
        return ["finished"] * len(first), {}
    text = first[column].astype(object).where(first[column].notna(), "").astype(str)
    text = text.str.strip().str.lower().str.replace("trialstate.", "", regex=False)
    unknown = {str(status): int(count) for status, count in text.value_counts().items() if status not in STATUSES}
    return [STATUSES.get(status) or "finished" for status in text], unknown


def _times(first: pd.DataFrame, column: str | None) -> NDArray[np.float64]:
    """Times as seconds since 1970; NaN where there is none or it cannot be read."""
    if column is None:
        return np.full(len(first), np.nan)
    cells = first[column]
    numbers = numbers_in(cells)
    if np.isfinite(numbers).any():
        return numbers
    moments = pd.to_datetime(cells, errors="coerce", utc=True, format="ISO8601")
    seconds = (moments - pd.Timestamp(0, tz="UTC")).dt.total_seconds()
    return np.asarray(seconds.to_numpy(dtype=float, na_value=np.nan), dtype=np.float64)


def _seconds(first: pd.DataFrame, understood: Understood) -> NDArray[np.float64]:
    """The duration of each run; NaN where it is not known."""
    if understood.seconds is not None:
        seconds = numbers_in(first[understood.seconds])
    else:
        seconds = _times(first, understood.ended) - _times(first, understood.started)
    return np.where(np.isfinite(seconds) & (seconds >= 0), seconds, np.nan)


def _with_last(frame: pd.DataFrame, epochs: pd.DataFrame, metric: str) -> pd.DataFrame:
    """The frame with the metric at the last epoch of each run."""
    ends = epochs.loc[~epochs["run"].duplicated(keep="last"), ["run", "epoch", metric]].set_index("run")
    return frame.assign(
        last=ends[metric].reindex(frame.index).to_numpy(dtype=float),
        last_epoch=ends["epoch"].reindex(frame.index).fillna(0).to_numpy(dtype=np.int64),
    )


def _check_unique(runs: Runs, table: SourceTable, options: ImportOptions) -> None:
    repeated = runs.frame.duplicated(KEY)
    if repeated.any():
        place = int(np.argmax(repeated.to_numpy()))
        row = runs.frame.iloc[place]
        raise RobustnessError(
            f"{table.source}, run {place + 1}: {row['arm']!r} already has a run with this configuration and seed; "
            f"if a row is an epoch, name its column with {options.named('epoch', 'COLUMN')}"
        )
