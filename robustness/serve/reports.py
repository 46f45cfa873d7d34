"""The full report of a study, made by a process of its own, one at a time, and kept until the study changes."""

from __future__ import annotations

import asyncio
import html
import json
import re
import sys
import time
from collections import OrderedDict
from contextlib import suppress
from dataclasses import dataclass

from robustness.guards.printable import printable

KEPT = 4
"""Pages that are kept."""
FRESH = 30.0
"""Seconds for which a page of a running study is good enough; at least as long as it took to make, three times."""
LONGEST = 900.0
"""Seconds after which making a page is given up."""
_POLICY = re.compile(r'<meta http-equiv="Content-Security-Policy" content="([^"]*)">')


@dataclass(frozen=True)
class Page:
    """A page, or why there is none."""

    content: bytes
    policy: str
    state: int
    """Of the study, when it was made."""
    made: float
    took: float
    problem: str | None = None

    def is_current(self, state: int) -> bool:
        """Whether it may be shown for a study in this state."""
        return self.state == state or time.monotonic() - self.made < max(FRESH, 3 * self.took)


class Reports:
    """The reports of a store's studies."""

    def __init__(self, store: str) -> None:
        """`store` is its URL with the password."""
        self._store = store
        self._pages: OrderedDict[str, Page] = OrderedDict()
        self._tasks: dict[str, asyncio.Task[Page]] = {}
        self._turn = asyncio.Lock()
        self._process: asyncio.subprocess.Process | None = None

    async def page(self, study: str, state: int, patience: float) -> Page | None:
        """The page of a study; None if it is still being made after `patience` seconds."""
        page = self._pages.get(study)
        if page is not None and page.is_current(state):
            self._pages.move_to_end(study)
            return page
        if study not in self._tasks:
            self._tasks[study] = asyncio.get_running_loop().create_task(self._make(study, state))
        done, _ = await asyncio.wait([self._tasks[study]], timeout=patience)
        return next((task.result() for task in done), None)

    async def close(self) -> None:
        """End a process that is still at it."""
        for task in self._tasks.values():
            task.cancel()
        if self._process is not None and self._process.returncode is None:
            with suppress(ProcessLookupError):
                self._process.kill()

    async def _make(self, study: str, state: int) -> Page:
        try:
            async with self._turn:
                page = await self._render(study, state)
        finally:
            self._tasks.pop(study, None)
        self._pages[study] = page
        self._pages.move_to_end(study)
        while len(self._pages) > KEPT:
            self._pages.popitem(last=False)
        return page

    async def _render(self, study: str, state: int) -> Page:
        began = time.monotonic()
        # Not from the working folder, where a file could have the name of one of our modules; in its own session, so
        # that Ctrl-C reaches it through `close`.
        self._process = process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-P", "-m", "robustness.serve.rendering"),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            start_new_session=True,
        )
        wanted = json.dumps({"store": self._store, "study": study}).encode()
        problem = None
        content = b""
        try:
            content, errors = await asyncio.wait_for(process.communicate(wanted), LONGEST)
            if process.returncode:
                lines = errors.decode(errors="replace").strip().splitlines()
                problem = printable(lines[-1]) if lines else "the report could not be made"
        except TimeoutError:
            problem = f"the report was not ready after {LONGEST:.0f} s"
        finally:
            if process.returncode is None:
                process.kill()
        policy = _policy_of(content)
        if problem is None and policy is None:
            problem = "the report has no Content-Security-Policy"
        return Page(content, policy or "", state, time.monotonic(), time.monotonic() - began, problem)


def _policy_of(content: bytes) -> str | None:
    """The policy that a page states in its head, and no frame around it, which only a header can forbid."""
    found = _POLICY.search(content[:100_000].decode("utf-8", "replace"))
    return None if found is None else f"{html.unescape(found[1])}; frame-ancestors 'none'"
