"""Importance of hyperparameters in simulated studies: errors and power of its test, bias, coverage of its interval.

    python benchmarks/importance.py [--studies 200]

Each study draws configurations from the paper's space and scores them by a sum of effects and Gaussian noise. A
hyperparameter without effect should be within the null in at least 95 % of studies and have a mean importance of zero,
also if it depends by design on one with a strong effect: the learning rate and its decay on the optimiser, the batch
size on the number of samples, through `where`. About a minute of CPU time.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

sys.path.insert(0, str(Path(__file__).parent))

from results import Result, parser, show

from report.sections.sensitivity.importance import importance_of
from report.sections.sensitivity.levels import levels
from robustness.errors import SearchSpaceError
from robustness.space.space import Space, read_space
from robustness.statistics.importance import Importance
from robustness.study.bundled import find_space
from robustness.study.yaml_reader import read_file

STUDIES = 200
CONFIGURATIONS = 86
STRONG = 2.0
"""A strong effect: this many standard deviations of the noise between one value and all others."""
ADDED = {
    "optimizer": "sgd",
    "learning_rate": 0.001,
    "variational_samples": 1,
    "initial_rho": -6,
}
"""The value of each hyperparameter that its effect is added to."""


@dataclass(frozen=True)
class Case:
    """What has an effect, and the hyperparameter that is watched."""

    watched: str
    effects: Mapping[str, float]
    configurations: int = CONFIGURATIONS


NO_EFFECT = (
    Case("initial_rho", {}),
    Case("initial_rho", {"learning_rate": STRONG}),
    Case("learning_rate", {"optimizer": STRONG}),
    Case("learning_rate_decay", {"optimizer": STRONG}),
    Case("batch_size", {"variational_samples": STRONG}),
    Case("initial_rho", {}, 30),
    Case("learning_rate", {"optimizer": STRONG}, 30),
)
EFFECT = tuple(
    Case("initial_rho", {"initial_rho": size}, configurations)
    for configurations in (30, 86)
    for size in (0.5, 1.0, 1.5, 2.0)
)


def paper_space() -> Space:
    """The paper's search space."""
    return read_space(read_file(find_space("paper_random", Path()), SearchSpaceError), "paper_random")


def scores(drawn: pd.DataFrame, effects: Mapping[str, float], rng: np.random.Generator) -> pd.Series[float]:
    """A score for each configuration: the effects of its values, and noise."""
    total = pd.Series(rng.normal(size=len(drawn)), index=drawn.index)
    for name, size in effects.items():
        total += size * (drawn[name] == ADDED[name])
    return total


def watch(case: Case, studies: int, seed: int = 0) -> list[Importance]:
    """Importance of the watched hyperparameter in each study."""
    space = paper_space()
    found = []
    for study in range(studies):
        drawn = pd.DataFrame(space.draw("random", case.configurations, seed + study))
        rng = np.random.default_rng([seed, study, case.configurations])
        of = {str(name): each for name in drawn if len((each := levels(drawn[name])).labels) > 1}
        found.append(importance_of(of, space, scores(drawn, case.effects, rng)).of[case.watched])
    return found


def truth(case: Case) -> float:
    """The share of the variance of ranks that the watched hyperparameter explains, in two million configurations."""
    rng = np.random.default_rng(1)
    whole = pd.DataFrame(paper_space().draw("grid", None, 0))
    strata = whole["optimizer"].map(1 / whole["optimizer"].value_counts()).to_numpy()
    sample = whole.iloc[rng.choice(len(whole), size=2_000_000, p=strata / strata.sum())].reset_index(drop=True)
    ranks = scores(sample, case.effects, rng).rank()
    means = ranks.groupby(sample[case.watched]).transform("mean")
    return float(means.var() / ranks.var())


def describe(case: Case) -> str:
    """The case in a few words."""
    others = {name: size for name, size in case.effects.items() if name != case.watched}
    beside = f" beside {', '.join(others)}" if others else ""
    return f"{case.watched}{beside}, {case.configurations} configurations"


def measure(studies: int) -> Iterator[Result]:
    """First hyperparameters without an effect, then some with one."""
    for case in NO_EFFECT:
        found = watch(case, studies)
        explained = np.array([entry.explained for entry in found])
        inside = float(np.mean([entry.within_null for entry in found]))
        uncorrected = float(np.mean([entry.p_value >= 0.05 for entry in found]))
        error = float(explained.std() / np.sqrt(studies))
        words = f"no effect: {describe(case)}"
        yield Result(f"{words}: within the null", inside, "", least=0.95, note=f"p >= 0.05: {uncorrected:.3f}")
        yield Result(f"{words}: |mean importance|", abs(float(explained.mean())), "", most=4 * error)
    for case in EFFECT:
        found, share = watch(case, studies), truth(case)
        beyond = np.array([not entry.within_null for entry in found])
        covered = float(np.mean([entry.low <= share <= entry.high for entry in found]))
        mean = float(np.mean([entry.explained for entry in found]))
        words = f"explains {share:.3f}: {describe(case)}"
        yield Result(f"{words}: power", float(beyond.mean()), "", note=f"mean importance {mean:.3f}")
        yield Result(f"{words}: coverage", covered, "", least=0.92)


def main() -> int:
    """Simulate every case."""
    options = parser(__doc__)
    options.add_argument("--studies", type=int, default=STUDIES, help="studies of each case (200)")
    arguments = options.parse_args()
    return show(measure(arguments.studies), arguments.json)


if __name__ == "__main__":
    sys.exit(main())
