from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from robustness.errors import TaskError
from robustness.tasks import check_task, load_task, provide_task, task_image_size
from robustness.tasks.data import channel_statistics

SMALL = {"name": "synthetic_fundus", "image_size": 16, "train": 6, "validation": 4, "test": 2}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"name": "synthetic_fundos"}, "unknown task 'synthetic_fundos'; did you mean 'synthetic_fundus'?"),
        ({}, "task: needs a name"),
        ({"name": "no.such_module"}, "cannot import 'no.such_module'"),
        ({"name": "os.path"}, "the module 'os.path' has no 'Options'"),
        ({**SMALL, "image_size": 4}, "task.image_size: must be greater than or equal to 16, found 4"),
        ({**SMALL, "image_sise": 4}, "unknown key 'image_sise'; did you mean 'image_size'?"),
        ({**SMALL, "train": "many"}, "task.train: must be a valid integer"),
        ({"name": "retinopathy"}, "task.folder: is missing"),
        ({"name": "retinopathy", "folder": "/no/such"}, "task.folder: '/no/such' does not exist"),
        ({"name": "npz", "file": "/no/such.npz"}, "task.file: '/no/such.npz' does not exist"),
    ],
)
def test_a_bad_task_gets_one_line_that_names_the_problem(options: dict[str, Any], message: str) -> None:
    with pytest.raises(TaskError) as caught:
        check_task(options)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_valid_task_passes_and_reports_its_image_size() -> None:
    check_task(SMALL)
    assert task_image_size(SMALL) == 16


def test_a_task_is_loaded_once() -> None:
    assert load_task(SMALL) is load_task(dict(reversed(SMALL.items())))


def test_provided_data_is_returned() -> None:
    data = load_task(SMALL)
    options = {"name": "retinopathy", "folder": "/only/on/another/machine"}
    provide_task(options, data)
    assert load_task(options) is data


def test_a_users_own_task_is_found_by_its_module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = tmp_path / "their_package"
    package.mkdir()
    (package / "__init__.py").touch()
    (package / "eyes.py").write_text("from robustness.tasks.fundus.synthetic import Options, load\n", encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    data = load_task({**SMALL, "name": "their_package.eyes"})
    np.testing.assert_array_equal(data.train.images, load_task(SMALL).train.images)
    assert task_image_size({**SMALL, "name": "their_package.eyes"}) is None


def test_channel_statistics_agree_with_numpy() -> None:
    images = np.random.default_rng(0).integers(0, 256, (7, 5, 4, 3), dtype=np.uint8)
    mean, std = channel_statistics(images, block=3)
    scaled = images.reshape(-1, 3) / 255
    np.testing.assert_allclose(mean, scaled.mean(axis=0), rtol=1e-6)
    np.testing.assert_allclose(std, scaled.std(axis=0), rtol=1e-6)


def test_a_constant_channel_does_not_cause_a_division_by_zero() -> None:
    mean, std = channel_statistics(np.full((2, 3, 3, 1), 255, dtype=np.uint8))
    assert (mean[0], std[0]) == (1.0, 1.0)
