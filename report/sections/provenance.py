"""The provenance of a report: study file, seed, versions, commit, hardware, time, and the commands that repeat it.

Nothing here depends on when or where the page is written. The store's address, which may hold a password, is left out.
"""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import pandas as pd
import yaml

from report.document import Numbers
from report.frames import Stored, StudyFrames
from report.words import spaced, text
from robustness.errors import plural
from robustness.optimize.ensembles import FROM_MEMBERS

MAIN_PACKAGES = ("python", "robustness-study", "torch", "numpy", "pandas", "ray", "optuna")
MOST_ERRORS = 50


@dataclass(frozen=True)
class Provenance:
    """The last part of the page."""

    facts: tuple[tuple[str, str], ...]
    commands: tuple[str, ...]
    document: str
    versions: tuple[tuple[str, str], ...]
    errors: Numbers | None
    document_name: str = "The study file, defaults filled in"
    commands_do: str = "These commands repeat it"


def provenance(frames: StudyFrames) -> Provenance:
    """Everything a reader needs to reproduce the results."""
    if frames.document.get("trainable") == "imported":
        return _imported(frames)
    document = dict(frames.document)
    versions = {str(name): str(version) for name, version in (frames.provenance.get("versions") or {}).items()}
    return Provenance(
        facts=tuple((term, value) for term, value in _facts(frames, versions) if value),
        commands=_commands(frames),
        document=yaml.safe_dump(document, sort_keys=False, allow_unicode=True, width=100),
        versions=tuple(versions.items()),
        errors=_errors(frames.trials),
    )


def _imported(frames: StudyFrames) -> Provenance:
    """The provenance of runs made elsewhere: their source, and what the import decided; nothing of this machine."""
    about = frames.document.get("imported") or {}
    started, ended = frames.trials["started"].min(), frames.trials["ended"].max()
    hours = float(frames.trials["seconds"].sum()) / 3600
    facts = [
        ("Study", frames.name),
        ("Source", str(about.get("source", ""))),
        ("Imported", _moment(frames.provenance.get("created"))),
        ("Decided", "; ".join(map(str, about.get("remarks") or ()))),
        ("Proposed", _proposed(about)),
        _seeds(frames.trials, about.get("seeds") or ()),
        ("First run began", "" if pd.isna(started) else _moment(started.timestamp())),
        ("Last run ended", "" if pd.isna(ended) else _moment(ended.timestamp())),
        ("Time", f"{hours:.2f} hours of runs" if hours else ""),
    ]
    return Provenance(
        facts=tuple((term, value) for term, value in facts if value),
        commands=(f"robustness report {shlex.quote(frames.name)}",),
        document=yaml.safe_dump(dict(frames.document), sort_keys=False, allow_unicode=True, width=100),
        versions=(),
        errors=_errors(frames.trials),
        document_name="The import, as stored",
        commands_do="Recreate this page with",
    )


def _proposed(about: Stored) -> str:
    """How the configurations of imported runs were proposed; empty if they were drawn for certain."""
    how = "adaptively, so fractions describe the search, not the space" if about.get("adaptive") else "independently"
    if about.get("adaptive_is_assumed"):
        return f"{how} (assumed: the source does not record it)"
    return how if about.get("adaptive") else ""


def _seeds(trials: pd.DataFrame, seeds: Sequence[Any]) -> tuple[str, str]:
    """The seeds of imported runs, and of a single one what it is of."""
    single = len(seeds) == 1 and not trials.duplicated(["configuration", "arm"]).any()
    return (
        (
            "Runs",
            f"one for each configuration and arm; the seed or replicate that the source names is {seeds[0]} for all",
        )
        if single
        else ("Seeds", ", ".join(map(str, seeds)))
    )


def _facts(frames: StudyFrames, versions: dict[str, str]) -> list[tuple[str, str]]:
    document, registered = frames.document, frames.provenance
    sampling, resources = document.get("sampling") or {}, document.get("resources") or {}
    hardware = registered.get("hardware") or {}
    gpus = ", ".join(str(gpu) for gpu in hardware.get("gpus") or []) or "no GPU"
    machine = [hardware.get("processor"), f"{hardware.get('cores')} cores", _memory(hardware.get("memory")), gpus]
    devices = sorted({text(device, 60) for device in frames.trials["device"].dropna()})
    workers = frames.trials.loc[frames.trials["worker"] != FROM_MEMBERS, "worker"].nunique()
    started, ended = frames.trials["started"].min(), frames.trials["ended"].max()
    hours = float(frames.trials["seconds"].sum()) / 3600
    return [
        ("Study", frames.name),
        ("Hash of the study", str(registered.get("hash", ""))),
        ("Task", _pairs(document.get("task"))),
        ("Model", _pairs(document.get("model"))),
        ("Configurations", "" if document.get("search") else _pairs(sampling)),
        ("Search", _pairs({k: v for k, v in (document.get("search") or {}).items() if k not in ("spaces", "models")})),
        ("Final models", _pairs(document.get("finals"))),
        ("Seed", str(registered.get("seed"))),
        ("Training", _pairs(document.get("training"))),
        ("Main versions", ", ".join(f"{name} {versions[name]}" for name in MAIN_PACKAGES if name in versions)),
        ("Git commit", _commit(registered.get("git_commit"))),
        ("Registered on", " · ".join(str(part) for part in (hardware.get("system"), *machine) if part)),
        ("Ran on", f"{plural(workers, 'worker')}, {', '.join(devices)}" if devices else ""),
        ("Registered", _moment(registered.get("created"))),
        ("First trial began", "" if pd.isna(started) else _moment(started.timestamp())),
        ("Last trial ended", "" if pd.isna(ended) else _moment(ended.timestamp())),
        ("Time and cost", _cost(hours, resources) if hours else ""),
    ]


def _cost(hours: float, resources: Stored) -> str:
    cpu, gpu = resources.get("cpu", 1), resources.get("gpu", 0)
    cost = f"{hours:.2f} hours of trials, {hours * float(cpu):.2f} CPU core hours"
    if isinstance(gpu, int | float) and gpu > 0:
        cost += f", {hours * gpu:.2f} GPU hours"
    return cost


def _commands(frames: StudyFrames) -> tuple[str, ...]:
    file = shlex.quote(frames.name)
    run = "optimize" if frames.document.get("search") else "sweep"
    return (f"robustness {run} {file}", f"robustness report {file}")


def _memory(size: Any) -> str:
    """`24.7 GB of memory` for `24682416 kB`, as Linux writes it."""
    amount, _, unit = str(size or "").partition(" ")
    return f"{int(amount) / 1e6:.1f} GB of memory" if unit == "kB" and amount.isdigit() else str(size or "")


def _commit(commit: str | None) -> str:
    if not commit:
        return "not in a git repository"
    return f"{commit.removesuffix('+')}, with files changed since" if commit.endswith("+") else commit


def _moment(seconds: float | None) -> str:
    return "" if seconds is None else datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")


def _pairs(mapping: Any) -> str:
    if not isinstance(mapping, dict):
        return ""
    known = {name: value for name, value in mapping.items() if value is not None}
    return ", ".join(str(value) if name == "name" else f"{name} {value}" for name, value in known.items())


def _errors(trials: pd.DataFrame) -> Numbers | None:
    failed = trials.dropna(subset=["error"])
    if failed.empty:
        return None
    rows = [
        (f"{row.configuration}/{text(row.arm, 40)}", spaced(row.status), text(row.error, 300))
        for row in failed.head(MOST_ERRORS).itertuples()
    ]
    if len(failed) > MOST_ERRORS:
        rows.append(("…", "", f"and {len(failed) - MOST_ERRORS} more, all in the store"))
    return Numbers(("Trial", "Status", "Error"), tuple(rows))
