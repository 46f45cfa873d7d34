"""Shards: fixed parts of a sweep's plan, for job arrays without Ray; `store.merging` puts their stores together.

Shard k of n has every n-th configuration from the k-th on, with all of its arms and replicates, so that each pair stays
in one shard. Every shard registers the whole plan and measures the same baseline, and so judges alike.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from robustness.errors import StudyFileError, shown
from robustness.study.study import Study
from robustness.sweep.plan import Plan
from robustness.trial import TrialKey

SHARD_NOTE = "shard"
"""The note of a store that holds a shard: `{"number": 3, "of": 20}`."""
MOST_SHARDS = 1_000_000


@dataclass(frozen=True)
class Shard:
    """One part of a plan, numbered from 1."""

    number: int
    of: int

    def __str__(self) -> str:
        return f"{self.number}/{self.of}"

    def keys(self, plan: Plan) -> list[TrialKey]:
        """Return the trials of this part."""
        return [trial.key for trial in plan.trials if trial.configuration % self.of == self.number - 1]

    def note(self) -> dict[str, int]:
        """Return the shard as its store keeps it."""
        return {"number": self.number, "of": self.of}


def read_shard(text: str) -> Shard:
    """Return the shard written as `3/20`; raises StudyFileError if there is none."""
    match = re.fullmatch(r"(\d{1,7})/(\d{1,7})", text)
    number, of = map(int, match.groups()) if match else (0, 0)
    if not 1 <= number <= of <= MOST_SHARDS:
        raise StudyFileError(f"--shard: must be K/N with 1 <= K <= N, such as 3/20, found {shown(text)}")
    return Shard(number, of)


def check_shard(shard: Shard, study: Study, plan: Plan) -> None:
    """Raise StudyFileError if a study cannot be run in parts, or not in so many."""
    if study.stop is not None:
        raise StudyFileError(f"--shard {shard}: a study with `stop` looks at all results as they come; run it as one")
    count = len(plan.configurations)
    if shard.of > count:
        raise StudyFileError(f"--shard {shard}: the study has {count} configurations, so at most {count} shards")
