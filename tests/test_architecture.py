"""The floor plan that docs/architecture.md describes: few modules at the top, imports that point one way."""

from __future__ import annotations

import ast
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGES = ("robustness", "report")
MOST_LAZY_IMPORTS = 41


def modules_in(package: str) -> list[str]:
    return sorted(path.stem for path in (ROOT / package).glob("*.py") if not path.stem.startswith("__"))


def lazy_imports(path: Path) -> Iterator[tuple[int, bool]]:
    """The imports inside functions of a module: the line, and whether a comment there or above says why.

    An import that directly follows another one shares its comment.
    """
    lines = path.read_text(encoding="utf-8").splitlines()
    functions = (
        node
        for node in ast.walk(ast.parse("\n".join(lines)))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    )
    numbers = {
        inner.lineno for node in functions for inner in ast.walk(node) if isinstance(inner, ast.Import | ast.ImportFrom)
    }
    for number in sorted(numbers):
        first = number
        while first - 1 in numbers:
            first -= 1
        yield number, lines[first - 2].strip().startswith("#") or any("#" in lines[k - 1] for k in (first, number))


def lint_imports(folder: Path) -> subprocess.CompletedProcess[str]:
    """Check the contracts of pyproject.toml on the packages in a folder."""
    shutil.copy(ROOT / "pyproject.toml", folder)
    command = Path(sys.executable).with_name("lint-imports")
    environment = os.environ | {"PYTHONPATH": str(folder), "COLUMNS": "200"}
    return subprocess.run(
        [str(command), "--no-logo", "--no-cache"],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )


def test_few_modules_lie_beside_the_rooms() -> None:
    assert len(modules_in("robustness")) <= 9, modules_in("robustness")
    assert len(modules_in("report")) <= 10, modules_in("report")


def test_imports_inside_functions_are_few_and_say_why() -> None:
    found = [
        (f"{path.relative_to(ROOT)}:{number}", says_why)
        for package in PACKAGES
        for path in sorted((ROOT / package).rglob("*.py"))
        for number, says_why in lazy_imports(path)
    ]
    assert len(found) <= MOST_LAZY_IMPORTS, [place for place, _ in found]
    assert [place for place, says_why in found if not says_why] == []


@pytest.mark.parametrize(
    ("module", "planted", "named"),
    [
        ("robustness/bnn/layers.py", "import robustness.streams", "robustness.bnn.layers -> robustness.streams"),
        (
            "robustness/space/space.py",
            "import robustness.sweep.plan",
            "robustness.space.space -> robustness.sweep.plan",
        ),
        ("robustness/store/buffer.py", "import report.frames", "robustness.store.buffer -> report.frames"),
        ("robustness/sweep/plan.py", "import ray", "robustness.sweep.plan -> ray"),
        ("report/words.py", "import matplotlib", "report.words -> matplotlib"),
    ],
)
def test_an_import_the_wrong_way_is_refused(tmp_path: Path, module: str, planted: str, named: str) -> None:
    for package in PACKAGES:
        shutil.copytree(ROOT / package, tmp_path / package, ignore=shutil.ignore_patterns("__pycache__"))
    if module == "robustness/bnn/layers.py":
        assert lint_imports(tmp_path).returncode == 0
    with (tmp_path / module).open("a", encoding="utf-8") as file:
        file.write(f"\n{planted}\n")
    checked = lint_imports(tmp_path)
    assert checked.returncode == 1
    assert named in checked.stdout
