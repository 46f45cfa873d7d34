"""Tables of runs in files: CSV (also compressed, with other delimiters, in UTF-16), parquet and JSON records.

Every cell of a CSV file is read as text, so that an empty cell and `nan` stay apart and no value is guessed at.
"""

from __future__ import annotations

import csv
import io
import json
import re
import zlib
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.csv as arrow_csv
import pyarrow.parquet as pq

from robustness.errors import RobustnessError, shown
from robustness.guards.limits import check, limit, open_file, read_bytes
from robustness.guards.tables import plain

GZIP, PARQUET = b"\x1f\x8b", b"PAR1"
DELIMITERS = (",", ";", "\t", "|")
_UTF16 = {b"\xff\xfe": "utf-16", b"\xfe\xff": "utf-16"}
_DECIMAL_COMMA = re.compile(r"[+-]?\d+(,\d+)?([eE][+-]?\d+)?")
_HEADER = 1_000_000
"""Bytes at the start of a file in which its line of column names must end."""


def read_table(path: Path) -> pd.DataFrame:
    """The table in a file, by its content; raises RobustnessError with one line for anything else."""
    with open_file(path, "runs_bytes", RobustnessError) as file:
        start = file.read(4)
    if start == PARQUET:
        return _read_parquet(path)
    content = read_bytes(path, "runs_bytes", RobustnessError)
    if content.startswith(GZIP):
        content = _unpacked(content, path)
    text_start = content[:100].lstrip(b"\xef\xbb\xbf \t\r\n")
    if text_start.startswith((b"[", b"{")):
        return read_json(content, path)
    return read_csv(content, path)


def read_csv(content: bytes, path: Path) -> pd.DataFrame:
    """A CSV file as text in every cell; rows without any text are left out."""
    content = _utf8(content, path)
    delimiter, header = _header(content, path)
    check("table_columns", len(header), path, RobustnessError)
    _check_header(header, path)
    # Each row takes at least a line; a file of many more lines than rows may be long is refused before it is parsed.
    lines = content.count(b"\n") + 1
    check("runs_cells", lines * len(header), path, RobustnessError)
    check("runs_rows", lines - 1, path, RobustnessError)
    try:
        table = arrow_csv.read_csv(
            pa.BufferReader(content),
            arrow_csv.ReadOptions(column_names=[str(place) for place in range(len(header))], use_threads=False),
            arrow_csv.ParseOptions(delimiter=delimiter, newlines_in_values=True),
            arrow_csv.ConvertOptions(
                column_types={str(place): pa.string() for place in range(len(header))}, strings_can_be_null=False
            ),
        )
    except pa.ArrowInvalid as problem:
        raise RobustnessError(f"{path}: {_complaint(problem, len(header))}") from None
    frame: pd.DataFrame = table.slice(1).to_pandas()
    frame = frame[[str(place) for place, name in enumerate(header) if name]]
    frame.columns = pd.Index([name for name in header if name])
    if (frame == "").any(axis=None):
        frame = frame[(frame != "").any(axis="columns")].reset_index(drop=True)
    if frame.empty:
        raise RobustnessError(f"{path}: has no rows below its header")
    return frame if delimiter == "," else frame.apply(_with_decimal_points)


def read_json(content: bytes, path: Path) -> pd.DataFrame:
    """A JSON file: a list of records, a record per line, or columns by name."""
    document = parsed_json(content, path)
    if isinstance(document, dict) and document and all(isinstance(value, list) for value in document.values()):
        if len({len(value) for value in document.values()}) != 1:
            raise RobustnessError(f"{path}: its columns have different lengths")
        names, records = list(document), list(zip(*document.values(), strict=True))
        rows: Any = [dict(zip(names, record, strict=True)) for record in records]
    else:
        rows = document
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise RobustnessError(f"{path}: must be a list of records, one for each run or epoch")
    if not rows:
        raise RobustnessError(f"{path}: has no records")
    flat = [_flattened(row) for row in rows]
    names = list(dict.fromkeys(name for row in flat for name in row))
    check("runs_rows", len(flat), path, RobustnessError)
    check("table_columns", len(names), path, RobustnessError)
    check("runs_cells", len(flat) * len(names), path, RobustnessError)
    return pd.DataFrame({name: pd.Series([row.get(name) for row in flat], dtype=object) for name in names})


def parsed_json(content: bytes, source: object) -> Any:
    """The value in a JSON file, or the list of those in a file with one on each line."""
    try:
        return json.loads(content)
    except (ValueError, RecursionError) as problem:
        try:
            return [json.loads(line) for line in content.splitlines() if line.strip()]
        except (ValueError, RecursionError):
            raise RobustnessError(f"{source}: is not JSON ({problem})") from None


def flattened(record: Any) -> dict[str, Any]:
    """A nested mapping with the path of each value as its name, `optimizer/lr`."""
    return _flattened(record) if isinstance(record, dict) else {}


def _flattened(record: dict[str, Any], prefix: str = "", depth: int = 0) -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for key, value in record.items():
        name = f"{prefix}{key}"
        if isinstance(value, dict) and value and depth < 20:
            flat.update(_flattened(value, f"{name}/", depth + 1))
        else:
            flat[name] = value
    return flat


def _read_parquet(path: Path) -> pd.DataFrame:
    try:
        file = pq.ParquetFile(path, memory_map=False)
        found = file.metadata
        check("runs_rows", found.num_rows, path, RobustnessError)
        check("table_columns", found.num_columns, path, RobustnessError)
        check("runs_cells", found.num_rows * found.num_columns, path, RobustnessError)
        unpacked = sum(found.row_group(place).total_byte_size for place in range(found.num_row_groups))
        check("runs_bytes", unpacked, path, RobustnessError)
        table = file.read()
        # Text that is not UTF-8 would otherwise fail wherever it is first used.
        table.validate(full=True)
        frame: pd.DataFrame = table.to_pandas()
    except (pa.ArrowException, OSError, ValueError) as problem:
        raise RobustnessError(f"{path}: cannot be read as parquet ({' '.join(str(problem).split())[:100]})") from None
    if frame.empty:
        raise RobustnessError(f"{path}: has no rows")
    return frame.reset_index(drop=True)


def _unpacked(content: bytes, path: Path) -> bytes:
    """The content of a gzip file, within the limit on bytes."""
    most = limit("runs_bytes")
    unpacker = zlib.decompressobj(wbits=31)
    try:
        plain_content = unpacker.decompress(content, most + 1)
    except zlib.error as problem:
        raise RobustnessError(f"{path}: cannot be unpacked ({problem})") from None
    check("runs_bytes", len(plain_content), path, RobustnessError)
    if not unpacker.eof:
        raise RobustnessError(f"{path}: cannot be unpacked (it ends too early)")
    return plain_content


def _utf8(content: bytes, path: Path) -> bytes:
    """The content in UTF-8 without a byte order mark."""
    encoding = _UTF16.get(content[:2])
    if encoding is not None:
        try:
            return content.decode(encoding).encode()
        except UnicodeError as problem:
            raise RobustnessError(f"{path}: cannot be read as UTF-16 ({problem})") from None
    if b"\0" in content:
        raise RobustnessError(f"{path}: contains NUL bytes, so it is no CSV file; save it as text in UTF-8")
    return content.removeprefix(b"\xef\xbb\xbf")


def _header(content: bytes, path: Path) -> tuple[str, list[str]]:
    """The delimiter of a CSV file and the names of its columns."""
    try:
        text = content[:_HEADER].decode("utf-8", "ignore" if len(content) > _HEADER else "strict")
        lines = text.lstrip("\r\n")
        if not lines.strip():
            raise RobustnessError(f"{path}: is empty; a CSV file starts with a line of column names")
        headers = {mark: next(csv.reader(io.StringIO(lines, newline=""), delimiter=mark)) for mark in DELIMITERS}
    except UnicodeDecodeError as problem:
        raise RobustnessError(f"{path}: byte {problem.start:,} is not UTF-8; save the file as CSV in UTF-8") from None
    except csv.Error as problem:
        raise RobustnessError(f"{path}: cannot be read as CSV ({problem})") from None
    delimiter = max(DELIMITERS, key=lambda mark: len(headers[mark]))
    return delimiter, [plain(name) for name in headers[delimiter]]


def _check_header(header: list[str], path: Path) -> None:
    names = [name for name in header if name]
    if not names:
        raise RobustnessError(f"{path}: is empty; a CSV file starts with a line of column names")
    for place, name in enumerate(names):
        if name in names[:place]:
            raise RobustnessError(f"{path}: the column {shown(name)} appears twice")


def _complaint(problem: pa.ArrowInvalid, columns: int) -> str:
    text = " ".join(str(problem).split())
    row = re.search(r"(?:Row #(\d+): )?Expected (\d+) columns, got (\d+)", text)
    if row:
        place = f"line {row[1]} " if row[1] else "a line "
        return f"{place}has {row[3]} cells, but the header has {columns}"
    if "UTF8" in text:
        return "is not UTF-8; save the file as CSV in UTF-8"
    return f"cannot be read as CSV ({text[:100]})"


def _with_decimal_points(column: pd.Series[Any]) -> pd.Series[Any]:
    """Numbers written as `0,5` as `0.5`, if all of the column are such."""
    filled = column[column != ""]
    with_comma = filled.str.contains(",", regex=False)
    if not with_comma.any() or not filled.str.fullmatch(_DECIMAL_COMMA).all():
        return column
    return column.str.replace(",", ".", regex=False)
