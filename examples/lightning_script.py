"""Two optimisers of a Lightning module, compared for robustness: python examples/lightning_script.py"""

import lightning
import torch
from torch.utils.data import DataLoader, TensorDataset

import robustness as rb
from robustness import callbacks

points = torch.randn(400, 2, generator=torch.Generator().manual_seed(0))
data = TensorDataset(points, (points.prod(dim=1) > 0).float())
quiet = {f"enable_{part}": False for part in ("progress_bar", "model_summary", "checkpointing")} | {"logger": False}


class Classifier(lightning.LightningModule):
    def __init__(self, arm, lr, width):
        super().__init__()
        self.arm, self.lr = arm, lr
        self.net = torch.nn.Sequential(torch.nn.Linear(2, width), torch.nn.Tanh(), torch.nn.Linear(width, 1))

    def training_step(self, batch, _):
        logits = self.net(batch[0]).squeeze(1)
        self.log("accuracy", ((logits > 0) == batch[1]).float().mean(), on_step=False, on_epoch=True)
        return torch.nn.functional.binary_cross_entropy_with_logits(logits, batch[1])

    def configure_optimizers(self):
        return {"sgd": torch.optim.SGD, "adam": torch.optim.Adam}[self.arm](self.parameters(), self.lr)


def train(trial):
    trainer = lightning.Trainer(max_epochs=3, accelerator="cpu", callbacks=[callbacks.LightningReport(trial)], **quiet)
    trainer.fit(Classifier(trial.arm, **trial.hyperparameters), DataLoader(data, batch_size=50))


space = {"lr": rb.log(1e-3, 1), "width": [8, 32]}
result = rb.sweep({"sgd": train, "adam": train}, space, configurations=4, metric="accuracy", good=0.7, inline=True)
print(result.verdict)
