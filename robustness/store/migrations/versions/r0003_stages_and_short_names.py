"""Columns `stage` and `run`, short names for the built-in trainables, and a note for studies with curves.

Before this revision, a search packed the arm's place, the stage and the run into the number of a configuration:
place * 10,000 + run, and 5,000 more for a final model. The numbers stay, because random streams and file names contain
them. The note `arm_places`, which kept the places, is deleted.
"""

import hashlib
import json
from typing import Any

import sqlalchemy as sa
from alembic import op

from robustness.store import encoding

revision = "0003"
down_revision = "0002"

SHORT_NAMES = {
    "robustness.training:train": "classification",
    "robustness.regression:train": "regression",
    "robustness.continual:train": "continual",
    "robustness.theory.soap_bubble:train": "soap_bubble",
    "robustness.theory.gradient_noise:train": "gradient_noise",
}
NOT_HASHED = ("description", "resources", "reference", "stop", "compare_with")


def upgrade() -> None:
    # With a default, SQLite adds the column in place; remaking the table would delete the rows that refer to it.
    op.add_column("robustness_trials", sa.Column("stage", sa.String(20), nullable=False, server_default="sweep"))
    op.add_column("robustness_trials", sa.Column("run", sa.Integer))
    connection = op.get_bind()
    for row, document in connection.execute(sa.text("SELECT id, document FROM robustness_studies")).all():
        document = document if isinstance(document, dict) else encoding.loads(document)
        if document.get("search"):
            _unpack_numbers(connection, row)
        _shorten_trainable(connection, row, document)
    connection.execute(sa.text("DELETE FROM robustness_notes WHERE name = 'arm_places'"))


def _unpack_numbers(connection: sa.Connection, study: int) -> None:
    connection.execute(
        sa.text(
            "UPDATE robustness_trials SET run = configuration % 5000, "
            "stage = CASE WHEN configuration % 10000 < 5000 THEN 'search' ELSE 'final' END WHERE study = :study"
        ),
        {"study": study},
    )


def _shorten_trainable(connection: sa.Connection, study: int, document: dict[str, Any]) -> None:
    short = SHORT_NAMES.get(str(document.get("trainable")))
    if short is None:
        return
    document["trainable"] = short
    hashed = {key: value for key, value in document.items() if key not in NOT_HASHED}
    connection.execute(
        sa.text("UPDATE robustness_studies SET document = :document, hash = :hash WHERE id = :study"),
        {
            "document": encoding.dumps(document),
            "hash": hashlib.sha256(json.dumps(hashed, sort_keys=True).encode()).hexdigest(),
            "study": study,
        },
    )
    connection.execute(
        sa.text("INSERT INTO robustness_notes (study, name, content) VALUES (:study, 'keeps_curves', 'true')"),
        {"study": study},
    )
