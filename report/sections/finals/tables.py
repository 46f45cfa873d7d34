"""The final models: the paper's table beside ours, and arm against arm."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from report.document import Numbers, Section
from report.sections.finals.entries import Between, FinalsResults, MeanFigure, ReferredAuc
from report.sections.finals.sentences import higher_arm
from report.words import DASH, bracketed, minus, p_words, percent, plus_minus, text

if TYPE_CHECKING:
    from report.analysis import Analysis


def sections(analysis: Analysis) -> Iterator[Section]:
    """The table of final models and the comparison of every two arms; none before any has been tested."""
    finals: FinalsResults | None = analysis.results.get("finals")
    if finals:
        yield _tested(finals)
    if finals and finals["comparisons"]:
        yield _compared(finals)


def _tested(finals: FinalsResults) -> Section:
    """Each arm's figures on the test set, the reference's under ours."""
    between: Between = "between_searches" if finals["searches"] > 1 else "between"
    label = text(finals["reference"], 60) if finals["reference"] else ""
    rows = []
    for arm, each in finals["arms"].items():
        aucs = [_with_errors(entry, between) for entry in each["auc"]]
        others = [_mean(mean, 3, between) for mean in (each["accuracy"], each["nll"], each["calibration_error"])]
        models = str(each["models"]) + (f", of {each['members']} members" if each["members"] else "")
        if finals["searches"] > 1:
            models += f" ({each['searches']} {'search' if each['searches'] == 1 else 'searches'})"
        cost = [_mean(each["seconds_per_epoch"], 2), _mean(each["parameters"], 0)]
        rows.append((text(arm, 60), models, *aucs, *others, *cost))
        if each["reference"]:
            theirs = [f"{value:.3f}" for value in each["reference"]] + [DASH] * (len(aucs) - len(each["reference"]))
            rows.append((f"{text(arm, 40)}, reference", DASH, *theirs[: len(aucs)], DASH, DASH, DASH, DASH, DASH))
    shares = [f"AUC, {percent(fraction)}\u00a0% referred" for fraction in finals["referred"]]
    columns = ("Arm", "Models", *shares, "Accuracy", "NLL", "Calibration error", "Seconds an epoch", "Parameters")
    best = finals["best"]
    reading = "No arm has an AUC: the test set lacks a class."
    if best is not None:
        reading = (
            f"The highest AUC on the test set is {finals['arms'][best]['auc'][0]['mean']:.3f}, of {text(best, 60)}."
        )
    repeated = finals["searches"] > 1
    over = "searches" if repeated else "models"
    notes = [
        f"Means over an arm's {over}. After ±: the standard error over {finals['resamples']:,} resamples of the "
        f"{finals['patients']:,} patients of the test set ({finals['pictures']:,} pictures), the models as they are. "
        f"In brackets: the standard error between {over}{', which includes that between models' if repeated else ''}.",
        "An ensemble's time and parameters are those of its members together.",
    ]
    equal = [text(arm, 60) for arm, each in finals["arms"].items() if not each["refers"]]
    if equal:
        notes.append(f"One network without draws is equally sure of every picture: {', '.join(equal)} can refer none.")
    if label:
        notes.append(f"Reference: {label}, from its own data, networks and training.")
    return Section("finals", "The final models", reading, (), Numbers(columns, tuple(rows)), tuple(notes))


def _compared(finals: FinalsResults) -> Section:
    """Every two arms by their AUC on the test set."""
    rows = []
    for entry in finals["comparisons"]:
        higher = higher_arm(entry)
        p_value = DASH if entry["p_adjusted"] is None else p_words(entry["p_adjusted"])
        rows.append(
            (
                " − ".join(text(arm, 40) for arm in entry["arms"]),
                *(minus(bracketed(each["difference"], each["low"], each["high"])) for each in entry["at"]),
                p_value,
                f"{text(higher, 40)} is higher" if higher else "none is shown",
            )
        )
    significant = sum(higher_arm(entry) is not None for entry in finals["comparisons"])
    verb = "is" if significant == 1 else "are"
    reading = f"Of {len(rows)} differences between two arms' AUCs, {significant} {verb} shown at the 5 % level."
    shares = [f"{percent(fraction)} % referred" for fraction in finals["referred"]]
    columns = ("Difference of AUCs", *shares, "p", "So it is")
    notes = (
        f"{_interval_note(finals)} The test is of the AUC with nothing referred; p is Holm's over all pairs"
        + (
            ", but for the one that was planned: " + " against ".join(text(arm, 40) for arm in finals["planned"]) + "."
            if finals["planned"]
            else "."
        ),
    )
    return Section("compared", "Arm against arm", reading, (), Numbers(columns, tuple(rows)), notes)


def _interval_note(finals: FinalsResults) -> str:
    """What the intervals of differences include."""
    student = "(by Student's distribution, with the degrees of freedom of Welch and Satterthwaite)"
    if finals["searches"] > 1:
        return (
            "Each arm is the mean over its searches of the mean over a search's models. The 95 % intervals in brackets "
            "include the patients of the test set, resampled alike for both arms, and the variation between searches, "
            f"which contains that between models {student}; the search is the unit that was repeated. An ensemble and "
            "the arm of its members share their searches and are compared search by search."
        )
    return (
        "Each arm is the mean over its models. The 95 % intervals in brackets include the patients of the test set, "
        f"resampled alike for both arms, and the variation between models of an arm {student}. Each arm was searched "
        "once, so they do not include what another search would change: set `finals: {searches: 3}` for that."
    )


def _with_errors(entry: ReferredAuc, between: Between) -> str:
    """`0.823 ± 0.021 (0.004)`: the mean, its error over patients, and that between models or searches."""
    if entry["mean"] is None:
        return DASH
    mean = plus_minus(entry["mean"], entry["error"], 3)
    return mean if entry[between] is None else f"{mean} ({entry[between]:.3f})"


def _mean(entry: MeanFigure, decimals: int, between: Between | None = None) -> str:
    """`0.823 (0.004)`: the mean and, in brackets, one of its errors."""
    if entry["mean"] is None:
        return DASH
    mean = f"{entry['mean']:,.{decimals}f}"
    return mean if between is None or entry[between] is None else f"{mean} ({entry[between]:.{decimals}f})"
