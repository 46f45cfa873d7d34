"""The databases of the store's tests, for the tests of Optuna's tables beside ours."""

from support.databases import store_url

__all__ = ["store_url"]
