"""Hiding secrets: the address of a store and a driver's error message as they may be shown.

A password can stand in many places of an address (`user:password@`, `?password=`, misspelt or upper-case options), so
the value of an option is shown only if the option is known to be harmless.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from urllib.parse import quote, quote_plus

from sqlalchemy import URL
from sqlalchemy.exc import DBAPIError

HIDDEN = "***"
_HARMLESS_OPTIONS = frozenset(
    {
        *("host", "hostaddr", "port", "user", "dbname", "timeout", "connect_timeout", "application_name", "sslmode"),
        *("keepalives", "keepalives_idle", "keepalives_interval", "keepalives_count", "tcp_user_timeout"),
        *("target_session_attrs", "client_encoding", "gssencmode", "channel_binding"),
    }
)
_HARMLESS_VALUE = re.compile(r"[\w./,+~ \[\]-]*")
_SECRET_VARIABLES = ("PGPASSWORD", "PGPASSFILE", "PGSSLPASSWORD")
_ASSIGNED = re.compile(r"(\b\w*(?:pas+w|pass|pswd|pwd|secret|token)\w*\s*=\s*)('[^']*'|\"[^\"]*\"|[^\s,;&)]+)", re.I)
_IN_ADDRESS = re.compile(r"(://[^\s:/@]*:)[^\s@]*@")
_SHORTEST = 3
"""An option's hidden value that is shorter than this is not searched for in messages, which it could not identify."""


def shown(url: URL) -> str:
    """The URL for messages, without secrets and as users write it."""
    query = {name: HIDDEN if _is_hidden(name, values) else values for name, values in url.query.items()}
    harmless = url.username is None or _HARMLESS_VALUE.fullmatch(url.username)
    name = url.username if harmless else HIDDEN
    plain = url.set(drivername=url.get_backend_name(), username=name, query=query)
    return plain.render_as_string(hide_password=True).replace(quote_plus(HIDDEN), HIDDEN)


def complaint(error: BaseException, url: URL) -> str:
    """The driver's error message in one line, without SQL and secrets."""
    original = error.orig if isinstance(error, DBAPIError) and error.orig is not None else error
    line = " ".join(str(original).split()) or type(original).__name__
    for secret in sorted(_secrets(url), key=len, reverse=True):
        for form in (quote(secret, safe=""), quote_plus(secret), secret):
            line = line.replace(form, HIDDEN)
    return _IN_ADDRESS.sub(rf"\1{HIDDEN}@", _ASSIGNED.sub(rf"\1{HIDDEN}", line))


def _secrets(url: URL) -> Iterator[str]:
    """Every secret in the address or in the environment of libpq."""
    if url.password:
        yield str(url.password)
    for name in _SECRET_VARIABLES:
        if os.environ.get(name):
            yield os.environ[name]
    for name, values in url.query.items():
        if _is_hidden(name, values):
            known = _ASSIGNED.match(f"{name}=x") is not None
            yield from (value for value in _each(values) if value and (known or len(value) >= _SHORTEST))


def _is_hidden(name: str, values: str | tuple[str, ...]) -> bool:
    return name not in _HARMLESS_OPTIONS or not all(_HARMLESS_VALUE.fullmatch(value) for value in _each(values))


def _each(values: str | tuple[str, ...]) -> tuple[str, ...]:
    return (values,) if isinstance(values, str) else tuple(values)
