"""`robustness serve [STUDY]`: the live page of a store; reads it without disturbing a running sweep."""

from __future__ import annotations

import argparse
import sys
from contextlib import suppress

from robustness.cli import DONE
from robustness.guards.printable import printable
from robustness.serve.addresses import listen, require_extra


def run(arguments: argparse.Namespace) -> int:
    """Serve the live page until Ctrl-C, which is how it is meant to end."""
    require_extra()
    # Starlette and uvicorn, which are an extra.
    from robustness.serve.server import LiveServer

    listener = listen(arguments.host, arguments.port)
    with listener.socket:
        server = LiveServer(arguments.store, listener, with_token=arguments.token)
        print(printable(f"live page: {server.url(arguments.study)} (Ctrl-C ends it)"), flush=True)
        if not listener.is_loopback:
            print("anyone who has this URL can read the results; the connection is not encrypted", file=sys.stderr)
        with suppress(KeyboardInterrupt):
            server.serve_until_stopped()
    return DONE
