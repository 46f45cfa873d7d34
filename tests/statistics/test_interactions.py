from __future__ import annotations

import numpy as np

from robustness.statistics.interactions import arm_interactions, pair_interactions


def test_an_interaction_is_found_under_separation() -> None:
    rho = np.repeat(np.arange(4), 10)
    batch = np.tile(np.arange(5), 8)
    differences = (rho >= 2).astype(float)
    found = arm_interactions(differences, {"rho": rho, "batch": batch}, {}).of
    assert found["rho"].p_adjusted < 0.01
    assert found["rho"].explained > 0.9
    assert found["batch"].p_adjusted > 0.5


def test_a_difference_that_is_the_same_everywhere_is_no_interaction() -> None:
    levels = {"rho": np.repeat(np.arange(4), 10)}
    assert arm_interactions(np.ones(40), levels, {}).why_not is not None


def test_effects_that_add_up_do_not_interact_and_those_that_multiply_do() -> None:
    rng = np.random.default_rng(0)
    first, second = rng.integers(3, size=90), rng.integers(3, size=90)
    noise = 0.2 * rng.normal(size=90)
    added = pair_interactions(first + second + noise, {"a": first, "b": second})
    multiplied = pair_interactions(first * second + noise, {"a": first, "b": second})
    assert added[0].p_value > 0.05
    assert multiplied[0].p_adjusted < 0.01
    cells = np.array(
        [(first * second + noise)[(first == i) & (second == j)].mean() for i in range(3) for j in range(3)]
    )
    assert 0 < multiplied[0].explained < 1
    assert cells.shape == (9,)


def test_few_configurations_are_not_tested() -> None:
    levels = {"a": np.arange(30) % 3, "b": np.arange(30) % 2}
    assert pair_interactions(np.arange(30.0), levels) == []
