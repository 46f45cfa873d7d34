"""bfloat16: where it is computed, where it is refused, and what `auto` comes to."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from support.trials import small_trial

from robustness.cli import main
from robustness.errors import StudyFileError
from robustness.store import open_store
from robustness.study.changes import extends
from robustness.study.loading import load_study
from robustness.sweep.plan import make_plan
from robustness.sweep.settling import settled
from robustness.trainables import precision
from robustness.trainables.classification.checkpoints import identity, load_checkpoint, save_checkpoint
from robustness.trainables.classification.options import read_training
from robustness.trainables.classification.training import Run, train
from robustness.trial import Trial

PLAIN = "processor : 0\nflags : fpu sse2 avx2 avx512f avx512bw\n"
BFLOAT16 = "processor : 0\nflags : fpu sse2 avx2 avx512f avx512_bf16\n"
AUTO = ["training.precision=auto"]


class Processor:
    """The processor that this machine claims to have."""

    def __init__(self, file: Path) -> None:
        self._file = file

    def has(self, information: str) -> None:
        self._file.write_text(information)


@pytest.fixture
def processor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Processor:
    claimed = Processor(tmp_path / "cpuinfo")
    monkeypatch.setattr(precision, "CPU_INFO", tmp_path / "cpuinfo")
    claimed.has(BFLOAT16)
    return claimed


def finals(trial: Trial) -> dict[str, float]:
    return dict(list(train(trial))[-1].measures)


@pytest.mark.usefixtures("processor")
@pytest.mark.parametrize("method", ["radial", "mfvi", "mc_dropout"])
def test_bfloat16_trains_to_finite_losses_close_to_those_of_float32(method: str) -> None:
    full = finals(small_trial(method, initial_rho=-6.0))
    low = finals(small_trial(method, {"precision": "bfloat16"}, initial_rho=-6.0))
    assert low["nll"] != full["nll"]
    assert np.isfinite(list(low.values())).all()
    for name in ("loss", "nll", "validation_nll"):
        assert low[name] == pytest.approx(full[name], rel=0.03)


@pytest.mark.usefixtures("processor")
@pytest.mark.parametrize("samples", [1, 2])
def test_only_forward_passes_are_in_bfloat16(samples: int, monkeypatch: pytest.MonkeyPatch) -> None:
    run = Run.start(small_trial(training={"precision": "bfloat16"}, variational_samples=samples))
    seen: list[torch.dtype] = []
    convolve = torch.nn.functional.conv2d

    def watched(inputs: torch.Tensor, weight: torch.Tensor, *others: Any, **options: Any) -> torch.Tensor:
        seen.extend((inputs.dtype, weight.dtype))
        return convolve(inputs, weight, *others, **options)

    monkeypatch.setattr(torch.nn.functional, "conv2d", watched)
    images = run.train_set.batch(slice(0, 4))
    loss, probabilities = run.step(images, run.train_set.labels[:4], 1, 0, pretraining=False)
    run.evaluate(1)
    assert set(seen) == {torch.bfloat16}
    assert {loss.total.dtype, loss.nll.dtype, loss.entropy.dtype, probabilities.dtype} == {torch.float32}
    assert {p.dtype for p in run.ensemble.parameters()} == {torch.float32}
    assert {vector.value.grad.dtype for vector in run.optimizer.vectors} == {torch.float32}  # type: ignore[union-attr]


@pytest.mark.usefixtures("processor")
def test_gradients_in_bfloat16_are_no_further_from_those_of_float32_than_under_torchs_autocast() -> None:
    def gradient(name: str, autocast: bool = False) -> torch.Tensor:
        run = Run.start(small_trial("mfvi", {"precision": name}, initial_rho=-6.0))
        with torch.autocast("cpu", torch.bfloat16, enabled=autocast):
            run.step(run.train_set.batch(slice(0, 8)), run.train_set.labels[:8], 1, 0, pretraining=False)
        return torch.cat([vector.value.grad for vector in run.optimizer.vectors])  # type: ignore[misc]

    full, low, reference = gradient("float32"), gradient("bfloat16"), gradient("float32", autocast=True)
    assert 0 < float((low - full).norm()) < 1.3 * float((reference - full).norm())
    assert float(torch.nn.functional.cosine_similarity(full, low, dim=0)) > 0.99


def test_the_default_and_the_former_key_leave_documents_as_they_were() -> None:
    plain = load_study("quickstart").document()
    assert not {"precision", "mixed_precision"} & set(plain["training"])
    for same in ("precision=float32", "mixed_precision=false"):
        assert load_study("quickstart", [f"training.{same}"]).document() == plain
    former = load_study("quickstart", ["training.mixed_precision=true"]).document()
    assert former == load_study("quickstart", ["training.precision=bfloat16"]).document()
    assert former["training"]["precision"] == "bfloat16"
    stored = {**plain, "training": {**plain["training"], "mixed_precision": True}}
    assert extends(stored, former)
    assert not extends(plain, former)


def test_a_checkpoint_with_the_former_key_still_belongs_to_its_trial(tmp_path: Path, processor: Processor) -> None:
    former = small_trial(training={"mixed_precision": True, "epochs": 1})
    run = Run.start(former)
    epoch = run.next_epoch()
    path = tmp_path / "checkpoint.pt"
    save_checkpoint(path, former, *run.state(), [epoch])
    present = small_trial(training={"precision": "bfloat16", "epochs": 1})
    assert identity(present) != identity(former)
    assert load_checkpoint(path, present, *Run.start(present).state())[0].measures == epoch.measures


@pytest.mark.parametrize(
    ("section", "words"),
    [
        ({"precision": "float16"}, "precision"),
        ({"mixed_precision": "yes"}, "must be true or false, found 'yes'"),
        ({"mixed_precision": True, "precision": "auto"}, "set only precision"),
    ],
)
def test_a_bad_precision_is_refused_in_one_line(section: dict[str, Any], words: str) -> None:
    with pytest.raises(StudyFileError) as raised:
        read_training({"epochs": 2, **section}, strict=True)
    assert words in str(raised.value)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize(("information", "came_to"), [(PLAIN, None), (BFLOAT16, "bfloat16"), ("", None)])
def test_auto_is_bfloat16_only_where_the_processor_has_it(
    information: str, came_to: str | None, processor: Processor
) -> None:
    processor.has(information)
    study = settled(load_study("quickstart", AUTO), None)
    assert study.document()["training"].get("precision") == came_to


@pytest.mark.parametrize(("information", "came_to"), [(PLAIN, "float32"), (BFLOAT16, "bfloat16")])
def test_an_arm_may_have_its_own_precision(information: str, came_to: str, processor: Processor) -> None:
    processor.has(information)
    arms = "arms=[mfvi, {name: low, method: mfvi, training: {precision: auto}}]"
    study = settled(load_study("quickstart", [arms]), None)
    assert [trial.training.get("precision", "float32") for trial in make_plan(study).trials[:2]] == ["float32", came_to]
    assert settled(load_study("quickstart", [arms]), None).document() == study.document()
    processor.has(PLAIN)
    with pytest.raises(StudyFileError, match=r"the arm 'low': training\.precision: is bfloat16"):
        settled(load_study("quickstart", [arms.replace("auto", "bfloat16")]), None)


@pytest.mark.parametrize(("first", "then"), [(BFLOAT16, BFLOAT16), (PLAIN, BFLOAT16)])
def test_a_registered_study_keeps_what_auto_came_to(
    first: str, then: str, processor: Processor, tmp_path: Path
) -> None:
    study = load_study("quickstart", AUTO)
    with open_store(f"sqlite:///{tmp_path / 'store.db'}") as store:
        processor.has(first)
        chosen = settled(study, store)
        store.register(chosen, make_plan(chosen))
        processor.has(then)
        again = settled(study, store)
        assert again == chosen
        store.register(again, make_plan(again))


def test_a_study_in_bfloat16_is_refused_in_one_line_where_the_processor_lacks_it(
    processor: Processor, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    url = f"sqlite:///{tmp_path / 'store.db'}"
    processor.has(PLAIN)
    command = ["sweep", "quickstart", "--inline", "--store", url, "--set"]
    assert main([*command, "training.precision=bfloat16"]) == 2
    error = capsys.readouterr().err
    assert "training.precision: is bfloat16, which this processor does not compute in" in error
    assert error.count("\n") == 1
    assert not (tmp_path / "store.db").exists()
    processor.has(BFLOAT16)
    chosen = settled(load_study("quickstart", AUTO), None)
    with open_store(url) as store:
        store.register(chosen, make_plan(chosen))
    processor.has(PLAIN)
    assert main([*command, "training.precision=auto"]) == 2
    assert "does not compute in" in capsys.readouterr().err


def test_a_trial_on_a_worker_without_bfloat16_is_refused(processor: Processor) -> None:
    processor.has(PLAIN)
    with pytest.raises(StudyFileError, match="does not compute in"):
        Run.start(small_trial(training={"precision": "bfloat16"}))


@pytest.mark.parametrize(
    ("line", "features"),
    [("flags\t\t: fpu amx_bf16 avx512_bf16", ("AVX-512 BF16", "AMX")), ("Features : fp asimd bf16", ("Arm BF16",))],
)
def test_features_are_read_as_linux_lists_them(line: str, features: tuple[str, ...], processor: Processor) -> None:
    processor.has(f"processor : 0\n{line}\nflags : none\n")
    assert precision.cpu_features() == features
