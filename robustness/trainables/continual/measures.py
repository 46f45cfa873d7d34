"""Measures of continual learning: accuracy on every task so far, and forgetting, after each task."""

from __future__ import annotations

from collections.abc import Mapping, Sequence


def accuracy_measures(
    validation: Sequence[float], test: Sequence[float], before: Sequence[Mapping[str, float]]
) -> dict[str, float]:
    """Return the measures after a task, from the accuracies on all tasks so far and the earlier measures.

    With a[k][j] the test accuracy on task j after task k (Chaudhry et al. 2018), after task k:

        validation_accuracy, test_accuracy    the means over tasks 1 to k
        test_accuracy_when_learned            the mean over j <= k of a[j][j]
        forgetting                            the mean over j < k of max_{j <= l < k} a[l][j] - a[k][j]
    """
    after = len(test)
    measures = {
        "validation_accuracy": _mean(validation),
        "test_accuracy": _mean(test),
        **{f"validation_accuracy_task_{task}": value for task, value in enumerate(validation, start=1)},
        **{f"test_accuracy_task_{task}": value for task, value in enumerate(test, start=1)},
    }
    when_learned = [before[task - 1][f"test_accuracy_task_{task}"] for task in range(1, after)]
    measures["test_accuracy_when_learned"] = _mean([*when_learned, test[-1]])
    if after > 1:
        best = [
            max(earlier[f"test_accuracy_task_{task}"] for earlier in before[task - 1 : after - 1])
            for task in range(1, after)
        ]
        measures["forgetting"] = _mean([earlier - now for earlier, now in zip(best, test, strict=False)])
    return measures


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)
