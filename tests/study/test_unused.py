"""Hyperparameters that an arm does not use."""

from __future__ import annotations

from typing import Any

import pytest

from robustness.study.unused import unused_hyperparameters

ARMS: list[dict[str, Any]] = [{"label": "mine", "method": "deterministic"}, {"label": "mfvi", "method": "mfvi"}]
NOISE = ("initial_rho", "variational_samples")


@pytest.mark.parametrize(
    ("document", "expected"),
    [
        ({"trainable": "classification"}, NOISE),
        ({"trainable": "imported", "imported": {"kind": "robustness"}}, NOISE),
        ({"trainable": "imported", "imported": {"kind": "table"}}, ()),
        ({"trainable": "function"}, ()),
    ],
)
def test_only_an_arm_that_is_our_method_is_known_not_to_use_some(
    document: dict[str, Any], expected: tuple[str, ...]
) -> None:
    assert unused_hyperparameters({**document, "arms": ARMS}) == {"mine": expected, "mfvi": ()}
