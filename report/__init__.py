"""The robustness report: frames, statistics, figures and the page, all read from the store.

analysis = report.analyse(study_store)
report.write_report(analysis, "page.html")
report.write_figures(analysis, "figures")
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from report.analysis import analyse
    from report.page import write_figures, write_report

__all__ = ["analyse", "write_figures", "write_report"]

_HOMES = {"analyse": "report.analysis", "write_figures": "report.page", "write_report": "report.page"}


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used, since pandas and scipy take long to load."""
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
