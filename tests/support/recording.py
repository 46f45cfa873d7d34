"""An observer that keeps what an executor tells."""

from __future__ import annotations

from robustness.execution.protocol import Ending, Started
from robustness.trial import EpochResult, TrialKey


class Recording:
    """Everything that was told, by trial."""

    def __init__(self) -> None:
        self.starts: dict[TrialKey, list[tuple[int, Started]]] = {}
        self.epochs: dict[TrialKey, list[EpochResult]] = {}
        self.endings: dict[TrialKey, Ending] = {}

    def started(self, key: TrialKey, attempt: int, where: Started) -> None:
        self.starts.setdefault(key, []).append((attempt, where))
        self.epochs[key] = []

    def epoch(self, key: TrialKey, result: EpochResult) -> None:
        self.epochs[key].append(result)

    def ended(self, key: TrialKey, ending: Ending) -> None:
        assert key not in self.endings, f"{key} ended twice"
        self.endings[key] = ending

    def statuses(self) -> dict[int, str]:
        """The status of each trial by its configuration's number."""
        return {key.configuration: ending.status for key, ending in self.endings.items()}
