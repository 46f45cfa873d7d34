"""`robustness plan --register`, a sweep, and what the report says about changes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from support.studies import store_url, write_study

from robustness.cli import main
from robustness.store import open_store
from robustness.study.registration import REGISTRATION_NOTE

SIX: dict[str, Any] = {
    "arms": ["first", "third"],
    "sampling": {"configurations": 6, "seed": 3},
    "training": {"epochs": 4},
    "outcomes": {"learned_nothing": {"below": 0.4}, "good": {"at_least": 0.7}, "epoch": "last"},
}
"""An arm removed, another added, more configurations, more epochs, another threshold and another epoch to judge."""


def registration(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    capsys.readouterr()
    assert main(["report", "simulated", "--store", store_url(tmp_path), "--format", "json"]) == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)["registration"]
    return found


def run(study: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["sweep", str(study), "--store", store_url(tmp_path), "--inline", "--no-report", "--quiet"]) == 0


def test_an_unchanged_study_is_reported_as_registered(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    study = write_study(tmp_path)
    assert main(["plan", str(study), "--register", "--store", store_url(tmp_path)]) == 0
    printed = capsys.readouterr().out.splitlines()[-1].removeprefix("hash: ")
    run(study, tmp_path, monkeypatch)
    found = registration(tmp_path, capsys)
    assert found["as_registered"]
    assert found["hash"] == printed
    assert main(["plan", str(study), "--register", "--store", store_url(tmp_path)]) == 2
    assert "already run" in capsys.readouterr().err


def test_six_changes_are_six_lines(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert main(["plan", str(write_study(tmp_path)), "--register", "--store", store_url(tmp_path)]) == 0
    run(write_study(tmp_path, **SIX), tmp_path, monkeypatch)
    found = registration(tmp_path, capsys)
    assert found["intact"]
    assert not found["as_registered"]
    assert len(found["changes"]) == 6, found["changes"]
    assert "training.epochs: 3, now 4" in found["changes"]


def test_without_a_registration_a_planned_study_may_not_change(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    run(write_study(tmp_path), tmp_path, monkeypatch)
    changed = write_study(tmp_path, **SIX)
    assert main(["sweep", str(changed), "--store", store_url(tmp_path), "--inline", "--no-report"]) == 2
    assert registration(tmp_path, capsys) is None


def test_an_edit_of_the_store_is_noticed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    study = write_study(tmp_path)
    assert main(["plan", str(study), "--register", "--store", store_url(tmp_path)]) == 0
    run(study, tmp_path, monkeypatch)
    with open_store(store_url(tmp_path)) as store:
        stored = store.study("simulated")
        entries = stored.note(REGISTRATION_NOTE)
        entries[0]["document"]["training"]["epochs"] = 99
        with stored.lock():
            stored.save_note(REGISTRATION_NOTE, entries)
    found = registration(tmp_path, capsys)
    assert not found["intact"]
    assert not found["as_registered"]
