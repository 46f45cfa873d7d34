"""The server of the live page, from its first request to Ctrl-C."""

from __future__ import annotations

import asyncio
import socket

import uvicorn

from robustness.serve.access import LARGEST_HEAD, Rules, new_token
from robustness.serve.addresses import Listener
from robustness.serve.app import make_app
from robustness.serve.feed import MOST_VIEWERS, Feed
from robustness.serve.reports import Reports
from robustness.serve.watched_store import WatchedStore

MOST_CONNECTIONS = MOST_VIEWERS + 100


class LiveServer(uvicorn.Server):
    """Serves one store on one socket."""

    def __init__(self, store: str | None, listener: Listener, *, with_token: bool = False) -> None:
        """Raises StoreError if the URL of the store is invalid. A token is needed on all addresses but loopback."""
        self.token = new_token() if with_token or not listener.is_loopback else None
        self._listener = listener
        watched = WatchedStore(store)
        self._feed = Feed(watched)
        self.farewell = False
        """Whether viewers are told, at the end, that the sweep has ended."""
        rules = Rules(listener.names(), self.token, f"robustness-{listener.port}")
        super().__init__(
            uvicorn.Config(
                make_app(self._feed, Reports(watched.address), rules),
                http="h11",
                ws="none",
                loop="asyncio",
                lifespan="on",
                log_level="critical",
                access_log=False,
                server_header=False,
                proxy_headers=False,
                limit_concurrency=MOST_CONNECTIONS,
                h11_max_incomplete_event_size=LARGEST_HEAD,
                timeout_keep_alive=5,
                timeout_graceful_shutdown=1,
            )
        )

    def url(self, study: str | None = None) -> str:
        """The URL to open."""
        return self._listener.url(study, self.token)

    def serve_until_stopped(self) -> None:
        """Serve until Ctrl-C or SIGTERM, or until `should_exit` is set."""
        self.run(sockets=[self._listener.socket])

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """End all streams, for which a plain shutdown would wait."""
        await self._feed.close(self.farewell)
        await asyncio.sleep(0.05 if self.farewell else 0)
        await super().shutdown(sockets)
