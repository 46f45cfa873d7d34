"""Text from a trial's code, made fit for a message: bounded, and free of control characters."""

from __future__ import annotations

import traceback

LONGEST_LINE = 400
"""Characters of the one line that says why a trial ended."""
LONGEST_TRACEBACK = 20_000
"""Characters of a whole error with its traceback."""
_MOST_FRAMES = 60
_TAIL = 400


def one_line(text: str, longest: int = LONGEST_LINE) -> str:
    """Return text as one printable line of at most `longest` characters; other characters are shown escaped."""
    text = text[: 4 * longest]
    line = " ".join(text.split())
    shown = "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in line)
    return shown if len(shown) <= longest else f"{shown[: longest - 1]}…"


def error_line(error: BaseException) -> str:
    """Return `ValueError: message` in one line; works for exceptions that cannot be printed."""
    name = type(error).__name__
    try:
        message = str.__str__(str(error))
    except BaseException:
        message = "(its message cannot be shown)"
    return one_line(f"{name}: {message}" if message else name)


def error_text(error: BaseException) -> str:
    """Return the traceback of an error, whose last line is `error_line`."""
    last = error_line(error)
    try:
        lines = "".join(traceback.format_exception(error, limit=_MOST_FRAMES)).splitlines()
    except BaseException:
        return last
    if lines and one_line(lines[-1]).endswith(last):
        lines.pop()  # It names the exception with its module.
    shown = "\n".join(_kept_indentation(line) for line in lines)
    if len(shown) > LONGEST_TRACEBACK:
        shown = f"{shown[: LONGEST_TRACEBACK - _TAIL]}\n[...]\n{shown[-_TAIL:]}"
    return f"{shown}\n{last}"


def own_lines(text: str) -> str:
    """Return lines that a program printed, each made fit for a message."""
    return "\n".join(_kept_indentation(line) for line in text.splitlines())


def _kept_indentation(line: str) -> str:
    text = line.lstrip(" ")
    return " " * (min(len(line) - len(text), 40)) + one_line(text)


def why_lost(error: BaseException | None) -> str:
    """Return in one line why a worker died, as far as Ray knows."""
    text = "" if error is None else str(error)
    if "node" in text and ("terminated" in text or "preempt" in text):
        return "the worker was lost with its node"
    if "memory" in text:
        return one_line(f"the worker was killed because its node ran low on memory: {text}")
    return "the worker process died: it crashed, ended itself, or was killed"
