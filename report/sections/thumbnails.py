"""Test pictures as thumbnails: those a final model is most uncertain of, and those it gets wrong most confidently.

The pictures come from the task, where its data is at hand and fits the stored predictions. Only bundled tasks are
asked: a store may come from elsewhere, and writing a report must not run foreign code.
"""

from __future__ import annotations

import base64
import io
from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from report.document import Gallery, Section, Thumbnail
from report.sections.finals.entries import FinalsResults
from report.sections.finals.tested_models import FinalModel, Tested, arms_of, tested_models
from report.words import text
from robustness.errors import TaskError
from robustness.tasks import is_registered, load_task

if TYPE_CHECKING:
    from report.analysis import Analysis

SHOWN = 6
LONGEST = 96
"""Pixels of a thumbnail's longer side; smaller pictures stay as they are."""


def sections(analysis: Analysis) -> Iterator[Section]:
    """The galleries for the arm with the highest AUC; none without a final model or without the pictures."""
    finals: FinalsResults | None = analysis.results.get("finals")
    tested = tested_models(analysis.frames)[0] if finals else None
    if not finals or tested is None:
        return
    arms = finals["arms"]
    ranked = sorted(arms, key=lambda arm: -(arms[arm]["auc"][0]["mean"] or 0.0))
    chosen = next((arm for arm in ranked if arms[arm]["refers"]), ranked[0])
    model = arms_of(tested)[chosen][0]
    pictures = _pictures(analysis, tested)
    if pictures is None:
        return
    images, names = pictures
    right = model.mean.argmax(axis=1) == tested.labels
    confidence = model.mean.max(axis=1)
    uncertain: list[int] = np.argsort(-model.uncertainty, kind="stable").tolist()[:SHOWN] if model.refers else []
    wrong = [int(place) for place in np.argsort(-confidence, kind="stable") if not right[place]][:SHOWN]

    def gallery(title: str, places: list[int]) -> Gallery:
        return Gallery(title, tuple(_thumbnail(tested, model, images, names, place) for place in places))

    galleries = [gallery("Most uncertain", uncertain), gallery("Wrong, and sure of it", wrong)]
    count = int((~right).sum())
    sure = f"; the surest of them gives {confidence[wrong[0]]:.2f} to the wrong class" if wrong else ""
    yield Section(
        "thumbnails",
        "Uncertain and wrong pictures",
        f"{text(chosen, 60)}, its first model, gets {count} of {len(right)} test pictures wrong{sure}.",
        notes=(
            "Under each picture: its label, the probability that the model gives to the class it takes, and the mutual "
            "information of its draws in nats, by which pictures are referred.",
        ),
        galleries=tuple(each for each in galleries if each.thumbnails),
    )


def _pictures(analysis: Analysis, tested: Tested) -> tuple[NDArray[np.uint8], tuple[str, ...] | None] | None:
    """The test split's images and names; None unless they are at hand and are those that were predicted."""
    options = analysis.frames.document.get("task") or {}
    if not is_registered(options.get("name")):
        return None
    try:
        split = load_task(options).test
    except (TaskError, OSError):
        return None
    same = np.array_equal(split.labels, tested.labels) and np.array_equal(split.patients, tested.patients)
    if not same or split.images.ndim != 4 or split.images.shape[3] not in (1, 3):
        return None
    return split.images, split.names


def _thumbnail(
    tested: Tested, model: FinalModel, images: NDArray[np.uint8], names: tuple[str, ...] | None, place: int
) -> Thumbnail:
    label, taken = int(tested.labels[place]), int(model.mean[place].argmax())
    name = text(names[place], 40) if names else f"test picture {place}"
    prediction = f"{_class(taken, tested.classes)} {model.mean[place, taken]:.2f}"
    lines = (
        name,
        f"label {_class(label, tested.classes)}",
        f"says {prediction}",
        f"uncertainty {model.uncertainty[place]:.3f}",
    )
    words = f"{name}: labelled {_class(label, tested.classes)}, taken as {prediction}"
    return Thumbnail(data_url(images[place]), words, lines)


def data_url(image: NDArray[np.uint8]) -> str:
    """A picture [height, width, channels] as the address of a small PNG or, where that is smaller, a JPEG."""
    pixels = np.ascontiguousarray(image[:, :, 0] if image.shape[2] == 1 else image)
    picture = Image.fromarray(pixels)
    picture.thumbnail((LONGEST, LONGEST))
    written = {}
    for kind, options in (("png", {"optimize": True}), ("jpeg", {"quality": 85})):
        buffer = io.BytesIO()
        picture.save(buffer, format=kind, **options)
        written[kind] = buffer.getvalue()
    kind = min(written, key=lambda each: len(written[each]))
    return f"data:image/{kind};base64,{base64.b64encode(written[kind]).decode()}"


def _class(number: int, classes: int) -> str:
    return ("negative", "positive")[number] if classes == 2 else f"class {number}"
