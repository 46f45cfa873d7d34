"""What importing the report loads: analysing a study and writing JSON need no plotting, no torch and no Ray."""

from __future__ import annotations

import subprocess
import sys

import pytest

HEAVY = ("matplotlib", "seaborn", "torch", "ray")


def loaded(statement: str, modules: tuple[str, ...]) -> set[str]:
    """Which of the modules a fresh interpreter has loaded after the statement."""
    code = f"import sys; {statement}; print(*(set(sys.modules) & set({modules!r})))"
    return set(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split())


def test_only_drawing_loads_a_plotting_library() -> None:
    assert loaded("import report.analysis, report.sections, report.page, report.exports", HEAVY) == set()
    assert "matplotlib" in loaded("from report.drawing.style import panel; panel()", HEAVY)


def test_the_package_is_cheap_to_import_and_exports_its_public_functions() -> None:
    assert loaded("import report; dir(report)", (*HEAVY, "numpy", "pandas", "scipy")) == set()
    import report
    from report.analysis import analyse
    from report.page import write_figures, write_report

    assert report.analyse is analyse
    assert (report.write_report, report.write_figures) == (write_report, write_figures)
    assert set(report.__all__) <= set(dir(report))
    with pytest.raises(AttributeError, match="no attribute 'draw'"):
        report.draw  # noqa: B018
