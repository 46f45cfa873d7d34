"""Who may read the live page: the guard in front of every request, and the headers of every response.

- Only GET and HEAD: nothing can be written.
- The Host header must be a name of the address that is listened on, so that a foreign name that resolves to this
  machine (DNS rebinding) reaches nothing. Its port is not compared: a tunnel may have another.
- A request that a page of another site makes is refused; following a link from there is not.
- With a token, a request needs the cookie that the URL with the token sets. Both are compared in constant time.
"""

from __future__ import annotations

import hmac
import ipaddress
import secrets
from collections.abc import Collection
from dataclasses import dataclass, field
from http.cookies import CookieError, SimpleCookie
from urllib.parse import parse_qsl, urlencode, urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}
METHODS = ("GET", "HEAD")
LONGEST_TARGET = 4000
"""Bytes of a path and its query."""
LARGEST_HEAD = 16_384
"""Bytes of a request's headers."""


def new_token() -> str:
    """A token that cannot be guessed."""
    return secrets.token_urlsafe(32)


@dataclass(frozen=True)
class Rules:
    """What a request must show."""

    names: Collection[str]
    """The names that a Host header may have, beside the address of the connection."""
    token: str | None = None
    """The token that is needed; None if everybody who can connect may read."""
    cookie: str = "robustness"
    """The name of the cookie, different for each port, since cookies are not."""
    session: str = field(default_factory=new_token)
    """The value of the cookie, which is not the token: a stolen cookie does not make a URL to pass on."""


class Guard:
    """The middleware."""

    def __init__(self, app: ASGIApp, rules: Rules) -> None:
        self._app = app
        self._rules = rules

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers[name] = value
                headers.setdefault("Content-Security-Policy", POLICY)
            await send(message)

        if scope["type"] != "http":
            return
        refusal = self._refusal(scope)
        await (self._app if refusal is None else refusal)(scope, receive, send_with_headers)

    def _refusal(self, scope: Scope) -> Response | None:
        """The response to a request that may not be answered; None if it may."""
        headers = Headers(scope=scope)
        if scope["method"] not in METHODS:
            return _refused(405, "This server only shows results: GET and HEAD are allowed.", Allow=", ".join(METHODS))
        if len(scope["raw_path"]) + len(scope["query_string"]) > LONGEST_TARGET:
            return _refused(414, "The address is too long.")
        if sum(len(name) + len(value) for name, value in scope["headers"]) > LARGEST_HEAD:
            return _refused(431, "The headers of the request are too large.")
        if not self._is_own_name(headers.getlist("host"), scope):
            return _refused(421, "Refused: the Host header does not name this server.")
        if self._is_foreign(headers):
            return _refused(403, "Refused: the request comes from a page of another site.")
        return self._without_token(scope, headers) if self._rules.token is not None else None

    def _is_own_name(self, hosts: list[str], scope: Scope) -> bool:
        if len(hosts) != 1:
            return False
        name = _host_name(hosts[0])
        server = scope.get("server")
        return name is not None and (name in self._rules.names or _is_address(name, server[0] if server else ""))

    def _is_foreign(self, headers: Headers) -> bool:
        """Whether a page of another site makes this request; browsers say so in one header or the other."""
        origins = headers.getlist("origin")
        if origins and (len(origins) > 1 or urlsplit(origins[0]).netloc.lower() != headers["host"].lower()):
            return True
        site = headers.get("sec-fetch-site", "none")
        follows_link = headers.get("sec-fetch-mode") == "navigate" and headers.get("sec-fetch-dest") == "document"
        return site not in ("none", "same-origin") and not follows_link

    def _without_token(self, scope: Scope, headers: Headers) -> Response | None:
        """The response to a request without the cookie: a redirect with it if the URL has the token."""
        query = parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True)
        tokens = [value for name, value in query if name == "token"]
        if len(tokens) == 1 and _equal(tokens[0], self._rules.token or ""):
            rest = urlencode([(name, value) for name, value in query if name != "token"])
            # One slash at its beginning: two would be another host.
            place = "/" + scope["raw_path"].decode("latin-1").lstrip("/\\")
            response = RedirectResponse(f"{place}?{rest}" if rest else place, status_code=303)
            response.set_cookie(self._rules.cookie, self._rules.session, httponly=True, samesite="strict", path="/")
            return response
        if _equal(_cookie(headers, self._rules.cookie), self._rules.session):
            return None
        return _refused(401, "A token is needed: open the URL that `robustness serve` has printed.")


def _host_name(host: str) -> str | None:
    """The name in a Host header, without its port and brackets; None if it is malformed."""
    try:
        parts = urlsplit(f"//{host}")
        valid = not (parts.path or parts.query or parts.fragment or parts.username or parts.password)
        # Reading the port checks it.
        return parts.hostname if valid and (parts.port is None or parts.port > 0) else None
    except ValueError:
        return None


def _is_address(name: str, server: str) -> bool:
    """Whether a name is the numeric address at which this connection arrived."""
    try:
        found, own = ipaddress.ip_address(name), ipaddress.ip_address(server)
    except ValueError:
        return False
    mapped = getattr(own, "ipv4_mapped", None)
    return found in (own, mapped)


def _cookie(headers: Headers, name: str) -> str:
    try:
        cookies: SimpleCookie = SimpleCookie("; ".join(headers.getlist("cookie")))
    except CookieError:
        return ""
    return cookies[name].value if name in cookies else ""


def _equal(value: str, secret: str) -> bool:
    return hmac.compare_digest(value.encode("utf-8", "replace"), secret.encode())


def _refused(status: int, line: str, **headers: str) -> Response:
    # A body that nobody has read is still on its way.
    return PlainTextResponse(f"{line}\n", status_code=status, headers={"Connection": "close", **headers})
