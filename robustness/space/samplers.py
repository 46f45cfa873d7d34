"""Samplers of configurations: random, grid and Sobol sequences whose first n elements do not depend on the total drawn.

To add a sampler, write its sequence and register it in `SAMPLERS`.

Strata take turns, each with its own sequence, so every prefix is balanced; once a stratum is exhausted the others take
its turns. A crossed factor runs each draw of the other options with all of its choices; cells that the condition
forbids are skipped. A finite space is drawn without replacement: sorting by e_i / w_i, e_i ~ Exp(1), yields the order
in which draws with probabilities w_i, redrawing repeats, first visit each configuration (Efraimidis and Spirakis 2006).
"""

from __future__ import annotations

import hashlib
import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from robustness.errors import SearchSpaceError, unknown_name
from robustness.guards.limits import check
from robustness.space.options import Options, Scalar
from robustness.space.space import LISTABLE, Configuration, Space

Accept: TypeAlias = Callable[[Mapping[str, Scalar]], bool]
Sequencer: TypeAlias = Callable[[Options, str, Accept, int], Iterator[Configuration]]

PATIENCE = 10_000
"""A sequence that cannot be listed ends after this many consecutive draws that are forbidden or repeats."""
CROSSED_PATIENCE = 1_000
"""A crossed sequence ends after this many consecutive draws that are not allowed with any crossed choice."""


@dataclass(frozen=True)
class Sampler:
    """A way of drawing configurations."""

    sequence: Sequencer
    """Yields each accepted configuration of some options once, in an order determined by a key.

    Called with the options, the key, the condition, and how many consecutive rejected draws end the sequence.
    """
    without_replacement: bool
    """Whether configurations from a finite space are a random sample without replacement, or all of it."""
    exhaustive: bool = False
    """Whether it enumerates the space, which must then be finite, and needs no number of configurations."""


def draw(space: Space, strategy: str, count: int | None, seed: int | str) -> list[Configuration]:
    """The first `count` configurations of a space; raises SearchSpaceError if it has fewer."""
    if strategy not in SAMPLERS:
        raise SearchSpaceError(f"sampling.strategy: {unknown_name('strategy', strategy, SAMPLERS)}")
    sampler = SAMPLERS[strategy]
    if sampler.exhaustive:
        _check_listable(space)
    allowed = space.allowed()
    if count is None and allowed is None:
        raise SearchSpaceError("sampling.configurations: is missing: this space cannot be listed in full")
    wanted = allowed if count is None and allowed is not None else count or 0
    strata = {str(levels): space.options.fixed(levels) for levels in _combinations(space.options, space.stratify)}
    strata = {stratum: options for stratum, options in strata.items() if space.possible(options)}
    if not strata:
        raise SearchSpaceError("where: no configuration satisfies the condition; relax it, or extend the space")
    if allowed is not None and wanted > allowed:
        which = (
            f"only {allowed:,} of the {space.size():,} in the space satisfy its condition"
            if space.conditions
            else f"the space has only {allowed:,}"
        )
        raise SearchSpaceError(
            f"sampling.configurations: {wanted} configurations requested, but {which}; request fewer, or extend "
            "the space"
        )
    sequences = [
        _stratum(space, options, sampler, f"{seed}/{strategy}/{stratum}") for stratum, options in strata.items()
    ]
    drawn = list(itertools.islice(_in_turn(sequences), wanted))
    if len(drawn) < wanted:
        raise SearchSpaceError(
            f"sampling.configurations: {wanted} configurations requested, but only {len(drawn)} were found "
            f"before {PATIENCE:,} consecutive draws were repeats or forbidden by the condition"
        )
    return [space.in_order(configuration) for configuration in drawn]


def _check_listable(space: Space) -> None:
    size = space.size()
    if size is None:
        ranges = ", ".join(space.options.continuous())
        raise SearchSpaceError(f"sampling.strategy: a grid needs lists of values, but these are ranges: {ranges}")
    if size > LISTABLE:
        raise SearchSpaceError(f"sampling.strategy: a grid of {size:,} is too large (at most {LISTABLE:,})")


def _combinations(options: Options, names: Sequence[str]) -> list[dict[str, Scalar]]:
    """All combinations of the choices of the named options; a single empty one if no options are named."""
    check("space_strata", math.prod(len(options.levels(name)) for name in names), ", ".join(names), SearchSpaceError)
    return [dict(zip(names, levels, strict=True)) for levels in itertools.product(*map(options.levels, names))]


def _in_turn(sequences: list[Iterator[Configuration]]) -> Iterator[Configuration]:
    """Take one configuration from each sequence in turn until all are exhausted."""
    while sequences:
        active: list[Iterator[Configuration]] = []
        for sequence in sequences:
            configuration = next(sequence, None)
            if configuration is not None:
                yield configuration
                active.append(sequence)
        sequences = active


def _stratum(space: Space, options: Options, sampler: Sampler, key: str) -> Iterator[Configuration]:
    """Every configuration of one stratum that the condition allows, each once."""
    if not space.cross:
        yield from sampler.sequence(options, key, space.accepts, PATIENCE)
        return
    cells = [options.only(space.cross).fixed(levels) for levels in _combinations(options, space.cross)]
    sequences: list[Iterator[Configuration]] = []
    fruitless = 0
    others = sampler.sequence(options.without(space.cross), f"{key}/base", _accept_all, PATIENCE)
    for number, base in enumerate(others):
        block = [_cell(space, base, cell, sampler, f"{key}/{number}/{place}") for place, cell in enumerate(cells)]
        firsts = [configuration for sequence in block for configuration in itertools.islice(sequence, 1)]
        yield from firsts
        sequences += block
        fruitless = 0 if firsts else fruitless + 1
        if fruitless == CROSSED_PATIENCE:
            return
    # The other options are exhausted, but the options under the crossed choices may have more combinations.
    yield from _in_turn(sequences)


def _cell(space: Space, base: Configuration, cell: Options, sampler: Sampler, key: str) -> Iterator[Configuration]:
    """The configurations that combine one draw of the other options with one combination of crossed choices."""
    # A cell is sampled one point at a time, and a single point of a scrambled Sobol sequence is just a random point.
    sequence = sampler.sequence if sampler.exhaustive else _random
    for values in sequence(cell, key, lambda values: space.accepts({**base, **values}), 100):
        yield {**base, **values}


def _accept_all(_: Mapping[str, Scalar]) -> bool:
    return True


def _grid(options: Options, _key: str, accept: Accept, _patience: int) -> Iterator[Configuration]:
    """Every combination, in the order of the options."""
    return (part.values for part in options.fragments() if accept(part.values))


def _random(options: Options, key: str, accept: Accept, patience: int) -> Iterator[Configuration]:
    """Random draws: a shuffle of the space if it can be listed, else random points without repeats."""
    if _listable(options):
        return filter(accept, _shuffled(options, key))
    return _at_points(options, _random_points(options, key), accept, set(), patience)


def _sobol(options: Options, key: str, accept: Accept, patience: int) -> Iterator[Configuration]:
    """The configurations at the points of a Sobol sequence, without repeats."""
    seen: set[tuple[Scalar, ...]] = set()
    if options.dimensions > 0:
        yield from _at_points(options, _sobol_points(options, key), accept, seen, patience)
    if _listable(options):
        # A Sobol sequence may take long to reach the last few configurations: they follow in random order.
        for values in _shuffled(options, key):
            if _identity(values) not in seen and accept(values):
                yield values


SAMPLERS: Mapping[str, Sampler] = {
    "random": Sampler(_random, without_replacement=True),
    "grid": Sampler(_grid, without_replacement=True, exhaustive=True),
    # Its configurations are distinct, but a Sobol sequence is not a simple random sample.
    "sobol": Sampler(_sobol, without_replacement=False),
}
"""The samplers of a study's `sampling.strategy`, by name."""


def _listable(options: Options) -> bool:
    size = options.size()
    return size is not None and size <= LISTABLE


def _shuffled(options: Options, key: str) -> Iterator[Configuration]:
    parts = list(options.fragments())
    weights = np.array([part.weight for part in parts])
    arrival = _generator(key).exponential(size=len(parts)) / weights
    for index in np.argsort(arrival, kind="stable"):
        yield parts[index].values


def _at_points(
    options: Options, points: Iterator[Sequence[float]], accept: Accept, seen: set[tuple[Scalar, ...]], patience: int
) -> Iterator[Configuration]:
    """The accepted configurations at a sequence of points, without repeats, until `patience` rejections in a row."""
    rejected = 0
    for point in points:
        values = options.at(point)
        identity = _identity(values)
        if identity in seen or not accept(values):
            rejected += 1
            if rejected >= patience:
                return
            continue
        rejected = 0
        seen.add(identity)
        yield values


def _identity(values: Mapping[str, Scalar]) -> tuple[Scalar, ...]:
    return tuple(itertools.chain.from_iterable(values.items()))


def _random_points(options: Options, key: str) -> Iterator[Sequence[float]]:
    generator = _generator(key)
    while True:
        yield generator.random(options.dimensions).tolist()


def _sobol_points(options: Options, key: str) -> Iterator[Sequence[float]]:
    """A scrambled Sobol sequence of points [dimensions], in blocks of 64 because it is balanced at powers of two."""
    from scipy.stats import qmc  # here, because scipy.stats is slow to import

    engine = qmc.Sobol(options.dimensions, scramble=True, rng=_generator(key))
    while True:
        yield from engine.random(64).tolist()


def _generator(key: str) -> np.random.Generator:
    return np.random.default_rng(int.from_bytes(hashlib.sha256(key.encode()).digest()[:16], "little"))
