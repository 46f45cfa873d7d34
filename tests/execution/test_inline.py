from __future__ import annotations

import os
from pathlib import Path

import pytest
from support.recording import Recording

from robustness.execution.attempts import VISIBLE, is_out_of_memory
from robustness.execution.inline import InlineExecutor
from robustness.execution.protocol import Share, Terms, never
from robustness.trial import EpochResult, Trial, TrialKey


def faulty(number: int, fault: str | None, **training: object) -> Trial:
    return Trial(
        "study",
        0,
        number,
        "arm",
        hyperparameters={"fault": fault},
        training=training,
        trainable="support.trainables:faulty",
    )


def test_each_fault_gets_its_status_and_the_others_finish(tmp_path: Path) -> None:
    faults = [None, "raises", "out_of_memory", "cpu_memory", "diverges", "nan", "hangs", None]
    recording = Recording()
    trials = (faulty(number, fault, folder=str(tmp_path)) for number, fault in enumerate(faults))
    InlineExecutor().run(trials, recording, Terms(max_attempts=2, trial_timeout=6.0))
    assert list(recording.statuses().values()) == [
        "finished",
        "failed",
        "out_of_memory",
        "out_of_memory",
        "diverged",
        "diverged",
        "timed_out",
        "finished",
    ]
    # Only the trial that raised was worth another attempt.
    tries = [len((tmp_path / f"{number}.attempts").read_text().split()) for number in range(len(faults))]
    assert tries == [1, 2, 1, 1, 1, 1, 1, 1]


def test_a_failure_carries_its_traceback() -> None:
    recording = Recording()
    InlineExecutor().run(iter([faulty(0, "raises")]), recording, Terms(max_attempts=1))
    error = recording.endings[faulty(0, None).key].error
    assert error is not None
    assert "ValueError: a fault on purpose" in error
    assert "trainables.py" in error


def test_a_diverged_trial_keeps_its_earlier_epochs() -> None:
    recording = Recording()
    InlineExecutor().run(iter([faulty(0, "diverges"), faulty(1, "nan")]), recording, Terms())
    assert [len(epochs) for epochs in recording.epochs.values()] == [1, 2]


def test_a_stop_abandons_the_running_trial_and_starts_no_other() -> None:
    recording = Recording()
    trials = (Trial("study", 0, number, "arm", trainable="support.trainables:quick") for number in range(3))
    InlineExecutor().run(trials, recording, Terms(), lambda: len(recording.epochs) == 2)
    assert recording.statuses() == {0: "finished"}
    assert len(recording.starts) == 2


def test_a_trainable_that_does_not_exist_is_not_retried() -> None:
    recording = Recording()
    InlineExecutor().run(iter([Trial("study", 0, 0, "arm", trainable="no.such:thing")]), recording, Terms(), never)
    (ending,) = recording.endings.values()
    assert ending.status == "failed"
    assert [attempt for attempt, _ in next(iter(recording.starts.values()))] == [1]


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (MemoryError(), True),
        (
            RuntimeError("[enforce fail] DefaultCPUAllocator: can't allocate memory: you tried to allocate 8 bytes"),
            True,
        ),
        (RuntimeError("CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling cublasCreate"), True),
        (RuntimeError("the size of tensor a must match"), False),
        (ValueError("out of memory"), False),
    ],
)
def test_out_of_memory_is_recognised_by_its_message(error: Exception, expected: bool) -> None:
    assert is_out_of_memory(error) is expected


def test_torch_s_own_allocator_error_is_recognised() -> None:
    import torch

    with pytest.raises(RuntimeError) as caught:
        torch.empty(2**56, dtype=torch.float64)
    assert is_out_of_memory(caught.value)
    assert is_out_of_memory(torch.OutOfMemoryError("CUDA out of memory"))


class Pruning(Recording):
    """An observer that ends every second trial after its second epoch."""

    def epoch(self, key: TrialKey, result: EpochResult) -> str | None:  # type: ignore[override]
        super().epoch(key, result)
        return "behind" if key.configuration % 2 and result.epoch == 2 else None


def test_the_observer_ends_a_trial_as_pruned_and_its_code_stops_at_once() -> None:
    recording = Pruning()
    trials = (Trial("study", 0, number, "arm", trainable="support.trainables:quick") for number in range(4))
    InlineExecutor().run(trials, recording, Terms(trial_timeout=60.0))
    assert recording.statuses() == {0: "finished", 1: "pruned", 2: "finished", 3: "pruned"}
    assert [len(epochs) for epochs in recording.epochs.values()] == [3, 2, 3, 2]
    assert recording.endings[TrialKey(1, "arm")].error == "behind"


def test_a_trial_without_a_share_of_a_gpu_sees_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VISIBLE, "0,1")
    trials = [
        Trial("study", 0, number, "arm", training={"folder": str(tmp_path)}, trainable="support.trainables:sees_gpus")
        for number in range(2)
    ]
    recording = Recording()
    terms = Terms(share=lambda trial: Share(cpu=1, gpu=float(trial.configuration)))
    InlineExecutor().run(iter(trials), recording, terms)
    assert [(tmp_path / f"{number}.gpus").read_text() for number in range(2)] == ["", "0,1"]
    assert os.environ[VISIBLE] == "0,1"


def test_the_reported_device_depends_on_the_share_and_on_the_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    import torch

    for available, devices in ((True, ["cpu", "gpu"]), (False, ["cpu", "cpu"])):
        monkeypatch.setattr(torch.cuda, "is_available", lambda available=available: available)
        trials = [Trial("study", 0, number, "arm", trainable="support.trainables:quick") for number in range(2)]
        recording = Recording()
        terms = Terms(share=lambda trial: Share(cpu=1, gpu=float(trial.configuration)))
        InlineExecutor().run(iter(trials), recording, terms)
        assert [recording.starts[trial.key][0][1].device for trial in trials] == devices
