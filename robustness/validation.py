"""Options from files, read into typed records; an error is one line with the key, the value and the fix."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeVar, get_args

from pydantic import BaseModel, ConfigDict, ValidationError

from robustness.errors import RobustnessError, dotted, shown, unknown_name

MOST_FAULTS = 4
"""Keys that a line names beside the first fault."""
_Options = TypeVar("_Options", bound=BaseModel)


class StrictOptions(BaseModel):
    """Options that reject unknown keys and never take text for a number."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


def read_options(
    kind: type[_Options],
    data: Mapping[str, Any],
    section: str,
    error: type[RobustnessError],
    *,
    strict: bool | None = None,
) -> _Options:
    """Read a mapping into its typed record; raises `error` with one line that starts with the section's name.

    A section of several words (`arm radial`) is followed by a comma, a key of the file (`training`) by a dot.
    """
    values = dict(data)
    try:
        return kind.model_validate(values, strict=strict)
    except ValidationError as problem:
        separator = ", " if " " in section else "."
        raise error(f"{section}{separator}{first_fault(problem, kind, values)}") from None


def first_fault(error: ValidationError, model: type[BaseModel], data: Any) -> str:
    """Return one line on the first fault and the keys of others; unknown keys come first, being mostly typos."""
    faults = error.errors(include_url=False)
    fault = min(faults, key=lambda fault: fault["type"] != "extra_forbidden")
    path = _path(fault["loc"], data, fault["type"])
    others = list(dict.fromkeys(dotted(_path(each["loc"], data, each["type"])) for each in faults))
    others.remove(dotted(path))
    return f"{dotted(path)}: {_description(fault, path, model)}{_also_wrong(others)}"


def _also_wrong(places: Sequence[str]) -> str:
    """` (also wrong: training.rate, arms.0)`, or nothing."""
    rest = f" and {len(places) - MOST_FAULTS} more" if len(places) > MOST_FAULTS else ""
    return f" (also wrong: {', '.join(places[:MOST_FAULTS])}{rest})" if places else ""


def _description(fault: Any, path: list[str | int], model: type[BaseModel]) -> str:
    match fault["type"]:
        case "extra_forbidden":
            return unknown_name("key", path[-1], _fields_at(model, path[:-1]))
        case "missing":
            return "is missing"
        case "model_type" | "dict_type" | "mapping_type":
            return f"must be a mapping of keys to values, found {shown(fault['input'])}"
        case "string_pattern_mismatch" if path[-1:] == ["trainable"]:
            return f"must be a built-in name or package.module:function, found {shown(fault['input'])}"
        case "too_short":
            least = fault["ctx"]["min_length"]
            return f"must have at least {least} {'entry' if least == 1 else 'entries'}, found {shown(fault['input'])}"
        case "value_error":
            return str(fault["msg"]).removeprefix("Value error, ")
    message = str(fault["msg"]).replace("Input should", "must")
    return f"{message}, found {shown(fault['input'])}"


def _path(location: tuple[str | int, ...], data: Any, kind: str) -> list[str | int]:
    """Return the path of keys to a fault, without pydantic's names for the members of a union."""
    path: list[str | int] = []
    for key in location:
        inside = (isinstance(data, Mapping) and key in data) or (
            isinstance(data, list) and isinstance(key, int) and key < len(data)
        )
        if not inside:
            return [*path, location[-1]] if kind == "missing" else path
        path.append(key)
        data = data[key]
    return path


def _fields_at(model: type[BaseModel], path: list[str | int]) -> list[str]:
    """Return the keys of the model at this path."""
    for key in path:
        field = model.model_fields.get(str(key))
        kinds = [] if field is None else [field.annotation, *get_args(field.annotation)]
        inner = next((kind for kind in kinds if isinstance(kind, type) and issubclass(kind, BaseModel)), None)
        if inner is None:
            return []
        model = inner
    return list(model.model_fields)
