"""Reports of the theory studies: from the store alone, with the numbers that the trials measured."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest
from support.theory_studies import BUBBLE, NOISE, study, swept

from report.analysis import analyse, as_json_text
from report.page import render
from report.sections import make_sections
from report.sections.gradient_noise.entries import NoisePoint
from report.sections.gradient_noise.noise import explosion
from report.sections.verdict import headline
from report.words import with_error
from robustness.store import open_store
from robustness.sweep.plan import make_plan


def test_a_soap_bubble_is_drawn_from_the_store_and_speaks_for_itself(tmp_path: Path) -> None:
    with open_store(f"sqlite:///{tmp_path / 'store.db'}") as store:
        registered = swept(store, study(BUBBLE))
        analysis = analyse(registered)
        said = headline(analysis)
    results = json.loads(as_json_text(analysis.results))
    layers = results["soap_bubble"]["layers"]
    assert [entry["dimension"] for entry in layers] == [10, 10, 36_928, 36_928]
    for entry in layers:
        radius = entry["radius"]
        assert sum(radius["counts"]) == sum(entry["weight"]["counts"]) == 400
        assert abs(radius["mean"] - radius["theory_mean"]) < 5 * radius["theory_sd"] / math.sqrt(400)
    assert results["verdict"] == results["soap_bubble"]["sentences"]
    assert said == "\n".join(results["verdict"])
    assert "Distance of a draw of 36,928 weights from its mean, in sigmas: 192." in said
    assert "Theory lies on the samples: of 8 Kolmogorov-Smirnov tests" in said
    page = render(analysis)
    for name in ("radius-36928", "radius-10", "factors-10", "weight-10"):
        assert f"soap-bubble-{name}-title" in page
    for name in ("outcomes", "curves", "profiles"):
        assert f'id="{name}"' not in page


def test_gradient_noise_is_told_with_its_ratios_and_where_it_explodes(tmp_path: Path) -> None:
    with open_store(f"sqlite:///{tmp_path / 'store.db'}") as store:
        registered = swept(store, study(NOISE))
        analysis, epochs, configurations = analyse(registered), registered.epochs(), registered.configurations()
    found = json.loads(as_json_text(analysis.results))["gradient_noise"]
    assert len(found["points"]) == 3 * 2 * 3
    assert (found["at"]["channels"], found["at"]["sigma"]) == (16, 0.3)
    here = {p["arm"]: p for p in found["points"] if (p["channels"], p["sigma"]) == (16, 0.3)}
    number = next(i for i, drawn in configurations.items() if (drawn["channels"], drawn["sigma"]) == (16, 0.3))
    first, second = epochs.loc[(epochs["arm"] == "mfvi") & (epochs["configuration"] == number), "noise_variance"]
    assert here["mfvi"]["replicates"] == 2
    assert here["mfvi"]["variance"] == pytest.approx((first + second) / 2)
    assert here["mfvi"]["variance_error"] == pytest.approx(abs(first - second) / 2)
    ratio = next(
        entry
        for entry in found["ratios"]
        if (entry["arms"], entry["channels"], entry["sigma"]) == (["mfvi", "radial"], 16, 0.3)
    )
    assert ratio["ratio"] == pytest.approx(here["mfvi"]["sd"] / here["radial"]["sd"])
    assert found["sentences"][0].startswith("At sigma 0.3 and 16 channels the gradient's standard deviation is mfvi ")
    assert "with mfvi_scaled, which has radial's noise" in " ".join(found["sentences"])
    (section, *_) = make_sections(analysis)
    assert [picture.name for picture in section.pictures] == [
        f"gradient-noise-{name}" for name in ("sigma", "variance", "weight", "width")
    ]
    assert section.numbers is not None
    assert len(section.numbers.rows) == len(found["points"])
    assert "gradient-noise-weight-title" in render(analysis)


@pytest.mark.parametrize("base", [BUBBLE, NOISE])
def test_a_study_of_which_nothing_has_run_says_so(tmp_path: Path, base: dict[str, object]) -> None:
    found = study(base)
    with open_store(f"sqlite:///{tmp_path / 'store.db'}") as store:
        registered = store.register(found, make_plan(found))
        sentence = "Nothing has been drawn yet." if base is BUBBLE else "Nothing has been measured yet."
        assert headline(analyse(registered)).splitlines()[0] == sentence
        assert sentence in render(analyse(registered))


def noise_point(sigma: float, sd: float) -> NoisePoint:
    return {
        "arm": "mfvi",
        "channels": 16,
        "sigma": sigma,
        "weight_sd": sigma,
        "dimension": 2320,
        "replicates": 1,
        "variance": sd**2,
        "variance_error": None,
        "sd": sd,
        "sd_error": None,
        "signal_to_noise": None,
        "signal_to_noise_error": None,
    }


def test_an_explosion_is_found_between_the_points() -> None:
    """Noise sigma + 10 sigma^3: its power of sigma rises from 1 to 3."""
    points = [noise_point(s, s + 10 * s**3) for s in (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0)]
    found = explosion(points)
    tenfold, visible = found["tenfold"], found["visible"]
    assert tenfold is not None
    assert visible is not None
    assert tenfold + 10 * tenfold**3 == pytest.approx(10 * points[0]["sd"], rel=0.05)
    assert visible + 10 * visible**3 == pytest.approx(0.1 * points[-1]["sd"], rel=0.1)
    assert found["steepest"] == pytest.approx(math.sqrt(0.5))
    flat = [noise_point(s, 1.0) for s in (0.01, 0.1)]
    assert explosion(flat)["tenfold"] is None


def test_a_value_is_shown_to_the_digits_that_its_error_leaves() -> None:
    assert with_error(0.13894, 0.0042) == "0.1389 ± 0.0042"
    assert with_error(97.3, 11.2) == "97 ± 11"
    assert with_error(0.5, math.nan) == "0.5"
