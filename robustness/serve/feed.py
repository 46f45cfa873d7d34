"""The feed: one poller for any number of viewers, which get the same bytes.

The store is read in one thread of its own, never in the event loop. A look is followed by a pause that is longer the
longer it took, so that looking takes a small share of one core however large the store is.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any, TypeVar

from robustness.serve.watched_store import WatchedStore

PAUSE = 0.7
"""Seconds between two looks while somebody watches."""
IDLE_PAUSE = 5.0
"""Seconds between two looks while nobody does."""
DUTY = 30
"""A look is followed by a pause of at least this many times the CPU time that it took."""
WAIT = 3
"""The same for the time on the clock, which a database may take in our place."""
LONGEST_PAUSE = 15.0
BEAT = 5.0
"""Seconds after which a viewer hears that the server is still there."""
LAST_LOOK = 3.0
"""Seconds that a last look, at the end of a sweep, may take."""
MOST_VIEWERS = 100
MOST_WAITING = 50
"""Events that a slow viewer may have waiting; after more it is disconnected, and starts afresh when it comes back."""
ALL = ""
"""The topic of the list of all studies."""

_T = TypeVar("_T")


class Feed:
    """What viewers see; it lives in the event loop."""

    def __init__(self, store: WatchedStore) -> None:
        self.store = store
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="robustness-serve")
        self._viewers: dict[asyncio.Queue[bytes | None], str] = {}
        self._wake = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._looked = asyncio.Event()
        self._is_closed = False
        self._computed = 0.0
        """CPU seconds of the last look."""

    def start(self) -> None:
        """Begin to look at the store."""
        self._task = asyncio.get_running_loop().create_task(self._poll())

    async def close(self, farewell: bool = False) -> None:
        """End all streams; with `farewell` after a last look, telling viewers that the sweep has ended."""
        if self._is_closed:
            return
        self._is_closed = True
        if self._task is not None:
            self._task.cancel()
            with suppress(asyncio.CancelledError):
                await self._task
        if farewell:
            topics = set(self._viewers.values())
            last = asyncio.get_running_loop().run_in_executor(self._thread, self._last_state, topics)
            with suppress(TimeoutError):
                for topic, content in (await asyncio.wait_for(last, LAST_LOOK)).items():
                    self._send(content, topic)
            self._send(event("farewell", {}), *topics)
        for queue in self._viewers:
            _put(queue, None)
        # In the thread that uses the store, which may be waiting for a database: nobody waits for it.
        self._thread.submit(self.store.close)
        self._thread.shutdown(wait=False)

    @property
    def is_full(self) -> bool:
        """Whether no more viewers are taken."""
        return len(self._viewers) >= MOST_VIEWERS or self._is_closed

    async def read(self, function: Callable[[], _T]) -> _T:
        """Call a function in the thread that owns the store's studies, after the first look."""
        await self._looked.wait()
        return await asyncio.get_running_loop().run_in_executor(self._thread, function)

    async def stream(self, topic: str) -> AsyncIterator[bytes]:
        """The events of a topic, beginning with its whole state, until the viewer leaves or the feed is closed."""
        queue: asyncio.Queue[bytes | None] = asyncio.Queue(MOST_WAITING)
        self._viewers[queue] = topic
        self._wake.set()
        try:
            yield b"retry: 1000\n\n"
            whole = await self.read(lambda: self._whole(topic))
            if not self._is_closed:
                # What was queued before is part of it.
                while not queue.empty():
                    queue.get_nowait()
            yield whole
            while True:
                try:
                    found = await asyncio.wait_for(queue.get(), BEAT)
                except TimeoutError:
                    found = event("beat", {"at": time.time()})
                if found is None:
                    return
                yield found
        finally:
            self._viewers.pop(queue, None)

    async def _poll(self) -> None:
        while True:
            began = time.monotonic()
            await self._look()
            took = time.monotonic() - began
            # The clock alone would make the page of a busy machine slow, although looking costs that machine little.
            least = max(PAUSE if self._viewers else IDLE_PAUSE, DUTY * self._computed, WAIT * took)
            self._wake.clear()
            with suppress(TimeoutError):
                # A first viewer does not wait for the long pause.
                pause = min(least, LONGEST_PAUSE)
                await asyncio.wait_for(self._wake.wait() if not self._viewers else asyncio.sleep(pause), pause)

    async def _look(self) -> None:
        loop = asyncio.get_running_loop()
        topics = set(self._viewers.values())
        for topic, content in (await loop.run_in_executor(self._thread, self._news, topics)).items():
            self._send(content, topic)
        self._looked.set()

    def _news(self, topics: set[str]) -> dict[str, bytes]:
        """Look at the store; returns the event of each topic that somebody watches and that has changed."""
        began = time.thread_time()
        try:
            return self._changed_topics(topics)
        finally:
            self._computed = time.thread_time() - began

    def _changed_topics(self, topics: set[str]) -> dict[str, bytes]:
        before = self.store.problem
        changed = self.store.look()
        for name, study in self.store.studies.items():
            if name not in topics:
                study.curves.changed.clear()
        if changed is None or self.store.problem != before:
            # The whole state, once, whether the store has gone or come back.
            return {topic: self._whole(topic) for topic in topics} if self.store.problem != before else {}
        events = {topic: self._changes(topic) for topic in topics & changed}
        return events | ({ALL: self._whole(ALL)} if changed and ALL in topics else {})

    def _last_state(self, topics: set[str]) -> dict[str, bytes]:
        """Look once more; returns the whole state of each topic."""
        self.store.look()
        return {topic: self._whole(topic) for topic in topics}

    def _whole(self, topic: str) -> bytes:
        """The event with all of a topic's state."""
        return self._event(topic, afresh=True)

    def _changes(self, topic: str) -> bytes:
        """The event with a topic's state, but only those curves that have changed."""
        return self._event(topic, afresh=False)

    def _event(self, topic: str, afresh: bool) -> bytes:
        problem = self.store.problem
        try:
            if topic == ALL:
                return event("studies", self._overview())
            study = self.store.studies.get(topic)
            if study is not None:
                curves = study.curves.as_json(None if afresh else study.curves.changed)
                if not afresh:
                    study.curves.changed.clear()
                return event("study", {**study.snapshot(), "curves": curves, "afresh": afresh})
        except Exception as error:
            # One study that cannot be shown must not end the page of all others.
            problem = self.store.explained(error)
        return event("missing", {"at": time.time(), "problem": problem})

    def _overview(self) -> dict[str, Any]:
        studies = [study.overview() for study in self.store.studies.values()]
        return {"at": time.time(), "store": self.store.shown, "problem": self.store.problem, "studies": studies}

    def _send(self, content: bytes, *topics: str) -> None:
        for queue, topic in self._viewers.items():
            if topic in topics:
                _put(queue, content)


def event(name: str, data: Any) -> bytes:
    """A server-sent event; JSON has no line breaks, so its data is one line."""
    return f"event: {name}\ndata: {json.dumps(data, separators=(',', ':'), allow_nan=False)}\n\n".encode()


def _put(queue: asyncio.Queue[bytes | None], content: bytes | None) -> None:
    """Queue an event; a viewer that is too slow is disconnected."""
    if queue.full():
        while not queue.empty():
            queue.get_nowait()
        content = None
    queue.put_nowait(content)
