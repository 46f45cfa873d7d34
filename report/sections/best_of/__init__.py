"""Another budget: which arm has the better best score after n trials, or after the same number of hours."""

from report.sections.best_of.chances import results
from report.sections.best_of.pictures import sections

__all__ = ["results", "sections"]
