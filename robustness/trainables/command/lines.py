"""Output as lines: bounded in length and number, whatever a command prints."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator

LONGEST_LINE = 20_000
"""Bytes of a line that are read; the rest of it is dropped."""
KEPT_LINES = 20
"""Last lines that are kept with a trial."""
KEPT_LETTERS = 300
"""Letters of each of them."""


class LineReader:
    """Splits a stream of bytes into lines, also at carriage returns, by which progress bars overwrite themselves."""

    def __init__(self) -> None:
        self._rest = b""

    def feed(self, data: bytes) -> Iterator[str]:
        """Yield the lines that are complete."""
        *whole, rest = data.replace(b"\r", b"\n").split(b"\n")
        for line in whole:
            text = self._rest + line
            self._rest = b""
            yield _text(text)
        self._rest = (self._rest + rest)[:LONGEST_LINE]

    def close(self) -> Iterator[str]:
        """Yield the last line, if it did not end."""
        if self._rest:
            yield _text(self._rest)
        self._rest = b""


class Tail:
    """The last lines of a command's output."""

    def __init__(self) -> None:
        self._lines: deque[str] = deque(maxlen=KEPT_LINES)
        self._complaint = ""

    def add(self, line: str, stream: str = "stdout") -> None:
        if line.strip():
            self._lines.append(line[:KEPT_LETTERS])
            if stream == "stderr":
                self._complaint = line[:KEPT_LETTERS].strip()

    def text(self) -> str:
        return "\n".join(self._lines)

    def last(self, complaint: bool = False) -> str:
        """The last line, with `complaint` rather that of stderr, or a note that there is none.

        What a program writes to its output is often flushed at its exit, after its complaint.
        """
        if complaint and self._complaint:
            return self._complaint
        return self._lines[-1].strip() if self._lines else "(it printed nothing)"


def _text(data: bytes) -> str:
    return data[:LONGEST_LINE].decode(errors="replace")
