"""Winners in a sweep: chosen when the plan has ended, planned in the store, run, and the same after any stop."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support.studies import results, store_url, write_study
from support.trainables import number

from report.analysis import analyse
from robustness.cli import main
from robustness.errors import RobustnessError
from robustness.execution.inline import InlineExecutor
from robustness.execution.protocol import Executor, never
from robustness.execution.tune import TuneExecutor
from robustness.store import open_store
from robustness.study.loading import load_study
from robustness.sweep.plan import make_plan
from robustness.sweep.progress import SweepProgress
from robustness.sweep.sweep import SweepResult, read_keys, sweep
from robustness.trial import TrialKey

ROOT = Path(__file__).parents[2]
SPACE: dict[str, list[Any]] = {"data": ["large", "small"], "rate": [0.1, 0.2, 0.3]}
WINNERS = {"by": "data", "replicates": 4, "fewer": {"large": 2}}
FURTHER = 2 * (3 + 1)
"""Of two arms: three further replicates of one value and one of the other."""


def study_file(folder: Path, trainable: str = "quick", **changes: Any) -> Path:
    sections = {"space": SPACE, "sampling": {"strategy": "grid", "seed": 3}, "winners": WINNERS}
    return write_study(folder, trainable, **(sections | changes))


def swept(path: Path, url: str, executor: Executor, stop: Callable[[], bool] = never) -> SweepResult:
    study = load_study(str(path))
    plan = make_plan(study)
    with open_store(url) as store:
        registered = store.register(study, plan)
        with registered.lock():
            return sweep(study, plan, registered, executor, stop=stop)


def further_keys(url: str) -> set[TrialKey]:
    with open_store(url) as store:
        return {key for key in store.study("simulated").states() if key.replicate > 0}


def expected_keys() -> set[TrialKey]:
    """The winners by the results of the simulated trainable: the best of epochs 2 and 3."""
    drawn = [(data, rate) for data in SPACE["data"] for rate in SPACE["rate"]]
    found = set()
    for arm in ("first", "second"):
        for data, replicates in (("large", 2), ("small", 4)):
            rivals = [place for place, (own, _) in enumerate(drawn) if own == data]
            best = max(rivals, key=lambda place: max(number(3, place, arm, 0, epoch) for epoch in (2, 3)))
            found |= {TrialKey(best, arm, replicate) for replicate in range(1, replicates)}
    return found


def test_the_best_of_each_arm_and_value_is_trained_on_further_replicates(tmp_path: Path) -> None:
    url = store_url(tmp_path)
    assert swept(study_file(tmp_path), url, InlineExecutor()) == SweepResult(12 + FURTHER, 0, 0)
    assert further_keys(url) == expected_keys()
    assert swept(study_file(tmp_path), url, InlineExecutor()).run == 0


@pytest.mark.xdist_group("ray")
@pytest.mark.usefixtures("local_ray")
def test_two_workers_choose_and_train_the_same(tmp_path: Path) -> None:
    path = study_file(tmp_path)
    for name, executor in (("inline", InlineExecutor()), ("two", TuneExecutor(2))):
        swept(path, store_url(tmp_path, name), executor)
    assert results(store_url(tmp_path, "inline")) == results(store_url(tmp_path, "two"))


def test_a_sweep_that_is_stopped_again_and_again_ends_with_the_same(tmp_path: Path) -> None:
    path = study_file(tmp_path)
    swept(path, store_url(tmp_path, "whole"), InlineExecutor())
    url, runs = store_url(tmp_path), 0
    while True:
        left = iter(range(7))
        found = swept(path, url, InlineExecutor(), stop=lambda left=left: next(left, None) is None)  # type: ignore[misc]
        runs += found.run
        if runs < 12:
            assert not further_keys(url), "chosen before all of the plan had ended"
        if found.left == 0 and further_keys(url):
            break
    assert runs == 12 + FURTHER
    assert results(url) == results(store_url(tmp_path, "whole"))


def test_a_sweep_that_is_killed_among_the_winners_goes_on_with_them(tmp_path: Path) -> None:
    path = study_file(tmp_path, "killed_in_second_replicate", training={"epochs": 3, "folder": str(tmp_path)})
    command = [sys.executable, "-m", "robustness", "sweep", str(path), "--store", store_url(tmp_path)]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "tests")])}
    codes = []
    for _ in range(2):
        done = subprocess.run(
            [*command, "--inline", "--quiet", "--no-report"], env=environment, cwd=tmp_path, check=False
        )
        codes.append(done.returncode)
    assert codes == [-9, 0]
    assert further_keys(store_url(tmp_path)) == expected_keys()
    whole = study_file(tmp_path, training={"epochs": 3, "folder": str(tmp_path)})
    swept(whole, store_url(tmp_path, "whole"), InlineExecutor())
    assert results(store_url(tmp_path)) == results(store_url(tmp_path, "whole"))


def test_winners_can_be_added_to_a_study_that_has_ended_and_get_more_replicates(tmp_path: Path) -> None:
    url = store_url(tmp_path)
    command = ["--store", url, "--inline", "--quiet", "--no-report"]
    assert swept(study_file(tmp_path, winners=None), url, InlineExecutor()).run == 12
    assert main(["sweep", str(study_file(tmp_path)), *command]) == 0
    assert further_keys(url) == expected_keys()
    more = study_file(tmp_path, winners=WINNERS | {"replicates": 6})
    assert swept(more, url, InlineExecutor()).run == 4
    # Trials that are already planned for winners cannot be taken back.
    for other in (None, WINNERS | {"replicates": 3}, {"replicates": 6}):
        assert main(["sweep", str(study_file(tmp_path, winners=other)), *command]) == 2


def test_a_place_where_nothing_was_measured_has_no_winner(tmp_path: Path) -> None:
    path = study_file(tmp_path, "faulty", space={"fault": ["raises", "none"]}, winners={"by": "fault", "replicates": 3})
    found = swept(path, store_url(tmp_path), InlineExecutor())
    assert (found.run, found.left, found.not_successful) == (4 + 4, 0, 2)
    assert {key.configuration for key in further_keys(store_url(tmp_path))} == {1}


def test_a_study_none_of_whose_trials_has_a_result_is_done_without_winners(tmp_path: Path) -> None:
    path = study_file(tmp_path, "faulty", space={"fault": ["raises"]}, winners={"replicates": 3})
    assert swept(path, store_url(tmp_path), InlineExecutor()).run == 2
    with open_store(store_url(tmp_path)) as store:
        assert SweepProgress.of(store.study("simulated")).done()


def test_status_and_plan_count_the_trials_of_winners(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, url = study_file(tmp_path), store_url(tmp_path)
    assert main(["plan", str(path)]) == 0
    assert (
        "winners: 8 more trials: further replicates of the best configuration of each arm for each data"
        in capsys.readouterr().out
    )
    assert main(["plan", str(path), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["winners"] == FURTHER
    swept(study_file(tmp_path), url, InlineExecutor(), stop=_after_epochs(8))
    with open_store(url) as store:
        progress = SweepProgress.of(store.study("simulated"))
    assert (progress.pairs(), progress.winners_trials(), progress.done()) == ((1, 6), (0, FURTHER), False)
    swept(path, url, InlineExecutor())
    assert main(["status", "simulated", "--store", url, "--json"]) == 0
    (status,) = json.loads(capsys.readouterr().out)
    assert status["pairs"] == {"done": 6, "all": 6}
    assert status["winners"] == {"done": FURTHER, "all": FURTHER}
    assert status["learned_nothing"]["first"]["counted"] == 6
    with open_store(url) as store:
        progress = SweepProgress.of(store.study("simulated"))
    assert progress.done()
    assert "8 of 8 winners' trials done" in progress.line()


def _after_epochs(count: int) -> Callable[[], bool]:
    left = iter(range(count))
    return lambda: next(left, None) is None


def test_a_winner_s_trial_can_be_run_again_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, url = study_file(tmp_path), store_url(tmp_path)
    swept(path, url, InlineExecutor())
    before, key = results(url), min(further_keys(url))
    assert main(["sweep", str(path), "--store", url, "--inline", "--only", str(key)]) == 0
    assert "nothing was stored" in capsys.readouterr().err
    assert results(url) == before
    with pytest.raises(RobustnessError, match="replicates 0 to 3"):
        read_keys(["0/first/4"], make_plan(load_study(str(path))))


def test_fractions_of_configurations_leave_the_winners_further_trials_out(tmp_path: Path) -> None:
    for name, winners in (("with", WINNERS), ("without", None)):
        swept(study_file(tmp_path, winners=winners), store_url(tmp_path, name), InlineExecutor())
    with open_store(store_url(tmp_path, "with")) as one, open_store(store_url(tmp_path, "without")) as other:
        found, plain = (analyse(store.study("simulated")).results for store in (one, other))
    for key in ("arms", "paired", "scores", "sampling", "left_out", "verdict"):
        assert found[key] == plain[key]


@pytest.mark.parametrize(
    ("changes", "line"),
    [
        (
            {"winners": {"by": "dota", "replicates": 2}},
            "winners.by: unknown hyperparameter 'dota'; did you mean 'data'",
        ),
        (
            {"winners": WINNERS | {"fewer": {"lrage": 2}}},
            "winners.fewer: unknown value of data: 'lrage'; did you mean 'large'",
        ),
        ({"winners": WINNERS | {"fewer": {"large": 5}}}, "winners.fewer.large: must be at most 4, found 5"),
        ({"winners": {"replicates": 4, "fewer": {"large": 2}}}, "winners.fewer: needs winners.by"),
        ({"winners": {"replicates": 1}}, "winners.replicates"),
        ({"winners": {"by": "data"}}, "winners.replicates"),
        ({"winners": {"by": "data", "replicate": 2}}, "winners.replicate"),
        ({"stop": {}}, "winners: cannot be combined with `stop`"),
        ({"sampling": {"strategy": "grid", "replicates": 2}}, "sampling.replicates: must be 1"),
        ({"search": {"runs": 3}, "sampling": {"strategy": "random"}}, "winners: is only for sweeps"),
        (
            {
                "space": {"data": {"low": 0.1, "high": 1.0}},
                "sampling": {"configurations": 3},
                "winners": {"by": "data", "replicates": 2},
            },
            "winners.by: 'data' is a range",
        ),
    ],
)
def test_winners_that_do_not_fit_are_named_in_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], changes: dict[str, Any], line: str
) -> None:
    path = study_file(tmp_path, **changes)
    assert main(["sweep", str(path), "--store", store_url(tmp_path), "--inline"]) == 2
    shown = capsys.readouterr().err.rstrip("\n")
    assert "\n" not in shown
    assert f"simulated.yaml: {line}" in shown
    assert [file.name for file in tmp_path.iterdir()] == ["simulated.yaml"]
