"""Who may talk to Ray: its token, which only this user can read, and the refusal to do without one.

Ray takes the token from RAY_AUTH_TOKEN, from the file that RAY_AUTH_TOKEN_PATH names, or from ~/.ray/auth_token.
"""

from __future__ import annotations

import os
import secrets
import stat
from contextlib import suppress
from pathlib import Path

from robustness.errors import RobustnessError

MODE, TOKEN, TOKEN_PATH = "RAY_AUTH_MODE", "RAY_AUTH_TOKEN", "RAY_AUTH_TOKEN_PATH"


class RayError(RobustnessError):
    """A Ray cluster cannot be reached or started, or not safely."""


def refuse_open_mode() -> None:
    """Raise `RayError` if the environment asks for a local Ray that obeys anyone who can reach it."""
    mode = os.environ.get(MODE)
    if mode is not None and mode.lower() != "token":
        raise RayError(
            f"{MODE} is {mode!r}: without a token, other users of this machine could run code in this sweep; "
            f"unset {MODE}, or set it to token"
        )


def has_token() -> bool:
    """Whether the environment or the user's home folder holds a token."""
    if os.environ.get(TOKEN):
        return True
    path = _token_file()
    with suppress(OSError):
        return path is not None and bool(path.read_bytes().strip())
    return False


def local_token() -> dict[str, str]:
    """Ensure that a local Ray has a token which only this user can read; returns variables to set for it, if any."""
    if os.environ.get(TOKEN):
        return {}
    path = _token_file()
    if os.environ.get(TOKEN_PATH) and not has_token():
        raise RayError(f"{TOKEN_PATH} names {str(path)!r}, which cannot be read or is empty")
    try:
        if path is None:
            raise FileNotFoundError
        _make_private(path)
        if not has_token():
            _write(path)
    except OSError:
        if not has_token():
            # Without a home folder the token lives as long as the sweep.
            return {TOKEN: secrets.token_hex(32)}
    return {}


def _token_file() -> Path | None:
    named = os.environ.get(TOKEN_PATH)
    if named:
        return Path(named)
    home = os.environ.get("HOME")
    return Path(home) / ".ray" / "auth_token" if home else None


def is_open_to_others() -> bool:
    """Whether other users can read the file of the token."""
    path = _token_file()
    with suppress(OSError):
        return path is not None and bool(stat.S_IMODE(path.stat().st_mode) & 0o077)
    return False


def _make_private(path: Path) -> None:
    """Withdraw the access of others to a token file of this user."""
    if is_open_to_others() and path.stat().st_uid == os.getuid():
        path.chmod(0o600)


def _write(path: Path) -> None:
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    path.unlink(missing_ok=True)
    with suppress(FileExistsError):  # Another sweep was faster.
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "w") as file:
            file.write(secrets.token_hex(32))
