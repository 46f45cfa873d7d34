"""What users may import: every public name resolves, and pages and examples import nothing else."""

from __future__ import annotations

import ast
import importlib.util
import inspect
import re
import subprocess
import sys
from itertools import permutations
from pathlib import Path

import pytest
from ray import cloudpickle

import report
import robustness
from robustness.api.sweep import sweep as sweep_function

ROOT = Path(__file__).parents[1]
PUBLIC = {
    "robustness": set(robustness.__all__),
    "report": set(report.__all__),
    "robustness.testing": set(robustness.testing.__all__),
}


def sources() -> list[tuple[str, str]]:
    """The Python that users read: blocks of every page, examples, and the example package."""
    found = []
    for page in sorted([ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]):
        for number, block in enumerate(
            re.findall(r"^```python\n(.*?)^```$", page.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
        ):
            found.append((f"{page.relative_to(ROOT)}[{number}]", block))
    for folder in (ROOT / "examples", ROOT / "tests" / "support" / "plugin_package"):
        found += [
            (str(path.relative_to(ROOT)), path.read_text(encoding="utf-8")) for path in sorted(folder.rglob("*.py"))
        ]
    return found


@pytest.mark.parametrize(("place", "code"), sources(), ids=[place for place, _ in sources()])
def test_pages_and_examples_import_public_names_only(place: str, code: str) -> None:
    for node in ast.walk(ast.parse(code)):
        modules = []
        if isinstance(node, ast.ImportFrom) and node.module:
            root = node.module.partition(".")[0]
            if root in PUBLIC:
                assert node.module in PUBLIC, f"{place} imports from the internal module {node.module}"
                assert {each.name for each in node.names} <= PUBLIC[node.module], f"{place}: {ast.unparse(node)}"
        elif isinstance(node, ast.Import):
            modules = [each.name for each in node.names if each.name.partition(".")[0] in PUBLIC]
        assert set(modules) <= set(PUBLIC), f"{place} imports {modules}"


@pytest.mark.parametrize("package", [robustness, report])
def test_every_public_name_resolves_and_is_listed(package: object) -> None:
    for name in package.__all__:  # type: ignore[attr-defined]
        assert getattr(package, name) is not None
        assert name in dir(package)


def test_internal_modules_do_not_import_from_the_package_root() -> None:
    for path in sorted([*(ROOT / "robustness").rglob("*.py"), *(ROOT / "report").rglob("*.py")]):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and node.module in ("robustness", "report") and not node.level:
                packages = {each.name for each in node.names}
                submodules = {name for name in packages if importlib.util.find_spec(f"{node.module}.{name}")}
                assert packages == submodules, f"{path.relative_to(ROOT)}: {ast.unparse(node)}"


WAYS_TO_SWEEP = (
    "import robustness.sweep.plan",
    "from robustness import sweep",
    "from robustness.api.sweep import sweep as function",
)


def test_sweep_is_the_function_and_the_package_in_any_order_of_imports() -> None:
    check = "import robustness.sweep.plan, robustness; from robustness import sweep; assert sweep is robustness.sweep; "
    check += "assert sweep.plan.make_plan; sweep({}, {})"
    # Each order in a fresh state of the modules, all in one process, which is faster than one for each.
    code = "import sys\n"
    for order in permutations(WAYS_TO_SWEEP):
        code += "for name in [name for name in sys.modules if name.startswith('robustness')]: del sys.modules[name]\n"
        code += "\n".join(order) + "\n"
        code += f"try:\n    {check}\nexcept Exception as problem:\n"
        code += "    assert str(problem).startswith('robustness.sweep: the arms are a mapping'), problem\n"
        code += "else:\n    raise SystemExit('no arms were accepted')\n"
        code += "assert 'function' not in globals() or function is robustness.sweep.__call__\n"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_sweep_shows_the_signature_of_the_function_and_reaches_workers() -> None:
    assert inspect.signature(robustness.sweep) == inspect.signature(sweep_function)
    assert inspect.unwrap(robustness.sweep) is sweep_function
    shown = str(robustness.sweep.__doc__)
    assert "retry" in shown
    assert "learned_nothing: 'float | Mapping[str, float] | None' = None" in shown
    assert "`good` is the number that the metric of a good trial reaches" in shown
    sent = cloudpickle.dumps(robustness.sweep)  # type: ignore[no-untyped-call]
    assert cloudpickle.loads(sent) is robustness.sweep
