"""The robustness report: frames, statistics, figures and the page, all read from the store.

analysis = report.analyse(study_store)
report.write_report(analysis, "page.html")
report.write_figures(analysis, "figures")

`Topic`, `Group`, `Section`, `Numbers` and `Picture` are what an installed package makes a section from.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from report.analysis import Analysis, analyse
    from report.document import Numbers, Picture, Section
    from report.judged_study import JudgedStudy
    from report.page import write_figures, write_report
    from report.sections.topic import Group, Topic

__all__ = [
    "Analysis",
    "Group",
    "JudgedStudy",
    "Numbers",
    "Picture",
    "Section",
    "Topic",
    "analyse",
    "write_figures",
    "write_report",
]

_HOMES = {
    "Analysis": "report.analysis",
    "Group": "report.sections.topic",
    "JudgedStudy": "report.judged_study",
    "Numbers": "report.document",
    "Picture": "report.document",
    "Section": "report.document",
    "Topic": "report.sections.topic",
    "analyse": "report.analysis",
    "write_figures": "report.page",
    "write_report": "report.page",
}


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used, since pandas and scipy take long to load."""
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
