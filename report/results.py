"""The table of results as a file: the same study gives the same bytes, wherever and however often it ran."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pandas as pd


def as_csv(results: pd.DataFrame) -> bytes:
    """The results as CSV; floats with as many digits as it takes to read them back exactly."""
    return str(results.to_csv(index=False, lineterminator="\n")).encode()


def as_json(results: pd.DataFrame) -> bytes:
    """The results as a JSON list of rows; what is missing is null."""
    rows = [
        {name: None if pd.isna(value) else value for name, value in row.items()}
        for row in results.astype("object").to_dict("records")
    ]
    return (json.dumps(rows, indent=1, default=str) + "\n").encode()


def as_parquet(results: pd.DataFrame) -> bytes:
    """The results as a Parquet file."""
    content: bytes = results.to_parquet(index=False)
    return content


FORMATS: dict[str, Callable[[pd.DataFrame], bytes]] = {"csv": as_csv, "json": as_json, "parquet": as_parquet}


def write_results(results: pd.DataFrame, form: str, path: Path) -> None:
    """Write the results in one of `FORMATS`; a reader finds the old file or the new one, never a part."""
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_name(f"{path.name}.part")
    unfinished.write_bytes(FORMATS[form](results))
    unfinished.replace(path)
