"""Regression: test RMSE and log-likelihood of each arm's winner on each data set, beside the reference's."""

from report.sections.regression.entries import RegressionResults
from report.sections.regression.pictures import sections
from report.sections.regression.winners import results

__all__ = ["RegressionResults", "results", "sections"]
