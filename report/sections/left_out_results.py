"""What was left out of the fractions, and whether any way of counting it would change the verdict.

In each way the trials that do not count are given an outcome. The two extremes, all of them for one arm and against the
other, bound every other way: adding a pair that speaks for an arm never makes its test speak less for it.
"""

from __future__ import annotations

from typing import Any

import pandas as pd

from report.comparison import Sample, compare_pairs, has_outcome
from report.frames import StudyFrames
from report.words import SIGNIFICANT
from robustness.trial import PENDING

MOST_ERRORS = 5


def left_out(judged: pd.DataFrame, frames: StudyFrames, sample: Sample) -> dict[str, Any]:
    """Counts by arm and reason, the most frequent error texts, and what counting them would do to each comparison."""
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
        "errors": [{"text": str(text), "trials": int(n)} for text, n in errors.head(MOST_ERRORS).items()],
        "matters": [
            would_it_matter(judged, first, second, frames.primary, frames.rule, sample)
            for first, second in frames.compared
        ],
    }


def would_it_matter(
    judged: pd.DataFrame, first: str, second: str, outcome: str, summary: str, sample: Sample
) -> dict[str, Any]:
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
    found: dict[str, Any] = {"arms": [first, second], "outcome": outcome, "epoch": summary, "observed": observed}
    for key, part in (("left_out", wide[~still_open.reindex(wide.index)]), ("missing", wide)):
        filled = int(part.isna().to_numpy().sum())
        results = {
            name: _verdict(part.fillna({first: of_first, second: of_second}), outcome, sample)
            for name, (of_first, of_second) in (ways if filled else {}).items()
        }
        changes = any(result["favours"] != observed["favours"] for result in results.values())
        found[key] = {"trials": filled, "ways": results, "changes": changes}
    return found


def _verdict(pairs: pd.DataFrame, outcome: str, sample: Sample) -> dict[str, Any]:
    """The difference, p-value and the arm that they favour at the 5 % level, before any correction."""
    found = compare_pairs(pairs, sample)
    favours = None
    if found["p_value"] is not None and found["p_value"] < SIGNIFICANT and found["difference"]:
        more, less = pairs.columns if found["difference"] > 0 else reversed(pairs.columns)
        favours = str(less if outcome == "learned_nothing" else more)
    return {
        "pairs": found["pairs"],
        "difference": found["difference"],
        "p_value": found["p_value"],
        "favours": favours,
    }
