"""Coverage of the interval of a difference between two arms whose searches are repeated.

In simulated studies each search of an arm has its own effect, each of its final models another, and the test set a
third one on the difference of the arms; the true difference is known. Every interval comes from `difference_of_arms`,
the function behind the report. Rows with one search are what a study without `finals.searches` reports: test set and
models are in the interval, and what another search would have changed is not.

The last rows draw whole test sets of patients with two images each. The report's own functions compute the AUCs and
their resamples, so that the error over patients is estimated as in real results.

    python benchmarks/searches.py [--json] [--studies 20000] [--whole 2000]
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy import stats

sys.path.insert(0, str(Path(__file__).parent))

from results import Result, parser, show

from robustness.statistics.nested import Difference, Figures, difference_of_arms, model_weights
from robustness.statistics.referral import patient_weights, referred_aucs

SEED = 20
STUDIES, WHOLE_STUDIES = 20_000, 2_000
RESAMPLES = 200
DIFFERENCE = 0.03
LEAST = 0.93
"""The least coverage of a 95 % interval from two searches or more."""
SEARCH_D, MODEL_D = 0.13, 0.065
"""Standard deviations of the distance of the classes with drawn test sets: about 0.02 and 0.01 of AUC."""
UNDER = 0.80
"""An upper bound on what intervals from one search cover with `USUAL` components."""


@dataclass(frozen=True)
class Components:
    """Standard deviations: between searches of either arm, between models of a search, of the test set's part."""

    search: tuple[float, float]
    model: float
    image: float

    def __str__(self) -> str:
        first, second = self.search
        search = f"{first:g}" if first == second else f"{first:g} and {second:g}"
        return f"sd search {search}, model {self.model:g}, images {self.image:g}"


USUAL = Components((0.02, 0.02), 0.01, 0.012)
UNLIKE = Components((0.05, 0.0), 0.01, 0.012)
"""One arm whose searches differ far more than those of the other."""
OTHERS = (
    Components((0.0, 0.0), 0.01, 0.012),
    Components((0.005, 0.005), 0.01, 0.012),
    Components((0.05, 0.05), 0.01, 0.012),
    UNLIKE,
    Components((0.1, 0.0), 0.01, 0.012),
    Components((0.05, 0.0), 0.01, 0.03),
    Components((0.02, 0.02), 0.01, 0.003),
    Components((0.02, 0.02), 0.01, 0.03),
)


def covered(components: Components, searches: int, models: int, studies: int, seed: int = SEED) -> tuple[float, float]:
    """The share of intervals that contain the true difference, and their mean width."""
    rng = np.random.default_rng([seed, searches, models])
    inside, width = 0, 0.0
    for _ in range(studies):
        image = rng.normal(0, components.image)
        first, second = (
            _figures(effect + _nested(rng, sd, components.model, searches, models))
            for effect, sd in zip((DIFFERENCE + image, 0.0), components.search, strict=True)
        )
        resampled = rng.normal(0, components.image, RESAMPLES)
        result = difference_of_arms(first, second, resampled)
        inside += _contains(result, DIFFERENCE)
        width += result.high - result.low
    return inside / studies, width / studies


def covered_in_whole_studies(searches: int, models: int, studies: int, seed: int = SEED) -> float:
    """The share of intervals that contain the true difference of AUCs, with drawn test sets.

    A model's score of an image is d times its label plus noise of the patient, of the image and of the model with the
    image, all of variance one in total, so its true AUC is Phi(d / sqrt 2). A search and a model change d.
    """
    rng = np.random.default_rng([seed, searches, models, 1])
    patients = np.repeat(np.arange(150), 2)
    centres = (1.6, 1.3)
    truths = [_mean_auc(centre) for centre in centres]
    inside = 0
    for _ in range(studies):
        labels = np.repeat(rng.integers(0, 2, 150), 2)
        shared = math.sqrt(0.3) * rng.normal(0, 1, 150)[patients] + math.sqrt(0.3) * rng.normal(0, 1, len(patients))
        drawn = patient_weights(patients, RESAMPLES, int(rng.integers(2**31)))
        weights = np.concatenate([np.ones((1, len(labels))), drawn])
        arms = []
        for centre in centres:
            d = centre + _nested(rng, SEARCH_D, MODEL_D, searches, models)
            own = rng.normal(0, math.sqrt(0.4), (d.size, len(labels)))
            scores = d.reshape(-1, 1) * labels + shared + own
            arms.append(np.stack([_aucs(labels, each, weights) for each in scores]))
        share = model_weights(np.repeat(np.arange(searches), models))
        resampled = share @ arms[0][:, 1:] - share @ arms[1][:, 1:]
        first, second = (_figures(arm[:, 0].reshape(searches, models)) for arm in arms)
        inside += _contains(difference_of_arms(first, second, resampled), truths[0] - truths[1])
    return inside / studies


def _nested(rng: np.random.Generator, search: float, model: float, searches: int, models: int) -> NDArray[np.float64]:
    """Effects of searches and of their models, [searches, models]."""
    effects: NDArray[np.float64] = rng.normal(0, search, (searches, 1)) + rng.normal(0, model, (searches, models))
    return effects


def _mean_auc(centre: float) -> float:
    """E Phi(D / sqrt 2) for D normal around the centre: Phi(centre / sqrt(2 + variance))."""
    return float(stats.norm.cdf(centre / math.sqrt(2 + SEARCH_D**2 + MODEL_D**2)))


def _aucs(labels: NDArray[np.int64], scores: NDArray[np.float64], weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """[1 + resamples], with nothing referred."""
    both = np.stack([-scores, scores], axis=1)
    return referred_aucs(labels, both, np.zeros(len(labels)), (0.0,), weights)[:, 0]


def _figures(values: NDArray[np.float64]) -> Figures:
    """Values [searches, models] by search."""
    return {search: models.tolist() for search, models in enumerate(values)}


def _contains(result: Difference, truth: float) -> bool:
    return result.low <= truth <= result.high


def measured(studies: int = STUDIES, whole: int = WHOLE_STUDIES) -> Iterator[Result]:
    """The coverage of each design."""
    for searches, models in ((3, 3), (2, 3), (5, 3), (3, 1)):
        coverage, width = covered(USUAL, searches, models, studies)
        yield _result(USUAL, searches, models, coverage, width, least=LEAST)
    for models in (3, 9):
        coverage, width = covered(USUAL, 1, models, studies)
        yield _result(USUAL, 1, models, coverage, width, most=UNDER)
    for components in OTHERS:
        coverage, width = covered(components, 3, 3, studies)
        yield _result(components, 3, 3, coverage, width, least=LEAST)
    coverage, width = covered(UNLIKE, 2, 3, studies)
    yield _result(UNLIKE, 2, 3, coverage, width, least=LEAST)
    for searches, least, most in ((3, LEAST, None), (1, None, 0.90)):
        name = f"drawn test sets, {searches} x 3 models of each arm"
        note = f"standard error {math.sqrt(0.05 * 0.95 / whole):.3f}"
        yield Result(name, covered_in_whole_studies(searches, 3, whole), "", most, least, note)


def _result(
    components: Components,
    searches: int,
    models: int,
    coverage: float,
    width: float,
    most: float | None = None,
    least: float | None = None,
) -> Result:
    name = f"{searches} x {models} models of each arm, {components}"
    return Result(name, coverage, "", most, least, f"mean width {width:.3f}")


if __name__ == "__main__":
    arguments = parser(__doc__)
    arguments.add_argument("--studies", type=int, default=STUDIES, help="simulated studies per row")
    arguments.add_argument("--whole", type=int, default=WHOLE_STUDIES, help="studies with drawn test sets per row")
    options = arguments.parse_args()
    sys.exit(show(measured(options.studies, options.whole), options.json))
