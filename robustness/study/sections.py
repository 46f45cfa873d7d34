"""The sections of a study file; `robustness schema` prints their JSON schema."""

from __future__ import annotations

import math
from typing import Annotated, Any, Literal

from pydantic import (
    ConfigDict,
    Field,
    SerializerFunctionWrapHandler,
    model_serializer,
    model_validator,
)

from robustness.plugins import find_trainable
from robustness.space.samplers import SAMPLERS
from robustness.study.outcome_sections import Outcome, Outcomes
from robustness.study.section import Section
from robustness.trial import DEFAULT_TRAINABLE, Purpose

Fraction = Annotated[float, Field(ge=0, le=1)]


class Sampling(Section):
    """How configurations are drawn from the search space."""

    strategy: Literal["random", "grid", "sobol"] = "random"
    """`random` (without repeats where the space is finite), `grid` (every combination) or `sobol` (quasi-random)."""
    configurations: int | None = Field(default=None, ge=1, le=1_000_000)
    """Number of configurations to draw; a grid without it takes all of them."""
    replicates: int = Field(default=1, ge=1, le=10_000)
    """How many times each configuration is trained, each time with different random streams."""
    seed: int = Field(default=0, ge=0, le=2**63 - 1)
    """The seed from which all randomness in the study is derived."""
    vary: list[Purpose] = []
    """Streams such as `[initialisation, data_order]`, each varied alone around the first replicate, with the others
    held: 1 + streams x (replicates - 1) trials for each configuration and arm. Fractions and comparisons are then of
    the first replicate. By default each replicate has different streams throughout."""

    @model_validator(mode="after")
    def _vary_is_possible(self) -> Sampling:
        if self.vary and self.replicates < 2:
            raise ValueError(f"vary needs at least 2 replicates, found {self.replicates}")
        if len(set(self.vary)) < len(self.vary):
            raise ValueError("vary names a stream twice")
        return self

    @model_serializer(mode="wrap")
    def _with_stable_keys(self, dump: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Omit `vary` where it is empty, so that studies from before it existed keep their hash."""
        values: dict[str, Any] = dump(self)
        if not values["vary"]:
            del values["vary"]
        return values

    @property
    def trials(self) -> int:
        """Trials of each configuration and arm."""
        return 1 + len(self.vary) * (self.replicates - 1) if self.vary else self.replicates

    def varied(self, replicate: int) -> Purpose | None:
        """The stream that alone differs from the first replicate; None if all do."""
        return self.vary[(replicate - 1) // (self.replicates - 1)] if self.vary and replicate else None

    @model_validator(mode="after")
    def _count_is_given(self) -> Sampling:
        if self.configurations is None and not SAMPLERS[self.strategy].exhaustive:
            raise ValueError(f"configurations is missing: set how many the {self.strategy} strategy draws")
        return self


class Resources(Section):
    """The resources of one trial; they do not affect results."""

    cpu: float = Field(default=1.0, gt=0)
    """CPU cores; an integer if above 1, as Ray requires."""
    gpu: float | Literal["auto"] = 0.0
    """GPUs: 0 (the trial sees none), an integer, a share 1/k, or `auto` (from an estimate of the memory needed)."""
    memory: float | None = Field(default=None, gt=0)
    """RAM in GB to reserve for a trial."""
    max_attempts: int = Field(default=3, ge=1, le=100)
    """Maximum number of attempts at a trial that crashes or raises an error; a `command` that exits with an error is
    tried again only if this key is set."""
    trial_timeout: float | None = Field(default=None, gt=0)
    """Seconds after which a trial is ended as `timed_out`."""

    @model_validator(mode="after")
    def _shares(self) -> Resources:
        if self.cpu > 1 and self.cpu != int(self.cpu):
            raise ValueError(f"cpu must be an integer if above 1, found {self.cpu}")
        if self.gpu == "auto":
            return self
        if self.gpu < 0 or (self.gpu > 1 and self.gpu != int(self.gpu)):
            raise ValueError(f"gpu must be 0, an integer, a share 1/k or auto, found {self.gpu}")
        if 0 < self.gpu < 1 and not 0.98 <= self.gpu * math.ceil(round(1 / self.gpu, 1)) <= 1.0005:
            near = max(2, round(1 / self.gpu))
            raise ValueError(f"gpu must be 1/k if below 1, such as 1/{near} = {1 / near:.4g}, found {self.gpu}")
        return self


class Stop(Section):
    """Early stopping of a sweep as soon as paired differences are significant, by an anytime-valid test."""

    outcome: Outcome | None = None
    """The outcome whose difference is tested; by default the primary outcome."""
    level: float = Field(default=0.05, gt=0, lt=1)
    """The probability of ever declaring a difference where there is none, over all comparisons together."""
    minimum_pairs: int = Field(default=10, ge=1)
    """Finished configurations required before the sweep may stop."""
    arms: list[str] | None = Field(default=None, min_length=2, max_length=2)
    """The two arms whose difference is tested, without correction for other comparisons. By default every comparison
    of the report: all pairs of arms, or each arm with `compare_with`."""
    when: Literal["all", "any"] = "all"
    """With several comparisons: stop when `all` of them are decided, or when `any` of them is."""
    futility: float | None = Field(default=None, gt=0, lt=1)
    """Also stop when no open comparison is likely to be decided: 0.05 stops below a probability of 5 %, given the
    results so far, that the remaining configurations decide it. By default a sweep without a decision runs to its end.
    """

    equivalence: bool = False
    """A comparison is also decided once its arms are shown to be equivalent within outcomes.equivalent_within."""

    @model_serializer(mode="wrap")
    def _with_stable_keys(self, dump: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Omit the later keys where they are not set, so that the documents of studies from before them are equal."""
        values: dict[str, Any] = dump(self)
        later = {"arms": None, "when": "all", "futility": None, "equivalence": False}
        return {key: value for key, value in values.items() if key not in later or value != later[key]}


class Pruning(Section):
    """Ends a run of the search early if its best score is below the median of finished runs at that epoch."""

    startup_runs: int = Field(default=4, ge=1)
    """Runs of the arm that must finish before any run is pruned."""
    warmup_epochs: int = Field(default=5, ge=0)
    """Epochs at the start of a run in which it is never pruned, including pre-training."""


class Winners(Section):
    """Further trials of a sweep: each arm's best configuration on the first replicate is trained on more replicates."""

    by: str | None = Field(default=None, min_length=1)
    """A hyperparameter: each arm has one winner for each of its values. By default each arm has a single winner."""
    replicates: int = Field(ge=2, le=10_000)
    """Replicates that a winner is trained on, including the first; may be increased later."""
    fewer: dict[str, Annotated[int, Field(ge=1)]] = {}
    """A smaller number of replicates for some values of `by`, such as `{protein: 5}`."""

    def replicates_of(self, value: object) -> int:
        return self.fewer.get(str(value), self.replicates)


class Search(Section):
    """Bayesian optimisation of each arm separately (`robustness optimize`) instead of a sweep."""

    runs: int = Field(default=10, ge=1, le=5000)
    """Configurations to try for each arm; may be increased later."""
    sampler: Literal["gp", "tpe", "random"] = "gp"
    """What proposes configurations: a Gaussian process, tree-structured Parzen estimators, or random sampling."""
    startup: int = Field(default=3, ge=1)
    """Finished runs that the sampler's model needs before its first proposal."""
    objective: Literal["auc", "accuracy", "nll", "calibration_error"] | None = None
    """What is optimised: the best validation AUC, accuracy, NLL or calibration error of any epoch; by default
    `outcomes.metric`."""
    epochs: int | None = Field(default=None, ge=1)
    """Epochs of each run of the search; by default `training.epochs`, which final models always use."""
    warm_start: str | None = Field(default=None, min_length=1)
    """A study in the same store whose best configurations each arm tries first; their scores are not used."""
    warm_starts: int = Field(default=2, ge=1)
    """Configurations that each arm takes from that study."""
    pruning: Pruning | None = None
    """Early ending of runs that fall behind the median of earlier runs; by default every run trains all its epochs."""
    spaces: dict[str, str | dict[str, Any]] = {}
    """Per-arm overrides of `space`: the name of a bundled space, a path, or the space itself."""
    models: dict[str, dict[str, Any]] = {}
    """Per-arm overrides of `model`: the options that differ, such as `{base_channels: 64}`."""


class Finals(Section):
    """The final models that `robustness optimize` trains with the best configuration of each arm."""

    replicates: int = Field(default=1, ge=1, le=1000)
    """Final models per arm and search, each from different initial weights; may be increased later."""
    arms: list[str] | None = Field(default=None, min_length=1)
    """The arms that get final models; by default all of them."""
    planned: list[str] | None = Field(default=None, min_length=2, max_length=2)
    """The two arms of the study's planned comparison: a single test without correction for multiple comparisons."""
    searches: int = Field(default=1, ge=1, le=1000)
    """How many times the whole search of every arm is repeated, each time with different random streams and with final
    models of its own; may be increased later. With 1, the interval of a difference does not include the search."""

    @model_serializer(mode="wrap")
    def _with_stable_keys(self, dump: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Omit a single search, so that studies from before `searches` existed keep their hash."""
        values: dict[str, Any] = dump(self)
        if values["searches"] == 1:
            del values["searches"]
        return values


class Reference(Section):
    """Published results, for example from a paper, that the report shows beside the study's for comparison."""

    label: str = "paper"
    """The name of the reference in the report."""
    pairs: int | None = Field(default=None, ge=1)
    """The number of pairs behind the reference results."""
    learned_nothing: dict[str, Fraction] = {}
    """The fraction of trials that learned nothing, for each arm."""
    good: dict[str, Fraction] = {}
    """The fraction of good trials, for each arm."""
    winners: dict[str, dict[str, str | int | float | bool | None]] = {}
    """The best configuration of each arm."""
    auc_after_referral: dict[str, list[Fraction]] = {}
    """The AUC after referring 0, 10, 20 and 30 % of the images, for each arm."""
    figures: dict[str, Any] = {}
    """Any other numbers, as plain values."""


class StudyFile(Section):
    """A study: task, model, arms, search space, sampling, training, and what counts as success."""

    model_config = ConfigDict(title="A robustness study")

    name: str
    """The study's name in the store and the report."""
    description: str = ""
    """The purpose of the study, in a sentence or two."""
    trainable: str = Field(default=DEFAULT_TRAINABLE, pattern=r"^[^\s:]+(:[^\s:]+)?$")
    """`classification`, `regression`, `continual`, `soap_bubble`, `gradient_noise`, or `package.module:function` for
    your own code, which then defines `task`, `model` and `training`."""
    command: str | list[str] | None = None
    """A program of yours that trains a trial, instead of `trainable`: `python train.py --lr {learning_rate} --optimizer
    {arm} --seed {seed}`. No shell runs it, and each value stays one argument. Placeholders are hyperparameters, `arm`,
    `method`, `seed`, `configuration`, `replicate`, `folder` and keys of `training`; `{{` is a literal brace."""
    metrics: dict[str, Any] | None = None
    """Where the results of `command` come from: `{from: stdout-json}` (the default), `{file: results.jsonl}` in
    `{folder}`, both with a JSON object a line, or `{pattern: "val_acc (?P<validation_accuracy>[0-9.]+)"}`."""
    task: dict[str, Any] | None = None
    """The data: `{name: synthetic_fundus, image_size: 32, ...}`."""
    tasks: list[dict[str, Any]] | None = Field(default=None, min_length=1)
    """Several tasks in place of `task`: every configuration, arm and replicate is trained on each. A task has a `name`,
    and a `label` if another has the same name. Further tasks may be added later."""
    model: dict[str, Any] | None = None
    """The network: `{name: vgg_small, base_channels: 16, ...}`."""
    arms: list[str | dict[str, Any]] = Field(min_length=1)
    """The methods to compare: names, or mappings such as `{name: label, method: mfvi, initial_rho: -6}`. An arm may
    have its own `space`, whose options are drawn beside the study's, and `training` and `model`: what differs there."""
    contrasts: dict[str, dict[str, float]] = {}
    """Weighted sums of arms that are tested beside the comparisons, such as `{noise: {a: 0.5, b: 0.5, c: -1.0}}`; the
    weights of each sum to zero. Does not affect trials."""
    compare_with: str | None = None
    """The arm that every other arm is compared with, instead of all pairs of arms; does not affect trials."""
    space: str | dict[str, Any] | None = None
    """The search space that all arms share: the name of a bundled space, a path ending in .yaml, or the space itself.
    Without it, every arm has its own, and arms are compared without pairs."""
    default: dict[str, Any] | None = None
    """The configuration that one would use without tuning, such as `{optimizer: sgd, learning_rate: 0.01}`: a value
    for every hyperparameter of the space. Each arm is trained with it beside the drawn configurations, among which it
    does not count, and the report says what tuning gains over it. May be added later."""
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
