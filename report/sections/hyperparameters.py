"""The hyperparameters of one configuration, as every section shows them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from report.frames import is_missing

if TYPE_CHECKING:
    from collections.abc import Iterable

    from report.frames import StudyFrames


def values_of(frames: StudyFrames, configuration: int, names: Iterable[str]) -> dict[str, object]:
    """The named hyperparameters that a configuration has, as plain values."""
    row = frames.configurations.loc[configuration]
    return {
        name: value.item() if isinstance(value, np.generic) else value
        for name in names
        if not is_missing(value := row[name])
    }
