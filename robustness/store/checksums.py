"""Checksums of stored values: what a damaged file changes without breaking it does not pass for a result.

A JSON value has the start of its SHA-256. An ended trial has a sum over its epochs and its end, modulo 2^64, in which
every number x counts with its 64 bits, as an integer b(x):

    sum over epochs e of  m(e) * (m("pretraining") * (1 + pretraining) + sum over measures k of m(k) * b(x_ek))
    + m(trial) + m(status) + m("metric") * b(metric) + m("metric_epoch") * metric_epoch

All multipliers m are odd, so that a single changed bit always changes the sum, which numpy computes for many trials at
once (`robustness.store.consistency`). A missing measure and NaN count as nothing.
"""

from __future__ import annotations

import hashlib
import math
import struct
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any

from robustness.errors import StoreError
from robustness.store import encoding
from robustness.trial import TrialKey

MODULUS = 2**64
_DIGITS = 16


def of_json(value: Any) -> str:
    """The checksum of a value that is stored as JSON."""
    return hashlib.sha256(encoding.dumps(value).encode()).hexdigest()[:_DIGITS]


def verified(value: Any, checksum: str | None, what: str) -> Any:
    """The value, if it has this checksum or none; raises StoreError otherwise."""
    if checksum is not None and of_json(value) != checksum:
        raise StoreError(f"the store is damaged: {what} does not match its checksum")
    return value


@lru_cache(maxsize=100_000)
def multiplier(name: str) -> int:
    """The odd multiplier of a name."""
    return int.from_bytes(hashlib.sha256(name.encode("utf-8", "surrogatepass")).digest()[:8], "little") | 1


def epoch_multiplier(epoch: int) -> int:
    """The odd multiplier of an epoch."""
    return multiplier(f"epoch {epoch}")


def trial_multiplier(key: TrialKey) -> int:
    """The odd multiplier of a trial."""
    return multiplier(f"trial {key}")


def bits(value: float) -> int:
    """The 64 bits of a number; 0 for NaN, and the same for both zeros."""
    if math.isnan(value):
        return 0
    number: int = struct.unpack("<Q", struct.pack("<d", value + 0.0))[0]
    return number


def of_epoch(epoch: int, pretraining: bool, measures: Mapping[str, float]) -> int:
    """The part of an epoch in the checksum of its trial."""
    total = multiplier("pretraining") * (1 + pretraining)
    total += sum(multiplier(name) * bits(value) for name, value in measures.items())
    return epoch_multiplier(epoch) * total % MODULUS


def of_trial(key: TrialKey, epochs: Iterable[int], status: str, metric: float | None, metric_epoch: int | None) -> str:
    """The checksum of a trial from the parts of its epochs and its end."""
    total = sum(epochs) + trial_multiplier(key) + multiplier(f"status {status}")
    total += multiplier("metric_epoch") * (metric_epoch or 0)
    total += multiplier("metric") * bits(math.nan if metric is None else metric)
    return f"{total % MODULUS:016x}"
