"""Alembic's entry point: runs migrations on the connection and in the transaction of `upgrade`."""

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
