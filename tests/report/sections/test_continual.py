"""The report of continual learning: each arm at its best cell, the accuracies after each task, and the grid."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from support.files import write_idx_files
from support.results import present

from report.analysis import Analysis, analyse
from report.frames import load_frames
from report.judged_study import JudgedStudy
from report.page import render
from report.sections import continual
from report.sections.verdict import headline
from robustness.cli import main
from robustness.store import open_store
from robustness.study.loading import load_study
from robustness.sweep.plan import make_plan

ARMS = ["mfvi", "radial", "radial_uncorrected"]


def study_file(folder: Path, heads: int = 3, **changes: Any) -> Path:
    document = {
        "name": "sequence",
        "trainable": "continual",
        "task": {"name": "split_fashion_mnist", "folder": str(folder), "checksums": False, "tasks": 3},
        "model": {"name": "mlp", "hidden": [12, 12], "heads": heads},
        "arms": ARMS,
        "space": {
            "optimizer": "amsgrad",
            "learning_rate": 0.01,
            "epochs": [1, 3],
            "batch_size": [24, 48],
            "initial_rho": -4,
        },
        "sampling": {"strategy": "grid", "seed": 0},
        "training": {"evaluation_samples": 2},
        "outcomes": {
            "metric": "validation_accuracy",
            "epoch": "last",
            "learned_nothing": {"below": 0.5},
            "good": {"at_least": 0.9},
        },
    }
    path = folder / "sequence.yaml"
    path.write_text(yaml.safe_dump(document | changes))
    return path


@pytest.fixture(scope="module")
def learned(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Analysis]:
    """A grid of four cells, whose winners have three replicates."""
    folder = write_idx_files(tmp_path_factory.mktemp("sequence"))
    url = f"sqlite:///{folder / 'store.db'}"
    path = study_file(folder, winners={"replicates": 3})
    assert main(["sweep", str(path), "--store", url, "--inline", "--quiet", "--no-report"]) == 0
    with open_store(url) as store:
        yield analyse(store.study("sequence"))


def test_each_arm_is_shown_at_the_cell_with_the_best_validation_accuracy(learned: Analysis) -> None:
    epochs = learned.frames.epochs
    last = epochs[(epochs["epoch"] == 3) & (epochs["replicate"] == 0)]
    for arm, entry in learned.results["continual"]["arms"].items():
        found = present(entry)
        own = last[last["arm"] == arm].set_index("configuration")
        best = max(sorted(own.index), key=lambda number: own.loc[number, "validation_accuracy"])
        assert found["configuration"] == best
        assert [cell["configuration"] for cell in found["cells"]] == [0, 1, 2, 3]
        for cell in found["cells"]:
            assert cell["test_accuracy"] == pytest.approx(own.loc[cell["configuration"], "test_accuracy"])
            assert cell["trials"] == 1


def test_the_best_cell_has_means_and_standard_errors_over_its_replicates(learned: Analysis) -> None:
    epochs = learned.frames.epochs
    for arm, entry in learned.results["continual"]["arms"].items():
        found = present(entry)
        own = epochs[(epochs["arm"] == arm) & (epochs["configuration"] == found["configuration"])]
        final = own[own["epoch"] == 3]
        assert found["trials"] == len(final) == 3
        assert found["first_task"]["mean"] == pytest.approx(final["test_accuracy_task_1"].mean())
        assert found["forgetting"]["mean"] == pytest.approx(final["forgetting"].mean())
        assert found["test_accuracy"]["standard_error"] == pytest.approx(final["test_accuracy"].sem())
        assert found["after"][1][2] is None
        for after in (1, 2, 3):
            for task in range(1, after + 1):
                expected = own.loc[own["epoch"] == after, f"test_accuracy_task_{task}"].mean()
                assert found["after"][after - 1][task - 1] == pytest.approx(expected)


def test_the_sentences_stand_in_the_place_of_fractions(learned: Analysis) -> None:
    sentences = learned.results["verdict"]
    assert len(sentences) == 2
    assert "Test accuracy after the third task" in sentences[0]
    assert "The first task's accuracy by then: mfvi" in sentences[1]
    page = render(learned)
    for name in ("continual", "continual-grid", "curves"):
        assert f'id="{name}"' in page
    for name in ("outcomes", "profiles", "thresholds"):
        assert f'id="{name}"' not in page
    assert page.count("chosen</td>") == len(ARMS)


def test_before_a_trial_has_ended_the_report_says_so(tmp_path: Path) -> None:
    study = load_study(str(study_file(write_idx_files(tmp_path))))
    with open_store(f"sqlite:///{tmp_path / 'store.db'}") as store:
        registered = store.register(study, make_plan(study))
        assert headline(analyse(registered)) == "No trial has learned all of its tasks yet."
        assert 'id="continual"' not in render(analyse(registered))


def test_one_task_and_one_cell_have_nothing_to_forget(tmp_path: Path) -> None:
    path = study_file(
        write_idx_files(tmp_path),
        heads=1,
        task={"name": "split_fashion_mnist", "folder": str(tmp_path), "checksums": False, "tasks": 1},
        space={"optimizer": "amsgrad", "learning_rate": 0.01, "epochs": 1, "batch_size": 24, "initial_rho": -4},
        arms=["radial"],
    )
    url = f"sqlite:///{tmp_path / 'store.db'}"
    assert main(["sweep", str(path), "--store", url, "--inline", "--quiet", "--no-report"]) == 0
    with open_store(url) as store:
        frames = load_frames(store.study("sequence"))
        page = render(analyse(store.study("sequence")))
    found = continual.results(JudgedStudy.of(frames))
    assert found is not None
    radial = found["arms"]["radial"]
    assert radial is not None
    assert radial["after"] == [[pytest.approx(radial["test_accuracy"]["mean"])]]
    assert 'id="continual"' in page
    assert "nan" not in " ".join(found["sentences"])
