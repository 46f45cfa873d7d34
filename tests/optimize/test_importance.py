from __future__ import annotations

import numpy as np
import pytest

from robustness.optimize.importance import importance


def test_the_hyperparameter_that_decides_is_the_important_one() -> None:
    rng = np.random.default_rng(0)
    rows = [{"rho": int(rng.choice([-6, -4, -2, 0])), "batch": int(rng.choice([16, 32, 64]))} for _ in range(120)]
    scores = np.array([0.9 if row["rho"] == -6 else 0.6 for row in rows]) + rng.normal(0, 0.01, 120)
    found = importance(rows, scores)
    assert list(found.shares) == ["rho", "batch"]
    assert found.shares["rho"] > 0.9
    assert sum(found.shares.values()) == pytest.approx(1.0)


def test_a_hyperparameter_that_only_some_configurations_have_takes_part() -> None:
    rng = np.random.default_rng(1)
    rows: list[dict[str, object]] = []
    for _ in range(120):
        row: dict[str, object] = {"optimizer": str(rng.choice(["sgd", "adam"]))}
        if row["optimizer"] == "sgd":
            row["decay"] = float(rng.choice([1.0, 0.98, 0.96]))
        rows.append(row)
    scores = np.array([0.9 if row.get("decay") == 0.98 else 0.6 for row in rows]) + rng.normal(0, 0.01, 120)
    found = importance(rows, scores)
    assert set(found.shares) == {"optimizer", "decay"}
    assert found.shares["decay"] > 0.3


def test_many_numbers_are_taken_as_a_range() -> None:
    rng = np.random.default_rng(2)
    rates = 10 ** rng.uniform(-5, -2, 200)
    rows = [{"rate": float(rate), "batch": int(rng.choice([16, 32]))} for rate in rates]
    scores = -np.abs(np.log10(rates) + 3) + rng.normal(0, 0.01, 200)
    assert next(iter(importance(rows, scores).shares)) == "rate"


def test_it_says_why_it_cannot_be_told() -> None:
    rows = [{"rho": place % 4} for place in range(20)]
    assert importance(rows[:9], np.linspace(0.5, 0.9, 9)).why_not == "it takes at least 10 configurations"
    assert importance(rows, np.full(20, 0.7)).why_not == "too many configurations tie for the best"
    constant = [{"rho": 1} for _ in range(20)]
    assert importance(constant, np.linspace(0.5, 0.9, 20)).why_not is not None
    assert importance([], np.array([])).shares == {}
