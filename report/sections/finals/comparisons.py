"""Every two arms of final models against each other, by their AUCs on the test set."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations

from report.sections.finals.arm_aucs import GRID, ArmAucs, finite
from report.sections.finals.entries import AucDifference, FinalComparison, ReferredDifference
from robustness.metrics import REFERRED
from robustness.statistics.nested import difference_of_arms
from robustness.statistics.paired import holm


def comparisons(
    arms: Mapping[str, ArmAucs], planned: Sequence[str] | None, members: Mapping[str, str]
) -> list[FinalComparison]:
    """Every two arms: the difference of their mean AUCs at each referred fraction, tested with nothing referred.

    All arms have the same resamples of patients, so they are paired; an ensemble also shares its searches with the arm
    that provides its members. `searches` is the smaller number of searches of the two arms: with 1, the interval says
    nothing about other searches. `p_adjusted` is Holm's over all pairs but the planned one, which stands by itself;
    `p_among_all` counts it in.
    """
    entries: list[FinalComparison] = []
    for first, second in combinations(arms, 2):
        one, other = arms[first], arms[second]
        shared = members.get(first, first) == members.get(second, second)
        differences = {fraction: _difference(one, other, GRID.index(fraction), shared) for fraction in REFERRED}
        at: list[ReferredDifference] = [{"referred": fraction, **each} for fraction, each in differences.items()]
        unreferred = differences[REFERRED[0]]
        entries.append(
            {
                "arms": [first, second],
                "searches": min(len(set(one.searches)), len(set(other.searches))),
                **unreferred,
                "at": at,
                "p_adjusted": unreferred["p_value"],
                "p_among_all": unreferred["p_value"],
            }
        )
    for entry, value in _with_holm(entries):
        entry["p_among_all"] = value
    # The planned comparison is a single test; the others were selected among all pairs, and are corrected for that.
    for entry, value in _with_holm([entry for entry in entries if set(entry["arms"]) != set(planned or ())]):
        entry["p_adjusted"] = value
    return entries


def _with_holm(family: Sequence[FinalComparison]) -> Iterator[tuple[FinalComparison, float]]:
    """The comparisons that were tested, each with its p-value by Holm."""
    tested = [(entry, p_value) for entry in family if (p_value := entry["p_value"]) is not None]
    adjusted = holm([p_value for _, p_value in tested])
    return ((entry, value) for (entry, _), value in zip(tested, adjusted, strict=True))


def _difference(one: ArmAucs, other: ArmAucs, place: int, shared: bool) -> AucDifference:
    """The difference of two arms at a place of the grid."""
    resampled = one.means[1:, place] - other.means[1:, place]
    tested = difference_of_arms(one.at(place), other.at(place), resampled, shared)
    return {
        "difference": finite(tested.difference),
        "low": finite(tested.low),
        "high": finite(tested.high),
        "p_value": finite(tested.p_value),
        "degrees_of_freedom": finite(tested.degrees_of_freedom),
        "pictures_error": finite(tested.pictures_error),
        "models_error": finite(tested.models_error),
        "searches_error": finite(tested.searches_error),
    }
