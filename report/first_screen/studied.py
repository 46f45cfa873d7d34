"""What was studied, in one line: the runs, how a trial is judged, and where imported runs come from."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from report.frames import TASK_BLOCK
from report.words import text
from robustness.errors import plural

if TYPE_CHECKING:
    from report.analysis import Analysis

DRAWN = {"random": "random ", "sobol": "Sobol ", "grid": ""}
"""How configurations were chosen, in front of their name."""


def studied(analysis: Analysis) -> str:
    """`5 arms x 86 random configurations, one run each; learned nothing: AUC below 0.63 at the last epoch; ...`."""
    return "; ".join(_parts(analysis))


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
            yield f"compared by {analysis.metric_words}{at}"
        yield f"{analysis.goal.word} is better"
    source = str((frames.document.get("imported") or {}).get("source") or "")
    if source:
        # What stands before the name may say where a machine keeps its files, or hold a password.
        name = source.partition("?")[0].rstrip("/").replace("\\", "/").rpartition("/")[2]
        yield f"imported from {text(name, 80)}"


def _runs(analysis: Analysis) -> str:
    """`3 arms x 36 configurations x 5 tasks, one run each, up to 10 at 15 of these 540 combinations`."""
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
    """How many runs each combination has: `, one run each`, `, 4 runs each`, ..."""
    if not sizes:
        return ""
    usual = max(set(sizes), key=lambda size: (sizes.count(size), -size))
    words = ", one run each" if usual == 1 else f", {usual} runs each"
    others = [size for size in sizes if size != usual]
    if others:
        ends = " to ".join(dict.fromkeys(str(size) for size in (min(others), max(others))))
        words += f" ({ends} at {len(others):,} of {expected:,} combinations)"
    missing = expected - len(sizes)
    return words + (f", none at {missing:,} of {expected:,} combinations" if missing else "")


def nothing_limit(analysis: Analysis) -> tuple[str, str]:
    """The side and the threshold of having learned nothing: `below`, `0.628`."""
    side = "above" if analysis.goal.minimizes else "at most" if analysis.judge.inclusive else "below"
    cells = analysis.judge.cells.values()
    if cells:
        return side, f"the threshold of its arm and initial noise, {min(cells):.3f} to {max(cells):.3f}"
    return side, f"{analysis.nothing:.3f}"
