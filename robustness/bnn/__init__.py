"""Bayesian neural networks in plain torch: posteriors, priors, layers, networks and the ELBO."""
