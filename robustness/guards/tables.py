"""CSV files of strangers: read row by row within limits; and cells that no spreadsheet takes for a formula."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from robustness.errors import RobustnessError, shown
from robustness.guards.limits import check, open_file

_FORMULA = re.compile(r"'*[=+\-@\t\r\n\uff1d\uff0b\uff0d\uff20]")


def neutral(text: str) -> str:
    """Return a text as a cell that no spreadsheet runs: with an apostrophe in front if it begins like a formula."""
    return f"'{text}" if _FORMULA.match(text) else text


def is_neutralised(cell: str) -> bool:
    """Whether `neutral` put an apostrophe in front of this cell."""
    return cell.startswith("'") and _FORMULA.match(cell) is not None


def plain(cell: str) -> str:
    """Return the text of a cell, without the apostrophe of `neutral`."""
    return cell[1:] if is_neutralised(cell) else cell


@dataclass(frozen=True)
class Row:
    """A row of a CSV file."""

    line: int
    """The line on which it ends, counted from 1."""
    cells: Mapping[str, str]
    """Each cell by its column, as it is in the file; missing ones are empty."""


@contextmanager
def open_table(path: Path, error: type[RobustnessError]) -> Iterator[tuple[list[str], Iterator[Row]]]:
    """Open a CSV file: the names of its columns, and its rows, which are read one by one; empty rows are skipped.

    Raises `error` for a file that is not CSV in UTF-8, exceeds a limit, has a row with more cells than the header, or
    names a column twice. Cells in columns without a name are left out.
    """
    with open_file(path, "table_bytes", error) as binary:
        text = io.TextIOWrapper(binary, encoding="utf-8-sig", newline="")
        try:
            reader = csv.reader(text)
            header = [plain(name) for name in next(reader, [])]
            names = [name for name in header if name]
            check("table_columns", len(header), path, error)
            if not names:
                raise error(f"{path}: is empty; a CSV file starts with a line of column names")
            for place, name in enumerate(names):
                if name in names[:place]:
                    raise error(f"{path}: the column {shown(name)} appears twice")
            yield names, _rows(reader, header, path, error)
        except (OSError, UnicodeDecodeError, csv.Error) as problem:
            raise error(f"{path}: cannot be read as CSV ({getattr(problem, 'strerror', None) or problem})") from None


def _rows(reader: Any, header: list[str], path: Path, error: type[RobustnessError]) -> Iterator[Row]:
    named = [(place, name) for place, name in enumerate(header) if name]
    count = 0
    for cells in reader:
        if not any(cells):
            continue
        if any(cells[len(header) :]):
            raise error(f"{path}, line {reader.line_num}: has {len(cells)} cells, but the header has {len(header)}")
        count += 1
        check("table_rows", count, path, error)
        check("table_cells", count * len(named), path, error)
        cells += [""] * (len(header) - len(cells))
        yield Row(reader.line_num, {name: cells[place] for place, name in named})
