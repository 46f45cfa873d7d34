from __future__ import annotations

import os
import random
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

from sqlalchemy import make_url
from support import kill_writer
from support.store_samples import SampleStudy, plan_of

import robustness
from robustness.store import open_store
from robustness.trial import TrialKey

KILLS = 20


def write_until_killed(url: str, lines: int, turns: int) -> list[list[str]]:
    """The lines that a writer acknowledged before SIGKILL, sent `turns` loops after the given line."""
    environment = {**os.environ, "PYTHONPATH": str(Path(robustness.__file__).parents[1])}
    command = [sys.executable, kill_writer.__file__, url]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment) as child:
        assert child.stdout is not None
        said = [child.stdout.readline() for _ in range(lines)]
        for _ in range(turns):
            pass
        child.kill()
        said += child.stdout.readlines()
        child.wait()
    assert all(said[:lines]), "the writer ended before it was killed"
    # An incomplete last line does not acknowledge anything.
    return [line.split() for line in said if line.endswith("\n")]


def test_a_writer_killed_twenty_times_loses_nothing_that_it_acknowledged(store_url: str) -> None:
    url = store_url.replace("?timeout=0.2", "")
    study = SampleStudy(configurations=KILLS * kill_writer.TRIALS, arms=("radial",))
    with open_store(url) as store:
        store.register(study, plan_of(study))
    moments = random.Random(3)
    ended: set[int] = set()
    for _ in range(KILLS):
        acknowledged = write_until_killed(url, moments.randint(1, 30), moments.randint(0, 200_000))
        ended |= {int(words[1]) for words in acknowledged if words[0] == "ended"}
        written = {int(words[1]): int(words[2]) for words in acknowledged if words[0] == "epoch"}
        with open_store(url, create=False) as store:
            held = store.study("sample")
            states, frame = held.states(), held.epochs()
        assert {number for number in ended if states[TrialKey(number, "radial")] != "finished"} == set()
        counts = frame.groupby("configuration")["epoch"].agg(["count", "max"])
        for number, last in written.items():
            assert counts["count"][number] >= last
        # A flush is stored completely or not at all, and epochs have no gaps.
        assert (counts["count"] == counts["max"]).all()
        assert (counts["count"] % kill_writer.BATCH == 0).all()
        assert (frame["nll"] == frame["epoch"] / 8).all()
        assert (frame["own"] == frame["configuration"]).all()
        _check_integrity(url)
    assert len(ended) >= KILLS


def _check_integrity(url: str) -> None:
    if url.startswith("sqlite"):
        with closing(sqlite3.connect(str(make_url(url).database))) as plain:
            assert plain.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
            assert plain.execute("PRAGMA foreign_key_check").fetchall() == []
