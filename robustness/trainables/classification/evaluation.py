"""The predictions of a network for the images of a split."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from robustness.bnn.ensemble import Ensemble
from robustness.bnn.posteriors import Noise


@torch.inference_mode()
def predict(
    ensemble: Ensemble, batches: Sequence[Tensor], samples: int, noise_of_sample: Callable[[int], Noise]
) -> NDArray[np.float32]:
    """Return probabilities [draws, n, classes] of the images in all batches under `samples` draws of each member.

    Each draw predicts the whole split before the next one is made, so memory does not grow with the number of draws,
    and draw i does not depend on how many there are. Forward passes are in the dtype of the batches.
    """
    probabilities = []
    for sample in range(samples if ensemble.random else 1):
        draws = [draw.to(batches[0].dtype) for draw in ensemble.sample(1, noise_of_sample(sample))]
        logits = torch.cat([ensemble.logits(batch, draws) for batch in batches], dim=1)
        probabilities.append(logits.float().softmax(-1))
    return torch.cat(probabilities).cpu().numpy()
