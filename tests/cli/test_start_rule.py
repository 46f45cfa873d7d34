"""A sweep whose trials are judged against their own start, from the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml
from support.trials import small_document

from robustness.cli import main
from robustness.store import open_store

STUDY = small_document(
    name="starts", outcomes={"learned_nothing": {"no_better_than_start": 0.01}, "good": {"at_least": 0.95}}
)


def test_a_sweep_records_starts_and_its_status_and_report_agree(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, value in (("NETWORKS", 8), ("NETWORKS_OF_ARM", 4), ("NETWORKS_OF_GAIN", 4), ("RESAMPLES", 20)):
        monkeypatch.setattr(f"robustness.sweep.untrained.{name}", value)
    for name in ("LEAST_DRAWS", "MOST_DRAWS"):
        monkeypatch.setattr(f"robustness.sweep.guessing.{name}", 5000)
    monkeypatch.chdir(tmp_path)
    Path("starts.yaml").write_text(yaml.safe_dump(STUDY))
    store = ["--store", f"sqlite:///{tmp_path / 'made.db'}"]
    assert main(["sweep", "starts.yaml", "--inline", "--quiet", *store]) == 0
    capsys.readouterr()
    assert main(["status", "starts", "--json", *store]) == 0
    status = json.loads(capsys.readouterr().out)
    assert main(["report", "starts.yaml", "--format", "json", "--out", "report.json", *store]) == 0
    report = json.loads(Path("report.json").read_text())
    counts = {arm: entry["learned_nothing"]["count"] for arm, entry in report["arms"].items()}
    shown = status["learned_nothing"] if "learned_nothing" in status else status[0]["learned_nothing"]
    assert {arm: entry["shown"] for arm, entry in shown.items()} == counts
    assert set(report["learning_rule"]["at"]["best"]["untrained"]) == {"mfvi", "radial"}
    with open_store(store[1]) as opened:
        epochs = opened.study("starts").epochs()
        starts = opened.study("starts").starts("validation_auc")
    first = epochs.loc[epochs["epoch"] == 0]
    assert first["pretraining"].all()
    assert len(first) == len(starts) == 4
    assert sorted(starts.values()) == sorted(first["validation_auc"])
    assert sorted(epochs["epoch"].unique()) == [0, 1, 2, 3]
