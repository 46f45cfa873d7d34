"""The precision of forward passes: what this machine computes in, and what `precision: auto` comes to on it.

Nothing here imports torch before a study trains on a GPU, so that studies are checked without it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Literal, TypeAlias

from robustness.errors import StudyFileError
from robustness.study.changes import present_training

Precision: TypeAlias = Literal["float32", "bfloat16", "auto"]

CPU_FLAGS = {"avx512_bf16": "AVX-512 BF16", "amx_bf16": "AMX", "bf16": "Arm BF16"}
"""Features of a processor that multiplies in bfloat16, as Linux lists them. Others emulate it, slower than float32."""
CPU_INFO = Path("/proc/cpuinfo")


def cpu_features() -> tuple[str, ...]:
    """The features with which this processor computes in bfloat16; empty where it has none or they are unknown."""
    flags = set(_flags())
    return tuple(words for flag, words in CPU_FLAGS.items() if flag in flags)


def settled_training(training: Mapping[str, Any], registered: Mapping[str, Any] | None, gpu: bool) -> dict[str, Any]:
    """Return a `training` section whose precision is no longer `auto`.

    It is that of the registered section, if there is one, else bfloat16 where the device computes in it. `gpu` tells
    whether trials train on a GPU of this machine.
    """
    settled = present_training(training)
    if settled.get("precision") != "auto":
        return settled
    if registered is not None:
        return settled | {"precision": present_training(registered).get("precision", "float32")}
    return settled | {"precision": "bfloat16" if has_bfloat16(gpu) else "float32"}


def has_bfloat16(gpu: bool) -> bool:
    """Whether the device that trials train on computes in bfloat16; False if this machine has no such device."""
    if not gpu:
        return bool(cpu_features())
    import torch  # only for studies on a GPU

    return torch.cuda.is_available() and torch.cuda.is_bf16_supported(including_emulation=False)


def refuse_emulation(precision: str, gpu: bool, key: str = "training.precision") -> None:
    """Raise unless the device computes in the precision itself."""
    if precision != "bfloat16" or has_bfloat16(gpu):
        return
    device = "GPU" if gpu else "processor"
    needed = "one that does" if gpu else " or ".join(CPU_FLAGS)
    raise StudyFileError(
        f"{key}: is bfloat16, which this {device} does not compute in (needs {needed}); "
        "emulation would be slower than float32"
    )


def _flags() -> Iterator[str]:
    """The features of the first processor that Linux lists; nothing on other systems."""
    try:
        lines = CPU_INFO.read_text().splitlines()
    except OSError:
        return
    for line in lines:
        key, _, values = line.partition(":")
        if key.strip() in ("flags", "Features"):
            yield from values.split()
            return
