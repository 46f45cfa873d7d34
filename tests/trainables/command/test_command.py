"""Studies of a command: outcomes instead of errors, values that stay values, and no process left behind."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
import yaml
from support.studies import store_url

import robustness
from robustness.cli import main
from robustness.errors import RobustnessError, TrialFailed
from robustness.store import open_store
from robustness.streams import Streams
from robustness.study.loading import make_study
from robustness.sweep.plan import make_plan
from robustness.trainables.command.lines import KEPT_LINES, LONGEST_LINE
from robustness.trainables.command.training import train
from robustness.trial import Trial

SCRIPT = Path(__file__).parents[2] / "support" / "command_script.py"
RUN = [sys.executable, str(SCRIPT)]


def document(**changes: Any) -> dict[str, Any]:
    """A study of the script; `changes` replace whole sections."""
    return {
        "name": "commands",
        "command": [*RUN, "--rate", "{rate}", "--arm", "{arm}", "--fault", "{fault}", "--out", "{folder}"],
        "arms": ["sgd", "adam"],
        "space": {"rate": [0.1, 0.5], "fault": ["none"]},
        "sampling": {"strategy": "grid"},
        "outcomes": {"metric": "accuracy", "learned_nothing": {"below": 0.4}, "good": {"at_least": 0.6}},
        **changes,
    }


def study_file(folder: Path, **changes: Any) -> str:
    path = folder / "commands.yaml"
    path.write_text(yaml.safe_dump(document(**changes), sort_keys=False))
    return str(path)


def is_alive(process: int) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def ended(process: int, seconds: float = 5.0) -> bool:
    end = time.monotonic() + seconds
    while is_alive(process):
        if time.monotonic() > end:
            return False
        time.sleep(0.02)
    return True


TWELVE = {"rate": [0.1, 0.5], "fault": ["none", "crash", "hang", "garbage", "memory", "; touch hacked"]}


@pytest.mark.parametrize("way", ["inline", pytest.param("ray", marks=pytest.mark.xdist_group("ray"))])
def test_twelve_trials_end_in_twelve_outcomes_whatever_the_command_does(
    way: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], request: pytest.FixtureRequest
) -> None:
    if way == "ray":
        request.getfixturevalue("local_ray")
    faults = study_file(
        tmp_path, arms=["sgd"], space=TWELVE, resources={"trial_timeout": 3.0}, outcomes=document()["outcomes"]
    )
    where = ["--inline"] if way == "inline" else ["--workers", "2"]
    words = ["sweep", faults, "--store", store_url(tmp_path), "--no-report", *where]
    assert main(words) == 1  # Some trials have no result.
    assert "trials without a result" in capsys.readouterr().err
    result = robustness.Result(store_url(tmp_path), "commands")
    trials = result.trials
    assert len(trials) == 12
    statuses = {fault: sorted(set(own["status"])) for fault, own in trials.groupby("fault")}
    assert statuses == {
        "none": ["finished"],
        "; touch hacked": ["finished"],
        "crash": ["failed"],
        "garbage": ["failed"],
        "hang": ["timed_out"],
        "memory": ["out_of_memory"],
    }
    assert set(trials["status"]) <= {"finished", "failed", "timed_out", "out_of_memory"}
    errors = {fault: own["error"].iloc[0] for fault, own in trials.groupby("fault")}
    last = {fault: error.splitlines()[-1] for fault, error in errors.items() if isinstance(error, str)}
    assert last["crash"] == "the command exited with code 3; its last line: ValueError: no such layer"
    assert "loading the data" in errors["crash"]
    assert last["hang"].startswith("took longer than trial_timeout (3 s); its last line: waiting for a lock")
    assert last["garbage"].startswith("the command never wrote a JSON object with 'accuracy' to standard output")
    assert "ran out of memory and exited with code 1" in last["memory"]
    assert "CUDA out of memory" in last["memory"]
    # The page has each of them, and the shell has run nothing.
    page = result.report(tmp_path / "page.html").read_text(encoding="utf-8")
    for phrase in ("exited with code 3", "took longer than trial_timeout", "never wrote a JSON object", "CUDA out of"):
        assert phrase in page
    assert not list(tmp_path.rglob("hacked"))
    folders = sorted((tmp_path / "commands.runs").iterdir())
    assert len(folders) == 12
    for folder in folders:
        for name in ("pid", "child"):
            if (folder / name).exists():
                assert ended(int((folder / name).read_text()))
    arguments = [json.loads((folder / "arguments.json").read_text()) for folder in folders]
    assert ["--fault", "; touch hacked"] in [words[4:6] for words in arguments]


def test_lines_of_one_epoch_are_put_together(tmp_path: Path) -> None:
    study = make_study(document(), "x.yaml")
    trial = make_plan(study).trials[0]
    epochs = list(train(trial))
    assert [epoch.epoch for epoch in epochs] == [1, 2, 3]
    assert set(epochs[0].measures) == {"loss", "accuracy"}


def of(words: list[str], metrics: dict[str, str] | None = None, **fields: Any) -> Trial:
    training = {"command": words, **({} if metrics is None else {"metrics": metrics})}
    return Trial("study", 0, 3, "sgd", metric="accuracy", training=training, trainable="command", **fields)


def python(code: str, *words: str) -> list[str]:
    return [sys.executable, "-c", code.replace("{", "{{").replace("}", "}}"), *words]


def test_a_pattern_finds_measures_in_both_streams() -> None:
    code = "import sys\nfor e in range(1, 4): print(f'epoch {e} val_acc 0.{e}', file=sys.stderr)\nprint('done')"
    pattern = r"epoch (?P<epoch>\d+) val_acc (?P<accuracy>[0-9.]+)"
    epochs = list(train(of(python(code), {"pattern": pattern})))
    assert [(epoch.epoch, epoch.measures["accuracy"]) for epoch in epochs] == [(1, 0.1), (2, 0.2), (3, 0.3)]


def test_a_pattern_that_never_matches_fails_the_trial_with_its_last_line() -> None:
    with pytest.raises(TrialFailed, match=r"metrics.pattern never matched a line with 'accuracy'; its last line: bye"):
        list(train(of(python("print('bye')"), {"pattern": "accuracy: (?P<accuracy>[0-9.]+)"})))


def test_a_file_is_followed_and_an_older_one_is_removed_first(tmp_path: Path) -> None:
    code = (
        "import json, sys, pathlib\n"
        "out = pathlib.Path(sys.argv[1]) / 'results.jsonl'\n"
        "assert not out.exists()\n"
        "print(json.dumps({'accuracy': 0.9}))\n"
        "with out.open('w') as file:\n"
        "    for e in range(1, 4): print(json.dumps({'epoch': e, 'accuracy': e / 10}), file=file)\n"
    )
    (tmp_path / "results.jsonl").write_text('{"epoch": 9, "accuracy": 1.0}\n')
    trial = of(python(code, "{folder}"), {"file": "results.jsonl"}, folder=str(tmp_path))
    assert [(e.epoch, e.measures["accuracy"]) for e in train(trial)] == [(1, 0.1), (2, 0.2), (3, 0.3)]
    with pytest.raises(TrialFailed, match=r"never wrote 'results.jsonl'"):
        list(train(of(python("pass", "{folder}"), {"file": "results.jsonl"}, folder=str(tmp_path))))


def test_huge_output_is_read_in_little_memory_and_long_lines_are_cut() -> None:
    code = (
        "import sys\n"
        "for _ in range(3000): sys.stdout.write('x' * 20000)\n"
        "print()\n"
        "for n in range(1000): print('line', n)\n"
        "print('{\"accuracy\": 0.5}')\n"
        "sys.exit(4)\n"
    )
    found = []
    with pytest.raises(TrialFailed, match="exited with code 4") as raised:
        found += list(train(of(python(code))))
    assert len(str(raised.value).splitlines()) <= KEPT_LINES + 1
    assert len(str(raised.value)) < LONGEST_LINE


def test_a_command_killed_by_the_system_counts_as_probably_out_of_memory() -> None:
    with pytest.raises(TrialFailed, match="probably because memory ran out") as raised:
        list(train(of(python("import os; os.kill(os.getpid(), 9)"))))
    assert raised.value.status == "out_of_memory"
    with pytest.raises(TrialFailed, match="was ended by SIGSEGV") as raised:
        list(train(of(python("import os; os.kill(os.getpid(), 11)"))))
    assert raised.value.status == "failed"


def test_a_program_that_cannot_start_is_named() -> None:
    with pytest.raises(TrialFailed, match=r"cannot be started: .*nothing_like_it"):
        list(train(of(["nothing_like_it", "x"])))


def test_an_odd_epoch_is_refused() -> None:
    with pytest.raises(RobustnessError, match=r"the epoch 1.5, which is not an integer"):
        list(train(of(python('print(\'{"epoch": 1.5, "accuracy": 1}\')'))))


def test_background_processes_of_a_command_end_with_it(tmp_path: Path) -> None:
    code = (
        "import subprocess, sys, pathlib\n"
        "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)'])\n"
        "pathlib.Path(sys.argv[1], 'child').write_text(str(child.pid))\n"
        "print('{\"accuracy\": 0.5}')\n"
    )
    start = time.monotonic()
    assert len(list(train(of(python(code, "{folder}"), folder=str(tmp_path))))) == 1
    assert time.monotonic() - start < 20
    assert ended(int((tmp_path / "child").read_text()))


def test_leaving_a_trial_in_the_middle_ends_its_processes(tmp_path: Path) -> None:
    code = (
        "import os, pathlib, sys, time\n"
        "pathlib.Path(sys.argv[1], 'pid').write_text(str(os.getpid()))\n"
        "print('{\"accuracy\": 0.5}', flush=True)\n"
        "time.sleep(600)\n"
    )
    epochs = train(of(python(code, "{folder}"), folder=str(tmp_path)))
    next(epochs)
    process = int((tmp_path / "pid").read_text())
    assert is_alive(process)
    epochs.close()
    assert ended(process)


def test_a_killed_worker_takes_its_command_with_it(tmp_path: Path) -> None:
    code = (
        "import os, pathlib, sys, time\n"
        "pathlib.Path(sys.argv[1], 'pid').write_text(str(os.getpid()))\n"
        "print('{\"accuracy\": 0.5}', flush=True)\n"
        "time.sleep(600)\n"
    )
    worker = (
        "from robustness.trial import Trial\n"
        "from robustness.trainables.command.training import train\n"
        f"words = {python(code, '{folder}')!r}\n"
        f"trial = Trial('s', 0, 0, 'sgd', metric='accuracy', training={{'command': words}}, folder={str(tmp_path)!r})\n"
        "epochs = train(trial)\n"
        "next(epochs)\n"
        "print('running', flush=True)\n"
        "next(epochs)\n"
    )
    running = subprocess.Popen([sys.executable, "-c", worker], stdout=subprocess.PIPE, text=True)
    assert running.stdout is not None
    assert running.stdout.readline() == "running\n"
    process = int((tmp_path / "pid").read_text())
    assert is_alive(process)
    os.kill(running.pid, signal.SIGKILL)
    running.wait()
    running.stdout.close()
    assert ended(process)


def test_a_failed_command_is_tried_again_only_if_the_study_asks(tmp_path: Path) -> None:
    for name, resources, attempts in (("once", {}, 1), ("thrice", {"max_attempts": 3}, 3)):
        path = study_file(
            tmp_path, name=name, arms=["sgd"], space={"rate": 0.1, "fault": ["crash"]}, resources=resources
        )
        assert main(["sweep", path, "--store", store_url(tmp_path), "--inline", "--quiet", "--no-report"]) == 1
        with open_store(store_url(tmp_path), create=False) as store:
            assert store.study(name).trials()["attempts"].tolist() == [attempts]


def test_values_are_passed_exactly_and_braces_can_be_literal(tmp_path: Path) -> None:
    code = "import sys; print('{\"accuracy\": 1}'); open(sys.argv[1] + '/seen', 'w').write(repr(sys.argv))"
    words = [
        "{folder}",
        "{rate}",
        "{on}",
        "{none}",
        "{{{arm}}}",
        "--seed={seed}",
        "{text}",
        "{epochs}",
        "--x={missing}",
    ]
    trial = Trial(
        "study",
        7,
        3,
        "sgd",
        hyperparameters={"rate": 0.1 + 0.2, "on": True, "none": None, "text": 'a b\' "$HOME" *'},
        metric="accuracy",
        training={"command": python(code, *words), "epochs": 5},
        folder=str(tmp_path),
    )
    list(train(trial))
    seed = Streams(7, 3).external_seed()
    seen = (tmp_path / "seen").read_text()
    expected = ["0.30000000000000004", "true", "null", "{sgd}", f"--seed={seed}", 'a b\' "$HOME" *', "5"]
    assert seen.endswith(f"{str(expected)[1:]}")


def test_the_gpu_of_a_trial_is_in_the_commands_environment(tmp_path: Path) -> None:
    code = "import os, json; print(json.dumps({'accuracy': 1.0 if os.environ['CUDA_VISIBLE_DEVICES'] == '' else 0.0}))"
    path = study_file(
        tmp_path, command=python(code, "{arm}", "{rate}"), space={"rate": [0.1, 0.2]}, sampling={"strategy": "grid"}
    )
    assert main(["sweep", path, "--store", store_url(tmp_path), "--inline", "--quiet", "--no-report"]) == 0
    assert robustness.Result(store_url(tmp_path), "commands").trials["best"].tolist() == [1.0] * 4


@pytest.mark.parametrize(
    ("changes", "line"),
    [
        ({"command": "python train.py --lr {learning_rat} {rate} {arm} {fault}"}, "nothing fills {learning_rat}"),
        ({"command": "python train.py --arm {arm} --rate {rate}"}, "'fault' is drawn but not passed to the command"),
        ({"command": "python train.py {rate} {fault}"}, "is the same for every arm: pass {arm}"),
        ({"command": "python train.py '{rate} {fault} {arm}"}, "cannot be split into words (no closing quotation)"),
        ({"command": "python train.py {rate} {fault} {arm} {"}, "a single brace in '{'"),
        ({"command": "python train.py {rate:.3f} {fault} {arm}"}, "is not a placeholder such as {learning_rate}"),
        ({"command": []}, "command: must have at least 1 entry"),
        ({"command": "nothing_like_it {rate} {fault} {arm}"}, "there is no program 'nothing_like_it'"),
        ({"metrics": {"pattern": "acc ([0-9.]+)"}}, "metrics.pattern: has no named group"),
        ({"metrics": {"pattern": "acc (?P<accuracy>"}}, "metrics.pattern: is not a regular expression"),
        (
            {"metrics": {"pattern": "(?P<val_acc>[0-9.]+)"}},
            "has no group for the study's metric: add (?P<accuracy>...)",
        ),
        ({"metrics": {"from": "stdout"}}, "metrics.from: must be 'stdout-json'"),
        ({"metrics": {"pattren": "x"}}, "unknown key 'pattren'; did you mean 'pattern'?"),
        ({"metrics": {"from": "stdout-json", "file": "x"}}, "needs exactly one of from, file and pattern"),
        (
            {"command": "python x.py {rate} {arm} {fault}", "metrics": {"file": "r.jsonl"}},
            "pass {folder} to it",
        ),
        ({"trainable": "regression"}, "command: cannot be combined with trainable: regression"),
        ({"command": None, "trainable": "command"}, "command: is missing"),
        ({"command": None, "metrics": {"from": "stdout-json"}}, "metrics: is for a study with `command`"),
        (
            {
                "command": "python x.py {optimizer} {momentum} {arm}",
                "space": {"optimizer": {"sgd": {"momentum": [0.1, 0.9]}, "adam": None}},
            },
            "{momentum} is a hyperparameter of some choices of the search space only; write --momentum={momentum}",
        ),
    ],
)
def test_a_mistake_is_one_line_before_anything_runs(
    changes: dict[str, Any], line: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = study_file(tmp_path, **changes)
    assert main(["sweep", path, "--store", store_url(tmp_path), "--inline"]) == 2
    error = capsys.readouterr().err
    assert line in error
    assert len(error.splitlines()) == 1
    assert not (tmp_path / "store.db").exists()


def test_an_option_of_an_arm_can_tell_the_arms_apart() -> None:
    study = make_study(
        document(
            command=["python", "{script}", "{rate}", "{fault}"],
            arms=[{"name": "sgd", "script": "a.py"}, {"name": "adam", "script": "b.py"}],
        ),
        "x.yaml",
        check_data=False,
    )
    assert study.training["command"] == ["python", "{script}", "{rate}", "{fault}"]


def test_a_command_can_be_optimised_as_well(tmp_path: Path) -> None:
    path = study_file(
        tmp_path,
        space={"rate": {"low": 0.1, "high": 2.0}, "fault": "none"},
        sampling={"seed": 0},
        search={"runs": 2, "sampler": "random"},
        finals={"replicates": 1},
    )
    words = ["optimize", path, "--store", store_url(tmp_path), "--inline", "--quiet", "--no-report"]
    assert main(words) == 0
    with open_store(store_url(tmp_path), create=False) as store:
        assert store.study("commands").counts() == {"finished": 6}
    assert len(list((tmp_path / "commands.runs").iterdir())) == 6
