"""A live page for tests: the real server on a free loopback port, requests as a browser or an intruder makes them."""

from __future__ import annotations

import http.client
import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Any

from robustness.serve.addresses import listen
from robustness.serve.server import LiveServer

PATIENCE = 60.0


class Served:
    """A server that runs."""

    def __init__(self, server: LiveServer, port: int) -> None:
        self.server = server
        self.port = port

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def get(self, path: str, method: str = "GET", **headers: str) -> tuple[int, dict[str, str], str]:
        """Status, headers (in lower case) and body of a request; `Host="..."` replaces the usual header."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        try:
            connection.putrequest(method, path, skip_host="Host" in headers)
            for name, value in headers.items():
                connection.putheader(name.replace("_", "-"), value)
            connection.endheaders()
            answer = connection.getresponse()
            body = answer.read().decode()
            return answer.status, {name.lower(): value for name, value in answer.getheaders()}, body
        finally:
            connection.close()


class Events:
    """A viewer: the events of a stream, one after another."""

    def __init__(self, served: Served, path: str, **headers: str) -> None:
        self._connection = http.client.HTTPConnection("127.0.0.1", served.port, timeout=PATIENCE)
        self._connection.request("GET", path, headers=headers)
        self._answer = self._connection.getresponse()
        assert self._answer.status == 200, self._answer.read()

    def __enter__(self) -> Events:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._answer.close()
        self._connection.close()

    def next(self) -> tuple[str, Any]:
        """The name and data of the next event; an empty name at the end of the stream."""
        name = ""
        while True:
            line = self._answer.readline().decode()
            if not line:
                return "", None
            if line.startswith("event: "):
                name = line[7:].strip()
            elif line.startswith("data: "):
                return name, json.loads(line[6:])

    def until(self, condition: Any) -> Any:
        """The data of the next event that is no beat and for which the condition holds."""
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            name, data = self.next()
            assert name, "the stream ended"
            if name != "beat" and condition(data):
                return data
        raise AssertionError("the event never came")


@contextmanager
def serving(store: str, *, with_token: bool = False, port: int = 0) -> Iterator[Served]:
    """The live page of a store, in a thread."""
    listener = listen(port=port)
    with listener.socket:
        server = LiveServer(store, listener, with_token=with_token)
        thread = threading.Thread(target=server.serve_until_stopped)
        thread.start()
        try:
            end = time.monotonic() + PATIENCE
            while not server.started:
                assert thread.is_alive()
                assert time.monotonic() < end
                time.sleep(0.01)
            yield Served(server, listener.port)
        finally:
            server.should_exit = True
            thread.join(PATIENCE)
            assert not thread.is_alive(), "the server did not stop"
