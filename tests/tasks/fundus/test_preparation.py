from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest
from support.files import data_set, photographs, zipped

from robustness.errors import TaskError
from robustness.tasks import TaskData, check_task, load_task, task_image_size
from robustness.tasks.fundus.label_table import Photograph, read_labels
from robustness.tasks.fundus.photographs import prepare_picture
from robustness.tasks.fundus.preparation import Prepared, prepare

SHARES = (0.25, 0.25)


def prepared(images: Path, labels: Path, out: Path, workers: int = 1, size: int = 32) -> Prepared:
    return prepare(images, read_labels(labels, {}, SHARES, 0), size, out, workers)


def loaded(out: Path) -> TaskData:
    return load_task({"name": "retinopathy", "folder": str(out)})


def same(one: TaskData, other: TaskData) -> None:
    for name in ("train", "validation", "test"):
        left, right = getattr(one, name), getattr(other, name)
        np.testing.assert_array_equal(left.images, right.images)
        np.testing.assert_array_equal(left.grades, right.grades)
        np.testing.assert_array_equal(left.patients, right.patients)
        assert left.names == right.names
    np.testing.assert_array_equal(one.mean, other.mean)


def test_every_image_is_stored_with_its_grade_and_pixels(tmp_path: Path) -> None:
    images, labels = photographs(tmp_path)
    result = prepared(images, labels, tmp_path / "out")
    assert sum(result.counts.values()) == 24
    assert result.patients == 12
    table = {entry.name: entry for entry in read_labels(labels, {}, SHARES, 0)}
    data = loaded(tmp_path / "out")
    assert isinstance(data.train.images, np.memmap)
    assert task_image_size({"name": "retinopathy", "folder": str(tmp_path / "out")}) == 32
    for split, part in (("train", data.train), ("validation", data.validation), ("test", data.test)):
        assert part.names is not None
        assert part.grades is not None
        for row, name in enumerate(part.names):
            assert (table[name].split, table[name].grade) == (split, part.grades[row])
            pixels = prepare_picture((images / f"{name}.png").read_bytes(), 32)
            np.testing.assert_array_equal(part.images[row], pixels)
    np.testing.assert_allclose(data.mean, data.train.images.reshape(-1, 3).mean(axis=0) / 255, rtol=1e-5)


def test_no_patient_is_in_two_splits(tmp_path: Path) -> None:
    images, labels = photographs(tmp_path)
    prepared(images, labels, tmp_path / "out")
    data = loaded(tmp_path / "out")
    groups = [set(part.patients.tolist()) for part in (data.train, data.validation, data.test)]
    assert sum(map(len, groups)) == len(set.union(*groups)) == 12


def test_an_archive_with_two_processes_gives_the_same_result_as_a_folder_with_one(tmp_path: Path) -> None:
    images, labels = photographs(tmp_path)
    prepared(images, labels, tmp_path / "one")
    prepared(zipped(images), labels, tmp_path / "two", workers=2)
    same(loaded(tmp_path / "one"), loaded(tmp_path / "two"))


def test_an_interrupted_preparation_is_resumed(tmp_path: Path) -> None:
    images, labels = photographs(tmp_path)
    table = read_labels(labels, {}, SHARES, 0)

    def stop(done: int, total: int) -> None:
        if done == 10:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        prepare(images, table, 32, tmp_path / "out", 1, stop)
    with pytest.raises(TaskError, match="rerun that if it was interrupted"):
        check_task({"name": "retinopathy", "folder": str(tmp_path / "out")})
    steps: list[tuple[int, int]] = []
    prepare(images, table, 32, tmp_path / "out", 1, lambda done, total: steps.append((done, total)))
    assert steps == [(done, 24) for done in range(11, 25)]
    prepared(images, labels, tmp_path / "at_once")
    same(loaded(tmp_path / "out"), loaded(tmp_path / "at_once"))


def test_unreadable_images_are_listed_and_the_others_are_intact(tmp_path: Path) -> None:
    images, labels = photographs(tmp_path)
    prepared(images, labels, tmp_path / "all")
    complete = loaded(tmp_path / "all").train
    assert complete.names is not None
    text, truncated, missing = complete.names[0], complete.names[3], complete.names[-1]
    kept = (images / f"{text}.png").read_bytes(), (images / f"{truncated}.png").read_bytes()
    (images / f"{text}.png").write_text("a text, not an image")
    (images / f"{truncated}.png").write_bytes(kept[1][: len(kept[1]) // 2])
    (images / f"{missing}.png").rename(tmp_path / "elsewhere.png")
    result = prepared(images, labels, tmp_path / "out")
    assert {name for name, _ in result.unreadable} == {text, truncated, missing}
    assert result.counts["train"] == len(complete) - 3
    listed = (tmp_path / "out" / "unreadable.txt").read_text(encoding="utf-8")
    assert {line.split("\t")[0] for line in listed.splitlines()} == {text, truncated, missing}
    part = loaded(tmp_path / "out").train
    assert part.names is not None
    assert set(part.names) == set(complete.names) - {text, truncated, missing}
    assert len(part.images) == len(complete) - 3
    for row, name in enumerate(part.names):
        np.testing.assert_array_equal(part.images[row], complete.images[complete.names.index(name)])

    (images / f"{text}.png").write_bytes(kept[0])
    (images / f"{truncated}.png").write_bytes(kept[1])
    shutil.move(tmp_path / "elsewhere.png", images / f"{missing}.png")
    assert prepared(images, labels, tmp_path / "out").unreadable == ()
    repaired = load_task({"name": "retinopathy", "folder": f"{tmp_path / 'out'}/"})
    same(repaired, loaded(tmp_path / "all"))


def test_a_folder_with_other_contents_is_left_untouched(tmp_path: Path) -> None:
    images, labels = photographs(tmp_path, patients=6)
    prepared(images, labels, tmp_path / "out")
    with pytest.raises(TaskError, match="holds a preparation with size 32, not 64"):
        prepared(images, labels, tmp_path / "out", size=64)
    other = tmp_path / "other"
    other.mkdir()
    (other / "thesis.tex").touch()
    with pytest.raises(TaskError, match=r"is not empty \(it holds 'thesis.tex'\)"):
        prepared(images, labels, other)
    with pytest.raises(TaskError, match="has none of the 12 images"):
        prepared(other, labels, tmp_path / "new")
    assert not (tmp_path / "new").exists()


def test_a_data_set_without_training_images_is_rejected(tmp_path: Path) -> None:
    table = [Photograph("1_left", 0, "1", "validation")]
    with pytest.raises(TaskError, match="1 image cannot be split: the train set would be empty"):
        prepare(tmp_path, table, 32, tmp_path / "out")


def test_a_damaged_preparation_is_reported(tmp_path: Path) -> None:
    images, labels = photographs(tmp_path, patients=6)
    out = tmp_path / "out"
    prepared(images, labels, out)
    lines = (out / "photographs.csv").read_text(encoding="utf-8").splitlines()
    (out / "photographs.csv").write_text("\n".join(lines[:-2]), encoding="utf-8")
    with pytest.raises(TaskError, match="is damaged"):
        loaded(out)
    (out / "prepared.json").write_text("{", encoding="utf-8")
    with pytest.raises(TaskError, match=r"prepared\.json cannot be read"):
        check_task({"name": "retinopathy", "folder": str(out)})


def test_real_photographs_in_an_archive_keep_the_splits_of_the_table(tmp_path: Path) -> None:
    folder = data_set("deepdrid")
    table = read_labels(folder / "labels_full.csv", {}, SHARES, 0)
    few = [entry for entry in table if int(entry.patient) % 10 == 0]
    result = prepare(folder / "deepdrid_128.zip", few, 32, tmp_path / "out")
    assert result.unreadable == ()
    data = loaded(tmp_path / "out")
    assert len(table) == 2000
    assert sum(result.counts.values()) == len(few) == 200
    assert result.counts == {
        name: sum(entry.split == name for entry in few) for name in ("train", "validation", "test")
    }
    # A fundus is orange: red above green above blue.
    assert data.mean[0] > data.mean[1] > data.mean[2]
