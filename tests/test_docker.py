"""The Dockerfile, as far as it can be checked without Docker: by a linter, and against the files of the project."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
DOCKERFILE = (ROOT / "Dockerfile").read_text(encoding="utf-8")
INSTRUCTIONS = [
    tuple(line.split(None, 1))
    for line in re.sub(r"^#.*\n", "", DOCKERFILE.replace("\\\n", " "), flags=re.MULTILINE).splitlines()
    if line.strip()
]


def values(instruction: str) -> list[str]:
    return [text for name, text in INSTRUCTIONS if name == instruction]


def test_a_linter_finds_nothing() -> None:
    linter = Path(sys.executable).with_name("hadolint")
    done = subprocess.run([str(linter), str(ROOT / "Dockerfile")], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, ""), done.stderr


def test_every_copied_file_exists_and_is_not_ignored() -> None:
    kept = {
        line.removeprefix("!")
        for line in (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()
        if line.startswith("!")
    }
    copied = {name for text in values("COPY") for name in text.split()[:-1]}
    assert copied == kept
    assert [name for name in copied if not (ROOT / name).exists()] == []


def test_what_the_package_is_built_from_is_copied() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    wheel = project["tool"]["hatch"]["build"]["targets"]["wheel"]
    needed = {*wheel["packages"], *wheel["force-include"], project["project"]["readme"], "LICENSE", "pyproject.toml"}
    assert needed <= {name for text in values("COPY") for name in text.split()[:-1]}
    extras = next(text for text in values("ARG") if text.startswith("EXTRAS=")).partition("=")[2]
    assert set(extras.split(",")) <= set(project["project"]["optional-dependencies"])


def test_it_runs_the_tool_without_privileges() -> None:
    assert values("ENTRYPOINT") == ['["robustness"]']
    order = [name for name, _ in INSTRUCTIONS]
    assert int(values("USER")[-1]) >= 1000
    assert "RUN" not in order[order.index("USER") :]


@pytest.mark.parametrize(("device", "code"), [("cpu", 0), ("gpu", 0), ("tpu", 2)])
def test_the_device_is_cpu_or_gpu(device: str, code: int, tmp_path: Path) -> None:
    """The first RUN, with `python` and `robustness` that only say what they were asked."""
    for name in ("python", "robustness"):
        tool = tmp_path / name
        tool.write_text(f'#!/bin/sh\necho {name} "$@" >&2\n', encoding="utf-8")
        tool.chmod(0o755)
    done = subprocess.run(
        ["/bin/sh", "-c", values("RUN")[0]],
        env={"PATH": f"{tmp_path}:/usr/bin:/bin", "DEVICE": device, "EXTRAS": "postgres", "TORCH_CPU_INDEX": "INDEX"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == code
    if code == 0:
        install, plan = done.stderr.splitlines()
        assert ("--extra-index-url=INDEX" in install) is (device == "cpu")
        assert install.endswith(".[postgres]")
        assert plan == "robustness plan quickstart --json"
    else:
        assert done.stderr == "DEVICE must be cpu or gpu, found tpu\n"
