"""Bayesian optimisation: the search of each arm, then its final models."""
