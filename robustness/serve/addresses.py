"""Where the live page listens: the socket, the names by which it may be called, and the URL to open."""

from __future__ import annotations

import ipaddress
import socket
from dataclasses import dataclass
from importlib.util import find_spec
from urllib.parse import quote

from robustness.errors import RobustnessError

LOOPBACK = "127.0.0.1"
PORT = 8642
_LOOPBACK_NAMES = frozenset({"localhost", "127.0.0.1", "::1"})


class ServeError(RobustnessError):
    """The live page cannot be served."""


def require_extra() -> None:
    """Raise ServeError if the packages that serve pages are not installed."""
    missing = [name for name in ("starlette", "uvicorn") if find_spec(name) is None]
    if missing:
        raise ServeError(
            f"the live page needs {' and '.join(missing)}, not installed here: pip install -e '.[serve]' in the "
            "project's folder"
        )


@dataclass(frozen=True)
class Listener:
    """A socket that listens."""

    socket: socket.socket
    host: str
    """The address as the user gave it."""

    @property
    def port(self) -> int:
        return int(self.socket.getsockname()[1])

    @property
    def is_loopback(self) -> bool:
        """Whether only this machine can reach it."""
        return ipaddress.ip_address(self.socket.getsockname()[0]).is_loopback

    def names(self) -> frozenset[str]:
        """The names, beside the address of a connection, that a Host header may have."""
        if self.is_loopback:
            return _LOOPBACK_NAMES | {self.host.lower()}
        own = {self.host, socket.gethostname(), socket.getfqdn()}
        return _LOOPBACK_NAMES | {name.lower() for name in own}

    def url(self, study: str | None = None, token: str | None = None) -> str:
        """The URL to open."""
        host = self.host
        if ipaddress.ip_address(self.socket.getsockname()[0]).is_unspecified:
            host = socket.gethostname()
        shown = f"[{host}]" if ":" in host else host
        path = "/" if study is None else f"/studies/{quote(study, safe='')}"
        return f"http://{shown}:{self.port}{path}{'' if token is None else f'?token={token}'}"


def listen(host: str = LOOPBACK, port: int = PORT, any_port: bool = False) -> Listener:
    """Listen on an address; with `any_port` on another port if that one is in use. Raises ServeError."""
    try:
        family, kind, protocol, _, place = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    except (socket.gaierror, UnicodeError):
        raise ServeError(f"--host: {host!r} is not an address of this machine") from None
    listener = socket.socket(family, kind, protocol)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind(place)
    except OSError as error:
        listener.close()
        if port and any_port:
            return listen(host, 0)
        raise _refused(host, port, error) from None
    listener.listen(128)
    return Listener(listener, host)


def _refused(host: str, port: int, error: OSError) -> ServeError:
    if isinstance(error, PermissionError):
        return ServeError(f"port {port} needs root: choose one above 1023, or --port 0 for any that is free")
    free = next((other for other in range(port + 1, min(port + 50, 65536)) if _is_free(host, other)), None)
    if error.errno is not None and free is not None and not _is_free(host, port) and _is_free(host, 0):
        return ServeError(
            f"port {port} is in use: choose another, such as --port {free}, or --port 0 for any free port"
        )
    return ServeError(f"cannot listen on {host} port {port}: {error.strerror or error}")


def _is_free(host: str, port: int) -> bool:
    try:
        family, kind, protocol, _, place = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        with socket.socket(family, kind, protocol) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(place)
    except OSError:
        return False
    return True
