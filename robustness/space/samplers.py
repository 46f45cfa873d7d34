"""Drawing configurations: random, grid or Sobol sequences in which the first n are the same however many are asked for.

Strata are taken in turn, each with a sequence of its own, so every prefix is balanced; a stratum that has run out
leaves its turns to the others. A crossed factor runs each draw of the other options with all its choices; cells that
the condition forbids are passed over. A finite space is drawn without replacement: sorting by e_i / w_i, e_i ~ Exp(1),
is the order in which draws with probabilities w_i, repeats drawn again, first show each configuration (Efraimidis and
Spirakis 2006).
"""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Literal, TypeAlias, get_args

import numpy as np

from robustness.errors import SearchSpaceError, unknown_name
from robustness.space.options import Options, Scalar
from robustness.space.space import LISTABLE, Configuration, Space

Strategy: TypeAlias = Literal["random", "grid", "sobol"]
Accept: TypeAlias = Callable[[Mapping[str, Scalar]], bool]

PATIENCE = 10_000
"""So many draws in a row that are forbidden or repeats end a sequence that cannot be listed."""
BARREN = 1_000
"""So many draws of the other options in a row, none of them allowed with any crossed choice, end a crossed sequence."""


def draw(space: Space, strategy: str, count: int | None, seed: int) -> list[Configuration]:
    """The first `count` configurations of a space; raises SearchSpaceError if there are fewer."""
    if strategy not in get_args(Strategy):
        raise SearchSpaceError(f"sampling.strategy: {unknown_name('strategy', strategy, get_args(Strategy))}")
    if strategy == "grid":
        _check_grid(space)
    allowed = space.allowed()
    if count is None and allowed is None:
        raise SearchSpaceError("sampling.configurations: is missing: this space cannot be listed in full")
    wanted = allowed if count is None and allowed is not None else count or 0
    strata = {str(levels): space.options.fixed(levels) for levels in _combinations(space.options, space.stratify)}
    strata = {place: options for place, options in strata.items() if space.possible(options)}
    if not strata:
        raise SearchSpaceError("where: the condition leaves no configuration of the space")
    if allowed is not None and wanted > allowed:
        left = f" (of {space.size():,} before its condition)" if space.conditions else ""
        raise SearchSpaceError(
            f"sampling.configurations: {wanted} configurations are asked for, but the space has only {allowed}{left}"
        )
    sequences = [_stratum(space, options, strategy, f"{seed}/{strategy}/{place}") for place, options in strata.items()]
    found = list(itertools.islice(_in_turn(sequences), wanted))
    if len(found) < wanted:
        raise SearchSpaceError(
            f"sampling.configurations: {wanted} configurations are asked for, but only {len(found)} were found "
            f"before {PATIENCE:,} draws in a row were repeats or forbidden by the condition"
        )
    return [space.in_order(configuration) for configuration in found]


def _check_grid(space: Space) -> None:
    size = space.size()
    if size is None:
        ranges = ", ".join(space.options.continuous())
        raise SearchSpaceError(f"sampling.strategy: a grid needs lists of values, but these are ranges: {ranges}")
    if size > LISTABLE:
        raise SearchSpaceError(f"sampling.strategy: a grid of {size:,} is too large (at most {LISTABLE:,})")


def _combinations(options: Options, names: Sequence[str]) -> list[dict[str, Scalar]]:
    """Every combination of some options' choices; one empty one if there are no such options."""
    return [dict(zip(names, levels, strict=True)) for levels in itertools.product(*map(options.levels, names))]


def _in_turn(sequences: list[Iterator[Configuration]]) -> Iterator[Configuration]:
    """One from each sequence, again and again, until all have ended."""
    while sequences:
        going: list[Iterator[Configuration]] = []
        for sequence in sequences:
            configuration = next(sequence, None)
            if configuration is not None:
                yield configuration
                going.append(sequence)
        sequences = going


def _stratum(space: Space, options: Options, strategy: str, key: str) -> Iterator[Configuration]:
    """Every configuration of one stratum that the condition allows, each once."""
    if not space.cross:
        yield from _sequence(options, strategy, key, space.accepts)
        return
    cells = [options.only(space.cross).fixed(levels) for levels in _combinations(options, space.cross)]
    sequences: list[Iterator[Configuration]] = []
    barren = 0
    for number, base in enumerate(_sequence(options.without(space.cross), strategy, f"{key}/base", _anything)):
        block = [_cell(space, base, cell, strategy, f"{key}/{number}/{place}") for place, cell in enumerate(cells)]
        firsts = [configuration for sequence in block for configuration in itertools.islice(sequence, 1)]
        yield from firsts
        sequences += block
        barren = 0 if firsts else barren + 1
        if barren == BARREN:
            return
    # The other options have run out; what the crossed ones bring with them may have more.
    yield from _in_turn(sequences)


def _cell(space: Space, base: Configuration, cell: Options, strategy: str, key: str) -> Iterator[Configuration]:
    """The configurations of one draw of the other options and one combination of the crossed ones' choices."""
    # One point of a scrambled Sobol sequence is no better than a random one.
    strategy = "random" if strategy == "sobol" else strategy
    for values in _sequence(cell, strategy, key, lambda values: space.accepts({**base, **values}), patience=100):
        yield {**base, **values}


def _anything(_: Mapping[str, Scalar]) -> bool:
    return True


def _sequence(
    options: Options, strategy: str, key: str, accept: Accept, patience: int = PATIENCE
) -> Iterator[Configuration]:
    """Every accepted configuration of some options, each once, in an order decided by strategy and key alone."""
    size = options.size()
    listable = size is not None and size <= LISTABLE
    if strategy == "grid":
        yield from (part.values for part in options.fragments() if accept(part.values))
    elif options.dimensions == 0:
        yield from (values for values in [options.at(())] if accept(values))
    elif strategy == "random" and listable:
        yield from (values for values in _shuffled(options, key) if accept(values))
    else:
        points = _sobol_points(options, key) if strategy == "sobol" else _random_points(options, key)
        seen: set[tuple[Scalar, ...]] = set()
        yield from _placed(options, points, accept, seen, patience)
        if listable:
            # A Sobol sequence may take long to come to the last few: they follow in random order.
            for values in _shuffled(options, key):
                if _identity(values) not in seen and accept(values):
                    yield values


def _shuffled(options: Options, key: str) -> Iterator[Configuration]:
    parts = list(options.fragments())
    weights = np.array([part.weight for part in parts])
    arrival = _generator(key).exponential(size=len(parts)) / weights
    for index in np.argsort(arrival, kind="stable"):
        yield parts[index].values


def _placed(
    options: Options, points: Iterator[Sequence[float]], accept: Accept, seen: set[tuple[Scalar, ...]], patience: int
) -> Iterator[Configuration]:
    """The configurations at a sequence of points, without repeats; ends when none comes for long."""
    in_vain = 0
    for point in points:
        values = options.at(point)
        identity = _identity(values)
        if identity in seen or not accept(values):
            in_vain += 1
            if in_vain >= patience:
                return
            continue
        in_vain = 0
        seen.add(identity)
        yield values


def _identity(values: Mapping[str, Scalar]) -> tuple[Scalar, ...]:
    return tuple(itertools.chain.from_iterable(values.items()))


def _random_points(options: Options, key: str) -> Iterator[Sequence[float]]:
    generator = _generator(key)
    while True:
        yield generator.random(options.dimensions).tolist()


def _sobol_points(options: Options, key: str) -> Iterator[Sequence[float]]:
    """A scrambled Sobol sequence, [dimensions] each; taken by 64 since its balance comes in powers of two."""
    from scipy.stats import qmc

    engine = qmc.Sobol(options.dimensions, scramble=True, rng=_generator(key))
    while True:
        yield from engine.random(64).tolist()


def _generator(key: str) -> np.random.Generator:
    return np.random.default_rng(int.from_bytes(hashlib.sha256(key.encode()).digest()[:16], "little"))
