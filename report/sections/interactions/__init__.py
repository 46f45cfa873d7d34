"""What the difference of two arms depends on: by hyperparameter and level, and what it would be in another space."""

from report.sections.interactions.differences import results
from report.sections.interactions.entries import InteractionsResult
from report.sections.interactions.pictures import sections

__all__ = ["InteractionsResult", "results", "sections"]
