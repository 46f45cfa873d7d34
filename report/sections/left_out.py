"""The trials left out of the fractions: where they ended so, and whether any way of counting them changes the verdict.

Each way gives the trials that do not count an outcome. The two extremes, all of them for one arm and against the other,
bound every other way: with one replicate, adding a pair that speaks for an arm never makes its test speak less for it.
With more, which also tell how alike replicates are, that holds but for small differences.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from itertools import combinations
from typing import TYPE_CHECKING, Any, TypedDict

import pandas as pd

from report.comparison import Sample, compare_pairs, favoured, has_outcome
from report.document import Numbers, Picture, Section
from report.drawing.heat_map import count_map
from report.drawing.style import OUTCOME_COLOURS
from report.judged_study import JudgedStudy
from report.records.estimates import JudgedOutcome
from report.words import listed, number, spaced, text
from robustness.metrics import find_metric
from robustness.sweep.outcomes import Summary
from robustness.trial import PENDING

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from report.analysis import Analysis

MOST_ERRORS = 5
LONGEST_ERROR = 300


class ErrorCount(TypedDict):
    """An error text, and how many trials have it."""

    text: str
    trials: int


class Verdict(TypedDict):
    """The comparison of two arms before any correction, and the arm that it favours."""

    pairs: int
    difference: float | None
    p_value: float | None
    favours: str | None


class Counted(TypedDict):
    """The verdicts when so many trials count as well, by the way of counting them."""

    trials: int
    ways: dict[str, Verdict]
    changes: bool


class WouldMatter(TypedDict):
    """Whether trials that do not count could change the verdict on two arms."""

    arms: list[str]
    outcome: JudgedOutcome
    epoch: Summary
    observed: Verdict
    left_out: Counted
    missing: Counted


class LeftOutResults(TypedDict):
    """The trials that do not count."""

    trials: int
    missing: int
    unpaired: int
    by_arm: dict[str, dict[str, int]]
    errors: list[ErrorCount]
    matters: list[WouldMatter]


def results(study: JudgedStudy) -> LeftOutResults:
    """Counts by arm and reason, the most frequent error texts, and how counting them would change each comparison."""
    judged, frames = study.planned, study.frames
    lost = judged[~judged["counted"]]
    missing = lost["status"].isin(PENDING)
    counts = {
        arm: {str(reason): int(n) for reason, n in sorted(own.value_counts().items())}
        for arm in frames.arms
        for own in [lost.loc[lost["arm"] == arm, "reason"]]
    }
    errors = lost["error"].dropna().value_counts().sort_index().sort_values(ascending=False, kind="stable")
    return {
        "trials": int((~missing).sum()),
        "missing": int(missing.sum()),
        "unpaired": int((judged["counted"] & ~judged["paired"]).sum()),
        "by_arm": counts,
        "errors": [{"text": str(error), "trials": int(n)} for error, n in errors.head(MOST_ERRORS).items()],
        "matters": [
            would_it_matter(judged, first, second, frames.primary, frames.rule, study.sample)
            for first, second in (frames.compared if frames.has_thresholds and frames.paired else ())
        ],
    }


def would_it_matter(
    judged: pd.DataFrame, first: str, second: str, outcome: JudgedOutcome, summary: Summary, sample: Sample
) -> WouldMatter:
    """The comparison of two arms under each way of counting; `changes` if one of them has another verdict.

    `left_out` counts trials that ended without a result, `missing` also those that have not ended.
    """
    values = has_outcome(judged, outcome, summary).where(judged["counted"])
    rows = judged[["configuration", "replicate", "arm", "status"]].assign(value=values)
    rows = rows[rows["arm"].isin((first, second))]
    wide = rows.set_index(["configuration", "replicate", "arm"])["value"].unstack("arm")  # noqa: PD010
    wide = wide.reindex(columns=[first, second])
    still_open = rows["status"].isin(PENDING).groupby([rows["configuration"], rows["replicate"]]).any()
    bad, fine = (1.0, 0.0) if outcome == "learned_nothing" else (0.0, 1.0)
    ways = {
        "as_failures": (bad, bad),
        "as_successes": (fine, fine),
        "for_first": (fine, bad),
        "for_second": (bad, fine),
    }
    observed = _verdict(wide.dropna(), outcome, sample)

    def counted(part: pd.DataFrame) -> Counted:
        filled = int(part.isna().to_numpy().sum())
        verdicts = {
            name: _verdict(part.fillna({first: of_first, second: of_second}), outcome, sample)
            for name, (of_first, of_second) in (ways if filled else {}).items()
        }
        changes = any(verdict["favours"] != observed["favours"] for verdict in verdicts.values())
        return {"trials": filled, "ways": verdicts, "changes": changes}

    return {
        "arms": [first, second],
        "outcome": outcome,
        "epoch": summary,
        "observed": observed,
        "left_out": counted(wide[~still_open.reindex(wide.index)]),
        "missing": counted(wide),
    }


def _verdict(pairs: pd.DataFrame, outcome: JudgedOutcome, sample: Sample) -> Verdict:
    """The difference, p-value and the arm that they favour at the 5 % level, before any correction."""
    entry, _ = compare_pairs(pairs, sample)
    better = favoured(
        list(pairs.columns), entry["difference"], entry["p_value"], more_is_better=outcome != "learned_nothing"
    )
    return {
        "pairs": entry["pairs"],
        "difference": entry["difference"],
        "p_value": entry["p_value"],
        "favours": better,
    }


KINDS = ("out_of_memory", "timed_out", "failed", "diverged")
USUAL = ("batch_size", "variational_samples")
MOST_VALUES = 12
FEW = 3
"""Of fewer trials than these, what they have in common may be chance."""


def sections(analysis: Analysis) -> Iterator[Section]:
    """How trials ended by arm and where they ran out of memory; none as long as all went well."""
    counts = pd.crosstab(analysis.trials["arm"], analysis.trials["status"])
    kinds = [kind for kind in KINDS if kind in counts.columns]
    if not kinds:
        return
    kind = kinds[0]
    pictures = []
    axes_names = _two_hyperparameters(analysis, kind)
    if axes_names is not None:
        for place, arm in enumerate(analysis.arms.names):
            mine = analysis.trials["arm"] == arm
            own = analysis.trials.loc[mine]
            values = (analysis.values(axes_names[0])[mine], analysis.values(axes_names[1])[mine])
            if not (own["status"] == kind).any():
                continue
            pictures.append(
                Picture(
                    f"left-out-{place}",
                    f"{text(arm)}: where trials {_ended(kind)}",
                    f"A map of {axes_names[0]} by {axes_names[1]}: in each cell the number of trials of "
                    f"{text(arm, 60)} that ended as {spaced(kind)}, of all trials there.",
                    partial(_draw, (own["status"] == kind).astype(int), values, axes_names),
                )
            )
    rows = tuple(
        (text(arm, 60), *(str(counts.loc[arm].get(status, 0)) for status in counts.columns))
        for arm in analysis.arms.names
        if arm in counts.index
    )
    total = int(counts[kinds].to_numpy().sum())
    reading = f"{total} of {len(analysis.trials)} trials did not run to their end: {_which(analysis, kinds)}."
    columns = ("Arm", *(spaced(status) for status in counts.columns))
    yield Section(
        "left-out",
        "What did not finish",
        reading,
        tuple(pictures),
        Numbers(columns, rows),
        (*counting(analysis), *_matters(analysis), *_errors(analysis)),
    )


def _which(analysis: Analysis, kinds: Sequence[str]) -> str:
    """`all 11 diverged, all of mfvi, with optimizer sgd`: what trials that did not run to their end have in common."""
    ended = analysis.trials[analysis.trials["status"].isin(kinds)]
    if len(kinds) > 1 or len(ended) < FEW:
        words = ", ".join(f"{int((ended['status'] == kind).sum())} {spaced(kind)}" for kind in kinds)
    else:
        words = f"all {len(ended)} {_ended(kinds[0])}"
    if len(ended) < FEW:
        return words
    arms = ended["arm"].unique()
    of = f", all of {text(arms[0], 60)}" if len(arms) == 1 and len(analysis.arms.names) > 1 else ""
    shared = {}
    for name in analysis.hyperparameters:
        values = analysis.values(name)[ended.index]
        if values.notna().all() and (values == values.iloc[0]).all():
            shared[name] = values.iloc[0]
    alike = listed([f"{text(name, 40)} {number(value)}" for name, value in shared.items()]) if shared else ""
    return f"{words}{of}{f', with {alike}' if alike else ''}"


def counting(analysis: Analysis) -> Iterator[str]:
    """How trials count that did not run to their end."""
    ended = set(analysis.trials["status"])
    if "diverged" in ended:
        chance = find_metric(analysis.frames.metric).chance
        stand_in = "the worst score of any trial" + (" on its task" if analysis.frames.tasks else "")
        stand_in += " at its best or last epoch"
        value = stand_in if chance is None else f"the score of chance, {chance:g}"
        fails = "has learned nothing" if analysis.frames.has_thresholds else "is a failure"
        if analysis.epoch == "best":
            yield (
                f"A trial that diverged counts by its best epoch before that; without one, it {fails}, and in means "
                f"and profiles it has {value}."
            )
        else:
            yield f"A trial that diverged {fails}, and in means and profiles it has {value}."
    if ended & {"out_of_memory", "timed_out", "failed"}:
        yield "Trials that ran out of memory, timed out or failed are left out, with the pairs they belong to."


def _matters(analysis: Analysis) -> tuple[str, ...]:
    """For every two arms, whether another way of counting the trials left out would change the verdict."""
    notes = []
    for entry in analysis.results["left_out"]["matters"]:
        lost = entry["left_out"]
        arms = " and ".join(text(arm, 60) for arm in entry["arms"])
        if lost["trials"] and entry["observed"]["pairs"]:
            stays = "at least one way of counting" if lost["changes"] else "no way of counting"
            notes.append(
                f"{arms}: {stays} the {lost['trials']} trials without a result, as failures, as successes, or for one "
                "arm and against the other, would change the verdict."
            )
    return tuple(notes)


def _errors(analysis: Analysis) -> tuple[str, ...]:
    """The most frequent errors by their last lines, which say what happened, each with a trial that had it."""
    trials = analysis.trials
    ended = trials[trials["status"].isin(KINDS) & trials["error"].notna()]
    lines = ended["error"].map(lambda error: str(error).strip().rpartition("\n")[2][:LONGEST_ERROR])
    notes = []
    counts = lines.value_counts(sort=False).sort_values(ascending=False, kind="stable")
    for line, count in counts.head(MOST_ERRORS).items():
        first = ended.loc[lines == line].iloc[0]
        replicate = f"/{first['replicate']}" if first["replicate"] else ""
        key = f"{first['configuration']}/{text(first['arm'], 60)}{replicate}"
        more = f" and {count - 1} more" if count > 1 else ""
        notes.append(f"{spaced(first['status'])}, trial {key}{more}: {text(line, LONGEST_ERROR)}")
    return tuple(notes)


def _ended(kind: str) -> str:
    return {"out_of_memory": "ran out of memory", "timed_out": "timed out"}.get(kind, kind)


def _two_hyperparameters(analysis: Analysis, kind: str) -> tuple[str, str] | None:
    """Batch size and samples, which decide the memory; else the two under which the endings are least even."""
    varied = [name for name in analysis.hyperparameters if 2 <= analysis.values(name).dropna().nunique() <= MOST_VALUES]
    if all(name in varied for name in USUAL) and kind == "out_of_memory":
        return USUAL
    if len(varied) < 2:
        return None
    ended = (analysis.trials["status"] == kind).astype(float)

    def unevenness(pair: tuple[str, str]) -> float:
        rates = ended.groupby([analysis.values(name).map(number) for name in pair]).transform("mean")
        return float(rates.var(ddof=0))

    return max(combinations(varied, 2), key=unevenness)


def _draw(ended: pd.Series[int], values: tuple[pd.Series[Any], pd.Series[Any]], names: tuple[str, str]) -> Figure:
    cells = pd.DataFrame({"ended": ended, "down": values[0], "across": values[1]}).groupby(["down", "across"])["ended"]
    count = cells.sum().unstack(fill_value=0)  # noqa: PD010
    of = cells.size().unstack(fill_value=0)  # noqa: PD010
    both = (count.to_numpy(dtype=float), of.to_numpy(dtype=float))
    return count_map(*both, names, (list(of.index), list(of.columns)), OUTCOME_COLOURS["learned_nothing"])
