"""Questions that only the user can answer: where a guess would change the result, an import stops and asks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from robustness.errors import RobustnessError


class Question(RobustnessError):
    """An open question in one line, with an answer that lets the import go on to find further ones."""

    def __init__(self, source: str, text: str, answer: Mapping[str, Any]) -> None:
        super().__init__(f"{source}: {text}")
        self.text, self.answer = text, answer


def together(questions: Sequence[Question]) -> Question:
    """All questions as one."""
    first, *others = questions
    if not others:
        return first
    further = "".join(f"; also: {question.text}" for question in others)
    return Question(str(first).removesuffix(f": {first.text}"), first.text + further, first.answer)
