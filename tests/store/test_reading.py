from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sqlalchemy import update
from support.store_samples import MFVI, RADIAL, SamplePlan, SampleStudy, epoch, plan_of

import robustness
from robustness.errors import StoreError
from robustness.store import Store, StudyStore, reading, schema
from robustness.store.arrays import unpack
from robustness.trial import EpochResult, Trial

HYPERPARAMETERS: list[dict[str, Any]] = [
    {"optimizer": "sgd", "momentum": 0.9, "status": "odd"},
    {"optimizer": "amsgrad", "batch_size": 16},
]


def test_a_study_without_results_has_empty_frames_with_their_columns(sample: StudyStore) -> None:
    assert len(sample.trials()) == 6
    epochs = sample.epochs()
    assert epochs.empty
    assert {"configuration", "arm", "epoch", "pretraining", "nll", "validation_auc"} <= set(epochs.columns)
    assert sample.curves().empty


def test_a_study_without_trials_has_an_empty_frame(store: Store) -> None:
    assert store.register(SampleStudy(), SamplePlan(())).trials().empty


def test_trials_have_a_column_for_each_hyperparameter(store: Store) -> None:
    plan = SamplePlan(
        tuple(Trial("sample", 7, number, "mfvi", hyperparameters=drawn) for number, drawn in enumerate(HYPERPARAMETERS))
    )
    frame = store.register(SampleStudy(), plan).trials()
    assert list(frame["optimizer"]) == ["sgd", "amsgrad"]
    assert list(frame["status"]) == ["planned", "planned"]
    assert frame["hp_status"][0] == "odd"
    assert frame["momentum"][0] == 0.9
    assert np.isnan(frame["momentum"][1])
    assert frame["batch_size"][1] == 16


@pytest.mark.parametrize("chunk", [1, 3, 20_000])
def test_frames_do_not_depend_on_the_size_of_a_chunk(
    sample: StudyStore, monkeypatch: pytest.MonkeyPatch, chunk: int
) -> None:
    with sample.writer() as writer:
        for number in range(1, 5):
            writer.epoch(MFVI, EpochResult(number, {"nll": 1.0}, pretraining=number == 1))
            writer.epoch(RADIAL, EpochResult(number, {"own": float(number), "epoch": 0.5, "validation_auc": 0.5}))
    monkeypatch.setattr(reading, "CHUNK", chunk)
    epochs = sample.epochs()
    assert list(epochs["arm"]) == ["mfvi"] * 4 + ["radial"] * 4
    assert list(epochs["epoch"]) == [1, 2, 3, 4] * 2
    assert list(epochs["pretraining"]) == [True] + [False] * 7
    assert list(epochs["own"].fillna(-1)) == [-1] * 4 + [1, 2, 3, 4]
    assert list(epochs["measure_epoch"].fillna(-1)) == [-1] * 4 + [0.5] * 4
    assert {name: str(epochs[name].dtype) for name in ("epoch", "pretraining", "own", "nll", "loss")} == {
        "epoch": "int64",
        "pretraining": "bool",
        "own": "float64",
        "nll": "float64",
        "loss": "float64",
    }
    assert len(sample.trials()) == 6


def test_predictions_come_back_as_they_were(sample: StudyStore) -> None:
    arrays = {
        "labels": np.array([0, 1, 1]),
        "probabilities": np.array([[[0.5, np.nan]], [[np.inf, 1.0]]], dtype=np.float32),
        "names": np.array(["a", "ö"]),
        "nothing": np.zeros((0, 2)),
    }
    sample.save_predictions(RADIAL, "test", arrays)
    sample.save_predictions(RADIAL, "test", {"labels": np.arange(2)}, model="best")
    found = sample.predictions("test")
    assert list(found) == [RADIAL]
    assert found[RADIAL].keys() == arrays.keys()
    for name, array in arrays.items():
        assert found[RADIAL][name].dtype == array.dtype
        np.testing.assert_array_equal(found[RADIAL][name], array)
    assert list(sample.predictions("test", model="best")[RADIAL]["labels"]) == [0, 1]
    assert sample.predictions("train") == {}


def test_predictions_replace_earlier_ones(sample: StudyStore) -> None:
    sample.save_predictions(RADIAL, "test", {"labels": np.arange(3), "old": np.arange(1)})
    sample.save_predictions(RADIAL, "test", {"labels": np.arange(2)})
    found = sample.predictions("test")[RADIAL]
    assert list(found) == ["labels"]
    assert len(found["labels"]) == 2


def test_predictions_of_an_unknown_trial_or_of_objects_are_refused(sample: StudyStore) -> None:
    with pytest.raises(StoreError, match="7/radial is not in the plan"):
        sample.save_predictions(RADIAL._replace(configuration=7), "test", {"labels": np.arange(2)})
    with pytest.raises(StoreError, match="array of objects"):
        sample.save_predictions(RADIAL, "test", {"labels": np.array([object()])})
    assert sample.predictions("test") == {}


def test_pickled_predictions_are_never_loaded() -> None:
    import io
    import zlib

    buffer = io.BytesIO()
    np.save(buffer, np.array([{"a": 1}], dtype=object), allow_pickle=True)
    with pytest.raises(StoreError, match="damaged"):
        unpack(zlib.compress(buffer.getvalue()))


def test_how_long_trials_took_is_known_of_those_that_ended(sample: StudyStore) -> None:
    with sample.writer() as writer:
        writer.started(MFVI, 1)
        writer.ended(RADIAL, "finished", 0.5, 1, seconds=2.5)
    assert sample.seconds() == {RADIAL: 2.5}


def test_a_reader_does_not_wait_for_a_writer(sample: StudyStore, store: Store) -> None:
    with store._database.write() as connection:
        connection.execute(update(schema.trials).values(status="running"))
        assert sample.counts() == {"planned": 6}


def test_states_are_read_without_pandas_numpy_or_torch(sample: StudyStore, store_url: str) -> None:
    with sample.writer() as writer:
        writer.epoch(RADIAL, epoch(1))
    code = (
        "import sys, robustness\n"
        "with robustness.open_store(sys.argv[1], create=False) as store:\n"
        "    study = store.study('sample')\n"
        "    print(len(study.states()), study.counts(), study.pending()[0], study.seconds())\n"
        "print(sorted({'pandas', 'numpy', 'torch', 'ray', 'optuna', 'alembic'} & set(sys.modules)))\n"
    )
    root = Path(robustness.__file__).parents[1]
    done = subprocess.run(
        [sys.executable, "-c", code, store_url], capture_output=True, text=True, cwd=root, timeout=120, check=True
    )
    assert done.stdout == "6 {'planned': 6} 0/mfvi {}\n[]\n"


def test_the_plan_is_read_in_its_order(sample: StudyStore) -> None:
    assert sample.pending() == [trial.key for trial in plan_of(SampleStudy()).trials]
