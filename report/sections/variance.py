"""How much of the spread of scores is due to the hyperparameters, and how much to the seed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, TypedDict

from report.document import Numbers, Section
from report.judged_study import JudgedStudy
from report.words import DASH, exact_percent, score, text
from robustness.statistics.variance import variance_parts

if TYPE_CHECKING:
    from report.analysis import Analysis


class VarianceShares(TypedDict):
    """The variance of an arm's scores between configurations and between seeds, and the former's share."""

    hyperparameters: float | None
    seed: float | None
    share: float | None


def results(study: JudgedStudy) -> dict[str, VarianceShares] | None:
    """For each arm the variance between configurations and between seeds; None without replicates."""
    if study.frames.tasks:
        # With several tasks, `tasks` has the variance between them, too.
        return None
    parts = {arm: variance_parts(study.paired_scores[arm]) for arm in study.frames.arms}
    arms: dict[str, VarianceShares] = {
        arm: {"hyperparameters": part.hyperparameters, "seed": part.seed, "share": part.share}
        for arm, part in parts.items()
        if part is not None
    }
    return arms or None


def sections(analysis: Analysis) -> Iterator[Section]:
    """Standard deviations by hyperparameters and by seed; none without replicates."""
    variance = analysis.results["variance"]
    if not variance:
        return
    rows = tuple(
        (text(arm, 60), _deviation(entry["hyperparameters"]), _deviation(entry["seed"]), _share(entry["share"]))
        for arm, entry in variance.items()
    )
    shares = ", ".join(f"{_share(entry['share'])} for {text(arm, 60)}" for arm, entry in variance.items())
    reading = f"Of the variance of scores the hyperparameters make up {shares}; the rest is the seed's."
    columns = ("Arm", "Standard deviation by hyperparameters", "By seed", "Share of the hyperparameters")
    yield Section("variance", "Hyperparameters or chance", reading, (), Numbers(columns, rows))


def _deviation(variance: float | None) -> str:
    return score(None if variance is None else max(variance, 0.0) ** 0.5)


def _share(share: float | None) -> str:
    return DASH if share is None else exact_percent(share)
