"""A sweep on two real Ray nodes with a PostgreSQL store that loses one node while it runs."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from support.studies import results, store_url, write_study
from support.trainables import wait_for

from robustness.cli import main

ROOT = Path(__file__).parents[2]


@pytest.mark.xdist_group("cluster")
def test_every_trial_completes_when_a_node_is_lost(tmp_path: Path, postgres_url: str) -> None:
    training = {"epochs": 3, "pause": 0.3, "folder": str(tmp_path)}
    path = write_study(tmp_path, "quick_on_node", sampling={"configurations": 8, "seed": 5}, training=training)
    program = Path(__file__).with_name("lose_a_node.py")
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "tests")])}
    # The cluster has its own process, since this one may be connected to another Ray.
    with subprocess.Popen(
        [sys.executable, str(program), str(tmp_path)],
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as cluster:
        try:
            wait_for(tmp_path / "address", longer_than=0)
            address = (tmp_path / "address").read_text()
            sweep = subprocess.Popen(
                [
                    *(sys.executable, "-m", "robustness", "sweep", str(path), "--no-report"),
                    *("--store", postgres_url, "--ray-address", address),
                ],
                env=environment,
                cwd=tmp_path,
                stderr=subprocess.PIPE,
                text=True,
            )
            try:
                wait_for(tmp_path / "node_lost", limit=240)
                _, errors = sweep.communicate(timeout=240)
            finally:
                sweep.kill()
                sweep.wait()
        finally:
            cluster.communicate("end\n", timeout=120)
    assert sweep.returncode == 0, errors
    whole = store_url(tmp_path, "whole")
    assert main(["sweep", str(path), "--store", whole, "--inline", "--quiet", "--no-report"]) == 0
    assert results(postgres_url) == results(whole)
