"""The noise of the gradient of the NLL at the start: where it explodes with sigma and width, and why."""

from report.sections.gradient_noise.entries import GradientNoiseResults
from report.sections.gradient_noise.noise import results
from report.sections.gradient_noise.pictures import sections

__all__ = ["GradientNoiseResults", "results", "sections"]
