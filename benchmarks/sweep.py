"""A sweep of real trials: its utilisation of workers, and the time plain scripts take for the same trials.

The quickstart runs unchanged. Its utilisation is the training time / (workers x wall-clock time), from the start of the
first trial to the end of the last. The training time is the sum over all epochs, once as measured in the workers, and
once as it would be if the cores shared nothing, for which some trials are retrained alone in this process. A few short
trials are run with this project's executor, with Ray Tune as in its tutorial (a function, one CPU per trial), and with
Optuna's `optimize(..., n_jobs=workers)`. None of these times include the start of Ray. Also measured is the overhead of
an empty trial, including Ray Tune and the store.

python benchmarks/sweep.py
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import yaml

sys.path.insert(0, str(Path(__file__).parent))

from results import Result, parser, show

from robustness.execution.protocol import Ending, Started, Terms
from robustness.execution.ray_session import connected
from robustness.execution.tune import TuneExecutor
from robustness.store import open_store
from robustness.study.loading import load_study
from robustness.sweep.plan import make_plan
from robustness.sweep.sweep import sweep
from robustness.trial import EpochResult, Trial, TrialKey

MIN_UTILISATION, MAX_OVERHEAD = 0.93, 0.1
EMPTY, SHORT = 200, 8
ALONE = 6
"""Every sixth trial of the quickstart is also trained alone."""


class Clock:
    """Records the first start, the last end, and the training time of each trial."""

    def __init__(self) -> None:
        self.first = self.last = 0.0
        self.epochs: Counter[TrialKey] = Counter()

    def started(self, key: TrialKey, attempt: int, where: Started) -> None:  # noqa: ARG002
        self.first = self.first or time.perf_counter()

    def epoch(self, key: TrialKey, result: EpochResult) -> None:
        self.epochs[key] += result.seconds  # type: ignore[assignment]

    def ended(self, key: TrialKey, ending: Ending) -> None:
        assert ending.status in ("finished", "diverged"), f"{key}: {ending}"
        self.last = time.perf_counter()


def planned_trials(*changes: str) -> list[Trial]:
    """Trials of the quickstart with these overrides."""
    return list(make_plan(load_study("quickstart", changes)).trials)


def bare_seconds(planned: Sequence[Trial]) -> float:
    """Total time of all epochs, run sequentially in this process."""
    import torch

    from robustness.trainables.classification.training import train

    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        return sum(result.seconds for trial in planned for result in train(trial))
    finally:
        torch.set_num_threads(threads)


def plain_ray_tune(planned: Sequence[Trial]) -> float:
    """Run the trials as a Ray Tune function with default settings."""
    from ray import tune

    def objective(config: dict[str, Any]) -> None:
        from robustness.trainables.classification.training import train

        for result in train(planned[config["number"]]):
            tune.report(dict(result.measures))

    with tempfile.TemporaryDirectory() as folder:
        tuner = tune.Tuner(
            objective,
            param_space={"number": tune.grid_search(list(range(len(planned))))},
            run_config=tune.RunConfig(storage_path=folder, verbose=0),
        )
        start = time.perf_counter()
        outcome = tuner.fit()
        seconds = time.perf_counter() - start
    assert outcome.num_errors == 0
    return seconds


def plain_optuna(planned: Sequence[Trial], workers: int) -> float:
    """Run the trials as an Optuna objective in `workers` threads."""
    import optuna

    from robustness.trainables.classification.training import train

    optuna.logging.set_verbosity(optuna.logging.WARNING)

    def objective(trial: optuna.Trial) -> float:
        (*_, last) = train(planned[trial.number])
        return last.measures["validation_auc"]

    study = optuna.create_study(direction="maximize")
    start = time.perf_counter()
    study.optimize(objective, n_trials=len(planned), n_jobs=workers)
    return time.perf_counter() - start


def utilisation_results(workers: int) -> Iterator[Result]:
    planned, clock = planned_trials(), Clock()
    with connected(cpus=workers):
        TuneExecutor(workers).run(iter(planned), clock, Terms())
    wall, trained = clock.last - clock.first, sum(clock.epochs.values())
    what = f"the quickstart's {len(planned)} trials on {workers} workers"
    note = f"{trained:.1f} s of training in {wall:.1f} s"
    yield Result(f"{what}: training / (workers x wall)", trained / (workers * wall), least=MIN_UTILISATION, note=note)
    alone = planned[::ALONE]
    shared = sum(clock.epochs[trial.key] for trial in alone) / bare_seconds(alone)
    note = f"an epoch next to another takes {shared:.2f} x as long as alone"
    utilisation = trained / shared / (workers * wall)
    yield Result(f"{what}: training alone / (workers x wall)", utilisation, least=MIN_UTILISATION, note=note)


def peer_results(workers: int) -> Iterator[Result]:
    short = [t for t in planned_trials("training.epochs=6") if t.hyperparameters["variational_samples"] == 1][:SHORT]
    with connected(cpus=workers):
        start = time.perf_counter()
        TuneExecutor(workers).run(iter(short), Clock(), Terms())
        ours = time.perf_counter() - start
        ray_tune = plain_ray_tune(short)
    optuna = plain_optuna(short, workers)
    what = f"{len(short)} short trials on {workers} workers"
    yield Result(f"{what}: plain Ray Tune / ours", ray_tune / ours, least=1.0, note=f"{ray_tune:.1f} s, {ours:.1f} s")
    yield Result(f"{what}: plain Optuna in threads / ours", optuna / ours, least=1.0, note=f"{optuna:.1f} s")


def empty_results(workers: int) -> Iterator[Result]:
    document = {
        "name": "empty",
        "trainable": "simulated_trials:empty",
        "arms": ["first", "second"],
        "space": {"rate": {"low": 0.0, "high": 1.0}},
        "sampling": {"configurations": EMPTY // 2},
        "outcomes": {"learned_nothing": {"below": 0.4}, "good": {"at_least": 0.8}},
    }
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "empty.yaml"
        path.write_text(yaml.safe_dump(document))
        study = load_study(str(path))
        plan = make_plan(study)
        with open_store(f"sqlite:///{folder}/store.db") as store, connected(cpus=workers):
            registered = store.register(study, plan)
            start = time.perf_counter()
            swept = sweep(study, plan, registered, TuneExecutor(workers))
            seconds = time.perf_counter() - start
    per_trial = seconds / swept.run
    yield Result(f"{EMPTY} empty trials on {workers} workers: time per trial", per_trial, "s", most=MAX_OVERHEAD)


def main() -> int:
    options = parser(__doc__)
    options.add_argument("--workers", type=int, default=2)
    arguments = options.parse_args()

    def results() -> Iterator[Result]:
        yield from empty_results(arguments.workers)
        yield from peer_results(arguments.workers)
        yield from utilisation_results(arguments.workers)

    return show(results(), arguments.json)


if __name__ == "__main__":
    sys.exit(main())
