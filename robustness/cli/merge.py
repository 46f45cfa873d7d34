"""`robustness merge STORE...`: put the shards of a study together in one store."""

from __future__ import annotations

import argparse
from contextlib import ExitStack
from pathlib import Path

from robustness.cli import DONE
from robustness.errors import StoreError, plural
from robustness.guards.printable import printable
from robustness.store import open_store
from robustness.sweep.merging import merge_shards


def run(arguments: argparse.Namespace) -> int:
    """Merge the shards; nothing is written unless all of them are there and finished."""
    with ExitStack() as stack:
        names = list(dict.fromkeys(arguments.stores))
        for name in names:
            if "://" not in name and not Path(name).exists():
                raise StoreError(f"{name}: no such file; run the shards first: robustness sweep STUDY --shard K/N")
        shards = {name: stack.enter_context(open_store(_url(name), create=False)) for name in names}
        into = _url(arguments.into)
        if into in map(_url, names):
            raise StoreError(f"--into: {arguments.into} is one of the shards; choose another store")
        merged = merge_shards(shards, stack.enter_context(open_store(into)))
        if not arguments.quiet:
            count = plural(sum(merged.counts().values()), "trial")
            print(printable(f"{merged.name}: {plural(len(shards), 'shard')} with {count} merged into {arguments.into}"))
            if merged.document().get("winners"):
                print("winners are still to be trained: run `robustness sweep STUDY --store ...` on the merged store")
    return DONE


def _url(store: str) -> str:
    """The URL of a store that may be written as the path of its file."""
    return store if "://" in store else f"sqlite:///{Path(store).absolute()}"
