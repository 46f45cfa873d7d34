"""The scripts for clusters in docs/clusters, as far as they can be checked without one."""

from __future__ import annotations

import os
import re
import shlex
import stat
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from support.studies import results, store_url, write_study

from robustness.cli import main, make_parser

FOLDER = Path(__file__).parents[1] / "docs" / "clusters"
SCRIPTS = sorted([*FOLDER.glob("*.sbatch"), *FOLDER.glob("*.sh")])


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.name)
def test_a_script_is_valid_shell(script: Path) -> None:
    assert script.read_text().startswith("#!/bin/bash\n")
    checked = subprocess.run(["bash", "-n", str(script)], capture_output=True, text=True, check=False)
    assert (checked.returncode, checked.stderr) == (0, "")


def test_the_command_line_understands_each_call_of_the_tool() -> None:
    calls = []
    for path in [*SCRIPTS, FOLDER / "rayjob.yaml"]:
        text = path.read_text().replace("\\\n", " ")
        for call in re.findall(r"^(?!\s*#)[^\n]*?\b(robustness (?:sweep|merge|report) [^&\n]*)", text, re.MULTILINE):
            filled = re.sub(r"\$\(printf[^)]*\)|\"?\$\{?\w+\}?\"?", "x", call.replace('"$SLURM', "$SLURM").rstrip('" '))
            words = shlex.split(filled.replace('"', ""))
            calls.append(make_parser().parse_args(words[1:]).command)
    assert calls == ["sweep"] * 4


def test_the_job_array_runs_as_it_stands(tmp_path: Path) -> None:
    study = write_study(tmp_path)
    study.rename(tmp_path / "study.yaml")
    tool = tmp_path / "bin" / "robustness"
    tool.parent.mkdir()
    tool.write_text(f'#!/bin/bash\nexec {shlex.quote(sys.executable)} -m robustness "$@"\n')
    tool.chmod(tool.stat().st_mode | stat.S_IXUSR)
    root = Path(__file__).parents[1]
    for number in (2, 1):
        environment = os.environ | {
            "PATH": os.pathsep.join([str(tool.parent), os.environ["PATH"]]),
            "PYTHONPATH": os.pathsep.join([str(root), str(root / "tests")]),
            "SLURM_ARRAY_TASK_ID": str(number),
            "SLURM_ARRAY_TASK_COUNT": "2",
        }
        command = ["bash", str(FOLDER / "slurm_shards.sbatch")]
        done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
    assert main(["merge", *map(str, tmp_path.glob("shard-*.db")), "--into", str(tmp_path / "all.db")]) == 0
    words = ["sweep", str(tmp_path / "study.yaml"), "--store", store_url(tmp_path, "one"), "--inline", "--quiet"]
    assert main([*words, "--no-report"]) == 0
    assert results(store_url(tmp_path, "all")) == results(store_url(tmp_path, "one"))


def test_the_rayjob_has_the_shape_of_one() -> None:
    job = yaml.safe_load((FOLDER / "rayjob.yaml").read_text())
    assert (job["apiVersion"], job["kind"]) == ("ray.io/v1", "RayJob")
    cluster = job["spec"]["rayClusterSpec"]
    assert cluster["authOptions"] == {"mode": "token"}
    for group in (cluster["headGroupSpec"], *cluster["workerGroupSpecs"]):
        (container,) = group["template"]["spec"]["containers"]
        assert container["resources"]["requests"]["cpu"]
