"""Ensembles made of models that are trained already: their predictions together, without training.

An arm of method `deep_ensemble` is made of the final models of a `deterministic` arm, one of `radial_ensemble` of those
of a `radial` arm, where the study has one with the same options. Without it, or with a space or a network of its own,
an ensemble is searched and trained as any other arm.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from robustness.errors import StudyFileError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from robustness.study.arms import Arm
    from robustness.study.study import Study

MEMBERS = {"deep_ensemble": "deterministic", "radial_ensemble": "radial"}
"""For each ensemble the method of its members."""
USUAL_MEMBERS = 3
FROM_MEMBERS = "from trained members"
"""What stands in the store for the worker of an ensemble that was not trained itself."""


def members_of(study: Study) -> dict[str, str]:
    """For each ensemble among the arms that is made of trained models: the arm that they are of."""
    return members_among(study.arms, {*study.spaces, *(study.search.models if study.search else ())})


def members_among(arms: Sequence[Arm], own: Collection[str]) -> dict[str, str]:
    """`members_of` these arms, of which those in `own` have a space or a network of their own."""
    found: dict[str, str] = {}
    for arm in arms:
        for other in arms:
            if other.method == MEMBERS.get(arm.method) and arm.label not in own and _alike(arm, other):
                found.setdefault(arm.label, other.label)
    return found


def size_of(study: Study, label: str) -> int:
    """How many members an ensemble has."""
    return ensemble_size(next(arm for arm in study.arms if arm.label == label))


def ensemble_size(arm: Arm) -> int:
    """How many members an ensemble has."""
    return int(arm.options.get("members", USUAL_MEMBERS))


def final_counts(study: Study) -> dict[str, int]:
    """How many final models each arm gets: as many as asked for, and enough for the ensembles made of them."""
    if study.finals is None:
        return {}
    return final_models(study.arms, members_of(study), study.finals.arms, study.finals.replicates)


def final_models(
    arms: Sequence[Arm], members: Mapping[str, str], wanted: Collection[str] | None, replicates: int
) -> dict[str, int]:
    """`final_counts` of these arms, if `wanted` (None is all) get so many models."""
    sizes = {arm.label: ensemble_size(arm) for arm in arms}
    counts = {label: replicates for label in sizes if wanted is None or label in wanted}
    for label in list(counts):
        if label in members:
            del counts[label]
            counts[members[label]] = max(counts.get(members[label], 0), sizes[label])
    return counts


def combine(members: Sequence[Mapping[str, NDArray[Any]]]) -> dict[str, NDArray[Any]]:
    """The predictions of an ensemble: the draws of all members, [members x draws, n, classes], on the same pictures."""
    import numpy as np

    if not members:
        raise ValueError("an ensemble has at least one member")
    first = members[0]
    for other in members[1:]:
        if not all(np.array_equal(first[name], other[name]) for name in ("labels", "patients")):
            raise StudyFileError("the members of an ensemble have predicted different pictures")
        if first["probabilities"].shape != other["probabilities"].shape:
            raise StudyFileError("the members of an ensemble have different numbers of draws, so none counts the same")
    together = np.concatenate([member["probabilities"] for member in members])
    return {"labels": first["labels"], "patients": first["patients"], "probabilities": together}


def _alike(ensemble: Arm, member: Arm) -> bool:
    """Whether an arm's models can be the ensemble's members: it has their options."""
    return {name: value for name, value in ensemble.options.items() if name != "members"} == dict(member.options)
