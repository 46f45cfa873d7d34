"""The sections of the report, one module or folder each, and their order on the page.

A section has two functions:

    results(study: JudgedStudy)     its part of the JSON, of plain values and numpy arrays, or None; where it has one
    sections(analysis: Analysis)    yields what it shows on the page: no, one or several `report.document.Section`

and one line in `SECTIONS`: its group, the two functions, the key of its results in the JSON, and its part of the page.
`sections` reads all results as `analysis.results[key]`.

The results of an `OWN` section are None for studies of another kind, and else a mapping with at least

`sentences` and `alone` (`report.sections.topic.OwnResults`). It may have `cautions` and `complete`.

The type of each section's results is a `TypedDict` in its module, and an entry of `report.sections.results.Results`,
the type of the whole JSON.

Installed packages add sections of their own at the end, by entry points: `report.sections.installed`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, cast

from report.document import Section
from report.judged_study import JudgedStudy
from report.sections import (
    against,
    all_runs,
    alternatives,
    best_of,
    budget,
    continual,
    controls,
    curves,
    dose,
    dynamics,
    epochs,
    equivalence,
    finals,
    gradient_noise,
    initial_noise,
    interactions,
    learning_rule,
    left_out,
    outcomes,
    paired_tests,
    pairs,
    plane,
    profiles,
    reference,
    referral,
    registration,
    regression,
    search,
    secondary,
    seeds,
    sensitivity,
    soap_bubble,
    spread,
    tasks,
    thresholds,
    thumbnails,
    timeline,
    tunability,
    variance,
    weighted,
    winners,
)
from report.sections.installed import installed_topics
from report.sections.topic import AnyOwnResults, Group, Part, Topic
from report.watched import without_intervals

if TYPE_CHECKING:
    from report.analysis import Analysis


SECTIONS: tuple[Topic, ...] = (
    Topic(Group.FRACTIONS, alternatives.sections, "alternatives", alternatives.results, part=Part.HOW_SURE),
    Topic(Group.FRACTIONS, thresholds.sections, "thresholds", thresholds.results, part=Part.HOW_SURE),
    Topic(Group.FRACTIONS, epochs.sections, part=Part.HOW_SURE),
    Topic(Group.OWN, finals.sections, "finals", finals.results, part=Part.HOW_SURE),
    Topic(Group.OWN, referral.sections, part=Part.HOW_SURE),
    Topic(Group.OWN, thumbnails.sections, part=Part.WHY),
    Topic(Group.OWN, search.sections, "search", search.results, part=Part.COST),
    Topic(Group.OWN, soap_bubble.sections, "soap_bubble", soap_bubble.results, part=Part.HOW_SURE),
    Topic(Group.OWN, gradient_noise.sections, "gradient_noise", gradient_noise.results, part=Part.HOW_SURE),
    Topic(Group.OWN, continual.sections, "continual", continual.results, part=Part.HOW_SURE),
    Topic(Group.OWN, regression.sections, "regression", regression.results, part=Part.HOW_SURE),
    Topic(Group.OWN, controls.sections, "controls", controls.results, part=Part.WHY),
    Topic(Group.OWN, dose.sections, "dose", dose.results, part=Part.WHY),
    Topic(Group.FRACTIONS, outcomes.sections, "arms", outcomes.results, part=Part.HOW_SURE),
    Topic(Group.FRACTIONS, weighted.sections, "weighted", weighted.results, part=Part.HOW_SURE),
    Topic(Group.FRACTIONS, learning_rule.sections, "learning_rule", learning_rule.results, part=Part.HOW_SURE),
    Topic(Group.FRACTIONS, paired_tests.sections, "paired", paired_tests.results, part=Part.HOW_SURE),
    Topic(Group.FRACTIONS, tasks.sections, "tasks", tasks.results, part=Part.HOW_SURE),
    Topic(Group.FRACTIONS, plane.sections, "plane", plane.results, part=Part.HOW_SURE),
    Topic(Group.FRACTIONS, all_runs.sections, "all_runs", all_runs.results, part=Part.HOW_SURE),
    Topic(Group.FRACTIONS, against.sections, part=Part.HOW_SURE),
    Topic(Group.FRACTIONS, equivalence.sections, "equivalence", equivalence.results, part=Part.HOW_SURE),
    Topic(Group.FRACTIONS, secondary.sections, "secondary", secondary.results, part=Part.HOW_SURE),
    Topic(Group.FRACTIONS, interactions.sections, "interactions", interactions.results, part=Part.WHY),
    Topic(Group.FRACTIONS, initial_noise.sections, "initial_noise", initial_noise.results, part=Part.WHY),
    Topic(Group.FRACTIONS, reference.sections, "reference", reference.results, part=Part.HOW_SURE),
    Topic(Group.FRACTIONS, profiles.sections, "profiles", profiles.results, part=Part.HOW_SURE),
    Topic(Group.FRACTIONS, pairs.sections, "scores", pairs.results, part=Part.HOW_SURE),
    Topic(Group.FRACTIONS, spread.sections, "spread", spread.results, part=Part.HOW_SURE),
    Topic(Group.FRACTIONS, tunability.sections, "tunability", tunability.results, part=Part.COST),
    Topic(Group.FRACTIONS, budget.sections, "budget", budget.results, part=Part.COST),
    Topic(Group.FRACTIONS, best_of.sections, "best_of", best_of.results, part=Part.COST),
    Topic(Group.FRACTIONS, sensitivity.sections, "sensitivity", sensitivity.results, part=Part.WHY),
    Topic(Group.FRACTIONS, winners.sections, part=Part.WHY),
    Topic(Group.FRACTIONS, variance.sections, "variance", variance.results, part=Part.WHY),
    Topic(Group.FRACTIONS, seeds.sections, "seeds", seeds.results, part=Part.WHY),
    Topic(Group.RUNS, curves.sections, part=Part.WHY),
    Topic(Group.OWN, dynamics.sections, "turns", dynamics.results, part=Part.WHY),
    Topic(Group.RUNS, left_out.sections, "left_out", left_out.results, part=Part.HOW_SURE),
    Topic(Group.RUNS, timeline.sections, part=Part.COST),
    Topic(Group.RUNS, registration.sections, "registration", registration.results, part=Part.HOW_SURE),
)
"""In their order within a part of the page; studies speak in the same order."""

FIXED_NUMBER = ("profiles", "budget", "sensitivity", "spread", "tunability", "initial_noise", "best_of", "seeds")
"""Results whose intervals and bands hold only for a number of configurations that was settled beforehand."""


def topics() -> tuple[Topic, ...]:
    """All topics: the report's own, then those of installed packages."""
    return SECTIONS + installed_topics()


def section_results(study: JudgedStudy) -> dict[str, object]:
    """The results of every section by key; kinds of study that this one is not of have none."""
    parts: dict[str, object] = {}
    for topic in topics():
        if topic.key is not None and topic.results is not None:
            part = topic.results(study)
            if study.sample.watch is not None and topic.key in FIXED_NUMBER:
                part = without_intervals(part)
            if part is not None or topic.group is not Group.OWN:
                parts[topic.key] = part
    return parts


def sections_by_part(analysis: Analysis) -> dict[Part, list[Section]]:
    """The sections that have something to show, by the part of the page they stand in, in its order."""
    parts: dict[Part, list[Section]] = {part: [] for part in Part}
    for topic in topics():
        if not (analysis.alone and topic.group is Group.FRACTIONS):
            parts[topic.part] += topic.sections(analysis)
    return parts


def make_sections(analysis: Analysis) -> Iterator[Section]:
    """The same sections one after the other."""
    for sections in sections_by_part(analysis).values():
        yield from sections


def own_results(results: Mapping[str, object]) -> list[AnyOwnResults]:
    """The results of the kinds that a study is of, among all of its results."""
    keys = [topic.key for topic in topics() if topic.group is Group.OWN and topic.key is not None]
    # A test, and the guard of installed sections, see to it that each has these keys.
    return [cast(AnyOwnResults, results[key]) for key in keys if key in results]


def stands_alone(results: Mapping[str, object]) -> bool:
    """Whether a study goes without fractions of configurations."""
    return any(entry["alone"] for entry in own_results(results))
