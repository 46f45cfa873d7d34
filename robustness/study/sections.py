"""What a study file may say, section by section; `robustness schema` prints the JSON schema of it."""

from __future__ import annotations

import math
from typing import Annotated, Any, Literal

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    SerializerFunctionWrapHandler,
    model_serializer,
    model_validator,
)

from robustness.plugins import find_trainable
from robustness.space.samplers import SAMPLERS
from robustness.trial import DEFAULT_TRAINABLE

Outcome = Literal["learned_nothing", "good"]
Fraction = Annotated[float, Field(ge=0, le=1)]


class Section(BaseModel):
    """A mapping in which every key is known, and text is never taken for a number."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, use_attribute_docstrings=True)


class Sampling(Section):
    """How configurations are drawn from the search space."""

    strategy: Literal["random", "grid", "sobol"] = "random"
    """`random` (without repeats where the space is finite), `grid` (every combination) or `sobol` (quasi-random)."""
    configurations: int | None = Field(default=None, ge=1, le=1_000_000)
    """How many configurations are drawn; a grid may leave it out and takes all."""
    replicates: int = Field(default=1, ge=1, le=10_000)
    """How often each configuration is trained, each time with other random streams."""
    seed: int = Field(default=0, ge=0, le=2**63 - 1)
    """Where everything random in the study comes from."""

    @model_validator(mode="after")
    def _count_is_given(self) -> Sampling:
        if self.configurations is None and not SAMPLERS[self.strategy].exhaustive:
            raise ValueError(f"configurations is missing: say how many the {self.strategy} strategy draws")
        return self


class LearnedNothing(Section):
    """When a trial has learned nothing: exactly one of the keys."""

    no_better_than_untrained: float | None = Field(default=None, gt=0, lt=0.5)
    """0.01: not above the 99 % point of untrained networks judged alike. For sweeps of the built-in trainable."""
    no_better_than_guessing: float | None = Field(default=None, gt=0, lt=0.5)
    """0.01: not above the 99 % point of guesses judged alike, labels permuted between patients. For the same sweeps."""
    below: float | None = None
    """A fixed number: the metric stays below it."""

    @model_validator(mode="after")
    def _one_of_them(self) -> LearnedNothing:
        if sum(value is not None for value in self.model_dump().values()) != 1:
            raise ValueError("needs exactly one of no_better_than_untrained, no_better_than_guessing and below")
        return self

    @model_serializer(mode="wrap")
    def _as_ever(self, dump: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Guessing is left out where it is not asked for: studies begun before there was such a rule stay the same."""
        values: dict[str, Any] = dump(self)
        if values["no_better_than_guessing"] is None:
            del values["no_better_than_guessing"]
        return values

    @property
    def level(self) -> float | None:
        """The share of untrained networks or of guesses that the threshold leaves above it; None for a fixed number."""
        return self.no_better_than_untrained or self.no_better_than_guessing


class Good(Section):
    """When a trial is good."""

    at_least: float
    """The metric reaches this number."""


class Outcomes(Section):
    """What counts as success and as failure."""

    metric: str = Field(default="validation_auc", min_length=1, max_length=100)
    """The measure by which an epoch is judged; higher is better."""
    epoch: Literal["best", "last"] = "best"
    """Which epoch a trial is judged at."""
    learned_nothing: LearnedNothing
    good: Good
    primary: Outcome = "learned_nothing"
    """The one outcome that the study's verdict is about."""

    @model_validator(mode="after")
    def _apart(self) -> Outcomes:
        below = self.learned_nothing.below
        if below is not None and below > self.good.at_least:
            raise ValueError(
                f"learned_nothing.below ({below}) must not be above good.at_least ({self.good.at_least}): "
                "a trial would be both"
            )
        return self


class Resources(Section):
    """What one trial takes; decides no result."""

    cpu: float = Field(default=1.0, gt=0)
    """CPU cores; a whole number from 1 on, as Ray wants it."""
    gpu: float | Literal["auto"] = 0.0
    """GPUs: 0 (a trial then sees none), a whole number, a share 1/k, or `auto` (from the memory that a trial needs)."""
    memory: float | None = Field(default=None, gt=0)
    """Main memory in GB that a trial reserves."""
    max_attempts: int = Field(default=3, ge=1, le=100)
    """How often a trial whose worker died is tried."""
    trial_timeout: float | None = Field(default=None, gt=0)
    """Seconds after which a trial is ended as timed out."""

    @model_validator(mode="after")
    def _shares(self) -> Resources:
        if self.cpu > 1 and self.cpu != int(self.cpu):
            raise ValueError(f"cpu must be a whole number from 1 on, found {self.cpu}")
        if self.gpu == "auto":
            return self
        if self.gpu < 0 or (self.gpu > 1 and self.gpu != int(self.gpu)):
            raise ValueError(f"gpu must be 0, a whole number, a share 1/k or auto, found {self.gpu}")
        if 0 < self.gpu < 1 and not 0.98 <= self.gpu * math.ceil(round(1 / self.gpu, 1)) <= 1.0005:
            near = max(2, round(1 / self.gpu))
            raise ValueError(f"gpu must be 1/k: {self.gpu} is not, 1/{near} is {1 / near:.4g}")
        return self


class Stop(Section):
    """When a sweep may end early: as soon as the paired difference is decided, by an anytime-valid rule."""

    outcome: Outcome | None = None
    """The outcome whose difference is watched; the primary one if left out."""
    level: float = Field(default=0.05, gt=0, lt=1)
    """The chance of stopping for a difference that is not there."""
    minimum_pairs: int = Field(default=10, ge=1)
    """No stop before so many finished pairs."""


class Pruning(Section):
    """When a run of the search is ended early: its best score is below the median of finished runs at that epoch."""

    startup_runs: int = Field(default=4, ge=1)
    """How many runs of the arm finish before any is pruned."""
    warmup_epochs: int = Field(default=5, ge=0)
    """No run is pruned in its first so many epochs, pre-training included."""


class Winners(Section):
    """Further trials of a sweep: the best configuration of each arm on the first replicate is trained on others too."""

    by: str | None = Field(default=None, min_length=1)
    """The hyperparameter each value of which has a winner of its own; left out, an arm has one in all."""
    replicates: int = Field(ge=2, le=10_000)
    """On how many replicates a winner is trained, the first one included; may be raised later."""
    fewer: dict[str, Annotated[int, Field(ge=1)]] = {}
    """For values of `by`: on how many replicates instead, such as `{protein: 5}`."""

    def replicates_of(self, value: object) -> int:
        return self.fewer.get(str(value), self.replicates)


class Search(Section):
    """Bayesian optimisation of each arm on its own (`robustness optimize`), in place of a sweep."""

    runs: int = Field(default=10, ge=1, le=5000)
    """How many configurations are tried for each arm; may be raised later."""
    sampler: Literal["gp", "tpe", "random"] = "gp"
    """What proposes: a Gaussian process, tree-structured Parzen estimators, or chance."""
    startup: int = Field(default=3, ge=1)
    """How many finished runs the model is given before its first proposal."""
    objective: Literal["auc", "accuracy"] | None = None
    """What is optimised: the best validation AUC or accuracy of any epoch; `outcomes.metric` if left out."""
    epochs: int | None = Field(default=None, ge=1)
    """Epochs of a run of the search; those of `training` if left out. Final models have those of `training`."""
    warm_start: str | None = Field(default=None, min_length=1)
    """A study in the same store, from whose best configurations each arm starts; their scores are not used."""
    warm_starts: int = Field(default=2, ge=1)
    """How many configurations each arm takes from there."""
    pruning: Pruning | None = None
    """Ends runs early that are behind the median of those before them; left out, every run has all its epochs."""
    spaces: dict[str, str | dict[str, Any]] = {}
    """For arms that search another space than `space`: the name of one, a path, or the space itself."""
    models: dict[str, dict[str, Any]] = {}
    """For arms whose network is another: what differs from `model`, such as `{base_channels: 64}`."""


class Finals(Section):
    """The final models that `robustness optimize` trains with the best configuration of each arm."""

    replicates: int = Field(default=1, ge=1, le=1000)
    """How many models of each arm, each from its own start; may be raised later."""
    arms: list[str] | None = Field(default=None, min_length=1)
    """The arms that get final models; all if left out."""
    planned: list[str] | None = Field(default=None, min_length=2, max_length=2)
    """The two arms whose comparison the study is made for: one test, which pays nothing for looking at all pairs."""


class Reference(Section):
    """Figures from elsewhere, say a paper's, that the report shows beside the study's own; decides no result."""

    label: str = "paper"
    """What the report calls them."""
    pairs: int | None = Field(default=None, ge=1)
    """How many pairs they come from."""
    learned_nothing: dict[str, Fraction] = {}
    """For each arm, the fraction that learned nothing."""
    good: dict[str, Fraction] = {}
    """For each arm, the fraction that was good."""
    winners: dict[str, dict[str, str | int | float | bool | None]] = {}
    """For each arm, its best configuration."""
    auc_after_referral: dict[str, list[Fraction]] = {}
    """For each arm, the AUC after 0, 10, 20 and 30 % of the pictures were referred."""
    figures: dict[str, Any] = {}
    """Anything else, as plain values."""


class StudyFile(Section):
    """A study: a task, a model, arms, a search space, how it is sampled and trained, what counts as success."""

    model_config = ConfigDict(title="A robustness study")

    name: str
    """The study's name in the store and the report."""
    description: str = ""
    """What it is for, in a sentence or two."""
    trainable: str = Field(default=DEFAULT_TRAINABLE, pattern=r"^[^\s:]+(:[^\s:]+)?$")
    """`classification`, `regression`, `continual`, `soap_bubble`, `gradient_noise`, or `package.module:function` for
    your own code; `task`, `model` and `training` are then yours as well."""
    task: dict[str, Any] | None = None
    """The data: `{name: synthetic_fundus, image_size: 32, ...}`."""
    model: dict[str, Any] | None = None
    """The network: `{name: vgg_small, base_channels: 16, ...}`."""
    arms: list[str | dict[str, Any]] = Field(min_length=1)
    """What is compared: names of methods, or mappings `{name: label, method: mfvi, initial_rho: -6}`."""
    compare_with: str | None = None
    """The arm with which each other is compared, in place of every two arms with each other; decides no result."""
    space: str | dict[str, Any]
    """A search space: the name of a bundled one, a path ending in .yaml, or the space itself."""
    sampling: Sampling
    training: dict[str, Any] | None = None
    """How a trial is trained: `{epochs: 12, ...}`."""
    outcomes: Outcomes
    resources: Resources = Resources()
    reference: Reference | None = None
    stop: Stop | None = None
    winners: Winners | None = None
    search: Search | None = None
    finals: Finals | None = None


def study_schema() -> dict[str, Any]:
    """Return the JSON schema of study files, with the training options of the default trainable in it."""
    schema = StudyFile.model_json_schema()
    options = find_trainable(DEFAULT_TRAINABLE).training_options
    if options is None:
        return schema
    training = options.model_json_schema()
    schema.setdefault("$defs", {})["TrainingOptions"] = {**training, "additionalProperties": True}
    # Other trainables have other training options.
    schema["if"] = {"properties": {"trainable": {"const": DEFAULT_TRAINABLE}}}
    schema["then"] = {"properties": {"training": {"$ref": "#/$defs/TrainingOptions"}}}
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}
