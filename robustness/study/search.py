"""The parts of a study file that `robustness optimize` needs: read and held against the rest of the file."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from robustness.errors import StudyFileError, unknown_name
from robustness.study.sections import Search
from robustness.sweep.outcomes import OBJECTIVES

if TYPE_CHECKING:
    from robustness.space.space import Space
    from robustness.study.study import Study

PRUNING_PLACE = (
    "belongs under `search`; the trials of a sweep are pairs, which are only compared fairly when both run to their end"
)


def with_budget(data: Mapping[str, Any]) -> dict[str, Any]:
    """A study's data in which `search.runs` stands for the number of configurations, which it then need not give."""
    filled = dict(data)
    search, sampling = filled.get("search"), filled.get("sampling", {})
    if isinstance(search, Mapping) and isinstance(sampling, Mapping):
        runs = search.get("runs", Search.model_fields["runs"].default)
        # A number of runs that is none is complained of where it stands.
        known = runs if isinstance(runs, int) and runs >= 1 else 1
        filled["sampling"] = {"configurations": known, **sampling}
    return filled


def read_spaces(search: Search, read: Callable[[str | Mapping[str, Any]], Space]) -> dict[str, Space]:
    """The spaces of the arms that have one of their own."""
    return {arm: read(entry) for arm, entry in search.spaces.items()}


def check_search(study: Study) -> None:
    """Raise StudyFileError where `search` or `finals` does not fit the rest of a study."""
    labels = [arm.label for arm in study.arms]
    if study.finals is not None:
        for key, chosen in (("arms", study.finals.arms), ("planned", study.finals.planned)):
            for position, label in enumerate(chosen or ()):
                if label not in labels:
                    raise StudyFileError(f"finals.{key}.{position}: {unknown_name('arm', label, labels)}")
    if study.search is None:
        if study.finals is not None:
            raise StudyFileError("finals: needs `search`, which finds the configurations of final models")
        return
    search = study.search
    for key, given in (("spaces", search.spaces), ("models", search.models)):
        for label in given:
            if label not in labels:
                raise StudyFileError(f"search.{key}.{label}: {unknown_name('arm', label, labels)}")
    if study.outcomes.learned_nothing.below is None:
        raise StudyFileError(
            "outcomes.learned_nothing: thresholds that are found are for sweeps; a study with `search` compares its "
            "best models: give {below: number}"
        )
    if study.stop is not None:
        raise StudyFileError("stop: is for sweeps; a study with `search` ends after search.runs")
    if study.sampling.configurations != search.runs:
        raise StudyFileError(
            f"sampling.configurations: leave it out or make it search.runs ({search.runs}), "
            f"found {study.sampling.configurations}"
        )
    if search.objective is not None and not study.built_in:
        raise StudyFileError("search.objective: is for the built-in trainable; outcomes.metric names yours")
    pretrained = study.training.get("pretrain_epochs", 0)
    if search.epochs is not None and study.built_in and search.epochs <= pretrained:
        raise StudyFileError(
            f"search.epochs: must be more than training.pretrain_epochs ({pretrained}), found {search.epochs}"
        )
    if search.warm_start == study.name:
        raise StudyFileError("search.warm_start: names this study itself")


def objective(study: Study) -> str:
    """The measure that is optimised."""
    name = study.search.objective if study.search is not None else None
    return study.outcomes.metric if name is None else OBJECTIVES[name]
