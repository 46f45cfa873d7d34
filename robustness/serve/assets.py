"""The files of the live page, read once; its colours and letters are those of the report."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import report

_FOLDER = Path(__file__).parent / "static"
_THEME = Path(report.__file__).parent / "templates" / "theme.css"
_TYPES = {".css": "text/css", ".js": "text/javascript", ".html": "text/html"}


class Asset(NamedTuple):
    """A file as it is sent."""

    content: bytes
    media_type: str


def assets() -> dict[str, Asset]:
    """Every file by its name, which is all that a request can name."""
    return {path.name: Asset(path.read_bytes(), _TYPES[path.suffix]) for path in (*sorted(_FOLDER.iterdir()), _THEME)}
