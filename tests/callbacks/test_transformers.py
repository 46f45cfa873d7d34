"""The callback for the Trainer of Transformers, with the real package, which `.ci/full` installs."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
import torch

from robustness.trial import EpochResult, Trial, collecting

if not os.environ.get("ROBUSTNESS_REQUIRE_TRANSFORMERS"):
    pytest.importorskip("transformers")

pytestmark = pytest.mark.filterwarnings("ignore")  # the package's own


def test_every_evaluation_is_reported_as_an_epoch(tmp_path: Path) -> None:
    from transformers import Trainer, TrainingArguments

    from robustness import callbacks

    class Model(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = torch.nn.Linear(2, 2)

        def forward(self, inputs: torch.Tensor, labels: torch.Tensor) -> dict[str, torch.Tensor]:
            logits = self.layer(inputs)
            return {"loss": torch.nn.functional.cross_entropy(logits, labels), "logits": logits}

    data: Any = [{"inputs": torch.randn(2), "labels": torch.tensor(number % 2)} for number in range(16)]
    found: list[EpochResult] = []
    with collecting(found.append):
        Trainer(
            model=Model(),
            args=TrainingArguments(
                output_dir=str(tmp_path),
                num_train_epochs=3,
                eval_strategy="epoch",
                save_strategy="no",
                report_to=[],
                use_cpu=True,
                disable_tqdm=True,
            ),
            train_dataset=data,
            eval_dataset=data,
            compute_metrics=lambda prediction: {
                "accuracy": float((prediction.predictions.argmax(1) == prediction.label_ids).mean())
            },
            callbacks=[callbacks.TransformersReport(Trial("study", 0, 0, "arm"))],
        ).train()
    assert [result.epoch for result in found] == [1, 2, 3]
    assert all(0 <= result.measures["accuracy"] <= 1 for result in found)
    assert "loss" in found[0].measures
