"""Contract tests for the authors of methods, tasks and trainables.

Subclass a contract in a test module, say what is under test, and pytest collects the contract's tests:

    from robustness.testing import TrainableContract

    class TestSpirals(TrainableContract):
        study = {"name": "spirals", "trainable": "spirals:train", "arms": ["sgd", "adam"], ...}

The project's own methods, tasks and trainables pass the same tests.
"""

from __future__ import annotations

from robustness.testing.methods import MethodContract
from robustness.testing.tasks import TaskContract
from robustness.testing.trainables import TrainableContract

__all__ = ["MethodContract", "TaskContract", "TrainableContract"]
