"""`robustness prepare retinopathy`: downloaded photographs into a folder that trains fast.

Picture i of the plan always goes to row i of `images.npy`, and `state.npy` says which rows are done, so work that was
stopped goes on where it was. Rows are ordered by split. When all are done, the last pictures of a split are copied over
the rows of its unreadable ones: a split is then one piece of the file. The originals stay where they are, so that doing
this again, after a crash or once a picture has been mended, is always right.
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

from robustness.errors import TaskError
from robustness.tasks.data import channel_statistics
from robustness.tasks.fundus.label_table import SPLITS, Photograph
from robustness.tasks.fundus.photographs import Source, prepare_picture
from robustness.tasks.fundus.retinopathy import FACTS, IMAGES, PHOTOGRAPHS, VERSION

PLAN, STATE, UNREADABLE = "plan.json", "state.npy", "unreadable.txt"
TO_DO, DONE, FAILED = 0, 1, 2
SAVED_EVERY = 64
"""Pictures after which the state is written; as many at most are done again after a crash."""
LEAST_SIZE, LARGEST_SIZE = 16, 2048


@dataclass(frozen=True)
class Prepared:
    """What a preparation has come to."""

    counts: dict[str, int]
    """Usable pictures of each split."""
    patients: int
    unreadable: tuple[tuple[str, str], ...]
    """The name of each picture that could not be used, and why."""


def prepare(
    images: Path,
    photographs: Sequence[Photograph],
    size: int,
    out: Path,
    workers: int = 1,
    on_progress: Callable[[int, int], None] | None = None,
) -> Prepared:
    """Crop, resize and store the photographs in the folder `out`, or go on with it; `on_progress(done, total)`."""
    if not LEAST_SIZE <= size <= LARGEST_SIZE:
        raise TaskError(f"size is {size}, but it should be from {LEAST_SIZE} to {LARGEST_SIZE} pixels")
    plan = [photograph for split in SPLITS for photograph in photographs if photograph.split == split]
    for split in SPLITS[:2]:
        if not any(photograph.split == split for photograph in plan):
            raise TaskError(f"no picture is left for the {split} split of {len(plan)} pictures")
    source = Source(images)
    try:
        files = source.find([photograph.name for photograph in plan])
    finally:
        source.close()
    if not any(files):
        raise TaskError(f"{images}: has none of the {len(plan)} pictures in the labels, such as {plan[0].name!r}")
    try:
        out.mkdir(parents=True, exist_ok=True)
        with FileLock(out / ".lock", timeout=0):
            return _prepare(images, plan, files, size, out, workers, on_progress)
    except Timeout:
        raise TaskError(f"{out}: another preparation is writing there") from None
    except OSError as error:
        raise TaskError(f"{out}: cannot be written ({error})") from error


def _prepare(
    images: Path,
    plan: Sequence[Photograph],
    files: Sequence[str | None],
    size: int,
    out: Path,
    workers: int,
    on_progress: Callable[[int, int], None] | None,
) -> Prepared:
    _same_plan(out, plan, size)
    state = _state(out, len(plan), size)
    reasons = {}
    rows = []
    for row in np.flatnonzero(state != DONE).tolist():
        if files[row] is None:
            reasons[row] = f"no such picture in {images}"
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


def _same_plan(out: Path, plan: Sequence[Photograph], size: int) -> None:
    """Write down what this folder is for, or refuse it if it is for something else."""
    lines = "\n".join(f"{entry.name}\t{entry.grade}\t{entry.patient}\t{entry.split}" for entry in plan)
    mine = {"size": size, "pictures": len(plan), "labels": hashlib.sha256(lines.encode()).hexdigest()}
    file = out / PLAN
    if not file.exists():
        strangers = sorted(path.name for path in out.iterdir() if path.name != ".lock")
        if strangers:
            raise TaskError(
                f"{out}: is not empty (it holds {strangers[0]!r}) and is no preparation; choose another --out"
            )
        _write(file, json.dumps(mine))
        return
    try:
        theirs = json.loads(file.read_text(encoding="utf-8"))
        differences = [key for key in mine if theirs.get(key) != mine[key]]
    except (ValueError, AttributeError) as error:
        raise TaskError(f"{file}: cannot be read ({error}); choose another --out") from error
    if differences:
        key = differences[0]
        was, now = ("other labels", "these") if key == "labels" else (theirs.get(key), mine[key])
        raise TaskError(f"{out}: holds a preparation with {key} {was}, not {now}; choose another --out")


def _state(out: Path, count: int, size: int) -> NDArray[np.uint8]:
    """The state of each row, from the files if they are there; otherwise makes room for all pictures."""
    if (out / STATE).exists() and (out / IMAGES).exists():
        state: NDArray[np.uint8] = np.load(out / STATE, allow_pickle=False)
        return state
    shape = (count, size, size, 3)
    np.lib.format.open_memmap(out / IMAGES, mode="w+", dtype=np.uint8, shape=shape).flush()
    if hasattr(os, "posix_fallocate"):
        # A full disk shows here, as an error, and not later, as the death of a process that writes to mapped memory.
        with (out / IMAGES).open("r+b") as file:
            os.posix_fallocate(file.fileno(), 0, os.fstat(file.fileno()).st_size)
    state = np.full(count, TO_DO, dtype=np.uint8)
    _save(out, state, {})
    return state


def _save(out: Path, state: NDArray[np.uint8], finished: dict[int, str | None]) -> None:
    """Write the state, after the pixels that it speaks of."""
    np.lib.format.open_memmap(out / IMAGES, mode="r+").flush()
    for row, reason in finished.items():
        state[row] = DONE if reason is None else FAILED
    temporary = out / f"{STATE}.new"
    with temporary.open("wb") as file:
        np.save(file, state)
    temporary.replace(out / STATE)


def _results(
    images: Path, out: Path, size: int, work: list[tuple[int, str]], workers: int
) -> Iterator[tuple[int, str | None]]:
    """Do the work; for each row that has been written, or could not be, its number and None or the reason."""
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
            f"{out}: a worker process has died, perhaps for want of memory; run it again with fewer --workers to go on"
        ) from None
    finally:
        pool.shutdown(cancel_futures=True)


_open: dict[str, Any] = {}
"""What a process that prepares pictures holds open: the source and the mapped file."""


def _start(images: Path, out: Path) -> None:
    _open["source"] = Source(images)
    _open["pixels"] = np.lib.format.open_memmap(out / IMAGES, mode="r+")


def _start_worker(images: Path, out: Path) -> None:
    # Ctrl-C reaches the whole group of processes; the first one alone decides what comes of it.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _start(images, out)


def _stop() -> None:
    _open.pop("source").close()
    del _open["pixels"]


def _work(item: tuple[int, str], size: int) -> tuple[int, str | None]:
    row, file = item
    try:
        picture = prepare_picture(_open["source"].read(file), size)
    except Exception as error:  # decoders raise nearly anything on damaged files, and none may end the preparation
        return row, " ".join(f"{type(error).__name__}: {error}".split())
    _open["pixels"][row] = picture
    return row, None


def _finish(
    out: Path, plan: Sequence[Photograph], size: int, state: NDArray[np.uint8], reasons: dict[int, str]
) -> Prepared:
    """Close the gaps and write the tables, the one that says "finished" last."""
    pixels = np.lib.format.open_memmap(out / IMAGES, mode="r+")
    order: list[tuple[int, Photograph]] = []
    pieces: dict[str, tuple[int, int]] = {}
    start = 0
    for split in SPLITS:
        stop = start + sum(photograph.split == split for photograph in plan)
        usable = start + np.flatnonzero(state[start:stop] == DONE)
        end = start + len(usable)
        at = dict(zip(usable[usable < end].tolist(), usable[usable < end].tolist(), strict=True))
        holes = [row for row in range(start, end) if row not in at]
        for hole, row in zip(holes, usable[usable >= end].tolist(), strict=True):
            pixels[hole] = pixels[row]
            at[hole] = row
        order += [(row, plan[at[row]]) for row in range(start, end)]
        pieces[split] = (start, len(usable))
        start = stop
    pixels.flush()
    unreadable = tuple((plan[row].name, reasons[row]) for row in sorted(reasons))
    _write(out / UNREADABLE, "".join(f"{name}\t{reason}\n" for name, reason in unreadable))
    for split in SPLITS[:2]:
        if pieces[split][1] == 0:
            raise TaskError(f"{out}: no picture of the {split} split can be read, see {out / UNREADABLE}")
    numbers = {patient: number for number, patient in enumerate(sorted({entry.patient for entry in plan}))}
    _write_photographs(out, order, numbers)
    mean, std = channel_statistics(pixels[: pieces["train"][1]])
    facts = {"version": VERSION, "size": size, "splits": pieces, "mean": mean.tolist(), "std": std.tolist()}
    _write(out / FACTS, json.dumps(facts, indent=1))
    counts = {split: count for split, (_, count) in pieces.items()}
    return Prepared(counts, len({entry.patient for _, entry in order}), unreadable)


def _write_photographs(out: Path, order: Sequence[tuple[int, Photograph]], numbers: dict[str, int]) -> None:
    with (out / PHOTOGRAPHS).open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["row", "name", "grade", "patient", "patient_number", "split"])
        for row, entry in order:
            writer.writerow([row, entry.name, entry.grade, entry.patient, numbers[entry.patient], entry.split])


def _write(file: Path, text: str) -> None:
    temporary = file.with_name(f"{file.name}.new")
    temporary.write_text(text, encoding="utf-8")
    temporary.replace(file)
