"""What would change the verdict: every other way to judge the same trials, in one table."""

from report.sections.alternatives.scored import AlternativesResults, results
from report.sections.alternatives.table import sections

__all__ = ["AlternativesResults", "results", "sections"]
