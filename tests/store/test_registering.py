from __future__ import annotations

import platform
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
from sqlalchemy import exc, insert, text
from support.store_samples import RADIAL, SamplePlan, SampleStudy, epoch, plan_of

from robustness.errors import StoreError
from robustness.store import Store, StudyStore, provenance, schema
from robustness.study.loading import load_study
from robustness.sweep.plan import make_plan
from robustness.trial import TrialKey


def test_a_study_is_written_in_full_before_anything_runs(sample: StudyStore) -> None:
    assert sample.document() == SampleStudy().document()
    assert sample.states() == {trial.key: "planned" for trial in plan_of(SampleStudy()).trials}
    facts = sample.provenance()
    assert (facts["hash"], facts["seed"]) == (SampleStudy().hash, 7)
    assert facts["versions"]["python"] == platform.python_version()
    assert "SQLAlchemy" in facts["versions"]
    assert facts["hardware"]["cores"] >= 1


def test_a_bundled_study_is_kept_and_extended(store: Store) -> None:
    def load(configurations: int, *others: str) -> StudyStore:
        study = load_study("quickstart", [f"sampling.configurations={configurations}", *others], check_data=False)
        held = store.register(study, make_plan(study))
        assert held.document() == study.document()
        return held

    frame = load(4).trials()
    longer = load(6).trials()
    assert len(longer) == 12
    drawn = ["configuration", "arm", "optimizer", "learning_rate", "batch_size", "variational_samples", "initial_rho"]
    assert frame[drawn].equals(longer.loc[longer["configuration"] < 4, drawn].reset_index(drop=True))
    with pytest.raises(StoreError, match=r"training.epochs"):
        load(6, "training.epochs=3")


def test_registering_again_changes_nothing(store: Store, sample: StudyStore) -> None:
    with sample.writer() as writer:
        writer.epoch(RADIAL, epoch(1))
        writer.ended(RADIAL, "finished", 0.5, 1)
    before = sample.trials(), sample.provenance()
    again = store.register(SampleStudy(), plan_of(SampleStudy()))
    assert again.trials().equals(before[0])
    assert again.provenance() == before[1]
    assert len(again.epochs()) == 1
    assert store.names() == ["sample"]


@pytest.mark.parametrize(
    "longer", [SampleStudy(configurations=5), SampleStudy(arms=("mfvi", "radial", "mc_dropout"))], ids=["rows", "arms"]
)
def test_an_extended_study_keeps_its_results_and_takes_the_new_order(
    store: Store, sample: StudyStore, longer: SampleStudy
) -> None:
    with sample.writer() as writer:
        writer.ended(RADIAL, "finished", 0.5, 1)
    held = store.register(longer, plan_of(longer))
    expected = {trial.key: "planned" for trial in plan_of(longer).trials} | {RADIAL: "finished"}
    assert list(held.states().items()) == list(expected.items())
    assert held.document() == longer.document()


def test_other_content_under_the_same_name_is_refused_with_the_differences(store: Store, sample: StudyStore) -> None:
    other = SampleStudy(extra={"training": {"epochs": 5}})
    with pytest.raises(
        StoreError, match=r"study 'sample' is already in the store with different settings.*training"
    ) as refusal:
        store.register(other, plan_of(other))
    assert "\n" not in str(refusal.value)
    assert sample.document() == SampleStudy().document()


def test_a_smaller_study_is_refused(store: Store, sample: StudyStore) -> None:
    smaller = SampleStudy(configurations=2)
    with pytest.raises(StoreError, match=r"sampling.configurations: 3, now 2"):
        store.register(smaller, plan_of(smaller))


def test_what_decides_no_result_may_change(store: Store, sample: StudyStore) -> None:
    changed = SampleStudy(extra={"description": "in other words", "resources": {"cpu": 4}})
    held = store.register(changed, plan_of(changed))
    assert held.document()["resources"] == {"cpu": 4}
    again = SampleStudy(extra={"description": "in words", "resources": {"cpu": 4}})
    assert store.register(again, plan_of(again)).document()["description"] == "in words"


def test_a_plan_that_has_drawn_other_configurations_is_refused(store: Store, sample: StudyStore) -> None:
    trials = plan_of(SampleStudy()).trials
    other = SamplePlan((*trials[:-1], replace(trials[-1], hyperparameters={"optimizer": "adam"})))
    with pytest.raises(StoreError, match=r"configuration 2 is .* in the store, and .*adam.* in the plan"):
        store.register(SampleStudy(), other)


def test_trials_can_be_added_one_by_one(store: Store) -> None:
    study = SampleStudy()
    held = store.register(study, SamplePlan(()))
    assert held.pending() == []
    trials = plan_of(study).trials
    for trial in trials:
        held.add([trial])
    held.add(trials[:1])
    assert set(held.pending()) == {trial.key for trial in trials}


def test_studies_share_a_store_and_nothing_else(store: Store, sample: StudyStore) -> None:
    other = replace(SampleStudy(), name="other")
    held = store.register(other, plan_of(other))
    with held.writer() as writer:
        writer.epoch(RADIAL, epoch(1))
        writer.ended(RADIAL, "finished", 0.5, 1)
    held.save_note("fact", 1)
    assert store.names() == ["sample", "other"]
    assert set(sample.states().values()) == {"planned"}
    assert sample.epochs().empty
    assert sample.note("fact") is None


def test_an_unknown_study_is_named_with_the_nearest(store: Store, sample: StudyStore) -> None:
    with pytest.raises(StoreError, match="unknown study 'sampel'; did you mean 'sample'"):
        store.study("sampel")


def test_the_tables_themselves_refuse_a_double_row_and_a_stray_one(store: Store, sample: StudyStore) -> None:
    trial = {"study": 1, "arm": "radial", "replicate": 0, "position": 9, "status": "planned", "attempts": 0}
    for bad in ({**trial, "configuration": 1}, {**trial, "configuration": 77}):
        with pytest.raises(exc.IntegrityError), store._database.engine.begin() as connection:
            connection.execute(insert(schema.trials), bad)
    stray = "INSERT INTO robustness_curves VALUES (4711, 1, 'steps', '[]')"
    with pytest.raises(exc.IntegrityError), store._database.engine.begin() as connection:
        connection.execute(text(stray))


def test_a_key_is_the_trial_whatever_its_arm_is_called(store: Store) -> None:
    study = SampleStudy(arms=("mfvi/α", "it's; DROP TABLE robustness_trials"))
    held = store.register(study, plan_of(study))
    key = TrialKey(0, study.arms[1])
    with held.writer() as writer:
        writer.ended(key, "finished", 0.5, 1)
    assert held.states()[key] == "finished"


def commit(folder: Path) -> str:
    """Create a repository with one commit and return the commit."""
    (folder / "file.txt").write_text("first")
    me = ["-c", "user.name=A", "-c", "user.email=a@b"]
    for words in (["init", "--quiet"], ["add", "."], [*me, "commit", "--quiet", "--message", "first"]):
        subprocess.run(["git", "-C", folder, *words], check=True)
    done = subprocess.run(["git", "-C", folder, "rev-parse", "HEAD"], check=True, capture_output=True, text=True)
    return done.stdout.strip()


def test_the_commit_is_the_working_folder_s_or_else_the_package_s(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mine, source, nowhere = tmp_path / "mine", tmp_path / "source", tmp_path / "nowhere"
    for folder in (mine, source, nowhere):
        folder.mkdir()
    mine_commit, source_commit = commit(mine), commit(source)
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path))
    monkeypatch.setattr(provenance, "__file__", str(source / "provenance.py"))
    monkeypatch.chdir(nowhere)
    assert provenance.git_commit() == source_commit
    (source / "file.txt").write_text("changed")
    assert provenance.git_commit() == source_commit + "+"
    monkeypatch.chdir(mine)
    assert provenance.git_commit() == mine_commit
    monkeypatch.chdir(nowhere)
    monkeypatch.setattr(provenance, "__file__", str(nowhere / "provenance.py"))
    assert provenance.git_commit() is None
