"""Whether any machine has what a trial asks for: a trial that fits nowhere would wait for ever."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from robustness.errors import RobustnessError
from robustness.execution.protocol import Share

_GIGABYTE = 1e9


class ResourcesMissing(RobustnessError):
    """No machine has the resources that a trial asks for."""


def asked(share: Share) -> dict[str, float]:
    """Return what a trial asks for, by Ray's names of resources; memory in bytes."""
    amounts = {"CPU": share.cpu, "GPU": share.gpu, "memory": share.memory * _GIGABYTE}
    return {name: amount for name, amount in amounts.items() if amount}


def fits(share: Share, machines: Sequence[Mapping[str, float]]) -> bool:
    """Whether one of the machines has all that a trial asks for."""
    wanted = asked(share)
    return any(all(machine.get(name, 0.0) >= amount for name, amount in wanted.items()) for machine in machines)


def missing(share: Share, machines: Sequence[Mapping[str, float]], place: str) -> str:
    """Return the sentence about a trial that fits nowhere: what it asks for, and the largest machine's resources."""
    largest = max(machines, key=lambda machine: (machine.get("GPU", 0.0), machine.get("CPU", 0.0)), default={})
    # What was not asked for is left out, too, unless it is what a machine is known by.
    has = {"CPU": 0.0, **dict.fromkeys(asked(share), 0.0)}
    has = {name: largest.get(name, 0.0) for name in has}
    return f"resources: a trial asks for {in_words(asked(share))}, but {place} has {in_words(has)}"


def check_machine(share: Share) -> None:
    """Raise `ResourcesMissing` unless a trial fits on this machine."""
    machines = [this_machine(gpus=share.gpu > 0)]
    if not fits(share, machines):
        raise ResourcesMissing(
            f"{missing(share, machines, 'this machine')}; change `resources` in the study file, "
            "use --set resources.KEY=VALUE, or run it on a cluster with --ray-address"
        )


def this_machine(gpus: bool) -> dict[str, float]:
    """Return the cores and bytes of memory of this machine and, if `gpus` are of interest, their number."""
    found = {"CPU": float(os.cpu_count() or 1)}
    if hasattr(os, "sysconf") and "SC_PHYS_PAGES" in os.sysconf_names:
        found["memory"] = float(os.sysconf("SC_PAGE_SIZE")) * os.sysconf("SC_PHYS_PAGES")
    else:
        found["memory"] = float("inf")
    if gpus:
        found["GPU"] = float(_gpu_count())
    return found


def in_words(amounts: Mapping[str, float]) -> str:
    """Return resources as text: `4 CPUs, 1 GPU and 8 GB of memory`."""
    words = []
    for name, amount in amounts.items():
        if name == "memory":
            words.append(f"{_shown(amount / _GIGABYTE)} GB of memory")
        else:
            words.append(f"{_shown(amount)} {name}{'' if amount == 1 else 's'}")
    return " and ".join(filter(None, (", ".join(words[:-1]), words[-1]))) if words else "nothing"


def _shown(amount: float) -> str:
    return f"{amount:,.0f}" if amount == round(amount) else f"{amount:,.3g}" if amount < 100 else f"{amount:,.0f}"


def _gpu_count() -> int:
    devices = len(list(Path("/dev").glob("nvidia[0-9]*")))
    if devices:
        return devices
    import torch  # only a study that asks for a GPU needs it here

    return torch.cuda.device_count()
