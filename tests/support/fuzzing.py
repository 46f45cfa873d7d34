"""Random input for readers: the project's own errors, each one printable line, and nothing else.

A few seconds in all by default; ROBUSTNESS_FUZZ_SECONDS sets the time for each reader (`.ci/full` takes ten minutes).
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.hostile import is_one_safe_line

from robustness.errors import RobustnessError
from robustness.guards.printable import printable

SECONDS = float(os.environ.get("ROBUSTNESS_FUZZ_SECONDS", "0"))
EXAMPLES = 10**9 if SECONDS else 30

fuzz = settings(
    max_examples=EXAMPLES,
    deadline=None,
    database=None,
    derandomize=not SECONDS,
    suppress_health_check=list(HealthCheck),
    print_blob=True,
)
seeds = st.integers(0, 2**63)
scalars = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=12), st.sampled_from(["low", "high", "sgd"])
)
trees = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=20,
)


class Budget:
    """Ends a reader's fuzzing when its time is over; hypothesis itself only counts examples."""

    def __init__(self, share: float) -> None:
        # Of this process, whatever else the machine does.
        self._end = time.process_time() + share * SECONDS
        self.cases = 0

    def over(self) -> bool:
        self.cases += 1
        return bool(SECONDS) and time.process_time() > self._end


def answered(read: Callable[[], object], *others: type[Exception]) -> None:
    """Call a reader, which may refuse with one of the project's errors or with `others`, which its caller expects."""
    try:
        read()
    except RobustnessError as error:
        line = printable(error)
    except others:
        return
    else:
        return
    assert is_one_safe_line(line)


def run(check: Callable[[Any], None], strategy: st.SearchStrategy[Any], share: float = 1.0) -> None:
    """Fuzz with hypothesis for the examples of the short form, or in rounds until the reader's time is over.

    A reader of several files takes a share of its time for each of them.
    """
    budget = Budget(share)
    rounds = settings(fuzz, max_examples=2_000 if SECONDS else EXAMPLES)
    while True:

        @rounds
        @given(strategy)
        def once(value: Any) -> None:
            if not budget.over():
                check(value)

        once()
        if budget.over() or not SECONDS:
            break
    print(f"{budget.cases} cases")
