"""The GPU memory that a classification trial needs, for `gpu: auto`."""

from __future__ import annotations

from robustness.tasks import load_task
from robustness.trainables.models import blueprint
from robustness.trial import Trial


def gpu_memory(trial: Trial) -> float:
    """Estimate the bytes that training needs: three copies of each activation and eight of each weight.

    The copies of an activation are its value, its gradient and the workspace of a convolution; those of a weight are
    its mean, its scale, their gradients, the optimiser's three moments, and a draw.
    """
    # Lazy because study checks import this module without torch; only `gpu: auto` needs it.
    from robustness.bnn.network import Convolution, Dense, Heads, Pool

    data = load_task(trial.task)
    side = data.image_size
    examples = int(trial.hyperparameters.get("batch_size", 32)) * int(
        trial.hyperparameters.get("variational_samples", 1)
    )
    activations = examples * data.channels * side * side
    weights = 0
    for step in blueprint(trial.model, data.channels, data.classes):
        if isinstance(step, Pool):
            side = max(side // 2, 1)
        elif isinstance(step, Convolution):
            activations += 2 * examples * step.outputs * side * side
            weights += 9 * step.inputs * step.outputs
        elif isinstance(step, Dense | Heads):
            activations += 2 * examples * step.outputs
            weights += step.inputs * step.outputs
    return 4.0 * (3 * activations + 8 * weights)
