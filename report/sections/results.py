"""The type of the whole JSON of a report: each key of docs/report_json.md with the type of its section's results."""

from __future__ import annotations

from typing import NotRequired, TypedDict

from report.records.comparisons import PairedComparison, ScoreComparison
from report.records.estimates import JudgedOutcome
from report.records.stopped import Stopped
from report.sections.all_runs import AllRuns
from report.sections.alternatives import AlternativesResults
from report.sections.best_of.entries import BestOfResults
from report.sections.budget import BudgetResults
from report.sections.continual import ContinualResults
from report.sections.controls import ControlsResults
from report.sections.dose import DoseResults
from report.sections.dynamics import TurnsResults
from report.sections.equivalence import EquivalenceResults
from report.sections.finals.entries import FinalsResults
from report.sections.gradient_noise import GradientNoiseResults
from report.sections.initial_noise import InitialNoiseResults
from report.sections.interactions import InteractionsResult
from report.sections.learning_rule import LearningRuleResults
from report.sections.left_out import LeftOutResults
from report.sections.location import Location
from report.sections.outcomes import ArmResults
from report.sections.plane import PlaneResults
from report.sections.profiles import ProfileResults
from report.sections.reference import ReferenceResults
from report.sections.registration import RegistrationResults
from report.sections.regression import RegressionResults
from report.sections.search.entries import SearchResults
from report.sections.secondary import SecondaryResults
from report.sections.seeds import ArmSeeds
from report.sections.sensitivity.entries import SensitivityResults
from report.sections.soap_bubble import SoapBubbleResults
from report.sections.spread import SpreadResults
from report.sections.tasks import TaskResults
from report.sections.thresholds import ThresholdResults
from report.sections.tunability import TunabilityResults
from report.sections.variance import VarianceShares
from report.sections.weighted import WeightedResults
from robustness.goal import GoalName
from robustness.sweep.outcomes import Summary


class Sampling(TypedDict):
    """How configurations were drawn."""

    strategy: str
    configurations: int
    population: int | None
    tasks: list[str]
    paired: bool
    replicates: int
    pairs: int


class Contradictions(TypedDict):
    """Trials whose result does not follow from their recorded epochs: how many, and the first of them."""

    count: int
    trials: list[str]


class Head(TypedDict):
    """What the JSON says about the study as a whole."""

    study: str
    complete: bool
    metric: str
    epoch: Summary
    goal: GoalName
    primary: JudgedOutcome | None
    verdict: list[str]
    location: Location | None
    sampling: Sampling
    stopped: Stopped | None
    contradictions: Contradictions


class Results(Head):
    """All of it; a key that is not required belongs to the studies of one kind.

    Installed packages add keys (`report.sections.installed`), which `Analysis.part` returns.
    """

    thresholds: ThresholdResults | None
    arms: dict[str, ArmResults]
    weighted: WeightedResults | None
    learning_rule: LearningRuleResults | None
    paired: list[PairedComparison]
    tasks: TaskResults | None
    plane: PlaneResults | None
    all_runs: AllRuns | None
    alternatives: AlternativesResults | None
    reference: ReferenceResults | None
    profiles: ProfileResults
    scores: list[ScoreComparison]
    equivalence: EquivalenceResults | None
    secondary: list[SecondaryResults] | None
    interactions: list[InteractionsResult]
    initial_noise: InitialNoiseResults | None
    spread: SpreadResults
    tunability: TunabilityResults | None
    budget: BudgetResults
    best_of: BestOfResults
    sensitivity: SensitivityResults
    variance: dict[str, VarianceShares] | None
    seeds: dict[str, ArmSeeds] | None
    registration: RegistrationResults | None
    left_out: LeftOutResults
    controls: NotRequired[ControlsResults]
    dose: NotRequired[DoseResults]
    finals: NotRequired[FinalsResults]
    search: NotRequired[SearchResults]
    soap_bubble: NotRequired[SoapBubbleResults]
    gradient_noise: NotRequired[GradientNoiseResults]
    continual: NotRequired[ContinualResults]
    regression: NotRequired[RegressionResults]
    turns: NotRequired[TurnsResults]
