"""Fractions of each arm and paired comparisons of arms, from the frame of judged trials to plain values.

The unit is the configuration. A fraction gets Wilson's interval, a difference of fractions Tango's with the score test
that it inverts; replicates count as many trials as they are worth (`robustness.statistics.clusters`). A mean difference
of scores gets Student's interval and test, widened for skewness. Over several tasks, fractions are compared by the
Mantel-Haenszel test, and scores in standard deviations of their task (`robustness.statistics.tasks`). Arms that share
no configurations are compared as independent samples (`robustness.statistics.independent`). Whatever the test, the
interval leaves out 0 exactly when `p_value` is below 0.05; neither is adjusted for other comparisons.
"""

from report.comparison.direction import favoured, second_minus_first, turned
from report.comparison.fractions import (
    at_threshold,
    compare,
    compare_pairs,
    comparisons,
    fraction,
    fraction_entry,
    independent_table,
    outcome_counts,
    paired_comparison,
)
from report.comparison.pairs import Sample, by_configuration, by_task, has_outcome, normalised, side_by_side, task_units
from report.comparison.scores import independent_scores, mean_score, score_comparison, score_comparisons, score_pairs

__all__ = [
    "Sample",
    "at_threshold",
    "by_configuration",
    "by_task",
    "compare",
    "compare_pairs",
    "comparisons",
    "favoured",
    "fraction",
    "fraction_entry",
    "has_outcome",
    "independent_scores",
    "independent_table",
    "mean_score",
    "normalised",
    "outcome_counts",
    "paired_comparison",
    "score_comparison",
    "score_comparisons",
    "score_pairs",
    "second_minus_first",
    "side_by_side",
    "task_units",
    "turned",
]
