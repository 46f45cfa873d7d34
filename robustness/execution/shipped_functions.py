"""Functions of the driver's process on their way to workers: pickled by value where no module has them.

Their pickle goes through Ray's object store, never into the SQL store.
"""

from __future__ import annotations

import ray
from ray import cloudpickle

from robustness.errors import StudyFileError
from robustness.execution.wording import error_line
from robustness.plugins import functions_of, provide_functions

_provided: dict[str, ray.ObjectRef[bytes]] = {}


def pickled(study: str) -> bytes | None:
    """Return a study's functions as bytes; None if it has none.

    Raises StudyFileError if they cannot be sent, such as a closure over an open file.
    """
    functions = functions_of(study)
    if functions is None:
        return None
    try:
        data: bytes = cloudpickle.dumps(dict(functions))  # type: ignore[no-untyped-call]
    except Exception as error:
        raise StudyFileError(
            f"the functions cannot be sent to workers ({error_line(error)}): create what they need inside them, or use "
            "inline=True"
        ) from None
    return data


def provide(study: str, reference: ray.ObjectRef[bytes]) -> None:
    """Give the functions to this process, once."""
    if _provided.get(study) == reference:
        return
    provide_functions(study, cloudpickle.loads(ray.get(reference)))
    _provided[study] = reference
