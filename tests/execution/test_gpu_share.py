from __future__ import annotations

from dataclasses import replace

import pytest
from support.trials import small_trial

from robustness.execution.gpu_share import MOST_SHARES, estimated_share, share_of
from robustness.trainables.classification.gpu_memory import gpu_memory


@pytest.mark.parametrize(
    ("needed", "share"), [(3e9, 1 / 5), (8e9, 1 / 2), (9e9, 1.0), (40e9, 1.0), (0.1e9, 1 / MOST_SHARES)]
)
def test_a_share_is_one_kth_and_holds_the_trial(needed: float, share: float) -> None:
    assert share_of(needed, 16e9) == share


def test_more_images_and_draws_need_more_memory() -> None:
    small, large = small_trial(batch_size=16), small_trial(batch_size=256, variational_samples=4)
    # The network is the same, so only the activations grow, with images x draws.
    assert gpu_memory(large) > gpu_memory(small)


def test_the_activations_are_those_of_the_layers() -> None:
    """One more image in the batch adds three copies of the input and of twice each convolution's and dense output."""
    sizes = [gpu_memory(small_trial(batch_size=batch, variational_samples=1)) for batch in (16, 17)]
    four, eight, sixteen = 4, 8, 16
    layers = 2 * four * 16**2 + 2 * eight * 8**2 + 3 * sixteen * 4**2 + 2
    assert sizes[1] - sizes[0] == 4 * 3 * (3 * 16**2 + 2 * layers)


@pytest.mark.xdist_group("ray")
@pytest.mark.usefixtures("local_ray")
def test_auto_requests_a_share_of_a_gpu_if_the_cluster_has_one() -> None:
    assert estimated_share(small_trial()) == 1 / MOST_SHARES
    # The need of a user's own trainable is unknown.
    assert estimated_share(replace(small_trial(), trainable="support.trainables:quick")) == 1.0
