"""The mistakes that a beginner makes first, each answered by one line: what was found, and what would be right."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd
import pytest

import robustness as rb
from robustness.cli import main

RUNS = "learning_rate,arm,metric\n0.1,sgd,0.52\n0.1,adam,0.81\n0.01,sgd,0.88\n0.01,adam,0.86\n"
STUDY: dict[str, Any] = {
    "name": "mine",
    "command": f"{sys.executable} train.py {{learning_rate}} {{arm}}",
    "arms": ["sgd", "adam"],
    "space": {"learning_rate": [0.1, 0.01]},
    "sampling": {"strategy": "grid"},
    "outcomes": {"metric": "accuracy", "learned_nothing": {"below": 0.2}, "good": {"at_least": 0.4}},
}
PROGRAM = 'import json\nprint(json.dumps({"accuracy": 0.5}))\n'


class Mistake(NamedTuple):
    """A command, and what its answer must contain: the thing that was found, and what would be right."""

    words: str
    found: str
    right: str


MISTAKES = {
    "a misspelt command": Mistake("swep quickstart", "'swep'", "did you mean 'sweep'?"),
    "a misspelt bundled study": Mistake("sweep quikstart", "'quikstart'", "did you mean 'quickstart'?"),
    "a misspelt option": Mistake(
        "import runs.csv --study x --mising diverged",
        "unknown option --mising",
        "did you mean --missing? (see robustness import --help)",
    ),
    "an option of another command": Mistake(
        "status --dry-run", "unknown option --dry-run", "see robustness status --help"
    ),
    "a word too many": Mistake("report mine yours", "unexpected word 'yours'", "see robustness report --help"),
    "a file without its ending": Mistake("sweep study", "unknown study 'study'", "did you mean the file study.yaml?"),
    "several misspelt keys": Mistake(
        "plan quickstart --set sampling.replicate=5 --set sampling.rates=1",
        "did you mean 'replicates'?",
        "(also wrong: sampling.rates)",
    ),
    "no study named": Mistake("sweep", "STUDY", "see robustness sweep --help"),
    "a misspelt file": Mistake("sweep stdy.yaml", "stdy.yaml: no such file", "did you mean 'study.yaml'?"),
    "a file in another folder": Mistake("plan folder/study.yaml", "no such file", "folder 'folder' does not exist"),
    "a study whose data was never prepared": Mistake(
        "sweep deepdrid_robustness", "'data/deepdrid_32' does not exist", "robustness prepare retinopathy --images PATH"
    ),
    "a misspelt key": Mistake("plan quickstart --set training.epoch=5", "'epoch'", "did you mean 'epochs'?"),
    "text for a number": Mistake("plan quickstart --set sampling.configurations=many", "'many'", "valid integer"),
    "a misspelt arm": Mistake("plan quickstart --set arms=[mfvi,radail]", "'radail'", "did you mean 'radial'?"),
    "a search run as a sweep": Mistake("sweep fundus_final", "`search` section", "robustness optimize"),
    "a sweep run as a search": Mistake("optimize quickstart", "no `search` section", "robustness sweep"),
    "a trial that the study does not have": Mistake(
        "sweep quickstart --only 99/radial --inline", "99/radial", "configurations 0 to 19 and arms mfvi, radial"
    ),
    "a report before the sweep": Mistake(
        "report quickstart", "does not exist", "run a sweep or an import first, or name another"
    ),
    "a database of a kind that is not supported": Mistake(
        "status --store mysql://host/x", "'mysql'", "choose from: postgresql, sqlite"
    ),
    "a store that is another file": Mistake(
        "status --store sqlite:///runs.csv", "'runs.csv' is not a database", "choose another file with --store"
    ),
    "a server that is not there": Mistake(
        "status --store postgresql://me@127.0.0.1:9/x", "connection", "Is the server running"
    ),
    "a table that is not there": Mistake(
        "import run.csv --study x", "run.csv: no such file", "did you mean 'runs.csv'?"
    ),
    "a column that is not there": Mistake(
        "import runs.csv --study x --metric accuracy", "'accuracy'", "choose from: arm, learning_rate, metric"
    ),
    "a table without arms": Mistake("import noarm.csv --study x", "no column 'arm'", "--arm COLUMN"),
    "a loss that could be better either way": Mistake(
        "import loss.csv --study x --metric loss", "'loss'", "--goal minimize"
    ),
    "runs without a result": Mistake(
        "import empty.csv --study x", "1 of 2 runs without a result", "--missing diverged"
    ),
    "a database of Optuna that is not there": Mistake(
        "import optuna:optna.db --study x", "optna.db: no such file", "did you mean 'optuna.db'?"
    ),
    "an import without a name": Mistake("import runs.csv", "--study", "see robustness import --help"),
    "shards that have not run": Mistake("merge shard-1.db --into all.db", "shard-1.db: no such file", "--shard K/N"),
    "an impossible shard": Mistake("sweep quickstart --shard 30/20", "'30/20'", "such as 3/20"),
    "a task that cannot be prepared": Mistake(
        "prepare mnist --images x.zip --labels runs.csv --out data", "'mnist'", "choose from: retinopathy"
    ),
    "an unknown format": Mistake("report x --format pdf", "'pdf'", "'html', 'json', 'csv'"),
}

OF_RAY = {
    "a GPU that is not there": Mistake(
        "sweep quickstart --set resources.gpu=99", "99 GPU", "--set resources.KEY=VALUE"
    ),
    "a Ray cluster that is not there": Mistake(
        "sweep quickstart --ray-address 127.0.0.1:9", "'127.0.0.1:9' cannot be reached", "ray start --head"
    ),
}
"""Mistakes that are noticed when Ray starts, so not in a process where it has started already."""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A beginner's folder."""
    monkeypatch.chdir(tmp_path)
    for name in ("ROBUSTNESS_STORE", "RAY_ADDRESS"):
        monkeypatch.delenv(name, raising=False)
    texts = {
        "optuna.db": "",
        "runs.csv": RUNS,
        "noarm.csv": "lr,metric\n0.1,0.5\n",
        "loss.csv": "lr,arm,loss\n0.1,sgd,0.3\n0.1,adam,0.8\n",
        "empty.csv": "lr,arm,metric\n0.1,sgd,\n0.1,adam,0.8\n",
        "train.py": PROGRAM,
        "study.yaml": json.dumps(STUDY),
    }
    for name, text in texts.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    return tmp_path


def answer(words: str, capsys: pytest.CaptureFixture[str]) -> str:
    """The one line on stderr of a command that is refused."""
    capsys.readouterr()
    try:
        code = main(words.split())
    except SystemExit as stopped:  # argparse's own errors
        code = int(stopped.code or 0)
    printed = capsys.readouterr().err.strip()
    assert code == 2, printed
    assert "Traceback" not in printed
    assert printed.count("\n") == 0
    return printed


@pytest.mark.parametrize("mistake", MISTAKES.values(), ids=MISTAKES)
def test_a_mistake_is_answered_by_what_was_found_and_what_would_be_right(
    mistake: Mistake, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    printed = answer(mistake.words, capsys)
    assert mistake.found in printed
    assert mistake.right in printed


@pytest.mark.parametrize("mistake", OF_RAY.values(), ids=OF_RAY)
def test_a_mistake_about_the_cluster_is_answered_likewise(mistake: Mistake, folder: Path) -> None:
    command = [sys.executable, "-m", "robustness", *mistake.words.split()]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 2, done.stderr
    assert done.stderr.strip().count("\n") == 0
    assert mistake.found in done.stderr
    assert mistake.right in done.stderr


def write(**changes: Any) -> None:
    Path("study.yaml").write_text(json.dumps(STUDY | changes), encoding="utf-8")


def test_a_study_that_was_changed_after_its_first_results(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["sweep", "study.yaml", "--inline", "--quiet", "--no-report"]) == 0
    write(space={"learning_rate": [0.1, 0.02]})
    printed = answer("sweep study.yaml --inline", capsys)
    assert "space.learning_rate: [0.1, 0.01], now [0.1, 0.02]" in printed
    assert "rename the study or use another store" in printed


def test_a_metric_that_never_comes(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(outcomes={"metric": "acuracy"})
    assert main(["sweep", "study.yaml", "--inline", "--no-report"]) == 1
    assert "`robustness status mine` lists them, `--retry` reruns them" in capsys.readouterr().err
    assert main(["status", "mine"]) == 0
    listed = capsys.readouterr().out
    assert "never wrote a JSON object with 'acuracy'" in " ".join(listed.split())
    assert "--only 0/sgd --inline" in " ".join(listed.split())


def test_a_program_that_is_not_installed(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(command="pyton train.py {learning_rate} {arm}")
    assert "there is no program 'pyton' on this machine" in answer("sweep study.yaml --inline", capsys)


def test_a_placeholder_that_nothing_fills(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(command="python train.py {lr} {learning_rate} {arm}")
    printed = answer("plan study.yaml", capsys)
    assert "nothing fills {lr}" in printed
    assert "choose from: arm, configuration, folder, learning_rate" in printed


def test_thresholds_the_wrong_way_round(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(outcomes=STUDY["outcomes"] | {"learned_nothing": {"below": 0.9}})
    printed = answer("plan study.yaml", capsys)
    assert "learned_nothing.below (0.9) must not be above good.at_least (0.4)" in printed


def test_a_report_in_place_of_a_file_of_ones_own(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["import", "runs.csv", "--study", "mine"]) == 0
    Path("mine.html").write_text("my notes", encoding="utf-8")
    printed = answer("report mine", capsys)
    assert "'mine.html' is not replaced" in printed
    assert "choose another name, or add --force" in printed


def test_an_import_of_a_table_that_has_changed(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["import", "runs.csv", "--study", "mine"]) == 0
    Path("runs.csv").write_text(RUNS.replace("0.52", "0.53"), encoding="utf-8")
    assert main(["import", "runs.csv", "--study", "mine"]) == 2
    assert "replace it with --replace, or choose another name" in capsys.readouterr().err


def test_arms_that_share_no_configuration(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("runs.csv").write_text(
        "lr,arm,metric\n0.1,sgd,0.5\n0.2,adam,0.8\n0.3,sgd,0.6\n0.4,adam,0.7\n", encoding="utf-8"
    )
    printed = answer("import runs.csv --study mine", capsys)
    assert "4 of 8 cells of the grid have no run" in printed
    assert "--missing left-out" in printed


def test_a_study_under_another_name(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["import", "runs.csv", "--study", "mine"]) == 0
    assert "unknown study 'min'; did you mean 'mine'?" in answer("report min", capsys)


def test_a_port_that_is_in_use(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["import", "runs.csv", "--study", "mine"]) == 0
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        printed = answer(f"serve --port {port}", capsys)
    assert f"port {port} is in use" in printed
    assert "--port 0 for any free port" in printed


def test_from_python(folder: Path) -> None:
    frame = pd.DataFrame({"lr": [0.1, 0.1], "arm": ["sgd", "adam"], "accuracy": [0.5, 0.8]})
    with pytest.raises(rb.RobustnessError, match="no column 'metric' or 'value'; name the column"):
        rb.from_dataframe(frame, study="mine")
    rb.from_dataframe(frame, study="mine", metric="accuracy")
    with pytest.raises(rb.RobustnessError, match="did you mean 'profiles'"):
        rb.Result("sqlite:///robustness.db", "mine").plot("profile")
    functions = {"one": lambda lr: lr, "two": lambda lr: lr}
    with pytest.raises(rb.RobustnessError, match="unknown option 'configuration'; did you mean 'configurations'"):
        rb.sweep(functions, space={"lr": [0.1]}, configuration=2, metric="score", inline=True)
    with pytest.raises(rb.RobustnessError, match="space is missing"):
        rb.sweep(functions, configurations=2, metric="score", inline=True)
    with pytest.raises(rb.RobustnessError, match="mapping of labels to functions"):
        rb.sweep([len, len], space={"lr": [0.1]}, metric="score", inline=True)  # type: ignore[arg-type]


def test_there_are_more_than_twenty() -> None:
    assert len(MISTAKES) > 20
    with socket.socket() as free:  # the ports that stand for servers which are not there
        assert free.connect_ex(("127.0.0.1", 9)) != 0
