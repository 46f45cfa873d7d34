"""The code blocks of Markdown pages, for tests that run or check them."""

from __future__ import annotations

import re
import shlex
from pathlib import Path


def blocks(page: Path, language: str) -> list[str]:
    """The code in one language, block by block."""
    text = page.read_text(encoding="utf-8")
    return [str(code) for code in re.findall(rf"^```{language}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)]


def robustness_calls(script: str) -> list[list[str]]:
    """The arguments of each call of `robustness` in a shell script."""
    found = []
    for line in script.replace("\\\n", " ").splitlines():
        words = shlex.split(line, comments=True)
        for place, word in enumerate(words):
            starts = place == 0 or words[place - 1] in ("&&", "|")
            if word == "robustness" and starts:
                rest = words[place + 1 :]
                ends = [end for end, each in enumerate(rest) if each in ("&&", "|", ">")]
                found.append(rest[: ends[0]] if ends else rest)
    return found
