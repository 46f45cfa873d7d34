"""Small folders of photographs for tests, in the Kaggle layout."""

from __future__ import annotations

import zipfile
from pathlib import Path

import numpy as np
from PIL import Image

from robustness.tasks.synthetic_fundus import Options, load


def photographs(folder: Path, patients: int = 12, size: int = 48) -> tuple[Path, Path]:
    """A folder of `1_left.png`, `1_right.png`, ... and its table of labels."""
    images = folder / "photographs"
    images.mkdir(parents=True)
    data = load(Options(image_size=size, train=2 * patients, validation=2, test=0)).train
    assert data.grades is not None
    lines = ["image,level"]
    for number in range(2 * patients):
        name = f"{number // 2 + 1}_{'left' if number % 2 else 'right'}"
        wide = np.zeros((size, size + 20, 3), dtype=np.uint8)
        wide[:, 10:-10] = data.images[number]
        Image.fromarray(wide).save(images / f"{name}.png")
        lines.append(f"{name},{data.grades[number]}")
    labels = folder / "labels.csv"
    labels.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return images, labels


def zipped(images: Path) -> Path:
    """The same folder as an archive."""
    archive = images.with_suffix(".zip")
    with zipfile.ZipFile(archive, "w") as file:
        for path in sorted(images.iterdir()):
            file.write(path, f"inside/{path.name}")
    return archive
