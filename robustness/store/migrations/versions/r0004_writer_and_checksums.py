"""Column `writer`, the token of the sweep that may write a study, and checksums, which older rows do not have."""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    op.add_column("robustness_studies", sa.Column("writer", sa.String(40)))
    for table in ("studies", "configurations", "trials", "notes"):
        op.add_column(f"robustness_{table}", sa.Column("checksum", sa.String(16)))
