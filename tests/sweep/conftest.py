"""The PostgreSQL databases of the store's tests, for sweeps on a cluster."""

from support.databases import postgres_url

__all__ = ["postgres_url"]
