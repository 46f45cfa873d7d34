"""The files of the live page, read once; its colours are those of the report."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import report

_FOLDER = Path(__file__).parent / "static"
_TYPES = {".css": "text/css", ".js": "text/javascript", ".html": "text/html"}
COLOURS = "colours.css"


class Asset(NamedTuple):
    """A file as it is sent."""

    content: bytes
    media_type: str


def assets() -> dict[str, Asset]:
    """Every file by its name, which is all that a request can name."""
    files = {path.name: Asset(path.read_bytes(), _TYPES[path.suffix]) for path in sorted(_FOLDER.iterdir())}
    return files | {COLOURS: Asset(colours().encode(), _TYPES[".css"])}


def colours() -> str:
    """The custom properties of the report's page, in light and dark."""
    return (Path(report.__file__).parent / "templates" / "theme.css").read_text(encoding="utf-8")
