"""The rows of the table, each of one other way to judge the same trials; other sections have the details."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from report.comparison import favoured, second_minus_first, turned
from report.document import Link
from report.records.comparisons import Change, ScoreComparison
from report.records.estimates import known
from report.sections import interactions
from report.sections.epochs import Compared
from report.sections.interactions.entries import AtLevel
from report.sections.score_verdict import better_arm
from report.sections.sensitivity.levels import RANGE, level_words
from report.sections.verdict import decided
from report.words import (
    DASH,
    bracketed,
    bracketed_change,
    is_significant,
    listed,
    p_words,
    score_decimals,
    signed,
    signed_to,
    text,
)
from robustness.errors import plural
from robustness.statistics.paired import holm
from robustness.sweep.outcomes import SUMMARIES

if TYPE_CHECKING:
    from report.analysis import Analysis

MOST_NAMED = 2
"""More comparisons than these are counted."""
Arms: TypeAlias = tuple[str, ...]
Winners: TypeAlias = Mapping[Arms, str | None]
"""The arm that each comparison favours; None where it is not significant."""


@dataclass(frozen=True)
class Row:
    """Another way to judge: the difference of the leading comparison, and whether any verdict changes."""

    what: str
    difference: str
    stands: str
    changes: bool
    link: Link
    briefly: str
    """As the sentence names it: `at the last epoch`."""

    @property
    def cells(self) -> tuple[str, ...]:
        return (self.what, self.difference, self.stands, self.link)


@dataclass(frozen=True)
class Verdicts:
    """The study's own verdicts, to which every row is compared."""

    analysis: Analysis
    at: Mapping[Arms, Mapping[str, Compared]]
    leading: Arms

    @property
    def own(self) -> dict[Arms, str | None]:
        return {arms: each[self.analysis.epoch].better for arms, each in self.at.items()}

    @property
    def in_points(self) -> bool:
        """Whether differences are of fractions."""
        return self.analysis.frames.has_thresholds

    @property
    def more_is_better(self) -> bool:
        """Whether the better arm has the larger fraction or mean."""
        return self.analysis.primary == "good" if self.in_points else not self.analysis.goal.minimizes

    def row(self, what: str, difference: str, winners: Winners, link: Link, briefly: str) -> Row:
        """A row with the verdict of every comparison."""
        winners = {arms: better for arms, better in winners.items() if arms in self.own}
        changed = [arms for arms, better in winners.items() if better != self.own[arms]]
        return Row(what, difference, self._stands(winners, changed), bool(changed), link, briefly)

    def _stands(self, winners: Winners, changed: Sequence[Arms]) -> str:
        if not changed:
            return "yes" if len(winners) == 1 else f"yes, all {len(winners)}"
        if len(self.own) == 1:
            return f"no: {favours(winners[self.leading])}"
        named = "; ".join(f"{_arms(arms)} ({favours(winners[arms])})" for arms in changed)
        return f"no: {len(changed)} of {len(winners)} change" + (f": {named}" if len(changed) <= MOST_NAMED else "")


def _other_epoch(verdicts: Verdicts) -> Iterator[Row]:
    other = next(each for each in SUMMARIES if each != verdicts.analysis.epoch)
    found = {arms: each[other] for arms, each in verdicts.at.items() if other in each}
    if verdicts.leading in found:
        words = f"at the {other} epoch"
        cell = bracketed_change(found[verdicts.leading].change, verdicts.in_points)
        winners = {arms: each.better for arms, each in found.items()}
        yield verdicts.row(f"Judged {words}", cell, winners, Link.to("epochs", f"At the {other} epoch"), words)


def _other_thresholds(verdicts: Verdicts) -> Iterator[Row]:
    found = verdicts.analysis.results["thresholds"]
    dependence = {tuple(entry["arms"]): entry for entry in (found["dependence"] if found else ())}
    if verdicts.leading not in dependence:
        return
    own = dependence[verdicts.leading]
    changing = []
    for arms, entry in dependence.items():
        counts = {each["arm"]: each["count"] for each in entry["favouring"]}
        same = entry["checked"] - sum(counts.values()) if entry["favours"] is None else counts.get(entry["favours"], 0)
        if same < entry["checked"]:
            changing.append(arms)
    stands = "yes, at every threshold"
    if changing:
        stands = f"not at every threshold: {len(changing)} of {plural(len(dependence), 'comparison')} change"
        if len(dependence) == 1:
            stands = "not at every threshold"
    yield Row(
        "Another threshold",
        f"same verdict from {own['holds_from']:.3f} to {own['holds_to']:.3f}",
        stands,
        bool(changing),
        Link.to("thresholds", "At other thresholds"),
        "at some other thresholds" if changing else "at every other threshold",
    )


def _borderline(verdicts: Verdicts) -> Iterator[Row]:
    rule = verdicts.analysis.results["learning_rule"]
    cases = rule["at"][verdicts.analysis.epoch]["worst_case"] if rule else []
    own = next((case for case in cases if tuple(case["arms"]) == verdicts.leading), None)
    if rule is None or own is None:
        return
    count = len(rule["at"][verdicts.analysis.epoch]["within_error"])
    yield verdicts.row(
        f"{plural(count, 'trial')} within the error of the threshold, each counted against the verdict",
        f"{signed(-100 * known(own['difference']))} ({p_words(own['p_adjusted'])})",
        {tuple(case["arms"]): case["favours"] for case in cases},
        Link.to("learning-rule", "When a trial has learned nothing"),
        "if every borderline trial counted against it",
    )


def _other_test(verdicts: Verdicts) -> Iterator[Row]:
    """Wilcoxon's test of paired scores, the permutation test of others, the exact test of pairs of outcomes."""
    analysis = verdicts.analysis
    found: dict[Arms, tuple[float, str | None, str]] = {}
    if verdicts.in_points:
        name, link = "exact test", Link.to("tests", "Paired tests")
        for entry in analysis.results["paired"]:
            if (entry["epoch"], entry["outcome"]) == (analysis.epoch, analysis.primary) and entry[
                "p_exact"
            ] is not None:
                better = favoured(entry["arms"], entry["difference"], 0.0, more_is_better=analysis.primary == "good")
                found[tuple(entry["arms"])] = (entry["p_exact"], better, "")
    else:
        name, link = "Wilcoxon's test", Link.to("pairs", "Pair by pair")
        if not analysis.frames.paired:
            name, link = "permutation test", Link.to("spread", "Level and spread")
        for score in analysis.results["scores"]:
            p_value = score["p_wilcoxon"] if analysis.frames.paired else score.get("p_permutation")
            if score["epoch"] != analysis.epoch or p_value is None:
                continue
            ahead = score["first_wins"]["count"] - score["second_wins"]["count"]
            more = f"{_median(verdicts, score)}, " if analysis.frames.paired else ""
            found[tuple(score["arms"])] = (p_value, score["arms"][ahead < 0] if ahead else None, more)
    if verdicts.leading not in found:
        return
    adjusted = dict(zip(found, holm([p_value for p_value, _, _ in found.values()]), strict=True))
    yield verdicts.row(
        f"Another test: {name}",
        f"{found[verdicts.leading][2]}{p_words(adjusted[verdicts.leading])}{' by Holm' if len(found) > 1 else ''}",
        {arms: better if is_significant(adjusted[arms]) else None for arms, (_, better, _) in found.items()},
        link,
        f"by {name}" if name.startswith("W") else f"by the {name}",
    )


def _median(verdicts: Verdicts, score: ScoreComparison) -> str:
    values = [score["mean_difference"], score["median_difference"]]
    decimals = score_decimals(verdicts.analysis.frames.metric, values)
    return f"median {signed(0.0 - known(score['median_difference']), decimals)}"


def _without_stand_in(verdicts: Verdicts) -> Iterator[Row]:
    found = verdicts.analysis.results["alternatives"]
    own = {tuple(entry["arms"]): entry for entry in (found["scored_only"] if found else ())}
    tested = {arms: entry for arms, entry in own.items() if entry["p_value"] is not None}
    if verdicts.leading not in tested:
        return
    shown = tested[verdicts.leading]
    yield verdicts.row(
        "Trials without a score left out instead of the stand-in for their score",
        f"{_scores(shown)}, over {plural(shown['first_wins']['of'], 'pair')}",
        {arms: better_arm(entry, verdicts.analysis.frames) for arms, entry in tested.items()},
        Link.to("left-out", "What did not finish"),
        "without the trials that have no score",
    )


def _all_runs(verdicts: Verdicts) -> Iterator[Row]:
    every = verdicts.analysis.results["all_runs"]
    if every is None:
        return
    cells: dict[Arms, str] = {}
    winners: dict[Arms, str | None] = {}
    for entry in every["outcomes"] if verdicts.in_points else ():
        arms = tuple(entry["arms"])
        cells[arms] = bracketed_change(second_minus_first(entry, entry["difference"]), in_points=True)
        winners[arms] = decided(entry)
    for score in () if verdicts.in_points else every["scores"]:
        arms = tuple(score["arms"])
        cells[arms], winners[arms] = _scores(score), better_arm(score, verdicts.analysis.frames)
    if verdicts.leading in cells:
        link = Link.to("all-runs", "Runs without a partner")
        yield verdicts.row(
            "All runs, compared without pairs", cells[verdicts.leading], winners, link, "over all runs without pairs"
        )


def _left_out(verdicts: Verdicts) -> Iterator[Row]:
    """Trials without a result, counted in every way; these tests are not corrected."""
    found = [
        entry
        for entry in verdicts.analysis.results["left_out"]["matters"]
        if entry["left_out"]["trials"] and entry["observed"]["pairs"]
    ]
    if not found:
        return
    changed = [entry for entry in found if entry["left_out"]["changes"]]
    stands = (
        f"not in every way: {len(changed)} of {len(found)} change, before correction" if changed else "yes, in any way"
    )
    yield Row(
        "Trials without a result counted as failures, as successes, or for one arm and against the other",
        DASH,
        stands,
        bool(changed),
        Link.to("left-out", "What did not finish"),
        "in some ways to count trials without a result" if changed else "however trials without a result count",
    )


def _other_space(verdicts: Verdicts) -> Iterator[Row]:
    """The least and the largest difference of the leading comparison by the hyperparameter on which it depends most."""
    analysis, own = verdicts.analysis, verdicts.own[verdicts.leading]
    entry = next((e for e in analysis.results["interactions"] if tuple(e["arms"]) == verdicts.leading), None)
    every = {} if entry is None else entry["hyperparameters"]
    shown = {name: each for name, each in every.items() if is_significant(each["p_adjusted"])}
    if not shown:
        return
    name = max(shown, key=lambda each: shown[each]["explained"] or 0.0)
    at = [level for level in shown[name]["levels"] if level["difference"] is not None]
    by_size = sorted(at, key=lambda level: -known(level["difference"]))
    cells = [f"at {level_words(level['value'])}: {_difference(verdicts, level)}" for level in (by_size[0], by_size[-1])]
    winners = [(level_words(level["value"]), _ahead(verdicts, level)) for level in at]
    against: dict[str, list[str]] = {}
    for value, winner in winners:
        if winner is not None and winner != own:
            against.setdefault(winner, []).append(value)
    open_at = [value for value, winner in winners if winner is None and own is not None]
    parts = []
    if open_at:
        parts.append(f"not shown at {listed(open_at, 'or')}")
    parts += [f"{text(arm, 40)} ahead at {listed(values)}" for arm, values in against.items()]
    shows = (s for s in interactions.sections(analysis) if all(text(arm, 40) in s.title for arm in verdicts.leading))
    section = next(shows, None)
    if section is None:
        return
    yield Row(
        f"The search space reduced to one {'range' if _is_range(at) else 'value'} of {text(name, 40)}",
        f"{'; '.join(cells)}{_own_unit(verdicts)}",
        f"not everywhere: {'; '.join(parts)}" if parts else "yes, at each of them",
        bool(parts),
        Link.to(section.name, section.short or section.title),
        f"at {'some values' if parts else 'every value'} of {text(name, 40)}",
    )


def _ahead(verdicts: Verdicts, level: AtLevel) -> str | None:
    """The arm that is ahead at a level, by an interval that leaves out 0."""
    if level["low"] is None or level["high"] is None or level["low"] <= 0 <= level["high"]:
        return None
    return favoured(verdicts.leading, level["difference"], 0.0, more_is_better=verdicts.more_is_better)


def _difference(verdicts: Verdicts, level: AtLevel) -> str:
    """The difference at a level, the second arm less the first."""
    write = signed_to(0 if verdicts.in_points else 3)
    difference, low, high = (each if each is None or not verdicts.in_points else 100 * each for each in turned(level))
    return bracketed(difference, low, high, write)


def _single_tasks(verdicts: Verdicts) -> Iterator[Row]:
    """The least and the largest difference of the leading comparison on any task, in the unit of that task."""
    tasks = verdicts.analysis.results["tasks"]
    on = tasks["on"] if tasks else []
    changes: list[tuple[str, Change]] = []
    changed = total = 0
    for task in on:
        found: dict[Arms, Compared] = {}
        for entry in task["paired"] if verdicts.in_points else ():
            change = second_minus_first(entry, entry["difference"])
            found[tuple(entry["arms"])] = Compared(change, decided(entry))
        for score in () if verdicts.in_points else task["scores"]:
            change = second_minus_first(score, score["mean_difference"])
            found[tuple(score["arms"])] = Compared(change, better_arm(score, verdicts.analysis.frames))
        tested = {arms: each for arms, each in found.items() if each.change["p_value"] is not None}
        total += len(tested)
        changed += sum(each.better != verdicts.own.get(arms) for arms, each in tested.items())
        if verdicts.leading in tested:
            changes.append((task["task"], tested[verdicts.leading].change))
    if len(changes) < 2:
        return
    changes.sort(key=lambda each: known(each[1]["difference"]))
    cells = [
        f"on {text(task, 40)}: {bracketed_change(change, verdicts.in_points)}"
        for task, change in (changes[0], changes[-1])
    ]
    yield Row(
        "Each task by itself",
        f"{'; '.join(cells)}{_own_unit(verdicts)}",
        f"no: {changed} of {total} are different on a task" if changed else f"yes, all {total}",
        bool(changed),
        Link.to(
            "tasks" if verdicts.in_points else "task-scores", "Task by task" if verdicts.in_points else "Scores by task"
        ),
        "on some single tasks" if changed else "on every single task",
    )


def _own_unit(verdicts: Verdicts) -> str:
    """The unit of a cell where that is not the column's: scores of several tasks."""
    several = not verdicts.in_points and len(verdicts.analysis.frames.tasks) > 1
    return f" (in {verdicts.analysis.the_metric})" if several else ""


def _is_range(levels: Sequence[AtLevel]) -> bool:
    return any(RANGE.fullmatch(str(level["value"])) for level in levels)


ROWS: tuple[Callable[[Verdicts], Iterator[Row]], ...] = (
    _other_epoch,
    _other_thresholds,
    _borderline,
    _other_test,
    _without_stand_in,
    _left_out,
    _all_runs,
    _other_space,
    _single_tasks,
)
"""In the order of the table."""


def favours(better: str | None) -> str:
    """What a comparison shows: `radial ahead`."""
    return "not significant" if better is None else f"{text(better, 40)} ahead"


def _arms(arms: Arms) -> str:
    return " and ".join(text(arm, 40) for arm in reversed(arms))


def _scores(entry: ScoreComparison) -> str:
    return bracketed_change(second_minus_first(entry, entry["mean_difference"]), in_points=False)
