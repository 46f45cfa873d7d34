"""Studies, configurations, trials, epochs and curves."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None

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


def upgrade() -> None:
    op.create_table(
        "robustness_studies",
        sa.Column("id", sa.Integer, nullable=False),
        sa.Column("name", sa.String(200), nullable=False),
        sa.Column("document", sa.JSON, nullable=False),
        sa.Column("hash", sa.String(128), nullable=False),
        sa.Column("seed", sa.JSON),
        sa.Column("versions", sa.JSON, nullable=False),
        sa.Column("git_commit", sa.String(80)),
        sa.Column("hardware", sa.JSON, nullable=False),
        sa.Column("created", sa.Double, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_robustness_studies"),
        sa.UniqueConstraint("name", name="uq_robustness_studies_name"),
    )
    op.create_table(
        "robustness_configurations",
        sa.Column("study", sa.Integer, nullable=False),
        sa.Column("number", sa.Integer, nullable=False),
        sa.Column("hyperparameters", sa.JSON, nullable=False),
        sa.PrimaryKeyConstraint("study", "number", name="pk_robustness_configurations"),
        sa.ForeignKeyConstraint(
            ["study"], ["robustness_studies.id"], name="fk_robustness_configurations_study", ondelete="CASCADE"
        ),
    )
    op.create_table(
        "robustness_trials",
        sa.Column("id", sa.Integer, nullable=False),
        sa.Column("study", sa.Integer, nullable=False),
        sa.Column("configuration", sa.Integer, nullable=False),
        sa.Column("arm", sa.String(200), nullable=False),
        sa.Column("replicate", sa.Integer, nullable=False),
        sa.Column("position", sa.Integer, nullable=False),
        sa.Column("status", sa.String(20), nullable=False),
        sa.Column("attempts", sa.Integer, nullable=False),
        sa.Column("started", sa.Double),
        sa.Column("ended", sa.Double),
        sa.Column("seconds", sa.Double),
        sa.Column("worker", sa.Text),
        sa.Column("device", sa.Text),
        sa.Column("error", sa.Text),
        sa.Column("metric", sa.Double),
        sa.Column("metric_epoch", sa.Integer),
        sa.PrimaryKeyConstraint("id", name="pk_robustness_trials"),
        sa.UniqueConstraint(
            "study", "configuration", "arm", "replicate", name="uq_robustness_trials_study_configuration_arm_replicate"
        ),
        sa.ForeignKeyConstraint(
            ["study"], ["robustness_studies.id"], name="fk_robustness_trials_study", ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(
            ["study", "configuration"],
            ["robustness_configurations.study", "robustness_configurations.number"],
            name="fk_robustness_trials_study_configuration",
            ondelete="CASCADE",
        ),
    )
    op.create_index("ix_robustness_trials_study_position", "robustness_trials", ["study", "position"])
    op.create_table(
        "robustness_epochs",
        sa.Column("trial", sa.Integer, nullable=False),
        sa.Column("epoch", sa.Integer, nullable=False),
        sa.Column("pretraining", sa.Boolean, nullable=False),
        sa.Column("seconds", sa.Double, nullable=False),
        *(sa.Column(name, sa.Double) for name in MEASURES),
        sa.Column("measures", sa.JSON),
        sa.PrimaryKeyConstraint("trial", "epoch", name="pk_robustness_epochs"),
        sa.ForeignKeyConstraint(
            ["trial"], ["robustness_trials.id"], name="fk_robustness_epochs_trial", ondelete="CASCADE"
        ),
    )
    op.create_table(
        "robustness_curves",
        sa.Column("trial", sa.Integer, nullable=False),
        sa.Column("epoch", sa.Integer, nullable=False),
        sa.Column("name", sa.String(200), nullable=False),
        sa.Column("values", sa.JSON, nullable=False),
        sa.PrimaryKeyConstraint("trial", "epoch", "name", name="pk_robustness_curves"),
        sa.ForeignKeyConstraint(
            ["trial"], ["robustness_trials.id"], name="fk_robustness_curves_trial", ondelete="CASCADE"
        ),
    )
