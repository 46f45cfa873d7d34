"""Columns `task`, part of the key of a trial, and `own`, the hyperparameters from an arm's own space."""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"

KEY = ("study", "configuration", "arm", "replicate")


def upgrade() -> None:
    # SQLite cannot change a constraint in place: the table is made anew, while foreign keys are not enforced
    # (`Database.rebuild`), so that the rows that refer to it stay.
    with op.batch_alter_table("robustness_trials") as trials:
        trials.add_column(sa.Column("task", sa.String(200), nullable=False, server_default=""))
        trials.add_column(sa.Column("own", sa.JSON))
        trials.add_column(sa.Column("own_checksum", sa.String(16)))
        trials.drop_constraint(f"uq_robustness_trials_{'_'.join(KEY)}", type_="unique")
        trials.create_unique_constraint(f"uq_robustness_trials_{'_'.join(KEY)}_task", [*KEY, "task"])
