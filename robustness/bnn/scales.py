"""Scales of weights: between rho and sigma = softplus(rho), and from a layer's noise to that of each weight."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from torch import Tensor
from torch.nn import functional as F


def softplus(rho: float) -> Tensor:
    """Return sigma = log(1 + exp(rho)) in double precision, of rho as a network keeps it."""
    return F.softplus(torch.tensor(rho).double())


def inverse_softplus(sigma: Tensor | float) -> Tensor:
    """Return the rho with softplus(rho) = sigma: log(exp(sigma) - 1), without overflow for large and small sigma."""
    sigma = torch.as_tensor(sigma, dtype=torch.float64)
    return sigma + torch.log(-torch.expm1(-sigma))


def per_weight(sizes: Sequence[int]) -> Tensor:
    """Return 1 / sqrt(D) for each weight, D being the size of its normalisation group."""
    return torch.cat([torch.full((d,), 1.0 / math.sqrt(d)) for d in sizes])
