"""Pruning: stop runs of a search that are worse than earlier ones, by Optuna's median rule.

After epoch e, counted from 1, a run is pruned if its best score so far is worse than the median of the scores of
finished runs at epoch e. No run is pruned in the first `warmup_epochs`, nor before `startup_runs` runs have finished.

A run is compared only with finished runs of its arm that were proposed before it. With one worker the same runs are
therefore pruned every time, even after a kill; with several it depends on which runs have finished by then.

A pruned run never wins: its best score is worse than the score of some finished run at that epoch, and the best
score of that run is at least as good.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import median

from robustness.goal import MAXIMIZE, Goal
from robustness.study.sections import Pruning


def unreached_median(
    terms: Pruning, scores: Mapping[int, float], finished: Sequence[Mapping[int, float]], goal: Goal = MAXIMIZE
) -> float | None:
    """The median that a run fails to reach after its newest epoch, so that it is pruned; None to continue.

    `scores` and each of `finished` map epochs after pre-training to scores.
    """
    epoch = max(scores, default=0)
    if epoch <= terms.warmup_epochs or len(finished) < terms.startup_runs:
        return None
    others = [run[epoch] for run in finished if epoch in run]
    if not others:
        return None
    threshold = median(others)
    return threshold if goal.better(threshold, goal.best(scores.values())) else None
