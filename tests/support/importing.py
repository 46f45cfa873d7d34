"""Imports as the command line makes them, without a store."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from robustness.importing.frame import Import, make_import
from robustness.importing.options import ImportOptions
from robustness.importing.sources import SourceOptions, read_source


def imported(source: str | Path, **options: Any) -> Import:
    """What `robustness import SOURCE` understands; `studies`, `experiment` and `names` choose a part of the source."""
    part = {name: options.pop(name) for name in ("studies", "experiment", "names") if name in options}
    return make_import("imported", read_source(str(source), SourceOptions(**part)), ImportOptions(**options))
