"""Pruning: a run of a search that is behind the runs before it is ended early (Optuna's median rule).

After epoch e, counted from 1, a run is ended if its best score so far is below the median of the scores that finished
runs had at epoch e. No run is ended in the first `warmup_epochs`, nor before `startup_runs` runs have finished.

A run is held against finished runs of its arm that were proposed before it and no others, so with one worker the same
runs are pruned each time, also after a kill; with several it depends on which of them have finished by then.

A pruned run is never the winner: its best is below the median at some epoch, so below what a finished run had there,
and that run's own score is at least as high.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import median

from robustness.study.sections import Pruning


def unreached_median(
    terms: Pruning, scores: Mapping[int, float], finished: Sequence[Mapping[int, float]]
) -> float | None:
    """The median for which a run is ended after its newest epoch; None lets it go on.

    `scores` and each of `finished` give the score of every epoch that counts, pre-training left out.
    """
    epoch = max(scores, default=0)
    if epoch <= terms.warmup_epochs or len(finished) < terms.startup_runs:
        return None
    there = [of_run[epoch] for of_run in finished if epoch in of_run]
    if not there:
        return None
    middle = median(there)
    return middle if max(scores.values()) < middle else None
