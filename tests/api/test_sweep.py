"""`robustness.sweep`: functions as arms, without files; the same call resumes, and changed code is noticed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from support.studies import results, store_url, write_study
from support.trainables import wait_for

import robustness
from robustness.errors import RobustnessError, StoreError, StudyFileError
from robustness.store import open_store
from robustness.streams import Streams
from robustness.trial import EpochResult, Trial

ROOT = Path(__file__).parents[2]
SPACE = {"lr": robustness.log(1e-4, 1.0), "width": [8, 32]}


def score(lr: float, width: int) -> float:
    return min(1.0, 0.3 + lr * width / 16)


def keywords(lr: float, width: int) -> float:
    return score(lr, width)


def whole_trial(trial: Trial) -> dict[str, float]:
    return {"score": score(**trial.hyperparameters), "loss": 1.0}


def yields(lr: float, width: int) -> Iterator[float]:
    for epoch in range(1, 4):
        yield score(lr, width) * epoch / 3


def reports(trial: Trial) -> str:
    for epoch in range(1, 4):
        trial.report(epoch, score=score(**trial.hyperparameters) * epoch / 3)
    return "the model"


def run(arms: dict[str, Callable[..., Any]], folder: Path, **options: Any) -> robustness.Result:
    defaults: dict[str, Any] = {"space": SPACE, "configurations": 6, "good": 0.8, "inline": True, "quiet": True}
    return robustness.sweep(arms, store=store_url(folder), **defaults | options)


def test_every_form_of_a_function_is_recorded_alike(tmp_path: Path) -> None:
    arms: dict[str, Callable[..., Any]] = {
        "keywords": keywords,
        "trial": whole_trial,
        "yields": yields,
        "reports": reports,
    }
    result = run(arms, tmp_path, name="forms")
    trials = result.trials.pivot_table(index="configuration", columns="arm", values="best")
    assert len(trials) == 6
    for arm in arms:
        assert trials[arm].tolist() == trials["keywords"].tolist()
    epochs = result.epochs.groupby("arm")["epoch"].max()
    assert epochs.to_dict() == {"keywords": 1, "trial": 1, "yields": 3, "reports": 3}
    assert "6 paired configurations" in result.verdict


def test_without_a_name_the_same_call_resumes_and_a_changed_one_is_another_study(tmp_path: Path) -> None:
    calls: list[int] = []

    def counted(trial: Trial) -> float:
        calls.append(trial.configuration)
        return score(**trial.hyperparameters)

    first = run({"a": counted, "b": keywords}, tmp_path)
    assert len(calls) == 6
    assert run({"a": counted, "b": keywords}, tmp_path) == first
    assert len(calls) == 6
    assert run({"a": counted, "b": keywords}, tmp_path, configurations=8) == first
    assert len(calls) == 8
    assert run({"a": counted, "b": keywords}, tmp_path, seed=1) != first
    assert run({"a": counted, "b": keywords}, tmp_path, space={**SPACE, "width": [8, 16]}) != first


def test_a_function_that_changed_after_its_results_is_noticed_and_can_be_accepted(tmp_path: Path) -> None:
    def made(factor: float) -> Callable[..., float]:
        def train(lr: float, width: int) -> float:
            return score(lr, width) * factor

        return train

    run({"a": made(1.0), "b": keywords}, tmp_path, name="changing")
    run({"a": made(1.0), "b": keywords}, tmp_path, name="changing")
    with pytest.raises(StoreError, match=r"^train has changed since the first results of the arm 'a' .*accept_changes"):
        run({"a": made(0.5), "b": keywords}, tmp_path, name="changing", configurations=8)
    result = run({"a": made(0.5), "b": keywords}, tmp_path, name="changing", configurations=8, accept_changes=True)
    assert len(result.trials) == 16
    run({"a": made(0.5), "b": keywords}, tmp_path, name="changing", configurations=8)


@pytest.mark.parametrize(
    ("function", "line"),
    [
        (lambda lr: lr, r"arm 'a': <lambda>\(lr\) does not fit .*the hyperparameter 'width' has no parameter"),
        (lambda rate, width: rate * width, "no hyperparameter fills 'rate', and 'lr' has no parameter"),
        (lambda lr, width, depth: lr * width * depth, r"no hyperparameter fills 'depth' \(there are lr, width\)"),
        (lambda: 0.5, "the hyperparameter 'lr' has no parameter"),
        ("train", "arm 'a': must be a function, found 'train'"),
    ],
)
def test_a_function_with_a_wrong_signature_is_one_line_before_anything_runs(
    function: Any, line: str, tmp_path: Path
) -> None:
    with pytest.raises(StudyFileError, match=line) as raised:
        run({"a": function, "b": keywords}, tmp_path)
    assert "\n" not in str(raised.value)
    assert not (tmp_path / "store.db").exists()


@pytest.mark.parametrize(
    ("options", "line"),
    [
        ({"space": None}, "space is missing"),
        ({"good": None, "learned_nothing": 0.2}, "good is missing"),
        ({"goal": "minimize", "good": {"at_least": 0.5}, "learned_nothing": 0.2}, "on the wrong side"),
        ({"configurations": 0}, "sampling.configurations"),
        ({"space": {"lr": [1, 1]}}, "appears twice"),
        ({"epochs": 3}, "unknown option 'epochs'"),
    ],
)
def test_bad_settings_are_one_line(options: dict[str, Any], line: str, tmp_path: Path) -> None:
    with pytest.raises(RobustnessError, match=line):
        run({"a": keywords}, tmp_path, **options)


def test_a_loss_is_judged_from_the_other_side(tmp_path: Path) -> None:
    arms = {"a": lambda **_: 0.2, "b": lambda **_: 0.9}
    result = run(arms, tmp_path, goal="minimize", good=0.5, learned_nothing=0.8)
    fractions = {arm: (entry["good"], entry["learned_nothing"]) for arm, entry in result.results["arms"].items()}
    shares = {arm: (good["fraction"], nothing["fraction"]) for arm, (good, nothing) in fractions.items()}
    assert shares == {"a": (1.0, 0.0), "b": (0.0, 1.0)}


def test_without_thresholds_arms_are_compared_by_their_scores(tmp_path: Path) -> None:
    result = run({"a": keywords, "b": lambda lr, width: score(lr, width) - 0.1}, tmp_path, good=None)
    assert result.results["primary"] is None
    assert "good" not in result.verdict
    (entry, *_) = result.results["scores"]
    assert entry["mean_difference"] == pytest.approx(0.1)


@pytest.mark.parametrize(
    ("returned", "line"),
    [
        (None, "returned nothing and reported no epoch"),
        ("done", "returned a str and reported no epoch"),
        ({"accuracy": 0.5}, "never reported the study's metric, 'score'"),
        ([{"score": 0.5}, "done"], "yielded a str"),
    ],
)
def test_a_metric_that_never_comes_fails_the_trial_with_one_line(returned: Any, line: str, tmp_path: Path) -> None:
    result = run({"a": lambda **_: returned, "b": keywords}, tmp_path, name="odd", resources={"max_attempts": 1})
    failed = result.trials[result.trials["arm"] == "a"]
    assert set(failed["status"]) == {"failed"}
    assert all(line in error for error in failed["error"])


def test_a_seed_is_the_same_for_all_arms_and_differs_between_configurations(tmp_path: Path) -> None:
    seeds: dict[str, list[int]] = {"a": [], "b": []}

    def seeded(arm: str) -> Callable[..., float]:
        def train(seed: int, **_: Any) -> float:
            seeds[arm].append(seed)
            return 0.5

        return train

    run({arm: seeded(arm) for arm in seeds}, tmp_path, name="seeds")
    assert seeds["a"] == seeds["b"]
    assert len(set(seeds["a"])) == 6
    assert seeds["a"][2] == Streams(0, 2).external_seed()
    assert all(0 <= seed < 2**31 for seed in seeds["a"])


def test_pushed_epochs_arrive_one_by_one_and_end_with_the_trial(tmp_path: Path) -> None:
    reached: list[int] = []

    def diverges(trial: Trial) -> None:
        for epoch in range(1, 10):
            reached.append(epoch)
            trial.report(epoch, score=0.5 if epoch < 3 else float("nan"))

    result = run({"a": diverges}, tmp_path, configurations=1)
    assert result.trials["status"].tolist() == ["diverged"]
    assert reached == [1, 2, 3]


def test_a_function_that_reports_and_then_hangs_is_timed_out(tmp_path: Path) -> None:
    def hangs(trial: Trial) -> None:
        trial.report(1, score=0.5)
        while True:
            time.sleep(0.01)

    start = time.monotonic()
    result = run({"a": hangs}, tmp_path, configurations=1, resources={"trial_timeout": 0.5})
    assert result.trials["status"].tolist() == ["timed_out"]
    assert len(result.epochs) == 1
    assert time.monotonic() - start < 10


def test_an_error_of_a_pushed_trial_has_its_traceback(tmp_path: Path) -> None:
    def breaks(trial: Trial) -> None:
        trial.report(1, score=0.5)
        raise ValueError("no such layer")

    result = run({"a": breaks}, tmp_path, configurations=1, resources={"max_attempts": 1})
    (error,) = result.trials["error"]
    assert "in breaks" in error
    assert error.endswith("ValueError: no such layer")


def test_a_function_that_yields_cannot_report_as_well(tmp_path: Path) -> None:
    def both(trial: Trial) -> Iterator[float]:
        trial.report(1, score=0.5)
        yield 0.5

    result = run({"a": both}, tmp_path, configurations=1)
    (error,) = result.trials["error"]
    assert "trial.report is for functions that yield nothing" in error


def test_reporting_outside_a_sweep_does_nothing() -> None:
    Trial("study", 0, 0, "a").report(1, score=0.5)


def test_a_study_file_runs_from_python_with_the_numbers_of_the_command_line(tmp_path: Path) -> None:
    from robustness.cli import main

    path = write_study(tmp_path)
    study = robustness.load_study(str(path))
    assert robustness.sweep(study, store=store_url(tmp_path, "python"), inline=True, quiet=True).study == "simulated"
    words = ["sweep", str(path), "--store", store_url(tmp_path, "cli"), "--inline", "--quiet", "--no-report"]
    assert main(words) == 0
    assert results(store_url(tmp_path, "python")) == results(store_url(tmp_path, "cli"))
    with pytest.raises(StudyFileError, match="'seed' is part of the study file"):
        robustness.sweep(study, store=store_url(tmp_path), seed=3)


def test_the_command_line_says_how_to_run_functions(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from robustness.cli import main

    assert main(["plan", str(write_study(tmp_path, trainable="x") and _renamed(tmp_path))]) == 2
    assert "pass them to robustness.sweep" in capsys.readouterr().err


def _renamed(folder: Path) -> Path:
    path = folder / "simulated.yaml"
    path.write_text(path.read_text().replace("support.trainables:x", "function"))
    return path


SCRIPT = """
import time
from pathlib import Path
import robustness as rb

PAUSE = {pause}

def train_sgd(lr, width):
    time.sleep(PAUSE)
    return {{"accuracy": min(1.0, 0.3 + lr * width / 16)}}

def train_adam(trial):
    for epoch in range(1, 4):
        trial.report(epoch, accuracy=min(1.0, 0.3 + trial.hyperparameters["lr"] * epoch))

result = rb.sweep({{"sgd": train_sgd, "adam": train_adam}}, space={{"lr": rb.log(1e-4, 1), "width": [8, 32]}},
                  configurations=30, metric="accuracy", good=0.8, workers=2)
print(result.verdict)
"""


@pytest.mark.xdist_group("ray")
def test_functions_of_a_script_run_on_ray_and_a_killed_script_goes_on(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    environment.pop("ROBUSTNESS_STORE", None)
    script.write_text(SCRIPT.format(pause=0.1))
    command = [sys.executable, str(script)]
    first = subprocess.Popen(command, cwd=tmp_path, env=environment, start_new_session=True, stderr=subprocess.DEVNULL)
    wait_for(tmp_path / "robustness.db")
    deadline = time.monotonic() + 60
    while _ended(tmp_path) < 4:
        assert time.monotonic() < deadline
        time.sleep(0.1)
    os.killpg(first.pid, signal.SIGKILL)
    first.wait()
    kept = _ended(tmp_path)
    assert 4 <= kept < 60
    second = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=120)
    assert second.returncode == 0, second.stderr
    assert "30 pairs" in second.stdout
    with open_store(f"sqlite:///{tmp_path / 'robustness.db'}", create=False) as store:
        (name,) = store.names()
        trials = store.study(name).trials()
    assert set(trials["status"]) == {"finished"}
    assert (trials["attempts"] == 1).all()
    script.write_text(SCRIPT.format(pause=0.0))
    third = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=120)
    assert third.returncode == 1
    assert "train_sgd has changed since the first results" in third.stderr.splitlines()[-1]


def _ended(folder: Path) -> int:
    try:
        with open_store(f"sqlite:///{folder / 'robustness.db'}", create=False) as store:
            return sum(store.study(name).counts().get("finished", 0) for name in store.names())
    except RobustnessError:
        return 0


@pytest.mark.xdist_group("ray")
@pytest.mark.usefixtures("local_ray")
def test_a_function_that_cannot_be_pickled_is_named_before_anything_runs(tmp_path: Path) -> None:
    with (tmp_path / "open.txt").open("w") as file:

        def writes(lr: float, width: int) -> float:
            file.write("x")
            return score(lr, width)

        with pytest.raises(StudyFileError, match=r"cannot be sent to workers .*inline=True"):
            run({"a": writes}, tmp_path, inline=False, workers=1)
    assert not (tmp_path / "store.db").exists()


@pytest.mark.xdist_group("ray")
@pytest.mark.usefixtures("local_ray")
def test_closures_give_the_same_numbers_on_ray_as_inline_and_a_hung_one_is_ended(tmp_path: Path) -> None:
    def made(factor: float) -> Callable[..., Iterator[EpochResult]]:
        def train(trial: Trial) -> Iterator[EpochResult]:
            for epoch in range(1, 3):
                lr = trial.hyperparameters["lr"]
                yield EpochResult(epoch, {"score": min(1.0, factor * lr * epoch)}, seconds=0.1)

        return train

    def hangs(trial: Trial) -> None:
        trial.report(1, score=0.1)
        if trial.configuration == 0:
            time.sleep(60)

    arms = {"a": made(1.0), "b": made(2.0)}
    options: dict[str, Any] = {"name": "simulated", "configurations": 4}
    robustness.sweep(arms, SPACE, good=0.8, inline=True, quiet=True, store=store_url(tmp_path, "inline"), **options)
    robustness.sweep(arms, SPACE, good=0.8, workers=2, quiet=True, store=store_url(tmp_path, "ray"), **options)
    assert results(store_url(tmp_path, "inline")) == results(store_url(tmp_path, "ray"))
    hung = robustness.sweep(
        {"a": hangs},
        SPACE,
        good=0.8,
        workers=2,
        quiet=True,
        store=store_url(tmp_path),
        configurations=2,
        resources={"trial_timeout": 1.0},
    )
    assert hung.trials["status"].tolist() == ["timed_out", "finished"]


def test_a_task_that_is_no_name_gets_one_line(tmp_path: Path) -> None:
    with pytest.raises(robustness.RobustnessError, match="a task is a name or a mapping with a name, found 3"):
        robustness.sweep(
            {"a": lambda x: x}, {"x": [1, 2]}, tasks=[3], store=f"sqlite:///{tmp_path / 's.db'}", inline=True
        )
    assert not (tmp_path / "s.db").exists()
