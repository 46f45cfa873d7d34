"""Fingerprints of functions: what changes them, and what does not."""

from __future__ import annotations

import functools
import textwrap
from typing import Any

from robustness.api.fingerprint import fingerprint


def score(lr: float, width: int) -> float:
    return lr * width


def test_a_fingerprint_covers_helpers_and_constants_but_not_comments_and_layout() -> None:
    def compiled(text: str) -> Any:
        scope: dict[str, Any] = {"__name__": "notebook"}
        exec(compile(textwrap.dedent(text), "<cell>", "exec"), scope)  # noqa: S102
        return scope["train"]

    source = """
        STEPS = {steps}
        def helper(lr):
            return lr * {factor}
        def train(lr):
            return sum(helper(lr) for _ in range(STEPS))
    """
    same = fingerprint(compiled(source.format(steps=3, factor=2)))
    assert fingerprint(compiled(source.format(steps=3, factor=2))) == same
    assert fingerprint(compiled(source.format(steps=4, factor=2))) != same
    assert fingerprint(compiled(source.format(steps=3, factor=5))) != same
    assert fingerprint(functools.partial(score, width=8)) != fingerprint(functools.partial(score, width=16))
