"""Bayesian neural networks in plain torch: posteriors, priors, layers, networks and the ELBO.

The names below resolve when they are first used, so that modules which only describe networks (methods, study checks)
can be imported without torch.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from robustness.bnn.ensemble import LAYERS_APART
    from robustness.bnn.models import FULL, SHORT, mlp, vgg
    from robustness.bnn.network import Blueprint, Network
    from robustness.bnn.posteriors import (
        GaussianPosterior,
        PointPosterior,
        Posterior,
        RadialPosterior,
        TruncatedGaussianPosterior,
    )
    from robustness.bnn.priors import GaussianPrior, Prior, ScaleMixturePrior
    from robustness.bnn.scales import inverse_softplus, per_weight, softplus

_MODULES = {
    "ensemble": ("LAYERS_APART",),
    "models": ("FULL", "SHORT", "mlp", "vgg"),
    "network": ("Blueprint", "Network"),
    "posteriors": (
        "GaussianPosterior",
        "PointPosterior",
        "Posterior",
        "RadialPosterior",
        "TruncatedGaussianPosterior",
    ),
    "priors": ("GaussianPrior", "Prior", "ScaleMixturePrior"),
    "scales": ("inverse_softplus", "per_weight", "softplus"),
}
_MODULE_OF = {name: module for module, names in _MODULES.items() for name in names}

__all__ = [
    "FULL",
    "LAYERS_APART",
    "SHORT",
    "Blueprint",
    "GaussianPosterior",
    "GaussianPrior",
    "Network",
    "PointPosterior",
    "Posterior",
    "Prior",
    "RadialPosterior",
    "ScaleMixturePrior",
    "TruncatedGaussianPosterior",
    "inverse_softplus",
    "mlp",
    "per_weight",
    "softplus",
    "vgg",
]


def __getattr__(name: str) -> Any:
    if name not in _MODULE_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_MODULE_OF[name]}"), name)
