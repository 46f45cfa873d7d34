"""`robustness predict MODEL IMAGE...`: what a final model says of pictures, how sure it is, and which to refer."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from robustness.errors import RobustnessError, TaskError

if TYPE_CHECKING:
    from robustness.trainables.classification.saved_model import FinalModel

BATCH = 64


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of the command."""
    parser.add_argument("model", type=Path, metavar="MODEL", help="the file of a final model (NAME.model.pt)")
    parser.add_argument("images", type=Path, nargs="+", metavar="IMAGE", help="a picture, a folder or a ZIP archive")
    parser.add_argument("--samples", type=int, default=16, help="draws of the weights to average (16)")
    parser.add_argument(
        "--refer", type=float, default=20.0, metavar="PERCENT", help="refer what is as uncertain as this share (20)"
    )
    parser.add_argument("--json", action="store_true", help="one JSON object a line")


def run(arguments: argparse.Namespace) -> int:
    """Print a line for each picture; one that cannot be read gets a line on stderr, and the exit code is then 2."""
    from robustness.trainables.classification.saved_model import load_model

    if arguments.samples < 1:
        raise TaskError(f"--samples is {arguments.samples}, but it should be at least 1")
    if not 0 <= arguments.refer <= 100:
        raise TaskError(f"--refer is {arguments.refer}, but it should be a percentage from 0 to 100")
    model = load_model(arguments.model)
    threshold = model.referral_threshold(arguments.refer / 100)
    if not arguments.json:
        print(f"{'probability':>11}  {'uncertainty':>11}  refer  picture")
    unread = 0
    batch: list[tuple[str, Any]] = []
    for name, picture in _pictures(arguments.images, model.image_size):
        if isinstance(picture, Exception):
            unread += 1
            print(f"robustness: {name}: cannot be read as a picture ({_reason(picture)})", file=sys.stderr)
            continue
        batch.append((name, picture))
        if len(batch) == BATCH:
            _show(model, batch, threshold, arguments)
            batch = []
    if batch:
        _show(model, batch, threshold, arguments)
    return 2 if unread else 0


def _show(model: FinalModel, batch: list[tuple[str, Any]], threshold: float, arguments: argparse.Namespace) -> None:
    import numpy as np

    from robustness.metrics import mutual_information, predictive_mean

    probabilities = model.predict(np.stack([picture for _, picture in batch]), arguments.samples)
    mean, uncertainty = predictive_mean(probabilities), mutual_information(probabilities)
    for (name, _), p, u in zip(batch, mean, uncertainty, strict=True):
        # With two classes the probability is that of "yes"; with more, that of the most probable class.
        label = 1 if model.classes == 2 else int(p.argmax())
        found = {"picture": name, "probability": float(p[label]), "uncertainty": float(u), "refer": bool(u > threshold)}
        if model.classes > 2:
            found["class"] = label
        if arguments.json:
            print(json.dumps(found))
        else:
            print(f"{found['probability']:11.3f}  {u:11.2g}  {'yes' if found['refer'] else 'no':5}  {name}")


def _pictures(paths: list[Path], size: int) -> Iterator[tuple[str, Any]]:
    """Each picture with its name, or what went wrong with it."""
    from robustness.tasks.fundus.photographs import Source, prepare_picture

    for path in paths:
        if path.is_dir() or path.suffix.lower() == ".zip":
            source = Source(path)
            try:
                files = source.files()
                if not files:
                    raise TaskError(f"{path}: there are no pictures in it")
                for file in files:
                    yield f"{path / file}", _attempt(lambda f=file, s=source: prepare_picture(s.read(f), size))
            finally:
                source.close()
        else:
            yield str(path), _attempt(lambda p=path: prepare_picture(p.read_bytes(), size))


def _attempt(read: Any) -> Any:
    try:
        return read()
    except RobustnessError:
        raise
    except Exception as error:
        # Pillow raises many kinds for damaged files, and one such file must not keep the others from being predicted.
        return error


def _reason(error: Exception) -> str:
    text = " ".join(str(error).split())
    return f"{type(error).__name__}: {text}" if text else type(error).__name__
