"""Ensembles that combine the predictions of already trained models.

A `deep_ensemble` arm is made of the final models of a `deterministic` arm, and a `radial_ensemble` arm of those of a
`radial` arm, if the study has one with the same options. Without such an arm, or with its own space or network, an
ensemble is searched and trained like any other arm.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from robustness.errors import StudyFileError
from robustness.study.arms import Arm

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from robustness.study.study import Study

MEMBERS = {"deep_ensemble": "deterministic", "radial_ensemble": "radial"}
"""The method of the members of each ensemble method."""
USUAL_MEMBERS = 3
FROM_MEMBERS = "from trained members"
"""The worker, in the store, of an ensemble that was not trained itself."""


def members_of(study: Study) -> dict[str, str]:
    """The arm that provides the members of each ensemble made of trained models."""
    models = study.search.models if study.search else ()
    return members_among(study.arms, {*study.spaces, *models, *(a.label for a in study.arms if a.has_own_sections)})


def members_in(document: Mapping[str, Any]) -> dict[str, str]:
    """`members_of` a study with `search`, from its stored document."""
    arms = [Arm(arm["label"], arm["method"], arm["options"]) for arm in document["arms"]]
    own = [arm["label"] for arm in document["arms"] if not {"space", "training", "model"}.isdisjoint(arm)]
    return members_among(arms, {*document["search"]["spaces"], *document["search"]["models"], *own})


def members_among(arms: Sequence[Arm], own: Collection[str]) -> dict[str, str]:
    """`members_of` these arms; those in `own` have their own space or network."""
    members: dict[str, str] = {}
    for arm in arms:
        for other in arms:
            if other.method == MEMBERS.get(arm.method) and arm.label not in own and _alike(arm, other):
                members.setdefault(arm.label, other.label)
    return members


def size_of(study: Study, label: str) -> int:
    """The number of members of the ensemble with this label."""
    return ensemble_size(next(arm for arm in study.arms if arm.label == label))


def ensemble_size(arm: Arm) -> int:
    """The number of members of an ensemble."""
    return int(arm.options.get("members", USUAL_MEMBERS))


def final_counts(study: Study) -> dict[str, int]:
    """The number of final models to train for each arm: `finals.replicates`, and enough for each ensemble."""
    if study.finals is None:
        return {}
    return final_models(study.arms, members_of(study), study.finals.arms, study.finals.replicates)


def final_models(
    arms: Sequence[Arm], members: Mapping[str, str], wanted: Collection[str] | None, replicates: int
) -> dict[str, int]:
    """`final_counts` of these arms, with `replicates` models for each wanted arm (None: all)."""
    sizes = {arm.label: ensemble_size(arm) for arm in arms}
    counts = {label: replicates for label in sizes if wanted is None or label in wanted}
    for label in list(counts):
        if label in members:
            del counts[label]
            counts[members[label]] = max(counts.get(members[label], 0), sizes[label])
    return counts


def combine(members: Sequence[Mapping[str, NDArray[Any]]]) -> dict[str, NDArray[Any]]:
    """The predictions of an ensemble: the draws of all members, [members x draws, n, classes], on the same pictures."""
    import numpy as np  # here, because `robustness status` reads the counts above without numpy

    if not members:
        raise ValueError("an ensemble has at least one member")
    first = members[0]
    for other in members[1:]:
        if not all(np.array_equal(first[name], other[name]) for name in ("labels", "patients")):
            raise StudyFileError("the members of an ensemble have predicted different pictures")
        if first["probabilities"].shape != other["probabilities"].shape:
            raise StudyFileError("the members of an ensemble have different numbers of draws or classes")
    probabilities = np.concatenate([member["probabilities"] for member in members])
    return {"labels": first["labels"], "patients": first["patients"], "probabilities": probabilities}


def _alike(ensemble: Arm, member: Arm) -> bool:
    """Whether an ensemble has the options of an arm, so that the arm's models can be its members."""
    return {name: value for name, value in ensemble.options.items() if name != "members"} == dict(member.options)
