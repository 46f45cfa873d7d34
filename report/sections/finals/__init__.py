"""The final models of an optimised study, on the test set."""

from report.sections.finals.entries import FinalsResults
from report.sections.finals.performance import results
from report.sections.finals.tables import sections

__all__ = ["FinalsResults", "results", "sections"]
