"""Notes of a study, and the predictions of its final models."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    op.create_table(
        "robustness_notes",
        sa.Column("study", sa.Integer, nullable=False),
        sa.Column("name", sa.String(200), nullable=False),
        sa.Column("content", sa.JSON, nullable=False),
        sa.PrimaryKeyConstraint("study", "name", name="pk_robustness_notes"),
        sa.ForeignKeyConstraint(
            ["study"], ["robustness_studies.id"], name="fk_robustness_notes_study", ondelete="CASCADE"
        ),
    )
    op.create_table(
        "robustness_predictions",
        sa.Column("trial", sa.Integer, nullable=False),
        sa.Column("split", sa.String(80), nullable=False),
        sa.Column("model", sa.String(80), nullable=False),
        sa.Column("name", sa.String(80), nullable=False),
        sa.Column("content", sa.LargeBinary, nullable=False),
        sa.PrimaryKeyConstraint("trial", "split", "model", "name", name="pk_robustness_predictions"),
        sa.ForeignKeyConstraint(
            ["trial"], ["robustness_trials.id"], name="fk_robustness_predictions_trial", ondelete="CASCADE"
        ),
    )
