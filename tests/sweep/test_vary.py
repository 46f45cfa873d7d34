"""`sampling.vary`: each stream varied alone around the first replicate."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from support.studies import store_url, write_study

from robustness.cli import main
from robustness.streams import Streams
from robustness.study.loading import load_study
from robustness.sweep.plan import make_plan

SAMPLING = {"configurations": 14, "seed": 3, "replicates": 4, "vary": ["initialisation", "data_order"]}


def test_each_stream_differs_alone_and_the_others_are_those_of_the_first_replicate(tmp_path: Path) -> None:
    plan = make_plan(load_study(str(write_study(tmp_path, "one_stream", sampling=SAMPLING))))
    own = [trial for trial in plan.trials if trial.configuration == 0 and trial.arm == "first"]
    assert len(own) == 1 + 2 * 3
    keys = {
        purpose: [Streams.of(trial).key(purpose) for trial in own]
        for purpose in ("initialisation", "data_order", "dropout")
    }
    assert len(set(keys["dropout"])) == 1
    assert len(set(keys["initialisation"])) == len(set(keys["data_order"])) == 4
    assert keys["initialisation"][4:] == [keys["initialisation"][0]] * 3
    assert keys["data_order"][1:4] == [keys["data_order"][0]] * 3


def test_the_report_names_the_stream_that_the_score_depends_on(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    study = write_study(tmp_path, "one_stream", sampling=SAMPLING)
    store = ["--store", store_url(tmp_path)]
    assert main(["sweep", str(study), *store, "--inline", "--no-report", "--quiet"]) == 0
    capsys.readouterr()
    assert main(["report", "simulated", *store, "--format", "json"]) == 0
    found = json.loads(capsys.readouterr().out)
    for arm in ("first", "second"):
        entry = found["seeds"][arm]
        assert entry["largest"] == "data_order"
        assert entry["streams"]["data_order"]["share"] == 1.0
        assert entry["streams"]["initialisation"]["share"] == 0.0
        share = entry["shares"]["hyperparameters"]
        assert 0 < share["low"] < share["share"] < 1
    assert found["sampling"]["pairs"] == 14


def test_one_stream_alone_is_not_called_the_one_that_matters_most(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    study = write_study(tmp_path, "one_stream", sampling={**SAMPLING, "vary": ["data_order"]})
    store = ["--store", store_url(tmp_path)]
    assert main(["sweep", str(study), *store, "--inline", "--no-report", "--quiet"]) == 0
    capsys.readouterr()
    assert main(["report", "simulated", *store, "--format", "json"]) == 0
    for entry in json.loads(capsys.readouterr().out)["seeds"].values():
        assert entry["largest"] is None
        assert entry["streams"] == {}
        assert 0 < entry["shares"]["hyperparameters"]["share"] < 1


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"sampling": {**SAMPLING, "replicates": 1}}, "at least 2 replicates"),
        ({"sampling": {**SAMPLING, "vary": ["dropout", "dropout"]}}, "twice"),
        ({"sampling": SAMPLING, "stop": {}}, "cannot be combined with `stop`"),
    ],
)
def test_what_cannot_be_varied_gets_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], changes: dict[str, object], words: str
) -> None:
    assert main(["plan", str(write_study(tmp_path, "one_stream", **changes))]) == 2
    assert words in capsys.readouterr().err
