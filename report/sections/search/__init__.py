"""The search of an optimised study: its runs, the best so far, and the space that they lie in."""

from report.sections.search.entries import SearchResults
from report.sections.search.pictures import sections
from report.sections.search.runs import results

__all__ = ["SearchResults", "results", "sections"]
