"""`robustness predict MODEL IMAGE...`: classify images with a final model and flag those to refer to an expert."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray
from PIL import UnidentifiedImageError

from robustness.cli import BAD_INPUT, DONE, print_error
from robustness.errors import TaskError
from robustness.guards.limits import is_folder, read_bytes
from robustness.guards.printable import printable, printable_json
from robustness.metrics import mutual_information, predictive_mean
from robustness.tasks.fundus.photographs import Source, prepare_picture
from robustness.trainables.classification.saved_model import FinalModel, load_model

BATCH = 64

Image: TypeAlias = NDArray[np.uint8]


def run(arguments: argparse.Namespace) -> int:
    """Print a line for each image; one that cannot be read gets a line on stderr, and the exit code is then 2."""
    if arguments.samples < 1:
        raise TaskError(f"--samples is {arguments.samples}, but must be an integer >= 1")
    if not 0 <= arguments.refer <= 100:
        raise TaskError(f"--refer is {arguments.refer}, but must be a percentage from 0 to 100")
    model = load_model(arguments.model, arguments.trust)
    threshold = model.referral_threshold(arguments.refer / 100)
    unreadable = 0
    header = None if arguments.json else f"{'probability':>11}  {'uncertainty':>11}  refer  image"
    batch: list[tuple[str, Image]] = []
    for name, image in _images(arguments.images, model.image_size):
        if isinstance(image, Exception):
            unreadable += 1
            print_error(f"{name}: {_reason(image)}")
            continue
        if header is not None:
            print(header)
            header = None
        batch.append((name, image))
        if len(batch) == BATCH:
            _predict(model, batch, threshold, arguments)
            batch = []
    if batch:
        _predict(model, batch, threshold, arguments)
    return BAD_INPUT if unreadable else DONE


def _predict(
    model: FinalModel, batch: list[tuple[str, Image]], threshold: float, arguments: argparse.Namespace
) -> None:
    """Print the prediction of each image of a batch."""
    probabilities = model.predict(np.stack([image for _, image in batch]), arguments.samples)
    mean, uncertainty = predictive_mean(probabilities), mutual_information(probabilities)
    for (name, _), p, u in zip(batch, mean, uncertainty, strict=True):
        # The probability of the positive class or, with more than two classes, of the most probable one.
        label = 1 if model.classes == 2 else int(p.argmax())
        row = {"image": name, "probability": float(p[label]), "uncertainty": float(u), "refer": bool(u > threshold)}
        if model.classes > 2:
            row["class"] = label
        if arguments.json:
            print(printable_json(row))
        else:
            print(f"{row['probability']:11.3f}  {u:11.2g}  {'yes' if row['refer'] else 'no':5}  {printable(name)}")


def _images(paths: list[Path], size: int) -> Iterator[tuple[str, Image | Exception]]:
    """Each image with its name, or the error of reading it."""
    for path in paths:
        if is_folder(path) or path.suffix.lower() == ".zip":
            source = Source(path)
            try:
                files = source.files()
                if not files:
                    raise TaskError(f"{path}: contains no images")
                for file in files:
                    yield f"{path / file}", _read(partial(source.read, file), size)
            finally:
                source.close()
        else:
            yield str(path), _read(partial(read_bytes, path, "picture_bytes", TaskError), size)


def _read(read_content: Callable[[], bytes], size: int) -> Image | Exception:
    try:
        return prepare_picture(read_content(), size)
    except Exception as error:
        # Pillow raises many kinds of errors for damaged files, and one file must not stop the others.
        return error


def _reason(error: Exception) -> str:
    match error:
        case TaskError():
            return str(error)
        case UnidentifiedImageError():
            return "not an image, or of an unknown format"
    return f"cannot be read as an image ({type(error).__name__}: {' '.join(str(error).split())})"
