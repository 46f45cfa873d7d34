"""The callback for Lightning, with the real package: each epoch reports what the module logged, validation included."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

from robustness import callbacks
from robustness.callbacks.numbers import measures
from robustness.trial import EpochResult, Trial, collecting

pytestmark = pytest.mark.filterwarnings("ignore")  # Lightning's own advice


@pytest.fixture
def reported() -> Iterator[list[EpochResult]]:
    found: list[EpochResult] = []
    with collecting(found.append):
        yield found


def test_every_epoch_is_reported_with_its_validation(reported: list[EpochResult], tmp_path: Path) -> None:
    import lightning

    class Module(lightning.LightningModule):
        def __init__(self) -> None:
            super().__init__()
            self.layer = torch.nn.Linear(2, 1)

        def training_step(self, batch: Any, _: int) -> torch.Tensor:
            loss: torch.Tensor = self.layer(batch[0]).square().mean()
            self.log("train/loss", loss, on_epoch=True, on_step=False)
            return loss

        def validation_step(self, *_: Any) -> None:
            self.log("validation_accuracy", 0.1 * (self.current_epoch + 1))

        def configure_optimizers(self) -> torch.optim.Optimizer:
            return torch.optim.SGD(self.parameters(), 0.1)

    data = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(torch.zeros(8, 2)), batch_size=4)
    trainer = lightning.Trainer(
        max_epochs=3,
        accelerator="cpu",
        callbacks=[callbacks.LightningReport(Trial("study", 0, 0, "arm"))],
        logger=False,
        enable_progress_bar=False,
        enable_checkpointing=False,
        enable_model_summary=False,
        default_root_dir=tmp_path,
    )
    trainer.fit(Module(), data, data)
    assert [result.epoch for result in reported] == [1, 2, 3]
    accuracies = [result.measures["validation_accuracy"] for result in reported]
    assert accuracies == pytest.approx([0.1, 0.2, 0.3])
    assert "train_loss" in reported[0].measures


def test_only_numbers_are_measures() -> None:
    logged = {"val/acc": torch.tensor(0.5), "text": "0.3", "many": torch.zeros(3), "flag": True, "epoch": 3, "n": 2}
    assert measures(logged) == {"val_acc": 0.5, "n": 2.0}
