"""Coverage, size and width of the report's intervals, and whether an interval and its p-value ever disagree.

python benchmarks/intervals.py [--json] [--draws 10000] [--seed 0]

Paired fractions without replicates are enumerated, table by table, and drawn as well: in each of `draws` samples the
interval leaves out 0 exactly when p < 0.05. With replicates and for means every figure is from `draws` made studies.
Replicates of a configuration agree by one of two models with the same correlation: each copies its configuration with
probability sqrt(rho), or the configuration has probabilities of its own (Dirichlet).
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import stats

sys.path.insert(0, str(Path(__file__).parent))

from results import Result, parser, show

from robustness.statistics.means import mean_test
from robustness.statistics.paired import paired_test
from robustness.statistics.proportions import Interval, fraction_interval
from robustness.statistics.score_test import score_interval, score_p

Floats: TypeAlias = NDArray[np.float64]
ONLY = ((0.093, 0.0), (0.465, 0.0), (0.058, 0.035), (0.2, 0.2))
"""P(only A), P(only B)."""
NULLS = ((0.2, 0.2), (0.0465, 0.0465), (0.2325, 0.2325))
"""Those with no difference, and the others with their discordance split in half."""
PAIRS = (12, 30, 86)
REPLICATED = ((10, 3), (20, 5))
CORRELATIONS = (0.0, 0.5, 1.0)
FRACTIONS = (0.1, 0.2, 0.4, 0.5)
SYMMETRIC = ("normal", "laplace", "t3", "uniform")
FAILING = (12, 14, 16, 17, 18, 20, 25, 30, 33, 40, 86)
LOSS, SHARE_FAILING = 1.0, 0.2


@cache
def paired(b: int, c: int, n: int) -> tuple[Interval, float]:
    """The interval and p-value of a table."""
    return score_interval(b, c, n), score_p(b, c, n)


def tables(n: int, only: tuple[float, float]) -> Iterator[tuple[int, int, float]]:
    """Every table of n pairs with its probability, but for those below 1e-12."""
    for b in range(n + 1):
        rest = 1 - only[0]
        for c in range(n - b + 1):
            conditional = stats.binom.pmf(c, n - b, only[1] / rest if rest > 0 else 0.0)
            probability = float(stats.binom.pmf(b, n, only[0]) * conditional)
            if probability > 1e-12:
                yield b, c, probability


def enumerated(n: int, only: tuple[float, float]) -> tuple[float, float, float]:
    """Exact coverage of the difference, rejection rate of no difference, and mean width."""
    coverage = rejected = width = 0.0
    difference = only[0] - only[1]
    for b, c, probability in tables(n, only):
        interval, p_value = paired(b, c, n)
        coverage += probability * (interval.low <= difference <= interval.high)
        rejected += probability * (p_value < 0.05)
        width += probability * (interval.high - interval.low)
    return coverage, rejected, width


def tango_width(n: int, only: tuple[float, float]) -> float:
    """The mean width of Tango's interval, its ends found on a fine grid of the score instead of by its code."""
    grid = np.linspace(-1, 1, 4001)[1:-1]
    z = stats.norm.ppf(0.975)
    total = 0.0
    for b, c, probability in tables(n, only):
        e = -b - c + (2 * n - b + c) * grid
        q = np.maximum(0.0, (np.sqrt(np.maximum(0.0, e * e + 8 * n * c * grid * (1 - grid))) - e) / (4 * n))
        variance = n * (2 * q + grid * (1 - grid))
        inside = np.abs(b - c - n * grid) <= z * np.sqrt(np.maximum(variance, 0.0))
        total += probability * (grid[inside].max() - grid[inside].min() if inside.any() else 0.0)
    return total


def contradictions(n: int, only: tuple[float, float], draws: int, rng: np.random.Generator) -> int:
    """In how many samples the interval leaves out 0 without p < 0.05, or the other way round."""
    samples = rng.multinomial(n, [*only, max(0.0, 1 - sum(only))], size=draws)
    count = 0
    for b, c, _ in samples.tolist():
        interval, p_value = paired(b, c, n)
        count += (interval.low > 0 or interval.high < 0) != (p_value < 0.05)
    return count


def replicated_pairs(
    k: int, r: int, only: tuple[float, float], rho: float, model: str, draws: int, rng: np.random.Generator
) -> NDArray[np.int64]:
    """Differences -1, 0, 1 [draws, k, r] with this correlation between replicates; rates as given."""
    shape = (draws, k, r)
    limits = np.cumsum(only)
    if model == "copies" or rho in (0.0, 1.0):
        copied = rng.random(shape) < math.sqrt(rho)
        place = np.where(copied, rng.random((draws, k, 1)), rng.random(shape))
    else:
        rates = np.array([*only, 1 - sum(only)]) * (1 - rho) / rho
        own = rng.gamma(np.maximum(rates, 1e-300), size=(draws, k, 3))
        own /= own.sum(axis=2, keepdims=True)
        limits = np.cumsum(own[:, :, :2], axis=2)
        place = rng.random(shape)
    first, second = (limits[..., at : at + 1] if limits.ndim == 3 else limits[at] for at in (0, 1))
    return np.where(place < first, 1, np.where(place < second, -1, 0))


def replicated_rates(
    k: int, r: int, only: tuple[float, float], rho: float, model: str, draws: int, rng: np.random.Generator
) -> tuple[float, float, int]:
    """Coverage, rejection rate and contradictions of the comparison of k configurations x r replicates."""
    owners = np.repeat(np.arange(k), r)
    difference = only[0] - only[1]
    covered = rejected = contradicted = 0
    for sample in replicated_pairs(k, r, only, rho, model, draws, rng).reshape(draws, k * r):
        tested = paired_test(sample > 0, sample < 0, owners)
        covered += tested.interval.low <= difference <= tested.interval.high
        rejected += tested.p_value < 0.05
        contradicted += (tested.interval.low > 0 or tested.interval.high < 0) != (tested.p_value < 0.05)
    return covered / draws, rejected / draws, contradicted


def replicated_fraction(
    k: int, r: int, p: float, rho: float, model: str, draws: int, rng: np.random.Generator
) -> float:
    """Coverage of a fraction of k configurations x r replicates."""
    owners = np.repeat(np.arange(k), r)
    samples = replicated_pairs(k, r, (p, 0.0), rho, model, draws, rng).reshape(draws, k * r)
    intervals = [fraction_interval(sample, owners) for sample in samples]
    return float(np.mean([interval.low <= p <= interval.high for interval in intervals]))


def symmetric(kind: str) -> Callable[[np.random.Generator, tuple[int, int]], Floats]:
    """Draws of differences that are symmetric about 0."""
    return {
        "normal": lambda rng, shape: rng.normal(size=shape),
        "laplace": lambda rng, shape: rng.laplace(size=shape),
        "t3": lambda rng, shape: rng.standard_t(3, size=shape),
        "uniform": lambda rng, shape: rng.uniform(-1, 1, size=shape),
    }[kind]


def failing(noise: float) -> Callable[[np.random.Generator, tuple[int, int]], Floats]:
    """Draws of differences of which a fifth are a loss and the others noise; their mean is 0."""

    def draw(rng: np.random.Generator, shape: tuple[int, int]) -> Floats:
        lost = rng.random(shape) < SHARE_FAILING
        values: Floats = noise * rng.normal(size=shape) - LOSS * lost + LOSS * SHARE_FAILING
        return values

    return draw


def mean_rates(
    draw: Callable[[np.random.Generator, tuple[int, int]], Floats], n: int, draws: int, rng: np.random.Generator
) -> tuple[float, float, int]:
    """Coverage among samples that have an interval, the share that have none, and contradictions."""
    covered = none = contradicted = 0
    for sample in draw(rng, (draws, n)):
        tested = mean_test(sample)
        if tested.p_value is None:
            none += 1
            continue
        leaves_out = tested.interval.low > 0 or tested.interval.high < 0
        covered += not leaves_out
        contradicted += leaves_out != (tested.p_value < 0.05)
    return covered / max(1, draws - none), none / draws, contradicted


def figures(draws: int, seed: int) -> Iterator[Result]:
    """Every figure with its target."""
    rng = np.random.default_rng(seed)
    for n in PAIRS:
        for only in ONLY:
            name = f"paired fractions, {n} pairs, only A {only[0]:g}, only B {only[1]:g}"
            coverage, _, width = enumerated(n, only)
            yield Result(f"{name}: coverage", coverage, "", least=0.94)
            yield Result(f"{name}: width beside Tango's", width / tango_width(n, only), "x", most=1.05)
            wrong = contradictions(n, only, draws, rng)
            yield Result(f"{name}: contradictions in {draws:,} samples", wrong, "", most=0)
        for only in NULLS:
            yield Result(f"size, {n} pairs, only A and only B {only[0]:g}", enumerated(n, only)[1], "", most=0.055)
    some = draws // 5
    for k, r in REPLICATED:
        for rho in CORRELATIONS:
            for model in ("copies", "own rates") if rho == 0.5 else ("copies",):
                where = f"{k} x {r}, correlation {rho:g}" + (f" ({model})" if rho == 0.5 else "")
                for only in ONLY:
                    coverage, _, wrong = replicated_rates(k, r, only, rho, model, some, rng)
                    name = f"{where}, only A {only[0]:g}, only B {only[1]:g}"
                    yield Result(f"{name}: coverage", coverage, "", least=0.93)
                    yield Result(f"{name}: contradictions", wrong, "", most=0)
                    if only[0] == only[1]:
                        # A fifth of the draws would leave a standard error of 0.005, as much as the target allows.
                        _, size, _ = replicated_rates(k, r, only, rho, model, 2 * draws, rng)
                        yield Result(f"{name}: size", size, "", most=0.055)
                rates = [replicated_fraction(k, r, p, rho, model, some, rng) for p in FRACTIONS]
                yield Result(f"{where}, fractions {FRACTIONS}: mean coverage", float(np.mean(rates)), "", least=0.93)
                yield Result(f"{where}, fractions {FRACTIONS}: lowest coverage", min(rates), "")
    for kind in SYMMETRIC:
        for n in (6, 12, 30):
            coverage, none, wrong = mean_rates(symmetric(kind), n, some, rng)
            yield Result(f"mean of {n} {kind} differences: coverage", coverage, "", least=0.93)
            yield Result(f"mean of {n} {kind} differences: samples without an interval", none, "")
            yield Result(f"mean of {n} {kind} differences: contradictions", wrong, "", most=0)
    for noise in (0.001, 0.05, 0.2):
        for n in FAILING:
            coverage, _, wrong = mean_rates(failing(noise), n, some, rng)
            name = f"a fifth of {n} pairs fail, noise {noise:g} of the loss"
            yield Result(f"{name}: coverage", coverage, "", least=0.90)
            yield Result(f"{name}: contradictions", wrong, "", most=0)
        for n in (6, 11):
            coverage, none, _ = mean_rates(failing(noise), n, some, rng)
            name = f"a fifth of {n} pairs fail, noise {noise:g} of the loss"
            yield Result(f"{name}: samples without an interval", none, "")
            yield Result(f"{name}: coverage of the other samples", coverage, "")


def main() -> int:
    options = parser(__doc__)
    words = "samples of each case; a fifth of them with replicates and for means, twice as many for a size"
    options.add_argument("--draws", type=int, default=10_000, help=words)
    options.add_argument("--seed", type=int, default=0)
    arguments = options.parse_args()
    return show(figures(arguments.draws, arguments.seed), arguments.json)


if __name__ == "__main__":
    sys.exit(main())
