"""What Alembic runs to migrate: over the connection, and within the transaction, that `upgrade` hands it."""

from alembic import context

from robustness.store.migrations import VERSION_TABLE
from robustness.store.schema import metadata

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=metadata,
    version_table=VERSION_TABLE,
    transactional_ddl=True,
    render_as_batch=True,
)
with context.begin_transaction():
    context.run_migrations()
