"""`--set training.epochs=5`: a field of a study file, given on the command line."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from robustness.errors import StudyFileError
from robustness.study.yaml_reader import read_text, shown


def override(data: dict[str, Any], text: str, find_space: Callable[[str], Mapping[str, Any]]) -> None:
    """Put one `a.b=VALUE` into a study's data; VALUE is read as YAML.

    A space that the study names is written out first, by `find_space`, if one of its options is to be changed.
    """
    path, equals, value_text = text.partition("=")
    keys = path.strip().split(".")
    if not equals or not all(keys):
        raise StudyFileError(f"--set {shown(text)}: must be key=value, such as training.epochs=5")
    value = read_text(value_text, f"--set {path.strip()}", StudyFileError)
    if keys[0] == "space" and len(keys) > 1 and isinstance(data.get("space"), str):
        data["space"] = dict(find_space(data["space"]))
    place = data
    for depth, key in enumerate(keys[:-1], start=1):
        if place.get(key) is None:
            place[key] = {}
        if not isinstance(place[key], dict):
            found = ".".join(keys[:depth])
            raise StudyFileError(f"--set {path}: {found} is {shown(place[key])}, which has no keys of its own")
        place = place[key]
    place[keys[-1]] = value
