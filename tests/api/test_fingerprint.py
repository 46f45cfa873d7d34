"""Fingerprints of functions: what changes them, and what does not."""

from __future__ import annotations

import functools
import textwrap
from pathlib import Path
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


def test_a_lambda_is_its_own_code_and_not_the_line_around_it(tmp_path: Path) -> None:
    def lambdas(line: str) -> list[Any]:
        path = tmp_path / f"cell{len(list(tmp_path.iterdir()))}.py"
        path.write_text(f"def call(*arms, configurations): return arms\nfound = {line}\n")
        scope: dict[str, Any] = {"__name__": "notebook"}
        exec(compile(path.read_text(), str(path), "exec"), scope)  # noqa: S102
        return [fingerprint(each) for each in scope["found"]]

    first = lambdas("call(lambda lr: lr * 2, lambda lr: lr in {'a', 'b'}, configurations=10)")
    assert lambdas("call(lambda lr: lr * 2, lambda lr: lr in {'a', 'b'}, configurations=20)") == first
    assert lambdas("call(lambda lr: lr * 3, lambda lr: lr in {'a', 'b'}, configurations=10)")[0] != first[0]
    assert lambdas("call(lambda lr: lr * 3, lambda lr: lr in {'a', 'b'}, configurations=10)")[1] == first[1]
    assert lambdas("call(lambda lr: abs(lr), lambda lr: lr in {'a', 'c'}, configurations=10)")[1] != first[1]
