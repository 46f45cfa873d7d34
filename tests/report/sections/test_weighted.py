"""Strata drawn out of proportion: the page says so, and gives the estimates for the whole space."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from scipy import stats
from support.results import ends, excludes_zero, p_value, present
from support.stores import AWKWARD, Made, fill, made_study

from report.analysis import Analysis, analyse
from report.sections import outcomes, weighted
from robustness.store import Store, open_store
from robustness.trial import Trial


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with open_store(f"sqlite:///{tmp_path / 'made.db'}") as opened:
        yield opened


def analysed(store: Store, arms: tuple[str, ...] = ("mfvi", "radial"), replicates: int = 1) -> Analysis:
    """mfvi learns nothing with sgd, in every fourth configuration of it not; radial in every third with amsgrad."""

    def make(trial: Trial, epochs: int) -> Made:
        sgd = trial.hyperparameters["optimizer"] == "sgd"
        place = trial.configuration // 2  # the strata take turns
        lost = place % 4 != 0 if sgd else place % 3 == 0
        return Made(scores=[0.5 if lost and (sgd is (trial.arm == "mfvi")) else 0.9] * epochs)

    return analyse(fill(store, made_study(arms=arms, configurations=24, replicates=replicates), make))


def test_each_stratum_counts_by_its_share_of_the_space(store: Store) -> None:
    analysis = analysed(store)
    found = present(analysis.results["weighted"])
    assert found["by"] == ["optimizer"]
    sizes = {entry["choices"]["optimizer"]: (entry["drawn"], entry["in_space"]) for entry in found["strata"]}
    # 3 x 3 learning rates and decays, or 3 learning rates, with 12 allowed pairs of batch size and samples, 4 rhos.
    assert sizes == {"sgd": (12, 432), "amsgrad": (12, 144)}
    optimizers = analysis.frames.configurations["optimizer"]
    for arm in ("mfvi", "radial"):
        own = analysis.pairs[analysis.pairs["arm"] == arm].set_index("configuration")["outcome"] == "learned_nothing"
        shares = {name: float(own[optimizers == name].mean()) for name in sizes}
        share = found["arms"][arm]["learned_nothing"]
        assert share["fraction"] == pytest.approx(0.75 * shares["sgd"] + 0.25 * shares["amsgrad"])
        low, high = ends(share)
        assert low < share["fraction"] < high
        assert share["effective"] <= 24
    first, second = (found["arms"][arm]["learned_nothing"]["fraction"] for arm in ("mfvi", "radial"))
    (entry,) = (entry for entry in found["paired"] if entry["outcome"] == "learned_nothing")
    assert entry["difference"] == pytest.approx(first - second)
    assert excludes_zero(entry) is (p_value(entry) < 0.05)


def test_the_weighted_difference_has_the_variance_of_a_stratified_sample(store: Store) -> None:
    analysis = analysed(store)
    (entry,) = (e for e in present(analysis.results["weighted"])["paired"] if e["outcome"] == "learned_nothing")
    wide = analysis.pairs.pivot_table("outcome", "configuration", "arm", aggfunc="first")
    differences = (wide["mfvi"] == "learned_nothing").astype(int) - (wide["radial"] == "learned_nothing").astype(int)
    optimizers = analysis.frames.configurations["optimizer"]
    parts = [(weight, differences[optimizers == name]) for name, weight in (("sgd", 0.75), ("amsgrad", 0.25))]
    variance = sum(weight**2 * float(np.var(values)) / len(values) for weight, values in parts)
    mean = sum(weight * float(values.mean()) for weight, values in parts)
    whole = sum(weight * float((values != 0).mean()) for weight, values in parts) - mean**2
    assert entry["effective"] == pytest.approx(min(whole / variance, 1 / (0.75**2 / 12 + 0.25**2 / 12)))
    low, high = stats.norm.interval(0.95, mean, np.sqrt(variance))
    own_low, own_high = ends(entry)
    assert own_high - own_low > 0.9 * (high - low)


@pytest.mark.parametrize(("arms", "replicates"), [(("mfvi", "radial"), 1), (("mfvi", "radial", "mc_dropout"), 3)])
def test_the_page_says_that_fractions_are_of_the_drawn_mix(
    store: Store, arms: tuple[str, ...], replicates: int
) -> None:
    analysis = analysed(store, arms, replicates)
    mix = (
        "Fractions are of the drawn mix: 12 of 144 configurations with optimizer amsgrad and "
        "12 of 432 configurations with optimizer sgd."
    )
    (bars,) = outcomes.sections(analysis)
    assert mix in bars.notes
    (section,) = weighted.sections(analysis)
    assert mix.replace("Fractions", "Elsewhere, fractions") in section.notes
    # A single comparison needs no correction.
    assert ("By Holm" in present(section.numbers).columns) == (len(arms) > 2)
    assert section.reading.startswith(
        "Share of the space's configurations that learned nothing, with 95 % intervals: mfvi 56 % ("
    )
    assert section.numbers is not None
    assert len(section.numbers.rows) == len(arms) + len(arms) * (len(arms) - 1) // 2


def test_a_space_drawn_in_proportion_needs_no_weights(store: Store) -> None:
    analysis = analyse(AWKWARD["whole grid"](store))
    assert analysis.results["weighted"] is None
    assert list(weighted.sections(analysis)) == []
