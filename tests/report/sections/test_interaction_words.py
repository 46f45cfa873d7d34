"""What the page says of interactions: names, units, and reasons where there is no interval."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
from support.results import present

from report.analysis import Analysis
from report.sections import interactions
from robustness import from_dataframe


def of_scores(folder: Path) -> Analysis:
    """Two arms whose difference depends on the only hyperparameter; at one value it has two groups."""
    rng = np.random.default_rng(0)
    rows: list[dict[str, object]] = []
    for seed in range(10):
        for rate in (1, 2, 3):
            better = {1: 0.2, 2: 0.0, 3: 0.5 if seed % 2 else 0.0}[rate]
            base = float(rng.uniform(0, 0.05))
            rows += [
                {"arm": arm, "rate": rate, "batch": seed, "value": base + (better if arm == "b" else 0.0) + 1e-3 * seed}
                for arm in "ab"
            ]
    frame = pd.DataFrame(rows)
    url = f"sqlite:///{folder / 'runs.db'}"
    return from_dataframe(
        frame, study="runs", store=url, arm="arm", metric="value", hyperparameters=["rate", "batch"]
    ).analysis


def test_a_difference_has_its_unit_and_a_reason_where_it_has_no_interval(tmp_path: Path) -> None:
    analysis = of_scores(tmp_path)
    (section,) = interactions.sections(analysis)
    assert "b minus a, mean value" in present(section.numbers).columns
    assert any(
        note.startswith("No interval for ") and "fewer than 12 configurations, in two separate groups" in note
        for note in section.notes
    )
    assert (
        "Whether the difference depends on a hyperparameter is tested by 1,999 permutations among configurations, "
        "corrected" in (" ".join(section.notes))
    )


def test_a_single_hyperparameter_needs_no_correction(tmp_path: Path) -> None:
    frame = pd.DataFrame(
        [
            {"arm": arm, "rate": rate, "value": rate % 5 + (arm == "b") * (rate % 3)}
            for arm in "ab"
            for rate in range(1, 41)
        ]
    )
    url = f"sqlite:///{tmp_path / 'runs.db'}"
    options = {"arm": "arm", "metric": "value", "hyperparameters": ["rate"]}
    analysis = from_dataframe(frame, study="runs", store=url, **options).analysis  # type: ignore[arg-type]
    # The means of `a` are the same in every quarter of the range, so nothing is explained.
    assert analysis.results["sensitivity"]["importance"]["a"]["shares"] == {"rate": 0.0}
    (section,) = interactions.sections(analysis)
    words = " ".join(section.notes)
    assert "is tested by 1,999 permutations among configurations." in words
    assert "Bonferroni" not in words
    assert "choices on which" not in words
