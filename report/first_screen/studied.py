"""What was studied, in one line: the runs, how a trial is judged, and where imported runs come from."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from report.first_screen.arm_table import arm_table
from report.first_screen.endings import endings
from report.frames import TASK_BLOCK
from report.words import listed, text
from robustness.errors import plural

if TYPE_CHECKING:
    from report.analysis import Analysis

DRAWN = {"random": "random ", "sobol": "Sobol ", "grid": ""}
"""How configurations were chosen, in front of their name."""
MOST_COUNTS = 3
"""More different numbers of runs are named by their range."""


def studied(analysis: Analysis) -> str:
    """`5 arms x 86 random configurations, one run each; learned nothing: AUC below 0.63 at the last epoch; ...`.

    How the runs ended follows where no table of the arms says so.
    """
    line = "; ".join(_parts(analysis))
    return f"{line}. {endings(analysis)}" if analysis.alone or arm_table(analysis) is None else line


def _parts(analysis: Analysis) -> Iterator[str]:
    frames = analysis.frames
    yield _runs(analysis)
    if not analysis.alone:
        at = "" if analysis.study.single_epoch else f" at the {analysis.epoch} epoch"
        if frames.has_thresholds:
            side, level = nothing_limit(analysis)
            diverged = (
                " or diverged" if analysis.epoch == "last" and (analysis.trials["status"] == "diverged").any() else ""
            )
            if analysis.judge.known:
                yield f"learned nothing: {analysis.metric_words} {side} {level}{at}{diverged}"
            good = "at most" if analysis.goal.minimizes else "at least"
            yield f"good: {good} {analysis.good:g}"
        else:
            yield f"compared by {analysis.the_metric}{at}"
        yield f"{analysis.goal.word} is better"
    source = str((frames.document.get("imported") or {}).get("source") or "")
    if source:
        # What stands before the name may say where a machine keeps its files, or hold a password.
        name = source.partition("?")[0].rstrip("/").replace("\\", "/").rpartition("/")[2]
        yield f"imported from {text(name, 80)}"


def _runs(analysis: Analysis) -> str:
    """`3 arms x 36 configurations x 5 tasks: of these 540 combinations, 525 have one run each and 15 have 10 each`."""
    frames = analysis.frames
    arms, total = plural(len(frames.arms), "arm"), len(frames.configurations)
    if analysis.alone:
        return f"{arms}, {plural(len(frames.trials), 'run')}"
    kind = DRAWN.get(str(frames.document["sampling"].get("strategy", "random")), "")
    cells = frames.trials.groupby(["configuration", "arm", frames.trials["replicate"] // TASK_BLOCK]).size()
    tasks = max(1, len(frames.tasks))
    if frames.paired:
        parts = [arms, plural(total, f"{kind}configuration")]
        expected = len(frames.arms) * total * tasks
    else:
        own = cells.index.to_frame()[["configuration", "arm"]].drop_duplicates()["arm"].value_counts()
        counts = " to ".join(dict.fromkeys(f"{count:,}" for count in (own.min(), own.max())))
        parts = [arms, f"{counts} {kind}configurations of their own"]
        expected = int(own.sum()) * tasks
    if frames.tasks:
        parts.append(plural(tasks, "task"))
    return f"{' x '.join(parts)}{_each(cells.tolist(), expected)}"


def _each(sizes: list[int], expected: int) -> str:
    """How many runs each combination has: `, one run each`; `: 525 combinations have one run each, 15 have 10`."""
    counts = {size: sizes.count(size) for size in sorted(set(sizes))}
    if not counts:
        return ""
    missing = expected - len(sizes)
    if len(counts) == 1 and not missing:
        return f", {_runs_each(*counts)} each"
    many = len(counts) > MOST_COUNTS
    shown = {min(counts): counts[min(counts)]} if many else counts
    parts = [
        f"{count:,} {_have(count)} {_runs_each(size)}{' each' if count > 1 else ''}" for size, count in shown.items()
    ]
    if many:
        low, high = (pick(size for size in counts if size not in shown) for pick in (min, max))
        parts.append(f"{len(sizes) - sum(shown.values()):,} have {low} to {high}")
    if missing:
        parts.append(f"{missing:,} {_have(missing)} none")
    seeds = " (runs of one combination differ in their seed)" if max(counts) > 1 else ""
    return f": of these {expected:,} combinations, {listed(parts)}{seeds}"


def _have(count: int) -> str:
    return "has" if count == 1 else "have"


def _runs_each(size: int) -> str:
    return "one run" if size == 1 else f"{size} runs"


def nothing_limit(analysis: Analysis) -> tuple[str, str]:
    """The side and the threshold of having learned nothing: `below`, `0.628`."""
    side = "above" if analysis.goal.minimizes else "at most" if analysis.judge.inclusive else "below"
    cells = analysis.judge.cells.values()
    if cells:
        return side, f"the threshold of its arm and initial noise, {min(cells):.3f} to {max(cells):.3f}"
    return side, f"{analysis.nothing:.3f}"
