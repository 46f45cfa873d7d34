"""GPU synchronisation and speed, tested on a CPU: reads of values, copies, memory layout."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

import pytest
import torch
from scipy import stats
from support.trials import small_trial
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode

from robustness.bnn.posteriors import TruncatedGaussianPosterior
from robustness.methods import METHODS
from robustness.trainables.classification.augmentation import augment
from robustness.trainables.classification.batches import Pictures
from robustness.trainables.classification.devices import to_device
from robustness.trainables.classification.training import Run

CALLED = {"item", "tolist", "numpy", "cpu", "__bool__", "__int__", "__float__", "__index__", "__format__", "__repr__"}
"""Tensor methods that need its values on the host."""
DISPATCHED = {"_local_scalar_dense", "is_nonzero", "nonzero", "masked_select", "_unique2", "unique_dim", "equal"}
"""Operations that need values on the host, or whose output size depends on values."""


class DispatchedReads(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Counts reads of values by torch's dispatched operations."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.counts: Counter[str] = Counter()

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        name = func.overloadpacket.__name__
        masks = name.startswith("index") and any(
            isinstance(index, torch.Tensor) and index.dtype == torch.bool
            for arg in args
            if isinstance(arg, list | tuple)
            for index in arg
        )
        if name in DISPATCHED or masks:
            self.counts[name] += 1
        return func(*args, **(kwargs or {}))


class CalledReads(TorchFunctionMode):
    """Counts reads of values by the methods called."""

    def __init__(self) -> None:
        super().__init__()
        self.counts: Counter[str] = Counter()

    def __torch_function__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        name = getattr(func, "__name__", "")
        if name in CALLED:
            self.counts[name] += 1
        return func(*args, **(kwargs or {}))


def reads(work: Callable[[], object]) -> Counter[str]:
    dispatched, called = DispatchedReads(), CalledReads()
    with dispatched, called:
        work()
    return dispatched.counts + called.counts


def test_reads_of_values_are_counted() -> None:
    x = torch.arange(4.0)
    assert reads(lambda: float(x.sum()))["_local_scalar_dense"] == 1
    assert reads(lambda: bool(x.sum() > 1))
    assert reads(lambda: x[x > 1])["index"] == 1
    assert reads(lambda: x.tolist()) == {"tolist": 1}
    assert reads(lambda: x.cpu())
    assert not reads(lambda: x[torch.tensor([0, 1])] * 2)


@pytest.fixture
def as_on_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    """Disable the CPU-only parts: checks of the loss, reads of scalar factors, and truncation by rejection."""
    monkeypatch.setattr(Run, "check_finite", lambda *_: None)
    monkeypatch.setattr("robustness.bnn.joint._factor", lambda scalar: scalar)
    by_inversion = TruncatedGaussianPosterior._by_inversion
    monkeypatch.setattr(TruncatedGaussianPosterior, "_by_rejection", by_inversion)


@pytest.mark.usefixtures("as_on_gpu")
@pytest.mark.parametrize(
    ("method", "optimizer", "pretraining"),
    [*((method, "amsgrad", False) for method in METHODS), ("mfvi", "sgd", False), ("radial", "adam", True)],
)
def test_no_step_of_an_epoch_reads_a_value(method: str, optimizer: str, pretraining: bool) -> None:
    counts = []
    for batch_size, steps in ((32, 2), (8, 8)):
        run = Run.start(small_trial(method, optimizer=optimizer, batch_size=batch_size))
        assert run.steps == steps
        run.train_epoch(1, pretraining)
        counts.append(reads(lambda run=run: run.train_epoch(2, pretraining)))  # type: ignore[misc]
    # At its end an epoch copies losses, labels and probabilities to the host, however many steps it had.
    assert counts[0] == counts[1]
    assert set(counts[0]) <= {"cpu", "numpy", "tolist"}


class Copies(TorchFunctionMode):
    """Stands in for a GPU: records what is pinned and copied, without moving it."""

    def __init__(self) -> None:
        super().__init__()
        self.calls: list[tuple[str, Any]] = []

    def __torch_function__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        keywords = dict(kwargs or {})
        if func is torch.Tensor.pin_memory:
            self.calls.append(("pin", None))
            return args[0]
        if func is torch.Tensor.to and any(isinstance(arg, torch.device) and arg.type == "cuda" for arg in args):
            self.calls.append(("to", keywords.get("non_blocking", False)))
            return args[0]
        return func(*args, **keywords)


def test_copies_to_a_gpu_are_pinned_and_do_not_block_and_a_cpu_needs_none() -> None:
    x = torch.arange(3)
    with Copies() as copies:
        assert to_device(x, torch.device("cpu")) is x
        assert copies.calls == []
        to_device(x, torch.device("cuda"))
        assert copies.calls == [("pin", None), ("to", True)]


def test_images_are_copied_to_the_gpu_as_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    run = Run.start(small_trial())
    expected = run.train_set.batch(slice(0, 4))
    monkeypatch.setattr(Pictures, "device", torch.device("cuda"))
    with Copies() as copies:
        assert torch.equal(run.train_set.batch(slice(0, 4)), expected)
    assert copies.calls == [("pin", None), ("to", True)]


def test_an_epoch_copies_its_order_once_and_each_batch_once_without_blocking(monkeypatch: pytest.MonkeyPatch) -> None:
    run = Run.start(small_trial())
    monkeypatch.setattr(Pictures, "device", torch.device("cuda"))
    with Copies() as copies:
        run.train_epoch(1, pretraining=False)
    assert copies.calls == [("pin", None), ("to", True)] * (1 + run.steps)


def test_images_weights_and_activations_are_channels_last_in_memory() -> None:
    seen: list[bool] = []

    class Convolutions(TorchFunctionMode):
        def __torch_function__(
            self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Mapping[str, Any] | None = None
        ) -> Any:
            result = func(*args, **(kwargs or {}))
            if func is torch.nn.functional.conv2d:
                seen.extend(x.is_contiguous(memory_format=torch.channels_last) for x in (*args[:2], result))
            return result

    run = Run.start(small_trial(variational_samples=1))
    images = run.train_set.batch(torch.arange(8), run.streams.torch("augmentation", 1, 0))
    with Convolutions():
        run.step(images, run.train_set.labels[:8], 1, 0, pretraining=False)
    assert len(seen) >= 3 * 3
    assert all(seen)
    plain = torch.rand(2, 3, 8, 8)
    assert augment(plain, torch.Generator()).is_contiguous()


@pytest.mark.parametrize("threshold", [0.05, 0.7, 3.0])
def test_truncated_noise_without_a_loop_has_the_distribution_of_rejection(threshold: float) -> None:
    posterior = TruncatedGaussianPosterior(torch.zeros(20_000), -1.0, threshold)
    eps = torch.randn(1, 20_000, generator=torch.Generator().manual_seed(1))
    drawn = posterior._by_inversion(eps, torch.Generator().manual_seed(2))
    inside = eps.abs() <= threshold
    assert torch.equal(drawn[inside], eps[inside])
    assert float(drawn.abs().max()) <= threshold
    law = stats.truncnorm(-threshold, threshold)
    assert stats.kstest(drawn.flatten().double().numpy(), law.cdf).pvalue > 0.01
