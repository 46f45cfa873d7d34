"""The databases of the store's tests, for tests of Optuna's tables in the same database."""

from support.databases import store_url

__all__ = ["store_url"]
