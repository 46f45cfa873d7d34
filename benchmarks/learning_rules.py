"""How often networks that cannot have learned anything count as having learned, by each rule of `learned_nothing`.

Networks of two arms and four initial rhos are trained for three epochs on shuffled labels and judged on the true labels
of the validation set, as a study would judge them. The power of a rule is the share that would count as having learned
with an expected gain of g = 0.1, 0.2 or 0.3 over the start and the variation of these networks around it:

    score = fold(start) + g + h - mean of h over the cell,    h = fold(score on shuffled labels) - fold(start)

    python benchmarks/learning_rules.py [--networks 200] [--data data/deepdrid_32] [--state FILE]

`--data` is a prepared folder of photographs; without it images are drawn. `--state` keeps the networks trained so far,
and a second run with it goes on from there. Everything random comes from `--seed`.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

sys.path.insert(0, str(Path(__file__).parent))

from results import Result, parser, show

from robustness.execution.inline import InlineExecutor
from robustness.statistics.proportions import wilson
from robustness.streams import Streams
from robustness.study.loading import make_study
from robustness.study.study import Study
from robustness.sweep.chance import make_note
from robustness.sweep.outcomes import CHANCE_RULES, SUMMARIES, Judge, judges
from robustness.sweep.plan import make_plan
from robustness.sweep.untrained import score_networks
from robustness.trainables.classification.training import Run

ARMS, RHOS = ("mfvi", "radial"), (-6, -4, -2, 0)
GAINS = (0.1, 0.2, 0.3)
LEVEL = 0.01
MOST_LEARNED = 5.0
"""The largest share of networks trained on shuffled labels, in per cent, that the new rule may pass."""


@dataclass(frozen=True)
class Trained:
    """A network trained on shuffled labels: its metric at the start, and at its best and last epoch."""

    arm: str
    rho: int
    start: float
    best: float
    last: float


def study_of(rule: str, seed: int, data: str | None = None, size: int = 300) -> Study:
    """The study whose rule is tried: small networks, judged on `size` drawn images or on photographs."""
    task: dict[str, Any] = {"name": "synthetic_fundus", "image_size": 32, "train": 2 * size, "validation": size}
    if data is not None:
        task = {"name": "retinopathy", "folder": data}
    document = {
        "name": "learning_rules",
        "task": task,
        "model": {"name": "vgg_small", "base_channels": 4, "depth": "short"},
        "arms": list(ARMS),
        "space": {
            "optimizer": {"amsgrad": {"learning_rate": [0.001]}},
            "batch_size": [32],
            "variational_samples": [1],
            "initial_rho": list(RHOS),
        },
        "sampling": {"strategy": "grid", "seed": seed},
        "training": {"epochs": 3, "pretrain_epochs": 1, "evaluation_samples": 4, "device": "cpu"},
        # No score is good, so that every network is judged by its rule alone.
        "outcomes": {"epoch": "last", "learned_nothing": {rule: LEVEL}, "good": {"at_least": 1.0}},
    }
    return make_study(document, "learning_rules.yaml")


def train_on_shuffled_labels(study: Study, number: int) -> Trained:
    """Train one network; arms and rhos take turns."""
    plan = make_plan(study)
    trial = replace(plan.trials[number % len(plan.trials)], replicate=1 + number // len(plan.trials))
    run = Run.start(trial)
    order = Streams.of(trial).torch("diagnostics", 5)
    shuffled = run.train_set.labels[torch.randperm(len(run.train_set), generator=order)]
    run.train_set = replace(run.train_set, labels=shuffled)
    while not run.over():
        run.next_epoch()
    scores = [epoch.measures[trial.metric] for epoch in run.epochs if not epoch.pretraining]
    rho = int(trial.hyperparameters["initial_rho"])
    return Trained(trial.arm, rho, run.epochs[0].measures[trial.metric], max(scores), scores[-1])


def trained_networks(study: Study, count: int, state: Path | None) -> list[Trained]:
    """All networks; those in the file `state` are not trained again, and each new one is added to it."""
    known = [Trained(**json.loads(line)) for line in state.read_text().splitlines()] if state and state.exists() else []
    for number in range(len(known), count):
        known.append(train_on_shuffled_labels(study, number))
        if state is not None:
            with state.open("a") as file:
                print(json.dumps(vars(known[-1])), file=file)
    return known[:count]


def judges_of_rules(seed: int, data: str | None, size: int = 300) -> dict[str, Mapping[str, Judge]]:
    """The judges of each rule at the best and last epoch, from the same untrained networks."""
    study = study_of("no_better_than_start", seed, data, size)
    scored = score_networks(study, make_plan(study), InlineExecutor(), lambda: False)
    assert scored is not None
    found: dict[str, Mapping[str, Judge]] = {}
    for rule in CHANCE_RULES:
        own = study_of(rule, seed, data, size)
        found[rule] = judges(own.document(), make_note(own, scored.networks, scored.mixed, scored.edges))
    return found


def learned(judge: Judge, network: Trained, score: float) -> bool:
    """Whether a network counts as having learned with this score."""
    threshold = judge.threshold(network.arm, network.rho, network.start)
    return not judge.has("learned_nothing", min(score, 1.0), threshold)


def with_gain(networks: list[Trained], summary: str, gain: float) -> list[float]:
    """The score of each network of a cell with this expected gain over its start."""
    starts = [fold(network.start) for network in networks]
    gains = [fold(getattr(n, summary)) - start for n, start in zip(networks, starts, strict=True)]
    mean = float(np.mean(gains))
    return [start + gain + own - mean for start, own in zip(starts, gains, strict=True)]


def fold(auc: float) -> float:
    return max(auc, 1 - auc)


def results(networks: list[Trained], rules: Mapping[str, Mapping[str, Judge]]) -> Iterator[Result]:
    """The share that counts as having learned and the power, by rule, epoch, arm and initial rho."""
    for rule, own in rules.items():
        most = MOST_LEARNED if rule == "no_better_than_start" else None
        for summary in SUMMARIES:
            judge, name = own[summary], f"{rule}, {summary}"
            yield _share(f"{name}: all", [learned(judge, n, getattr(n, summary)) for n in networks], most)
            for arm in ARMS:
                cells = [[n for n in networks if (n.arm, n.rho) == (arm, rho)] for rho in RHOS]
                shown = [[learned(judge, n, getattr(n, summary)) for n in cell] for cell in cells]
                yield _share(f"{name}: {arm}", [each for cell in shown for each in cell], most)
                for rho, of_cell in zip(RHOS, shown, strict=True):
                    yield _share(f"{name}: {arm}, rho {rho}", of_cell)
                for gain in GAINS:
                    gained = [
                        learned(judge, network, score)
                        for cell in cells
                        for network, score in zip(cell, with_gain(cell, summary, gain), strict=True)
                    ]
                    yield _share(f"{name}: {arm}, power at a gain of {gain}", gained)


def _share(name: str, shown: list[bool], most: float | None = None) -> Result:
    fraction = float(np.mean(shown))
    interval = wilson(fraction, len(shown))
    note = f"{sum(shown)} of {len(shown)}, 95 % interval {100 * interval.low:.1f} to {100 * interval.high:.1f} %"
    return Result(name, 100 * fraction, "%", most=most, note=note)


def main() -> int:
    options = parser(__doc__)
    options.add_argument("--networks", type=int, default=200, help="networks to train on shuffled labels")
    options.add_argument("--data", help="a prepared folder of photographs; images are drawn without it")
    options.add_argument("--state", type=Path, help="file of the networks trained so far")
    options.add_argument("--seed", type=int, default=0)
    arguments = options.parse_args()
    torch.set_num_threads(1)
    study = study_of("no_better_than_start", arguments.seed, arguments.data)
    networks = trained_networks(study, arguments.networks, arguments.state)
    return show(results(networks, judges_of_rules(arguments.seed, arguments.data)), arguments.json)


if __name__ == "__main__":
    sys.exit(main())
