"""Early stopping, simulated: false decisions, configurations needed, power, and what futility costs.

    python benchmarks/stopping.py            ten minutes; --sweeps N for other precision, --json for JSON
    python benchmarks/stopping.py --needed   only the pairs to a verdict and the power, in seconds

False decisions are of any true hypothesis, looked at after each of 86 configurations, without `minimum_pairs`. Two arms
differ in the outcome of a replicate with the probability `discordance`. Of three arms with a binary outcome at most two
thirds of the pairs can differ, of five at most 0.6: with those, 0.9 stands for the largest possible. In each cell the
worst of these null models is reported:

    shared       every arm is equally likely to have the outcome; half of the configurations decide it for all
                 replicates, in the others each replicate decides anew
    fixed        the same, and every configuration decides it for all replicates: they are copies of one another
    skewed       a minority of configurations gives the outcome to the first arm in every replicate, the others to the
                 remaining arms in some replicates, as often on average
    one differs  the first arm has the outcome far more often; the others are equal, and only they count (3, 5 arms)
    whole space  all 86 configurations of a space in random order, with as many differences to either side (2 arms)
    strata       two strata in turn, one always for the first arm and one for the second (2 arms)
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from itertools import combinations
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

sys.path.insert(0, str(Path(__file__).parent))

from results import Result, parser, show

from robustness.statistics.sequential import capital, chance_of_decision, closed
from robustness.study.sections import Stop
from robustness.sweep.stopping import StoppingRule

CONFIGURATIONS = 86
LEVEL = 0.05
SEED = 2024
CHUNK = 500
"""Sweeps in memory at a time."""
Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]


def shared(rng: np.random.Generator, sweeps: int, arms: int, replicates: int, q: float, same: float = 0.5) -> Bools:
    """Outcomes [sweeps, configurations, replicates, arms] of exchangeable arms; `same`: replicates are copies."""
    shape = (sweeps, CONFIGURATIONS, replicates)
    ones = arms // 2
    most = 2 * ones * (arms - ones) / (arms * (arms - 1))
    share = min(1.0, q / most)

    def draw(shape: tuple[int, ...]) -> Bools:
        split = rng.random((*shape, arms)).argsort(axis=-1) < ones
        equal = np.repeat(rng.random((*shape, 1)) < 0.5, arms, axis=-1)
        return np.where(rng.random((*shape, 1)) < share, split, equal)

    outcomes = draw(shape)
    copied = rng.random((*shape[:2], 1, 1)) < same
    return np.where(copied, outcomes[:, :, :1], outcomes)


def fixed(rng: np.random.Generator, sweeps: int, arms: int, replicates: int, q: float) -> Bools:
    return shared(rng, sweeps, arms, replicates, q, same=1.0)


def skewed(rng: np.random.Generator, sweeps: int, arms: int, replicates: int, q: float) -> Bools:
    """A share q / 2 of the configurations is +1 in every replicate; in the others the rest have it as often."""
    shape = (sweeps, CONFIGURATIONS, replicates, 1)
    for_first = np.broadcast_to(rng.random((*shape[:2], 1, 1)) < q / 2, shape)
    rate = (q / 2) / (1 - q / 2)
    rest = ~for_first & (rng.random((*shape[:3], arms - 1)) < rate)
    return np.concatenate([for_first, rest], axis=-1)


def one_differs(rng: np.random.Generator, sweeps: int, arms: int, replicates: int, q: float) -> Bools:
    outcomes = shared(rng, sweeps, arms - 1, replicates, q)
    first = rng.random((*outcomes.shape[:3], 1)) < 0.9
    return np.concatenate([first, outcomes & (rng.random(outcomes.shape) < 0.3)], axis=-1)


def differences(outcomes: Bools, pairs: list[tuple[int, int]]) -> Floats:
    """The mean difference of each pair of arms over replicates: [pairs, sweeps, configurations]."""
    means = outcomes.mean(axis=2)
    return np.stack([means[..., first] - means[..., second] for first, second in pairs])


def whole_space(rng: np.random.Generator, sweeps: int, q: float) -> Floats:
    """Differences [1, sweeps, configurations]: a fixed, balanced population in random order."""
    each = round(CONFIGURATIONS * q / 2)
    population = np.repeat([1.0, -1.0, 0.0], [each, each, CONFIGURATIONS - 2 * each])
    return rng.permuted(np.broadcast_to(population, (sweeps, CONFIGURATIONS)), axis=1)[None]


def strata(rng: np.random.Generator, sweeps: int, q: float) -> Floats:
    """Differences [1, sweeps, configurations]: +1 or 0 in one stratum, -1 or 0 in the other, in turn."""
    sign = np.tile([1.0, -1.0], CONFIGURATIONS // 2)
    return (sign * (rng.random((sweeps, CONFIGURATIONS)) < q))[None]


def ever_wrong(values: Floats, true: list[bool], every: int = 1) -> float:
    """The share of sweeps in which a true hypothesis is ever rejected; looks after `every` so many configurations."""
    wrong = 0
    for start in range(0, values.shape[1], CHUNK):
        paths = closed(capital(values[:, start : start + CHUNK]))[np.array(true)][..., every - 1 :: every]
        wrong += int((paths.max(axis=(0, 2)) > 1 / LEVEL).sum())
    return wrong / int(values.shape[1])


def false_decisions(sweeps: int) -> Iterator[Result]:
    """The worst null model of each cell."""
    models: dict[str, Callable[..., Bools]] = {"shared": shared, "fixed": fixed, "skewed": skewed}
    for arms in (2, 3, 5):
        pairs = list(combinations(range(arms), 2))
        for replicates in (1, 3, 10):
            for q in (0.2, 0.5, 0.9):
                rng = np.random.default_rng([SEED, arms, replicates, round(10 * q)])
                rates = {
                    name: ever_wrong(differences(model(rng, sweeps, arms, replicates, q), pairs), [True] * len(pairs))
                    for name, model in models.items()
                }
                if arms > 2:
                    outcomes = one_differs(rng, sweeps, arms, replicates, q)
                    rates["one differs"] = ever_wrong(differences(outcomes, pairs), [pair[0] > 0 for pair in pairs])
                else:
                    rates["whole space"] = ever_wrong(whole_space(rng, sweeps, q), [True])
                    rates["strata"] = ever_wrong(strata(rng, sweeps, q), [True], every=2)
                worst = max(rates, key=lambda name: rates[name])
                yield Result(
                    f"false decisions: {arms} arms, {replicates} replicates, discordance {q:g}",
                    rates[worst],
                    "",
                    most=LEVEL,
                    note=f"worst: {worst}",
                )


def signs(rng: np.random.Generator, sweeps: int, only_first: float, only_second: float) -> Floats:
    uniform = rng.random((sweeps, CONFIGURATIONS))
    return (uniform < only_first).astype(float) - ((uniform >= only_first) & (uniform < only_first + only_second))


def stopping_times(values: Floats, minimum: int = Stop().minimum_pairs) -> tuple[Floats, Bools]:
    """When each of the sweeps [sweeps, configurations] ends, and whether it was decided."""
    # The evidence of a pair is the highest so far, so one that was convincing earlier counts at the minimum.
    parts = [capital(values[start : start + CHUNK]) for start in range(0, len(values), CHUNK)]
    above = np.maximum.accumulate(np.concatenate(parts), axis=1) > 1 / LEVEL
    above[:, : minimum - 1] = False
    return first_true(above), np.logical_or.reduce(above, axis=1)


def first_true(above: Bools) -> Floats:
    """The number of configurations up to the first True of each row, or all of them."""
    return np.where(above.any(axis=1), above.argmax(axis=1) + 1.0, CONFIGURATIONS)


def needed(sweeps: int) -> Iterator[Result]:
    """Mean numbers of pairs and power, for two arms and one replicate."""
    for name, law, most in (
        ("one-sided discordance 0.43", (0.43, 0.0), 17.5),
        ("only the first 0.52, only the second 0.09", (0.52, 0.09), 24.5),
        ("arms independent with rates 0.52 and 0.09", (0.52 * 0.91, 0.48 * 0.09), 24.5),
    ):
        values = signs(np.random.default_rng([SEED, 1]), sweeps, *law)
        for minimum in (Stop().minimum_pairs, 1):
            times, _ = stopping_times(values, minimum)
            yield Result(
                f"pairs needed: {name}, minimum_pairs {minimum}",
                float(times.mean()),
                "pairs",
                most=most,
                note=f"standard error {times.std() / len(times) ** 0.5:.2f}; {saved(times)}",
            )
    _, decided = stopping_times(signs(np.random.default_rng([SEED, 2]), sweeps, 0.35, 0.10))
    yield Result("power: difference 0.25, discordance 0.45", float(decided.mean()), "", least=0.80)
    for arms in (3, 5):
        # Every other arm differs from the first alike; the sweep waits for those comparisons (`compare_with`).
        rng = np.random.default_rng([SEED, 3, arms])
        values = np.stack([signs(rng, sweeps // 20, 0.52, 0.09) for _ in range(arms - 1)])
        above = np.maximum.accumulate(closed(capital(values)), axis=-1) > 1 / LEVEL
        times = first_true(np.logical_and.reduce(above))
        yield Result(
            f"pairs needed: {arms - 1} comparisons with one arm, each 0.52 and 0.09, all decided",
            float(times.mean()),
            "pairs",
            note=saved(times),
        )


def saved(times: Floats) -> str:
    """The compute that stopping saves against the paper's fixed number of configurations."""
    return f"{100 * (1 - float(times.mean()) / CONFIGURATIONS):.0f} % of {CONFIGURATIONS} configurations saved"


def futility(sweeps: int) -> Iterator[Result]:
    """When a sweep without a difference ends for futility, and how much power that costs."""
    for name, law in (("no difference, discordance 0.2", (0.1, 0.1)), ("difference 0.25", (0.35, 0.10))):
        values = signs(np.random.default_rng([SEED, 4]), sweeps, *law)
        ended, decided = [], []
        for row in values:
            rule = StoppingRule(1, CONFIGURATIONS, Stop(futility=0.05))
            for place, value in enumerate(row):
                if rule.add(place, [float(value)]):
                    break
            ended.append(rule.configurations)
            decided.append(rule.reason == "decided")
        without = float(stopping_times(values)[1].mean())
        yield Result(f"futility 0.05: {name}, pairs run", float(np.mean(ended)), "pairs")
        yield Result(
            f"futility 0.05: {name}, decided", float(np.mean(decided)), "", note=f"{without:.3f} without futility"
        )
    chance = chance_of_decision([0.0] * 10, CONFIGURATIONS - 10, LEVEL)
    yield Result("chance of a decision after 10 pairs without a difference", chance, "")


def all_results(sweeps: int) -> Iterator[Result]:
    yield from false_decisions(sweeps)
    yield from needed(4 * sweeps)
    yield from futility(max(1, sweeps // 50))


if __name__ == "__main__":
    arguments = parser(__doc__)
    arguments.add_argument("--sweeps", type=int, default=10_000, help="simulated sweeps for each figure")
    arguments.add_argument("--needed", action="store_true", help="only pairs to a verdict, and power")
    options = arguments.parse_args()
    stream = needed(4 * options.sweeps) if options.needed else all_results(options.sweeps)
    sys.exit(show(stream, options.json))
