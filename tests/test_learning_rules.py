"""The short form of `benchmarks/learning_rules.py`."""

from __future__ import annotations

from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"


def test_networks_trained_on_shuffled_labels_seldom_count_as_having_learned(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    import learning_rules as benchmark

    for name, value in (("NETWORKS", 64), ("NETWORKS_OF_ARM", 32), ("NETWORKS_OF_GAIN", 8), ("RESAMPLES", 50)):
        monkeypatch.setattr(f"robustness.sweep.untrained.{name}", value)
    for name in ("LEAST_DRAWS", "MOST_DRAWS"):
        monkeypatch.setattr(f"robustness.sweep.guessing.{name}", 20_000)
    study = benchmark.study_of("no_better_than_start", seed=1, size=80)
    state = tmp_path / "networks.jsonl"
    some = benchmark.trained_networks(study, 5, state)
    networks = benchmark.trained_networks(study, 16, state)
    assert networks[:5] == some
    assert len({(network.arm, network.rho) for network in networks}) == 8
    rules = benchmark.judges_of_rules(seed=1, data=None, size=80)
    found = {result.name: result for result in benchmark.results(networks, rules)}
    for summary in ("best", "last"):
        shares = {rule: found[f"{rule}, {summary}: all"].value for rule in rules}
        assert shares["no_better_than_start"] <= shares["no_better_than_guessing"]
        # At most one of 16: more has a probability of 1 % if the share is 1 %.
        assert shares["no_better_than_start"] <= 100 / 16
        for arm in ("mfvi", "radial"):
            power = [
                found[f"no_better_than_start, {summary}: {arm}, power at a gain of {gain}"].value for gain in (0.1, 0.3)
            ]
            assert power[0] <= power[1]
