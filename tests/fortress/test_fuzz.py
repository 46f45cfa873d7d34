"""Random input for each reader: nothing but the project's own errors, each one printable line.

`support.fuzzing` says how long it takes.
"""

from __future__ import annotations

import shutil
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import yaml
from hypothesis import strategies as st
from support.files import photographs
from support.fuzzing import answered, run, scalars, seeds, trees
from support.hostile import encoded, mutated
from support.importing import imported
from support.studies import small
from support.trials import small_trial

from robustness.errors import CheckpointError, RobustnessError, SearchSpaceError, StudyFileError
from robustness.space.conditions import read_condition
from robustness.space.space import read_space
from robustness.study.loading import make_study
from robustness.study.yaml_reader import read_file, read_text
from robustness.tasks import npz
from robustness.tasks.fundus import retinopathy
from robustness.tasks.fundus.label_table import read_labels
from robustness.tasks.fundus.photographs import Source, prepare_picture
from robustness.tasks.fundus.preparation import prepare
from robustness.trainables.classification.checkpoints import read_checkpoint, read_tensors, write_tensors
from robustness.trainables.classification.saved_model import load_model
from robustness.trainables.continual.fashion_mnist import read_idx
from robustness.trainables.regression.data_sets import DATA_SETS, _read

KEPT = Path(__file__).parents[1] / "store" / "kept"


def test_yaml() -> None:
    texts = st.text(max_size=200) | trees.map(lambda tree: yaml.safe_dump(tree, allow_unicode=True))
    pieces = st.lists(st.sampled_from([*"[]{}:,-?&*!|>%@`#'\"\n\t ", "a", "1", "- ", ": ", "<<", "\x00"]), max_size=80)
    run(lambda text: answered(lambda: read_text(text, "fuzz", StudyFileError)), texts | pieces.map("".join))


def test_yaml_files(tmp_path: Path) -> None:
    path, whole = tmp_path / "study.yaml", yaml.safe_dump(small()).encode()

    def check(seed: int) -> None:
        path.write_bytes(mutated(whole, np.random.default_rng(seed)))
        answered(lambda: read_file(path, StudyFileError))

    run(check, seeds)


def test_studies() -> None:
    whole = small()
    keys = st.sampled_from([*sorted(whole), "search", "finals", "winners", "stop", "reference", "zzz"])

    def check(changes: dict[str, Any]) -> None:
        answered(lambda: make_study(whole | changes, "fuzz", check_data=False))

    run(check, st.dictionaries(keys, trees | st.sampled_from([{}, [], "a:b", "mfvi"]), min_size=1, max_size=3))


def test_spaces() -> None:
    names = st.sampled_from(["a", "b", "where", "stratify", "cross", "optimizer", "1x", "class"])
    values = st.lists(scalars, max_size=5) | st.fixed_dictionaries(
        {}, optional={"low": scalars, "high": scalars, "scale": scalars, "integer": scalars}
    )
    options = values | st.dictionaries(names, values, max_size=3) | st.sampled_from(["a < b", "a", ["a"], "a in [1]"])

    def check(data: dict[str, Any]) -> None:
        answered(lambda: read_space(data, "fuzz").draw("random", 2, 0))
        answered(lambda: read_space(data, "fuzz").draw("grid", None, 0))

    run(check, st.dictionaries(names, options | trees, max_size=5))


def test_conditions() -> None:
    words = [
        "a",
        "b",
        "1",
        "2.5",
        "'x'",
        "+",
        "-",
        "*",
        "/",
        "//",
        "%",
        "<",
        "<=",
        "==",
        "!=",
        "in",
        "not",
        "and",
        "or",
    ]
    words += [
        "[",
        "]",
        "(",
        ")",
        ",",
        "true",
        "lambda",
        ":",
        "is",
        "1e999",
        "9" * 400,
        "**",
        ".",
        "if",
        "else",
        "\0",
        "0x",
    ]
    texts = st.lists(st.sampled_from(words), max_size=25).map(" ".join) | st.text(max_size=60)
    values = st.fixed_dictionaries({}, optional={"a": scalars, "b": scalars})

    def check(pair: tuple[str, dict[str, Any]]) -> None:
        answered(lambda: read_condition(pair[0], ["a", "b"]).holds(pair[1]))

    run(check, st.tuples(texts, values))


def test_runs(tmp_path: Path) -> None:
    path = tmp_path / "runs.csv"
    cell = st.sampled_from(
        ["", "a", "b", "0.5", "nan", "-inf", "1e999", "9" * 400, "finished", "'=1", '"', "\r", "true"]
    )
    rows = st.lists(st.lists(cell | st.text(max_size=5), max_size=5).map(",".join), max_size=6)
    header = st.lists(st.sampled_from(["arm", "metric", "rate", "status", "seconds", "replicate", "", "x"]), max_size=6)
    texts = st.tuples(header.map(",".join), rows).map(
        lambda pair: "\n".join([pair[0], *pair[1]]).encode(errors="replace")
    )

    def check(content: bytes) -> None:
        path.write_bytes(content)

        def read() -> None:
            study = imported(path, missing="diverged", pruned="last-value", learned_nothing=0.1, good=0.9).study
            assert study.hash
            assert len(study._trials().frame)

        answered(read)

    run(check, texts | st.binary(max_size=60))


def test_labels(tmp_path: Path) -> None:
    path = tmp_path / "labels.csv"
    cell = st.sampled_from(["", "1_left", "2_right", "0", "4", "5", "1e0", "nan", "train", "val", '"', "\0", "-0"])
    rows = st.lists(st.lists(cell | st.text(max_size=5), max_size=5).map(",".join), max_size=6)
    header = st.lists(st.sampled_from(["image", "level", "patient", "split", "", "x"]), max_size=5).map(",".join)
    texts = st.tuples(header, rows).map(lambda pair: "\n".join([pair[0], *pair[1]]).encode(errors="replace"))

    def check(content: bytes) -> None:
        path.write_bytes(content)
        answered(lambda: read_labels(path, {}, (0.2, 0.2), 0))

    run(check, texts | st.binary(max_size=60))


def test_arrays(tmp_path: Path) -> None:
    path = tmp_path / "images.npz"
    made: dict[str, Any] = {
        f"{split}_images": np.zeros((3, 4, 4), dtype=np.uint8) for split in ("train", "val", "test")
    }
    labels: dict[str, Any] = {f"{split}_labels": np.array([0, 1, 1]) for split in ("train", "val", "test")}
    whole = []
    for save in (np.savez, np.savez_compressed):
        save(path, **made, **labels)
        whole.append(path.read_bytes())

    def check(seed: int) -> None:
        path.write_bytes(mutated(whole[seed % 2], np.random.default_rng(seed)))
        answered(lambda: npz.load(npz.Options(file=str(path), positive_from=1 + seed % 3)))

    run(check, seeds)


def test_pictures() -> None:
    rng = np.random.default_rng(0)
    pixels = rng.integers(0, 256, (24, 30, 3), dtype=np.uint8)
    whole = [encoded(pixels, kind) for kind in ("PNG", "JPEG", "TIFF", "BMP", "WEBP", "PPM")]
    whole += [encoded(pixels[..., 0].astype(np.uint16) * 257, kind) for kind in ("PNG", "TIFF")]
    whole += [encoded(pixels, "TIFF", compression=name) for name in ("tiff_lzw", "jpeg", "tiff_adobe_deflate")]

    def check(seed: int) -> None:
        content = mutated(whole[seed % len(whole)], np.random.default_rng(seed))
        # What decoders raise, `prepare` and `predict` turn into a line; memory and time are what must hold.
        answered(lambda: prepare_picture(content, 16), Exception)

    run(check, seeds)


def test_archives(tmp_path: Path) -> None:
    path = tmp_path / "images.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        for number in range(4):
            file.writestr(f"a/{number}.png", encoded(np.zeros((4, 4), dtype=np.uint8)))
    whole = path.read_bytes()

    def check(seed: int) -> None:
        path.write_bytes(mutated(whole, np.random.default_rng(seed)))
        answered(lambda: Source(path).find(["1", "2"]))

    run(check, seeds)


def test_checkpoints(tmp_path: Path) -> None:
    path, old = tmp_path / "checkpoint.pt", (KEPT / "checkpoint.pt").read_bytes()
    write_tensors(path, read_tensors(KEPT / "checkpoint.pt"))
    whole = (path.read_bytes(), old)

    def check(seed: int) -> None:
        path.write_bytes(mutated(whole[seed % 2], np.random.default_rng(seed)))
        answered(lambda: read_checkpoint(path, small_trial()))

    run(check, seeds)


def test_models(tmp_path: Path) -> None:
    path, state = tmp_path / "radial.model.pt", read_tensors(KEPT / "radial.model.pt")
    values = trees | st.sampled_from([torch.zeros(3), torch.zeros(0), torch.zeros(2, 2), {}, 10**9, -1])

    def check(pair: tuple[str, Any]) -> None:
        try:
            write_tensors(path, {**state, pair[0]: pair[1]})
        except Exception:  # torch cannot save it, so nobody can send it.
            return
        answered(lambda: load_model(path))

    run(check, st.tuples(st.sampled_from(sorted(state)), values))


def test_model_files(tmp_path: Path) -> None:
    path, whole = tmp_path / "radial.model.pt", (KEPT / "radial.model.pt").read_bytes()

    def check(seed: int) -> None:
        path.write_bytes(mutated(whole, np.random.default_rng(seed)))
        answered(lambda: load_model(path))

    run(check, seeds)


def test_prepared_folders(tmp_path: Path) -> None:
    images, labels = photographs(tmp_path, patients=5, size=16)
    prepare(images, read_labels(labels, {}, (0.3, 0.2), 0), 16, tmp_path / "out")
    whole = {path.name: path.read_bytes() for path in (tmp_path / "out").iterdir() if path.name != ".lock"}
    folder = tmp_path / "damaged"
    old = whole["prepared.json"].replace(b'"version": 2', b'"version": 1')

    def check(pair: tuple[str, int]) -> None:
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        for name, content in whole.items():
            (folder / name).write_bytes(old if name == "prepared.json" and pair[1] % 2 else content)
        content = (folder / pair[0]).read_bytes()
        (folder / pair[0]).write_bytes(mutated(content, np.random.default_rng(pair[1])))
        answered(lambda: retinopathy.load(retinopathy.Options(folder=str(folder))))

    run(check, st.tuples(st.sampled_from(["images.npy", "photographs.csv", "prepared.json"]), seeds))


def test_idx() -> None:
    whole = bytes((0, 0, 8, 3)) + bytes((0, 0, 0, 2)) * 3 + bytes(8)

    def check(seed: int) -> None:
        answered(lambda: read_idx(mutated(whole, np.random.default_rng(seed))), ValueError)

    run(check, seeds)


def test_tables_of_numbers(tmp_path: Path) -> None:
    path = tmp_path / "data.txt"
    text = st.lists(
        st.lists(st.sampled_from(["1", "-2.5", "1e999", "nan", "x", "#", "\0", ""]), max_size=9).map(" ".join)
    )

    def check(content: bytes) -> None:
        path.write_bytes(content)
        answered(lambda: _read.__wrapped__(path, DATA_SETS["yacht"]))

    run(check, text.map(lambda rows: "\n".join(rows).encode()) | st.binary(max_size=60))


def test_the_errors_that_are_allowed_are_the_projects_own() -> None:
    for kind in (StudyFileError, SearchSpaceError, CheckpointError):
        assert issubclass(kind, RobustnessError)
    with pytest.raises(ZeroDivisionError):
        answered(lambda: 1 / 0)
