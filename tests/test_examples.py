"""The examples, each run as a reader would."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from support.programs import environment, run

import robustness

ROOT = Path(__file__).parents[1]
EXAMPLES = ROOT / "examples"
MOST_LINES = 40


def test_optimisers_on_two_tasks(tmp_path: Path) -> None:
    printed = run([str(EXAMPLES / "optimisers.py")], tmp_path)
    result = robustness.Result(f"sqlite:///{tmp_path / 'robustness.db'}", "optimisers")
    assert printed.strip() == str(result.verdict)
    assert "about these 2 tasks only: circle, stripes" in printed
    assert result.trials.groupby(["task", "arm"])["status"].unique().map(list).tolist() == [["finished"]] * 4
    # Each optimiser learns each task with some configurations and not with others.
    good = (result.trials["outcome_best"] == "good").groupby([result.trials["task"], result.trials["arm"]]).sum()
    assert good.between(1, 19).all()


def test_a_command(tmp_path: Path) -> None:
    shutil.copytree(EXAMPLES / "command", tmp_path / "command")
    words = ["-m", "robustness", "sweep", "study.yaml", "--inline", "--quiet"]
    run(words, tmp_path / "command")
    result = robustness.Result(f"sqlite:///{tmp_path / 'command' / 'robustness.db'}", "gradient descent")
    assert set(result.trials["status"]) == {"finished"}
    assert "12 pairs" in result.verdict
    assert (tmp_path / "command" / "gradient descent.html").exists()


def test_a_lightning_script_of_under_forty_lines(tmp_path: Path) -> None:
    script = EXAMPLES / "lightning_script.py"
    assert len(script.read_text(encoding="utf-8").splitlines()) < MOST_LINES
    printed = run(["-W", "ignore", str(script)], tmp_path)
    assert "4 pairs" in printed
    (name,) = {path.stem for path in tmp_path.glob("*.db")}
    with robustness.open_store(f"sqlite:///{tmp_path / name}.db", create=False) as store:
        (study,) = store.names()
    result = robustness.Result(f"sqlite:///{tmp_path / name}.db", study)
    assert set(result.trials["status"]) == {"finished"}
    assert result.trials["epochs"].tolist() == [3] * 8


@pytest.mark.xdist_group("ray")
@pytest.mark.filterwarnings("ignore")  # Jupyter's own
def test_the_notebook_runs_on_two_workers_and_shows_its_result(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import nbformat
    from nbclient import NotebookClient

    for name, value in environment(IPYTHONDIR=str(tmp_path / "ipython"), MPLBACKEND="agg").items():
        monkeypatch.setenv(name, value)
    monkeypatch.delenv("ROBUSTNESS_STORE", raising=False)
    notebook = nbformat.read(EXAMPLES / "notebook.ipynb", as_version=4)  # type: ignore[no-untyped-call]  # has no types
    NotebookClient(notebook, timeout=240, resources={"metadata": {"path": str(tmp_path)}}).execute()
    cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
    printed = "".join(output.text for output in cells[1].outputs if output.output_type == "stream")
    assert "30 pairs" in printed
    shown = cells[-1].outputs[0].data["text/html"]
    assert "<svg" in shown
    assert "30 paired configurations" in shown
    assert (tmp_path / "notebook.html").exists()
    with robustness.open_store(f"sqlite:///{tmp_path / 'robustness.db'}", create=False) as store:
        (name,) = store.names()
        trials = store.study(name).trials()
    assert name.startswith("sgd-adam-")
    assert set(trials["status"]) == {"finished"}
    # Ray's workers ran them, not the notebook.
    assert len(set(trials["worker"])) == 2
