"""Learning a sequence of tasks: measures, untouched heads, pairing of arms, and reproducible runs."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from support.files import continual_trial, write_idx_files
from torch import Tensor

from robustness.bnn.posteriors import GaussianPosterior
from robustness.errors import Diverged, RobustnessError
from robustness.plugins import find_object, find_trainable
from robustness.trainables.continual.options import ARMS
from robustness.trainables.continual.training import Learner, train
from robustness.trial import Trial

SECOND = 1


def run(trial: Trial) -> list[tuple[int, dict[str, float], dict[str, Any]]]:
    """The results of a trial without the times."""
    return [(result.epoch, dict(result.measures), dict(result.curves)) for result in train(trial)]


def test_the_trainable_is_found_by_its_name() -> None:
    assert find_object(str(find_trainable("continual").train), "trainable") is train


@pytest.mark.parametrize("heads", [1, 3])
@pytest.mark.parametrize("method", ARMS)
def test_two_runs_are_equal(tmp_path: Path, method: str, heads: int) -> None:
    trial = continual_trial(write_idx_files(tmp_path), method, heads, epochs=2)
    first = run(trial)
    torch.manual_seed(1)
    assert run(trial) == first


@pytest.mark.parametrize("method", ARMS)
def test_after_each_task_all_tasks_so_far_are_measured(tmp_path: Path, method: str) -> None:
    results = run(continual_trial(write_idx_files(tmp_path), method))
    assert [number for number, _, _ in results] == [1, 2, 3]
    for number, measures, curves in results:
        tested = {f"test_accuracy_task_{task}" for task in range(1, number + 1)}
        assert {name for name in measures if name.startswith("test_accuracy_task_")} == tested
        mean = sum(measures[f"validation_accuracy_task_{task}"] for task in range(1, number + 1)) / number
        assert measures["validation_accuracy"] == pytest.approx(mean)
        assert len(curves["nll"]) == 4
        assert curves["nll"][-1] == measures["nll"]


@pytest.mark.parametrize("method", ["mfvi", "radial_uncorrected"])
def test_each_task_is_learned(tmp_path: Path, method: str) -> None:
    *_, last = train(continual_trial(write_idx_files(tmp_path), method, epochs=15))
    assert last.measures["test_accuracy_when_learned"] > 0.95


def test_a_shared_head_forgets_without_the_prior(tmp_path: Path) -> None:
    """Without the KL nothing preserves the first task's classes, which the second task never contains."""
    trial = continual_trial(
        write_idx_files(tmp_path), "mfvi", 1, 2, epochs=25, learning_rate=0.05, training={"kl_weight": 0.0}
    )
    _, after, _ = run(trial)[SECOND]
    assert after["test_accuracy_task_2"] > 0.9
    assert after["forgetting"] > 0.5


def test_arms_see_the_same_batches_and_start_from_the_same_means(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_idx_files(tmp_path)
    seen: dict[str, list[Tensor]] = {}
    step = Learner.step

    def watched(self: Learner, *arguments: Any) -> Any:
        seen.setdefault(self.trial.method, []).extend(arguments[1:3])
        return step(self, *arguments)

    monkeypatch.setattr(Learner, "step", watched)
    starts = {}
    for method in ARMS:
        trial = continual_trial(tmp_path, method, epochs=2)
        starts[method] = [posterior.mean.detach().clone() for posterior in Learner.start(trial).network.posteriors()]
        list(train(trial))
    for method in ARMS[1:]:
        for ours, theirs in ((seen[method], seen["mfvi"]), (starts[method], starts["mfvi"])):
            assert len(ours) == len(theirs)
            assert all(torch.equal(one, other) for one, other in zip(ours, theirs, strict=True))
    # 3 tasks, 2 epochs, 72 images in batches of 24, images and labels.
    assert len(seen["mfvi"]) == 3 * 2 * 3 * 2


def test_arms_share_their_base_noise(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_idx_files(tmp_path)
    drawn: dict[str, list[Tensor]] = {}
    base = GaussianPosterior.base_noise

    def watched(self: GaussianPosterior, *arguments: Any) -> Tensor:
        eps = base(self, *arguments)
        drawn.setdefault(method, []).append(eps.clone())
        return eps

    monkeypatch.setattr(GaussianPosterior, "base_noise", watched)
    for method in ARMS:
        list(train(continual_trial(tmp_path, method, tasks=2, heads=2, epochs=1)))
    for method in ARMS[1:]:
        assert all(torch.equal(one, other) for one, other in zip(drawn[method], drawn["mfvi"], strict=True))


@pytest.mark.parametrize("method", ARMS)
def test_a_task_trains_no_head_but_its_own(tmp_path: Path, method: str) -> None:
    learner = Learner.start(continual_trial(write_idx_files(tmp_path), method, epochs=2))
    learner.next_epoch()
    before = [{name: p.detach().clone() for name, p in q.named_parameters()} for q in learner.network.posteriors()]
    learner.next_epoch()
    moved = [
        layer
        for layer, posterior in enumerate(learner.network.posteriors())
        if any(not torch.equal(p, before[layer][name]) for name, p in posterior.named_parameters())
    ]
    # Two hidden layers, then the heads.
    assert moved == [0, 1, 2 + SECOND]


def test_incomplete_batches_are_discarded_unless_it_is_the_only_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sizes: list[int] = []
    step = Learner.step

    def watched(self: Learner, *arguments: Any) -> Any:
        sizes.append(len(arguments[2]))
        return step(self, *arguments)

    monkeypatch.setattr(Learner, "step", watched)
    write_idx_files(tmp_path)
    # 72 images per task.
    for batch_size, expected in ((50, [50]), (30, [30, 30]), (1_000, [72])):
        sizes.clear()
        list(train(continual_trial(tmp_path, tasks=1, heads=1, epochs=1, batch_size=batch_size)))
        assert sizes == expected


def test_a_resumed_trial_ends_as_one_that_was_never_stopped(tmp_path: Path) -> None:
    whole = continual_trial(write_idx_files(tmp_path), epochs=2, training={"checkpoint_every": 1})
    resumed = replace(whole, checkpoint=str(tmp_path / "state.pt"))
    stopped = train(resumed)
    next(stopped)
    next(stopped)
    assert run(resumed) == run(whole)


def test_a_damaged_checkpoint_costs_only_time(tmp_path: Path) -> None:
    trial = continual_trial(write_idx_files(tmp_path), epochs=1)
    (tmp_path / "state.pt").write_bytes(b"no checkpoint")
    assert run(replace(trial, checkpoint=str(tmp_path / "state.pt"))) == run(trial)


def test_a_loss_that_is_not_finite_raises_with_the_task(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    trial = continual_trial(write_idx_files(tmp_path), "mfvi", epochs=2)
    begin = Learner.begin_task

    def spoilt(self: Learner) -> None:
        if self.task == SECOND:
            with torch.no_grad():
                self.network.posteriors()[0].mean.fill_(float("nan"))
        begin(self)

    monkeypatch.setattr(Learner, "begin_task", spoilt)
    results = train(trial)
    assert next(results).epoch == 1
    with pytest.raises(Diverged, match="epoch 2, step 1"):
        next(results)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"method": "radail"}, "did you mean 'radial'|'radail'"),
        ({"method_options": {"initial_roh": 1}}, "initial_rho"),
        ({"model": {"name": "vgg16"}}, "mlp"),
        ({"model": {"name": "mlp", "heads": 2}}, "heads"),
        ({"task": {"name": "split_fashion_mnist", "tasks": 6}}, "task.tasks"),
        ({"training": {"kl_wieght": 1}}, "kl_weight"),
    ],
)
def test_an_invalid_trial_gets_one_line(tmp_path: Path, change: dict[str, Any], words: str) -> None:
    trial = replace(continual_trial(write_idx_files(tmp_path)), **change)
    with pytest.raises(RobustnessError, match=words):
        next(train(trial))
