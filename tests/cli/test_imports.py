"""Commands that only read or write tables load neither torch nor Ray, and help loads nothing heavy at all."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from support.stores import fill, made_study
from support.studies import write_study

from robustness.cli import COMMANDS
from robustness.store import open_store

ROOT = Path(__file__).parents[2]
HEAVY = ["torch", "ray", "optuna", "pandas", "sqlalchemy", "numpy", "scipy", "pydantic", "rich", "yaml", "matplotlib"]


def imported(words: list[str], modules: list[str], folder: Path) -> list[str]:
    """Those of the modules that a successful command has imported."""
    program = (
        "import sys\n"
        "from robustness.cli import main\n"
        "try:\n"
        f"    code = main({words!r})\n"
        "except SystemExit as end:\n"
        "    code = end.code\n"
        f"print('imported:', *[name for name in {modules!r} if name in sys.modules])\n"
        "sys.exit(code)\n"
    )
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "tests")])}
    environment.pop("ROBUSTNESS_STORE", None)
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()[-1].split()[1:]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A working folder with a store of one study, and a table of runs to import."""
    folder = tmp_path_factory.mktemp("commands")
    with open_store(f"sqlite:///{folder / 'robustness.db'}") as store:
        fill(store, made_study())
    (folder / "runs.csv").write_text("arm,lr,metric\nmfvi,1,0.5\nradial,1,0.9\n", encoding="utf-8")
    return folder


@pytest.mark.parametrize(
    "words",
    [
        ["status"],
        ["schema"],
        ["plan", "quickstart"],
        ["plan", "uci_small", "--json"],
        ["plan", "fundus_final"],
        ["report", "made"],
        ["report", "made", "--format", "json"],
        ["import", "runs.csv", "--study", "elsewhere", "--good", "0.8", "--learned-nothing", "0.6"],
        ["compare", "made", "made"],
    ],
    ids=" ".join,
)
def test_a_command_that_trains_nothing_loads_neither_torch_nor_ray(words: list[str], folder: Path) -> None:
    assert imported(words, ["torch", "ray"], folder) == []


def test_an_inline_sweep_loads_neither_ray_nor_before_its_report_the_plots(tmp_path: Path) -> None:
    path = write_study(tmp_path)
    words = ["sweep", str(path), "--inline", "--quiet", "--no-report"]
    assert imported(words, ["ray", "matplotlib", "seaborn"], tmp_path) == []


@pytest.mark.parametrize("command", COMMANDS)
def test_help_of_a_command_loads_nothing_heavy(command: str, tmp_path: Path) -> None:
    assert imported([command, "--help"], HEAVY, tmp_path) == []
