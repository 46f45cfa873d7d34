from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import yaml
from support.branin import branin_document, branin_study
from support.trainables import wait_for

import robustness
from robustness.execution.inline import InlineExecutor
from robustness.optimize.search import NOTHING, runs_in, search
from robustness.store import open_store
from robustness.trial import SEARCH_BLOCK, TrialKey

SEARCH = {"runs": 10, "startup": 5}
ARMS = ["first", "second"]
EVERY = [TrialKey(number, ARMS[number % 2]) for number in range(20)]
"""The arms propose in turn."""
KILLED_AT = [EVERY[0], EVERY[5], EVERY[8], EVERY[13]]
LAST = EVERY[19]


def mark(folder: Path, key: TrialKey, suffix: str) -> Path:
    return folder / f"{key}.{suffix}".replace("/", "-")


def begin(path: Path, url: str) -> subprocess.Popen[str]:
    source, tests = Path(robustness.__file__).parents[1], Path(__file__).parents[1]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, (source, tests)))}
    command = [sys.executable, "-m", "robustness", "optimize", str(path), "--store", url, "--inline", "--quiet"]
    pipe = subprocess.PIPE
    # The report is written where the command runs.
    return subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True, env=environment, cwd=path.parent)


def test_killed_five_times_it_ends_with_ten_runs_for_each_arm_and_the_proposals_of_an_undisturbed_search(
    tmp_path: Path,
) -> None:
    undisturbed = branin_study(arms=ARMS, search=SEARCH)
    with open_store(f"sqlite:///{tmp_path / 'undisturbed.db'}") as store:
        expected = search(undisturbed, store.register(undisturbed, NOTHING), InlineExecutor())

    path, url = tmp_path / "branin.yaml", f"sqlite:///{tmp_path / 'store.db'}"
    training = {"folder": str(tmp_path)}
    document = branin_document("train_on_signal", arms=ARMS, search=SEARCH, training=training)
    path.write_text(yaml.safe_dump(document))
    for key in EVERY:
        if key not in (*KILLED_AT, LAST):
            mark(tmp_path, key, "go").touch()
    for key in (*KILLED_AT, LAST):
        with begin(path, url) as process:
            wait_for(mark(tmp_path, key, "begun"))
            process.kill()
            process.communicate()
        mark(tmp_path, key, "go").touch()
    with begin(path, url) as process:
        output, errors = process.communicate()
    assert process.returncode == 0, errors
    assert "first: best validation_auc" in output
    assert "<h1>branin</h1>" in (tmp_path / "branin.html").read_text(encoding="utf-8")

    study = branin_study("train_on_signal", arms=ARMS, search=SEARCH, training=training)
    with open_store(url, create=False) as store:
        registered = store.study("branin")
        assert set(registered.states()) == set(EVERY)
        assert set(registered.states().values()) == {"finished"}
        assert runs_in(study, registered) == expected


def test_killed_in_its_second_search_it_resumes_there(tmp_path: Path) -> None:
    terms: dict[str, Any] = {"arms": ARMS, "search": {"runs": 3, "startup": 1}, "finals": {"searches": 2}}
    undisturbed = branin_study(**terms)
    with open_store(f"sqlite:///{tmp_path / 'undisturbed.db'}") as store:
        registered = store.register(undisturbed, NOTHING)
        expected = [search(undisturbed, registered, InlineExecutor(), search_number=number) for number in range(2)]

    path, url = tmp_path / "branin.yaml", f"sqlite:///{tmp_path / 'store.db'}"
    training = {"folder": str(tmp_path)}
    path.write_text(yaml.safe_dump(branin_document("train_on_signal", training=training, **terms)))
    # Six runs and two final models in each search.
    every = [TrialKey(first + number, ARMS[number % 2]) for first in (0, SEARCH_BLOCK) for number in range(8)]
    killed_at = [every[7], every[11]]
    for key in every:
        if key not in killed_at:
            mark(tmp_path, key, "go").touch()
    for key in killed_at:
        with begin(path, url) as process:
            wait_for(mark(tmp_path, key, "begun"))
            process.kill()
            process.communicate()
        mark(tmp_path, key, "go").touch()
    with begin(path, url) as process:
        _, errors = process.communicate()
    assert process.returncode == 0, errors
    study = branin_study("train_on_signal", training=training, **terms)
    with open_store(url, create=False) as store:
        registered = store.study("branin")
        assert set(registered.states()) == set(every)
        assert set(registered.states().values()) == {"finished"}
        assert [runs_in(study, registered, number) for number in range(2)] == expected
