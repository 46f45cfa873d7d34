"""A configuration is the mean over its tasks, however many seeds it has on each of them."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from report.comparison import by_configuration, side_by_side
from report.frames import TASK_BLOCK


def test_a_task_with_more_seeds_weighs_no_more() -> None:
    rng = np.random.default_rng(0)
    seeds = {(0, 0): 10, (0, 1): 1, (1, 0): 1, (1, 1): 3, (2, 0): 2}  # by configuration and task
    scores = {place: rng.random(count) for place, count in seeds.items()}
    judged = pd.DataFrame(
        [
            (configuration, task * TASK_BLOCK + seed, "adam", True, score)
            for (configuration, task), own in scores.items()
            for seed, score in enumerate(own)
        ],
        columns=["configuration", "replicate", "arm", "counted", "score"],
    ).sample(frac=1, random_state=0, ignore_index=True)

    means = by_configuration(side_by_side(judged, judged["score"], ["adam"]))["adam"]

    for configuration in range(3):
        of_tasks = [own.mean() for (owner, _), own in scores.items() if owner == configuration]
        assert means[configuration] == pytest.approx(np.mean(of_tasks), rel=1e-12)


def test_with_one_task_all_seeds_weigh_alike() -> None:
    pairs = pd.DataFrame(
        {"adam": [0.1, 0.2, 0.6, 0.5]},
        index=pd.MultiIndex.from_tuples([(0, 0), (0, 1), (0, 2), (1, 0)], names=["configuration", "replicate"]),
    )
    assert by_configuration(pairs)["adam"].tolist() == pytest.approx([0.3, 0.5])
