"""What a study of a kind of its own shows: beside the fractions of configurations, or instead of them.

A kind is one entry of `KINDS`: a function from a study's frames to None, for studies of other kinds, or to a mapping
that becomes part of the report's JSON under the entry's name. It has at least

| key | content |
|---|---|
| `sentences` | what the study shows; they open the page |
| `alone` | whether fractions of configurations say nothing here, so that the page goes without them |

and may have `cautions`, sentences on what weakens it, and `complete`, whether it has all that the study asks for.

A section that draws it reads `material.analysis[name]` and is listed in `report.figures.OWN_SECTIONS`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from report.frames import StudyFrames
from report.sections.continual_results import continual
from report.sections.controls_results import controls
from report.sections.dose_results import dose
from report.sections.dynamics_results import turns
from report.sections.finals.results import final_results
from report.sections.gradient_noise_results import gradient_noise
from report.sections.regression_results import regression
from report.sections.search_results import search_results
from report.sections.soap_bubble_results import soap_bubble

KINDS: dict[str, Callable[[StudyFrames], Mapping[str, Any] | None]] = {
    "finals": final_results,
    "search": search_results,
    "soap_bubble": soap_bubble,
    "gradient_noise": gradient_noise,
    "continual": continual,
    "regression": regression,
    "controls": controls,
    "dose": dose,
    "turns": turns,
}
"""The kinds of studies, in the order in which they speak."""


def own_results(frames: StudyFrames) -> dict[str, Mapping[str, Any]]:
    """What each kind that the study is of has to say, by its name."""
    found = {name: look(frames) for name, look in KINDS.items()}
    return {name: results for name, results in found.items() if results is not None}


def stands_alone(results: Mapping[str, Any]) -> bool:
    """Whether the analysis of a study goes without fractions of configurations."""
    return any(results[name]["alone"] for name in KINDS if name in results)


def own_cautions(results: Mapping[str, Any]) -> list[str] | None:
    """What the kinds of an analysed study say against themselves; None if none of them looks for it."""
    found = [results[name]["cautions"] for name in KINDS if name in results and "cautions" in results[name]]
    return [sentence for cautions in found for sentence in cautions] if found else None
