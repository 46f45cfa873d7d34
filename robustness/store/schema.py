"""The tables. Their names begin with `robustness_`, since Optuna keeps `studies` and `trials` in the same database.

Times are seconds since 1970 (UTC). Deleting a study or trial deletes the rows that refer to it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from sqlalchemy import (
    JSON,
    Boolean,
    Column,
    Dialect,
    Double,
    ForeignKey,
    ForeignKeyConstraint,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    Text,
    UniqueConstraint,
)
from sqlalchemy.types import TypeDecorator

metadata = MetaData(
    naming_convention={
        "pk": "pk_%(table_name)s",
        "fk": "fk_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
    }
)


class Number(TypeDecorator[float]):
    """A double that may be NaN. SQLite turns NaN into NULL, so there it is stored as the text `NaN`."""

    impl = Double
    cache_ok = True

    def bind_processor(self, dialect: Dialect) -> Callable[[Any], Any] | None:
        # Not `process_bind_param`, because the underlying type would convert its result back to a float.
        return _to_sqlite if dialect.name == "sqlite" else super().bind_processor(dialect)

    def result_processor(self, dialect: Dialect, coltype: object) -> Callable[[Any], Any] | None:
        return _from_sqlite if dialect.name == "sqlite" else super().result_processor(dialect, coltype)


def _to_sqlite(value: Any) -> Any:
    return "NaN" if value is not None and math.isnan(value) else value


def _from_sqlite(value: Any) -> Any:
    return float(value) if value.__class__ is str else value


def _trial_key() -> Column[int]:
    return Column("trial", ForeignKey("robustness_trials.id", ondelete="CASCADE"), primary_key=True)


def _study_key(**options: Any) -> Column[int]:
    return Column("study", ForeignKey("robustness_studies.id", ondelete="CASCADE"), nullable=False, **options)


def _checksum(what: str) -> Column[str]:
    return Column("checksum", String(16), doc=f"of {what} (`robustness.store.checksums`)")


studies = Table(
    "robustness_studies",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("name", String(200), nullable=False, unique=True),
    Column("document", JSON, nullable=False, doc="the study file with all defaults"),
    Column("hash", String(128), nullable=False, doc="of the document"),
    Column("seed", JSON, doc="seed of all random streams; JSON, since it may exceed 64 bits"),
    Column("versions", JSON, nullable=False, doc="of Python and all installed packages"),
    Column(
        "git_commit",
        String(80),
        doc="of the working folder or this source; ends in `+` if there are uncommitted changes",
    ),
    Column("hardware", JSON, nullable=False),
    Column("created", Double, nullable=False),
    Column("writer", String(40), doc="token of the sweep that may write the study (`robustness.store.fence`)"),
    _checksum("the document"),
)

configurations = Table(
    "robustness_configurations",
    metadata,
    _study_key(primary_key=True),
    Column("number", Integer, primary_key=True, autoincrement=False),
    Column("hyperparameters", JSON, nullable=False),
    _checksum("the hyperparameters"),
)

trials = Table(
    "robustness_trials",
    metadata,
    Column("id", Integer, primary_key=True),
    _study_key(),
    Column("configuration", Integer, nullable=False),
    Column("arm", String(200), nullable=False),
    Column("replicate", Integer, nullable=False),
    Column("task", String(200), nullable=False, server_default="", doc="label; empty in a study with a single task"),
    Column("position", Integer, nullable=False, doc="in the plan's running order"),
    Column("stage", String(20), nullable=False, server_default="sweep", doc="`sweep`, `default`, `search` or `final`"),
    Column("own", JSON(none_as_null=True), doc="hyperparameters from the arm's own space, beside the configuration's"),
    Column("own_checksum", String(16), doc="of these"),
    Column("run", Integer, doc="run of the arm's search, from 0: its own, or the one behind a final model"),
    Column("status", String(20), nullable=False),
    Column("attempts", Integer, nullable=False),
    Column("started", Double, doc="start of the last attempt"),
    Column("ended", Double),
    Column("seconds", Number, doc="duration, measured by the executor"),
    Column("worker", Text),
    Column("device", Text),
    Column("error", Text),
    Column("metric", Number, doc="the study's metric at the epoch that judges the trial"),
    Column("metric_epoch", Integer),
    _checksum("the epochs and the end"),
    UniqueConstraint("study", "configuration", "arm", "replicate", "task"),
    ForeignKeyConstraint(
        ["study", "configuration"],
        ["robustness_configurations.study", "robustness_configurations.number"],
        ondelete="CASCADE",
    ),
)
Index(None, trials.c.study, trials.c.position)

MEASURES = (
    "loss",
    "nll",
    "cross_entropy",
    "entropy",
    "train_auc",
    "train_accuracy",
    "validation_auc",
    "validation_accuracy",
    "validation_nll",
    "validation_calibration_error",
    "sigma_low",
    "sigma_median",
    "sigma_high",
    "gradient_sd",
)
"""The usual measures, each with a column in `epochs`; all others share the column `measures`."""

epochs = Table(
    "robustness_epochs",
    metadata,
    _trial_key(),
    Column("epoch", Integer, primary_key=True, autoincrement=False),
    Column("pretraining", Boolean, nullable=False),
    Column("seconds", Number, nullable=False),
    *(Column(name, Number) for name in MEASURES),
    Column("measures", JSON(none_as_null=True), doc="measures without a column"),
)

curves = Table(
    "robustness_curves",
    metadata,
    _trial_key(),
    Column("epoch", Integer, primary_key=True, autoincrement=False),
    Column("name", String(200), primary_key=True),
    Column("values", JSON, nullable=False),
)

notes = Table(
    "robustness_notes",
    metadata,
    _study_key(primary_key=True),
    Column("name", String(200), primary_key=True),
    Column("content", JSON, nullable=False),
    _checksum("the content"),
)

predictions = Table(
    "robustness_predictions",
    metadata,
    _trial_key(),
    Column("split", String(80), primary_key=True),
    Column("model", String(80), primary_key=True, doc="which model of the trial: `final`, `best`, ..."),
    Column("name", String(80), primary_key=True, doc="of the array: `labels`, `patients`, `probabilities`, ..."),
    Column("content", LargeBinary, nullable=False, doc="the array as compressed .npy"),
)
