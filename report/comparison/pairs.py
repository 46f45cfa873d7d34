"""How configurations were drawn, and the values of trials side by side: a row a pair, a column an arm."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pandas as pd

from report.frames import TASK_BLOCK, StudyFrames
from report.watched import Watch
from robustness.errors import RobustnessError
from robustness.space.samplers import SAMPLERS
from robustness.space.space import read_space
from robustness.statistics.tasks import Pairs


@dataclass(frozen=True)
class Sample:
    """How configurations were drawn."""

    replicated: bool
    population: int | None
    """The size of the space, if configurations were drawn from it without repeats; None if it is infinite.

    A fact about the space: intervals do not depend on it, since another seed could change every outcome.
    """
    watch: Watch | None = None
    """How a sweep with `stop` was watched, which replaces every interval and test below; None without `stop`."""
    tasks: int = 1
    """How many tasks there are, which are the strata of a comparison."""
    paired: bool = True
    """Whether arms share their configurations; else they are independent samples."""
    whole: pd.DataFrame | None = field(default=None, compare=False)
    """The judged trials of the whole study, if these are a restriction of it: the unit of scores stays theirs."""

    @staticmethod
    def of(frames: StudyFrames) -> Sample:
        """How a study's configurations were drawn."""
        sampling = frames.document["sampling"]
        population = None
        sampler = SAMPLERS.get(sampling.get("strategy", "random"))
        if sampler is None or sampler.without_replacement:
            try:
                population = read_space(frames.document["space"], "space").allowed() if not frames.owners else None
            except (RobustnessError, KeyError):
                # Imported runs come without a search space.
                population = None
        tasks = max(1, len(frames.tasks))
        return Sample(frames.replicates * tasks > 1, population, Watch.of(frames), tasks, frames.paired)


def side_by_side(judged: pd.DataFrame, values: pd.Series[Any], arms: list[str]) -> pd.DataFrame:
    """Values of trials as a frame [pairs, arms], indexed by configuration and replicate: complete pairs only.

    `values` has the index of `judged`.
    """
    counted = judged["counted"] & judged["arm"].isin(arms)
    rows = judged.loc[counted, ["configuration", "replicate", "arm"]].assign(value=values[counted].astype("float64"))
    wide = rows.set_index(["configuration", "replicate", "arm"])["value"].unstack("arm")  # noqa: PD010
    return wide.reindex(columns=arms).dropna().sort_index()


def by_configuration(pairs: pd.DataFrame) -> pd.DataFrame:
    """The mean of each configuration [configurations, arms]: over tasks, on each of them over replicates."""
    configurations = pairs.index.get_level_values("configuration")
    tasks = pairs.index.get_level_values("replicate") // TASK_BLOCK
    if tasks.any():
        pairs = pairs.groupby([configurations, tasks], sort=True).mean()
    return pairs.groupby(level="configuration", sort=True).mean()


def by_task(pairs: pd.DataFrame) -> list[Pairs]:
    """Pairs [pairs, 2] as those of each task that has any."""
    places = pairs.index.get_level_values("replicate") // TASK_BLOCK
    parts = [pairs[places == place] for place in sorted(set(places))]
    return [
        Pairs(
            part.iloc[:, 0].to_numpy(dtype=float),
            part.iloc[:, 1].to_numpy(dtype=float),
            part.index.get_level_values("configuration").to_numpy(),
        )
        for part in parts
    ]


def has_outcome(judged: pd.DataFrame, outcome: str, summary: str) -> pd.Series[Any]:
    """1 where a trial has the outcome, else 0."""
    return (judged[f"outcome_{summary}"] == outcome).fillna(False).astype("float64")


def task_units(judged: pd.DataFrame, values: pd.Series[Any]) -> pd.DataFrame:
    """The `centre` and the `scale` of the scores on each task, by its place: their mean and standard deviation.

    Each configuration of each arm counts once, by the mean of its trials that count: extra seeds of a few
    configurations, which means leave out, must not weigh more in the unit of these means.
    """
    places = (judged["replicate"] // TASK_BLOCK).rename("place")
    known = values.where(judged["counted"]).astype("float64")
    on_task = known.groupby([judged["configuration"], judged["arm"], places]).mean().groupby(level="place")
    scale = on_task.std(ddof=1)
    return pd.DataFrame({"centre": on_task.mean(), "scale": scale.where(scale > 0, 1.0)})


def normalised(judged: pd.DataFrame, values: pd.Series[Any], whole: pd.DataFrame | None = None) -> pd.Series[Any]:
    """Scores in standard deviations of their task (`task_units`), so that tasks can be averaged.

    Of a restriction, the units are those of the column of the same name in the `whole` study.
    """
    units = task_units(judged, values) if whole is None else task_units(whole, whole[values.name])
    tasks = judged["replicate"] // TASK_BLOCK
    return (values - tasks.map(units["centre"])) / tasks.map(units["scale"])
