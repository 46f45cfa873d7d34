"""The web application: a fixed set of pages and files, event streams, and reports.

| path | what |
|---|---|
| `/` | all studies of the store |
| `/studies/NAME` | one study while it runs |
| `/studies/NAME/report` | its full report, as of now |
| `/events`, `/studies/NAME/events` | news of either page, as server-sent events |
| `/static/FILE` | style sheets and scripts |

The path is split before it is decoded, so that a study's name may contain a slash. No part of it names a file on disk.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from urllib.parse import unquote

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response, StreamingResponse
from starlette.routing import Route

from robustness.serve.access import Guard, Rules
from robustness.serve.assets import assets
from robustness.serve.feed import ALL, Feed
from robustness.serve.reports import Reports

PATIENCE = 1.5
"""Seconds for which a request waits for a report; after that a page says that it is being made."""


class Site:
    """The pages of one store."""

    def __init__(self, feed: Feed, reports: Reports) -> None:
        self._feed = feed
        self._reports = reports
        self._assets = assets()

    async def answer(self, request: Request) -> Response:
        """Answer a request that the guard has let through."""
        raw: bytes = request.scope["raw_path"]
        parts = [unquote(part, errors="replace") for part in raw.decode("latin-1").split("/")[1:]]
        match parts:
            case [""]:
                return self._file("overview.html")
            case ["events"]:
                return self._events(ALL)
            case ["static", name] if name in self._assets and not name.endswith(".html"):
                return self._file(name)
            case ["favicon.ico"]:
                return Response(status_code=204)
            case ["studies", name] if name:
                return self._file("study.html")
            case ["studies", name, "events"] if name:
                return self._events(name)
            case ["studies", name, "report"] if name:
                return await self._report(name)
        return PlainTextResponse("There is no such page.\n", status_code=404)

    def _file(self, name: str) -> Response:
        content, media_type = self._assets[name]
        return Response(content, media_type=media_type)

    def _events(self, topic: str) -> Response:
        if self._feed.is_full:
            line = "Too many viewers at once: close a page, or try again later.\n"
            return PlainTextResponse(line, status_code=503, headers={"Retry-After": "10"})
        return StreamingResponse(
            self._feed.stream(topic), media_type="text/event-stream", headers={"X-Accel-Buffering": "no"}
        )

    async def _report(self, name: str) -> Response:
        state = await self._feed.read(lambda: self._feed.store.states.get(name))
        if state is None:
            problem = self._feed.store.problem or "The store has no study of that name."
            return PlainTextResponse(f"{problem}\n", status_code=404)
        page = await self._reports.page(name, state, PATIENCE)
        if page is None:
            # The page asks again by itself.
            content, media_type = self._assets["making.html"]
            return Response(content, 202, {"Refresh": "1"}, media_type)
        if page.problem is not None:
            return PlainTextResponse(f"There is no report yet: {page.problem}\n", status_code=503)
        return Response(page.content, media_type="text/html", headers={"Content-Security-Policy": page.policy})


def make_app(feed: Feed, reports: Reports, rules: Rules) -> Starlette:
    """The application with its guard."""

    @asynccontextmanager
    async def lifespan(_app: Starlette) -> AsyncIterator[None]:
        feed.start()
        yield
        await feed.close()
        await reports.close()

    site = Site(feed, reports)
    route = Route("/{path:path}", site.answer, methods=["GET", "HEAD"])
    return Starlette(routes=[route], lifespan=lifespan, middleware=[Middleware(Guard, rules=rules)])
