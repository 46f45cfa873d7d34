"""Which hyperparameters, and which of their values, decide the outcome."""

from report.sections.sensitivity.pictures import sections
from report.sections.sensitivity.rates import results

__all__ = ["results", "sections"]
