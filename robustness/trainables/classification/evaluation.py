"""The predictions of a network for a split."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from numpy.typing import NDArray

from robustness.bnn.ensemble import Ensemble
from robustness.bnn.posteriors import Noise
from robustness.trainables.classification.batches import Pictures


@torch.inference_mode()
def predict(
    ensemble: Ensemble,
    pictures: Pictures,
    samples: int,
    noise_of_sample: Callable[[int], Noise],
    batch_size: int = 256,
    dtype: torch.dtype = torch.float32,
) -> NDArray[np.float32]:
    """Return probabilities [draws, n, classes] of the images under `samples` draws of each member's weights.

    Each draw predicts the whole split before the next one is made, so memory does not grow with the number of draws,
    and draw i does not depend on how many there are. Forward passes are in `dtype`.
    """
    batches = [
        pictures.batch(slice(start, start + batch_size)).to(dtype) for start in range(0, len(pictures), batch_size)
    ]
    probabilities = []
    for sample in range(samples if ensemble.random else 1):
        draws = [draw.to(dtype) for draw in ensemble.sample(1, noise_of_sample(sample))]
        logits = torch.cat([ensemble.logits(batch, draws) for batch in batches], dim=1)
        probabilities.append(logits.float().softmax(-1))
    return torch.cat(probabilities).float().cpu().numpy()
