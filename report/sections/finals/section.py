"""The final models: the paper's table beside ours, and arm against arm."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from report.drawing.style import Numbers, Section, text
from report.material import Material
from report.sections.finals.sentences import favoured
from report.words import p_words


def finals_section(material: Material) -> Section | None:
    """The table of final models, the reference's figures under ours; None before any has been tested."""
    found = material.analysis.get("finals")
    if not found:
        return None
    label = text(found["reference"], 60) if found["reference"] else ""
    rows = []
    for arm, each in found["arms"].items():
        aucs = [_with_errors(entry) for entry in each["auc"]]
        others = [_mean(each[name], digits) for name, digits in (("accuracy", 3), ("nll", 3), ("calibration_error", 3))]
        models = str(each["models"]) + (f", of {each['members']} members" if each["members"] else "")
        cost = [_mean(each["seconds_per_epoch"], 2, error=False), _mean(each["parameters"], 0, error=False)]
        rows.append((text(arm, 60), models, *aucs, *others, *cost))
        if each["reference"]:
            theirs = [f"{value:.3f}" for value in each["reference"]] + ["–"] * (len(aucs) - len(each["reference"]))
            rows.append((f"{text(arm, 40)}, reference", "–", *theirs[: len(aucs)], "–", "–", "–", "–", "–"))
    shares = [f"AUC, {round(100 * fraction)}\u00a0% referred" for fraction in found["referred"]]
    columns = ("Arm", "Models", *shares, "Accuracy", "NLL", "Calibration error", "Seconds an epoch", "Parameters")
    best = found["best"]
    told = "No arm has an AUC: the test set lacks a class."
    if best is not None:
        told = f"The highest AUC on the test set is {found['arms'][best]['auc'][0]['mean']:.3f}, of {text(best, 60)}."
    notes = [
        f"Means over an arm's models. After ±: the standard error over {found['resamples']:,} resamples of the "
        f"{found['patients']:,} patients of the test set ({found['pictures']:,} pictures), the models as they are. In "
        "brackets: the standard error between the models.",
        "An ensemble's time and parameters are those of its members together.",
    ]
    equal = [text(arm, 60) for arm, each in found["arms"].items() if not each["refers"]]
    if equal:
        notes.append(f"One network without draws is equally sure of every picture: {', '.join(equal)} can refer none.")
    if label:
        notes.append(f"Reference: {label}, from its own data, networks and training.")
    return Section("finals", "The final models", told, (), Numbers(columns, tuple(rows)), tuple(notes))


def compared_section(material: Material) -> Section | None:
    """Every two arms by their AUC on the test set; None for fewer than two arms."""
    found = material.analysis.get("finals")
    if not found or not found["comparisons"]:
        return None
    rows = []
    for entry in found["comparisons"]:
        told = favoured(entry)
        p_value = "–" if entry["p_adjusted"] is None else p_words(entry["p_adjusted"])
        rows.append(
            (
                " − ".join(text(arm, 40) for arm in entry["arms"]),
                *(_difference(each) for each in entry["at"]),
                p_value,
                f"{text(told, 40)} is higher" if told else "none is shown",
            )
        )
    shown = sum(favoured(entry) is not None for entry in found["comparisons"])
    verb = "is" if shown == 1 else "are"
    reading = f"Of {len(rows)} differences between two arms' AUCs, {shown} {verb} shown at the 5 % level."
    shares = [f"{round(100 * fraction)} % referred" for fraction in found["referred"]]
    columns = ("Difference of AUCs", *shares, "p", "So it is")
    notes = (
        "Each arm is the mean over its models. The 95 % intervals in brackets count both the test set's patients, "
        "resampled alike for both arms, and how the models of an arm differ (Student's, with the degrees of freedom of "
        "Welch and Satterthwaite). The test is of the AUC with nothing referred; p is Holm's over all pairs"
        + (
            ", but for the one that was planned: " + " against ".join(text(arm, 40) for arm in found["planned"]) + "."
            if found["planned"]
            else "."
        ),
    )
    return Section("compared", "Arm against arm", reading, (), Numbers(columns, tuple(rows)), notes)


def _with_errors(entry: Mapping[str, Any]) -> str:
    if entry["mean"] is None:
        return "–"
    told = f"{entry['mean']:.3f}" + ("" if entry["error"] is None else f" ± {entry['error']:.3f}")
    return told if entry["between"] is None else f"{told} ({entry['between']:.3f})"


def _mean(entry: Mapping[str, Any], digits: int, error: bool = True) -> str:
    if entry["mean"] is None:
        return "–"
    told = f"{entry['mean']:,.{digits}f}"
    return told if entry["between"] is None or not error else f"{told} ({entry['between']:.{digits}f})"


def _difference(entry: Mapping[str, Any]) -> str:
    return interval(entry["difference"], entry["low"], entry["high"])


def interval(value: float | None, low: float | None, high: float | None) -> str:
    """`0.063 [0.004 to 0.123]`, as far as it is known."""
    if value is None:
        return "–"
    told = f"{value:.3f}" if low is None or high is None else f"{value:.3f} [{low:.3f} to {high:.3f}]"
    return told.replace("-", "−")
