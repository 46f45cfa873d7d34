"""Two experiments of Ray Tune, made in a process of their own: `python tune_experiments.py FOLDER`."""

from __future__ import annotations

import logging
import math
import sys
from typing import Any

import ray
from ray import tune


def trainable(config: dict[str, Any]) -> None:
    for epoch in range(3):
        if config["rate"] > 0.5 and epoch == 1:
            raise RuntimeError("crashed")
        value = config["rate"] * (epoch + 1)
        tune.report({"accuracy": math.nan if config["rate"] == 0.2 and epoch == 2 else value, "other": {"x": 1.0}})


class Stepwise(tune.Trainable):
    """A class trainable that ends after three steps."""

    def setup(self, config: dict[str, Any]) -> None:
        self.rate = config["rate"]

    def step(self) -> dict[str, Any]:
        steps = self.iteration + 1
        return {"accuracy": self.rate * steps, "done": steps >= 3}

    def save_checkpoint(self, _folder: str) -> None:
        return None

    def load_checkpoint(self, _checkpoint: object) -> None:
        return None


def main(folder: str) -> None:
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, logging_level=logging.ERROR)
    grid = {"rate": tune.grid_search([0.1, 0.2, 0.9]), "net": {"width": 16}, "method": "function"}
    drawn = {"rate": tune.loguniform(1e-3, 1e-1), "net": {"width": 16}, "method": "class"}
    for name, run, space, samples in (("grid", trainable, grid, 1), ("random", Stepwise, drawn, 2)):
        tune.Tuner(
            run,
            param_space=space,
            tune_config=tune.TuneConfig(num_samples=samples, reuse_actors=False),
            run_config=tune.RunConfig(name=name, storage_path=folder, verbose=0),
        ).fit()
    ray.shutdown()


if __name__ == "__main__":
    main(sys.argv[1])
