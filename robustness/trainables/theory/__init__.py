"""Why mean-field posteriors fail: where their draws lie, and how noisy their gradients are.

The trainables `soap_bubble` and `gradient_noise` do not train: a trial samples from a posterior and measures the
samples.
"""

from __future__ import annotations

from robustness.trainables.theory.study import (
    GRADIENT_NOISE_METRIC,
    SOAP_BUBBLE_METRIC,
    check_gradient_noise,
    check_soap_bubble,
)
from robustness.trainables.trainable import Trainable

SOAP_BUBBLE = Trainable(
    "robustness.trainables.theory.soap_bubble:train",
    check=check_soap_bubble,
    metrics=(SOAP_BUBBLE_METRIC,),
    needs_torch=True,
    keeps_curves=True,
)
GRADIENT_NOISE = Trainable(
    "robustness.trainables.theory.gradient_noise:train",
    check=check_gradient_noise,
    metrics=(GRADIENT_NOISE_METRIC,),
    needs_torch=True,
    keeps_curves=True,
)
