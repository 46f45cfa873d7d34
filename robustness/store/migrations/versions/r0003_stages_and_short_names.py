"""Short names for the built-in trainables, and a note for studies whose curves the report reads."""

import hashlib
import json

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
    connection = op.get_bind()
    for row, document in connection.execute(sa.text("SELECT id, document FROM robustness_studies")).all():
        document = document if isinstance(document, dict) else encoding.loads(document)
        short = SHORT_NAMES.get(str(document.get("trainable")))
        if short is None:
            continue
        document["trainable"] = short
        hashed = {key: value for key, value in document.items() if key not in NOT_HASHED}
        connection.execute(
            sa.text("UPDATE robustness_studies SET document = :document, hash = :hash WHERE id = :row"),
            {
                "document": encoding.dumps(document),
                "hash": hashlib.sha256(json.dumps(hashed, sort_keys=True).encode()).hexdigest(),
                "row": row,
            },
        )
        connection.execute(
            sa.text("INSERT INTO robustness_notes (study, name, content) VALUES (:row, 'keeps_curves', 'true')"),
            {"row": row},
        )
