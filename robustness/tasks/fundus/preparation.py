"""`robustness prepare retinopathy`: converts downloaded photographs into a folder that loads fast.

Image i of the plan is always row i of `images.npy`, and `state.npy` records which rows are done, so an interrupted
preparation can be resumed. Rows are ordered by split. At the end, the last images of a split are copied over the rows
of its unreadable ones, so that each split is contiguous. The originals keep their rows, so repeating this after a crash
or after repairing an image is always correct.
"""

from __future__ import annotations

import csv
import hashlib
import json
import multiprocessing
import os
import signal
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from itertools import repeat
from pathlib import Path
from typing import Any

import numpy as np
from filelock import FileLock, Timeout
from numpy.typing import NDArray

from robustness.errors import TaskError, plural
from robustness.files import replacing
from robustness.guards.limits import read_bytes
from robustness.guards.printable import printable
from robustness.tasks.data import channel_statistics
from robustness.tasks.fundus.label_table import SPLITS, Photograph
from robustness.tasks.fundus.photographs import Source, prepare_picture
from robustness.tasks.fundus.retinopathy import FACTS, IMAGES, PHOTOGRAPHS, VERSION, checksum_of

PLAN, STATE, UNREADABLE, LOCK = "plan.json", "state.npy", "unreadable.txt", ".lock"
TO_DO, DONE, FAILED = 0, 1, 2
SAVED_EVERY = 64
"""Number of images between saves of the state; at most this many are redone after a crash."""
SMALLEST_SIZE, LARGEST_SIZE = 16, 2048


@dataclass(frozen=True)
class Prepared:
    """Result of a preparation."""

    counts: dict[str, int]
    """Number of usable images in each split."""
    patients: int
    unreadable: tuple[tuple[str, str], ...]
    """Name of each unusable image and the reason."""


def prepare(
    images: Path,
    photographs: Sequence[Photograph],
    size: int,
    out: Path,
    workers: int = 1,
    on_progress: Callable[[int, int], None] | None = None,
) -> Prepared:
    """Crop, resize and store photographs in the folder `out`, or resume that; calls `on_progress(done, total)`."""
    if not SMALLEST_SIZE <= size <= LARGEST_SIZE:
        raise TaskError(f"size is {size}, but must be between {SMALLEST_SIZE} and {LARGEST_SIZE} pixels")
    plan = [photograph for split in SPLITS for photograph in photographs if photograph.split == split]
    for split in SPLITS[:2]:
        if not any(photograph.split == split for photograph in plan):
            raise TaskError(
                f"{plural(len(plan), 'image')} cannot be split: the {split} set would be empty; add images, or "
                "change the shares of the splits"
            )
    source = Source(images)
    try:
        files = source.find([photograph.name for photograph in plan])
    finally:
        source.close()
    if not any(files):
        raise TaskError(f"{images}: has none of the {len(plan)} images in the labels, such as {plan[0].name!r}")
    try:
        out.mkdir(parents=True, exist_ok=True)
        # Before the lock, which would empty a file of that name.
        _check_folder(out)
        with FileLock(out / LOCK, timeout=0):
            return _prepare(images, plan, files, size, out, workers, on_progress)
    except Timeout:
        raise TaskError(f"{out}: another preparation is writing there") from None
    except OSError as error:
        raise TaskError(f"{out}: cannot be written ({error.strerror or error})") from error


def _check_folder(out: Path) -> None:
    """Raise if a folder holds something else than a preparation."""
    contents = sorted(path.name for path in out.iterdir())
    if PLAN not in contents and contents not in ([], [LOCK]):
        raise TaskError(f"{out}: is not empty (it holds {contents[0]!r}) and not a preparation; choose another --out")
    if contents == [LOCK] and (out / LOCK).stat().st_size:
        raise TaskError(f"{out}: is not empty (it holds {LOCK!r}) and not a preparation; choose another --out")


def _prepare(
    images: Path,
    plan: Sequence[Photograph],
    files: Sequence[str | None],
    size: int,
    out: Path,
    workers: int,
    on_progress: Callable[[int, int], None] | None,
) -> Prepared:
    _check_plan(out, plan, size)
    state = _state(out, len(plan), size)
    reasons = {}
    rows = []
    for row in np.flatnonzero(state != DONE).tolist():
        if files[row] is None:
            reasons[row] = f"no such image in {images}"
        else:
            rows.append(row)
    (out / FACTS).unlink(missing_ok=True)
    work = [(row, str(files[row])) for row in rows]
    finished: dict[int, str | None] = {}
    try:
        for row, reason in _results(images, out, size, work, workers):
            finished[row] = reason
            if reason is not None:
                reasons[row] = reason
            if len(finished) % SAVED_EVERY == 0:
                _save(out, state, finished)
            if on_progress is not None:
                on_progress(len(plan) - len(work) + len(finished), len(plan))
    finally:
        _save(out, state, finished)
    state[list(reasons)] = FAILED
    return _finish(out, plan, size, state, reasons)


def _check_plan(out: Path, plan: Sequence[Photograph], size: int) -> None:
    """Record the plan in a new folder, or raise if the folder holds a different one."""
    lines = "\n".join(f"{entry.name}\t{entry.grade}\t{entry.patient}\t{entry.split}" for entry in plan)
    current = {"size": size, "pictures": len(plan), "labels": hashlib.sha256(lines.encode()).hexdigest()}
    file = out / PLAN
    if not file.exists():
        _write(file, json.dumps(current))
        return
    content = read_bytes(file, "study_bytes", TaskError)
    try:
        recorded = json.loads(content)
        differences = [key for key in current if recorded.get(key) != current[key]]
    except (ValueError, AttributeError, RecursionError) as error:
        raise TaskError(f"{file}: cannot be read ({error}); choose another --out") from error
    if differences:
        key = differences[0]
        was, now = ("other labels", "these") if key == "labels" else (recorded.get(key), current[key])
        raise TaskError(f"{out}: holds a preparation with {key} {was}, not {now}; choose another --out")


def _state(out: Path, count: int, size: int) -> NDArray[np.uint8]:
    """Load the state of each row, or allocate the files if they do not exist."""
    shape = (count, size, size, 3)
    if (out / STATE).exists() and (out / IMAGES).exists():
        try:
            state: NDArray[np.uint8] = np.load(out / STATE, allow_pickle=False)
            pixels = np.load(out / IMAGES, mmap_mode="r", allow_pickle=False)
        except (ValueError, EOFError) as error:
            raise TaskError(f"{out}: is damaged ({error}); remove it, or choose another --out") from None
        if not state.dtype == pixels.dtype == np.uint8 or (state.shape, pixels.shape) != ((count,), shape):
            raise TaskError(f"{out}: is damaged ({STATE} or {IMAGES} is of another shape); remove it and prepare again")
        return state
    np.lib.format.open_memmap(out / IMAGES, mode="w+", dtype=np.uint8, shape=shape).flush()
    if hasattr(os, "posix_fallocate"):
        # A full disk raises an error here instead of killing a process that writes to mapped memory later.
        with (out / IMAGES).open("r+b") as file:
            os.posix_fallocate(file.fileno(), 0, os.fstat(file.fileno()).st_size)
    state = np.full(count, TO_DO, dtype=np.uint8)
    _save(out, state, {})
    return state


def _save(out: Path, state: NDArray[np.uint8], finished: dict[int, str | None]) -> None:
    """Save the state, after flushing the pixels it refers to."""
    np.lib.format.open_memmap(out / IMAGES, mode="r+").flush()
    for row, reason in finished.items():
        state[row] = DONE if reason is None else FAILED
    with replacing(out / STATE) as file:
        np.save(file, state)


def _results(
    images: Path, out: Path, size: int, work: list[tuple[int, str]], workers: int
) -> Iterator[tuple[int, str | None]]:
    """Process all images; yields each row with None, or with the reason why it failed."""
    if workers <= 1 or len(work) < 2:
        _start(images, out)
        try:
            yield from map(_work, work, repeat(size))
        finally:
            _stop()
        return
    context = multiprocessing.get_context("spawn")
    pool = ProcessPoolExecutor(workers, context, initializer=_start_worker, initargs=(images, out))
    try:
        yield from pool.map(_work, work, repeat(size), chunksize=8)
    except BrokenProcessPool:
        raise TaskError(
            f"{out}: a worker process died, perhaps out of memory; run it again with fewer --workers to resume"
        ) from None
    finally:
        pool.shutdown(cancel_futures=True)


_open: dict[str, Any] = {}
"""Resources of a worker process: the source and the memory-mapped file."""


def _start(images: Path, out: Path) -> None:
    _open["source"] = Source(images)
    _open["pixels"] = np.lib.format.open_memmap(out / IMAGES, mode="r+")


def _start_worker(images: Path, out: Path) -> None:
    # Ctrl-C reaches the whole process group; only the main process handles it.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _start(images, out)


def _stop() -> None:
    _open.pop("source").close()
    del _open["pixels"]


def _work(item: tuple[int, str], size: int) -> tuple[int, str | None]:
    row, file = item
    try:
        image = prepare_picture(_open["source"].read(file), size)
    except Exception as error:  # decoders raise almost anything on damaged files, which must not end the preparation
        return row, printable(error if isinstance(error, TaskError) else f"{type(error).__name__}: {error}")
    _open["pixels"][row] = image
    return row, None


def _finish(
    out: Path, plan: Sequence[Photograph], size: int, state: NDArray[np.uint8], reasons: dict[int, str]
) -> Prepared:
    """Fill the gaps and write the tables, last the one that marks the preparation as finished."""
    pixels = np.lib.format.open_memmap(out / IMAGES, mode="r+")
    order: list[tuple[int, Photograph]] = []
    ranges: dict[str, tuple[int, int]] = {}
    start = 0
    for split in SPLITS:
        stop = start + sum(photograph.split == split for photograph in plan)
        usable = start + np.flatnonzero(state[start:stop] == DONE)
        end = start + len(usable)
        source_of = dict(zip(usable[usable < end].tolist(), usable[usable < end].tolist(), strict=True))
        holes = [row for row in range(start, end) if row not in source_of]
        for hole, row in zip(holes, usable[usable >= end].tolist(), strict=True):
            pixels[hole] = pixels[row]
            source_of[hole] = row
        order += [(row, plan[source_of[row]]) for row in range(start, end)]
        ranges[split] = (start, len(usable))
        start = stop
    pixels.flush()
    unreadable = tuple((plan[row].name, reasons[row]) for row in sorted(reasons))
    _write(out / UNREADABLE, "".join(f"{name}\t{reason}\n" for name, reason in unreadable))
    for split in SPLITS[:2]:
        if ranges[split][1] == 0:
            raise TaskError(f"{out}: no image of the {split} split is readable, see {out / UNREADABLE}")
    numbers = {patient: number for number, patient in enumerate(sorted({entry.patient for entry in plan}))}
    _write_photographs(out, order, numbers)
    mean, std = channel_statistics(pixels[: ranges["train"][1]])
    facts: dict[str, Any] = {"version": VERSION, "size": size, "splits": {name: list(r) for name, r in ranges.items()}}
    facts |= {"mean": mean.tolist(), "std": std.tolist()}
    facts["files"] = {name: _checksum(out / name) for name in (IMAGES, PHOTOGRAPHS)}
    _write(out / FACTS, json.dumps({**facts, "checksum": checksum_of(facts)}, indent=1))
    counts = {split: count for split, (_, count) in ranges.items()}
    return Prepared(counts, len({entry.patient for _, entry in order}), unreadable)


def _checksum(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _write_photographs(out: Path, order: Sequence[tuple[int, Photograph]], numbers: dict[str, int]) -> None:
    with replacing(out / PHOTOGRAPHS, "w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["row", "name", "grade", "patient", "patient_number", "split"])
        for row, entry in order:
            writer.writerow([row, entry.name, entry.grade, entry.patient, numbers[entry.patient], entry.split])


def _write(path: Path, text: str) -> None:
    with replacing(path, "w", encoding="utf-8") as file:
        file.write(text)
