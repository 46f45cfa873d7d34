"""Hyperparameters of a study that some of its arms do not use.

In a module of its own, since methods load numpy, which `robustness status` does without.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from robustness.methods import METHODS, find_method

OUR_METHODS = ("classification", "regression", "continual")
"""Trainables whose arms are methods of this project."""


def unused_hyperparameters(document: Mapping[str, Any]) -> dict[str, tuple[str, ...]]:
    """For each arm of a study's document; none of an arm that is not one of our methods."""
    # Arms of our own results, imported again, are our methods.
    imported = (document.get("imported") or {}).get("kind") == "robustness"
    ours = imported or document.get("trainable") in OUR_METHODS
    methods = {str(arm["label"]): str(arm.get("method")) for arm in document["arms"]}
    return {arm: find_method(name).unused if ours and name in METHODS else () for arm, name in methods.items()}
