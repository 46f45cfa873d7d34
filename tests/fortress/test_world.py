"""The world around the command line: output closed or full, folders gone or full, no home; one line each."""

from __future__ import annotations

import json
import os
import resource
import shutil
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from support.hostile import NAMES, is_one_safe_line, png
from support.stores import fill, made_study
from support.studies import small, write

from robustness.cli import main
from robustness.store import open_store

LAUNCHER = """
import resource, subprocess, sys
code = subprocess.call(sys.argv[2:])
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024, file=open(sys.argv[1], "a"))
sys.exit(code)
"""
"""Runs a command and appends the most memory that it took, in bytes, to a file."""
ROOT = Path(__file__).parents[2]
MOST_MEMORY = 500 * 2**20


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a store, study files and bombs."""
    place = tmp_path_factory.mktemp("world")
    with open_store(f"sqlite:///{place / 'robustness.db'}") as store:
        fill(store, made_study(configurations=4))
    write(place, small(), "study.yaml")
    (place / "mine.py").write_text("def train(trial):\n    yield\n", encoding="utf-8")
    space = {f"a{n}": list(range(10)) for n in range(6)}
    mine = {"name": "mine", "trainable": "mine:train", "arms": ["one", "two"], "sampling": {"configurations": 5}}
    mine |= {"outcomes": {"metric": "x", "learned_nothing": {"below": 0}, "good": {"at_least": 1}}}
    write(place, mine | {"space": space | {"where": "a0 + a1 + a2 > 100"}}, "never.yaml")
    write(place, mine | {"space": space | {"where": "a0 * a1 + a2 <= a3 * 10 + a4 or a5 == 3"}}, "wide.yaml")
    write(place, {"name": "x", "space": {"a": list(range(60_000))}}, "choices.yaml")
    (place / "deep.yaml").write_text("[" * 100_000, encoding="utf-8")
    (place / "long.yaml").write_text("a: " + "x" * 300_000, encoding="utf-8")
    (place / "bomb.png").write_bytes(png(60_000, 1))
    os.mkfifo(place / "fifo.yaml")
    np.savez_compressed(place / "bomb.npz", train_images=np.zeros((10, 10), dtype=np.uint8))
    shutil.copy(ROOT / "tests" / "store" / "kept" / "radial.model.pt", place / "model.pt")
    return place


@dataclass(frozen=True)
class Case:
    """A command line, what its world lacks, and how it ends."""

    words: tuple[str, ...]
    code: int
    says: str = ""
    """What its one line contains."""
    redirections: str = ""
    """Of the shell."""
    environment: dict[str, str | None] = field(default_factory=dict)
    before: Callable[[], None] | None = None
    """Called in the new process."""


def small_files() -> None:
    resource.setrlimit(resource.RLIMIT_FSIZE, (65_536, 65_536))


CASES = {
    "head": Case(("schema",), 0, redirections="| head -1 > {out}/head"),
    "stdout full": Case(("schema",), 1, "No space left", "> /dev/full"),
    "help to a full disk": Case(("sweep", "--help"), 1, "No space left", "> /dev/full"),
    "report to a full disk": Case(("report", "made", "--format", "csv"), 1, "No space left", "> /dev/full"),
    "stdout closed": Case(("schema",), 2, "standard output is closed", ">&-"),
    "stdout and stdin closed": Case(("plan", "study.yaml"), 2, "standard output is closed", ">&- <&-"),
    "stderr closed": Case(("plan", "missing.yaml"), 2, redirections="2>&-"),
    "stderr full": Case(("plan", "missing.yaml"), 2, redirections="2> /dev/full"),
    "no HOME": Case(("report", "made", "--format", "csv", "--out", "{out}/h.csv", "-q"), 0, environment={"HOME": None}),
    "HOME is nowhere": Case(
        ("report", "made", "--out", "{out}/n.html", "-q"), 0, environment={"HOME": "/nowhere", "XDG_CONFIG_HOME": None}
    ),
    "ASCII only": Case(
        ("report", "made", "--format", "csv", "--out", "{out}/é.csv"), 0, environment={"PYTHONIOENCODING": "ascii"}
    ),
    "folder read-only": Case(("report", "made", "--out", "/proc/report.html"), 2, "cannot be written"),
    "no such folder": Case(("report", "made", "--out", "/dev/null/report.html"), 2, "cannot be written"),
    "file too large": Case(("report", "made", "--out", "{out}/big.html"), 2, "File too large", before=small_files),
    "name too long": Case(("report", "x" * 5000), 2, "unknown study"),
    "output's name too long": Case(("report", "made", "--out", "{out}/" + "x" * 300), 2, "File name too long"),
    "a study in a FIFO": Case(("plan", "fifo.yaml"), 2, "not a regular file"),
    "a study in a device": Case(("plan", "/dev/zero.yaml"), 2, "no such file"),
    "a deep study": Case(("plan", "deep.yaml"), 2, "nested more than 24 levels"),
    "a long study": Case(("plan", "long.yaml"), 2, "ROBUSTNESS_LIMIT_STUDY_BYTES"),
    "60,000 choices": Case(("plan", "choices.yaml"), 2, "limit|missing"),
    "a million configurations": Case(
        ("plan", "study.yaml", "--configurations", "1000000"), 2, "ROBUSTNESS_LIMIT_TRIALS"
    ),
    "a million combinations": Case(("plan", "never.yaml"), 2, "no configuration satisfies"),
    "a million that are counted": Case(("plan", "wide.yaml"), 0, redirections="| grep -q '777,250 with'"),
    "a picture that is a bomb": Case(("predict", "model.pt", "bomb.png"), 2, "ROBUSTNESS_LIMIT_PICTURE_PIXELS"),
    "a picture in a device": Case(("predict", "model.pt", "/dev/zero"), 2, "not a regular file"),
    "runs in a device": Case(
        ("import", "a=/dev/zero", "--study", "x", "--good", "1", "--learned-nothing", "0"), 2, "not a regular file"
    ),
    "a model in a device": Case(("predict", "/dev/zero", "bomb.png"), 2, "not a regular file"),
}


def run(case: Case, folder: Path, out: Path) -> tuple[int, str, str]:
    """The exit code, stdout and stderr of a case."""
    words = " ".join(f"'{word.format(out=out)}'" for word in case.words)
    environment = {"PATH": os.environ["PATH"], "HOME": str(out), "PYTHONPATH": str(ROOT), "LC_ALL": "C.UTF-8"}
    environment |= {"OMP_NUM_THREADS": "1", "MALLOC_ARENA_MAX": "2"}
    for name, value in case.environment.items():
        environment.pop(name, None)
        environment |= {} if value is None else {name: value}
    python = f"{sys.executable} -m robustness"
    if "&-" not in case.redirections:
        # A process of its own: one that was forked by these tests would count their memory.
        python = f"{sys.executable} -c '{LAUNCHER}' {out}/memory {python}"
    done = subprocess.run(
        ["bash", "-c", f"set -o pipefail; {python} {words} {case.redirections.format(out=out)}"],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        preexec_fn=case.before,
    )
    return done.returncode, done.stdout, done.stderr


@pytest.fixture(scope="module")
def out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("out")


@pytest.fixture(scope="module")
def endings(folder: Path, out: Path) -> dict[str, tuple[int, str, str]]:
    """Every case, two at a time."""
    with ThreadPoolExecutor(2) as pool:
        return dict(zip(CASES, pool.map(partial(run, folder=folder, out=out), CASES.values()), strict=True))


@pytest.mark.parametrize("name", CASES)
def test_one_line_and_the_right_exit_code(name: str, endings: dict[str, tuple[int, str, str]]) -> None:
    code, _, errors = endings[name]
    case = CASES[name]
    assert code == case.code, errors
    if case.says:
        assert is_one_safe_line(errors)
        assert any(words in errors for words in case.says.split("|"))
    else:
        assert errors == ""


def test_no_case_took_much_memory(endings: dict[str, tuple[int, str, str]], out: Path) -> None:
    taken = [int(line) for line in (out / "memory").read_text(encoding="utf-8").split()]
    assert len(taken) == len(endings) - sum("&-" in case.redirections for case in CASES.values())
    assert max(taken) < MOST_MEMORY


def test_nothing_is_left_half_written(endings: dict[str, tuple[int, str, str]], folder: Path) -> None:
    assert endings
    assert not list(folder.rglob("*.part"))


def test_a_deleted_folder_is_named(tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    for words in ("plan study.yaml", "status", "report made"):
        command = f"{sys.executable} -c 'import robustness.cli as c, sys; sys.exit(c.main())' {words}"
        script = f"cd '{gone}' && rmdir '{gone}' && {command}"
        done = subprocess.run(["bash", "-c", script], env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 2
        assert is_one_safe_line(done.stderr), done.stderr
        gone.mkdir()


def test_a_disk_that_fills_in_the_middle_leaves_the_old_file(folder: Path, tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(disk)], capture_output=True, check=False
    )
    if mounted.returncode:
        pytest.skip("needs the right to mount a small disk")
    try:
        url = f"sqlite:///{folder / 'robustness.db'}"
        words = ["report", "made", "--store", url, "--quiet", "--out"]
        assert main([*words, str(disk / "a.csv"), "--format", "csv"]) == 0
        before = (disk / "a.csv").read_bytes()
        for kind in ("html", "json"):
            assert main([*words, str(disk / "a.csv"), "--format", kind]) == 2
            assert (disk / "a.csv").read_bytes() == before
            assert [path.name for path in disk.iterdir()] == ["a.csv"]
    finally:
        subprocess.run(["umount", str(disk)], check=True)


@pytest.mark.parametrize("script", NAMES)
def test_a_report_of_a_study_with_a_long_name_is_written(
    script: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    name = NAMES[script]
    rows = "\n".join(f"{NAMES['emoji'][:40]}{arm},{0.5 + n / 10},{n}" for n in range(3) for arm in "ab")
    Path("runs.csv").write_text(f"arm,metric,rate\n{rows}\n", encoding="utf-8")
    assert main(["import", "runs.csv", "--study", name, "--good", "0.6", "--learned-nothing", "0.1"]) == 0
    assert main(["report", name, "--format", "csv", "--out", "."]) == 0
    assert main(["status", name]) == 0
    assert main(["status", name, "--json"]) == 0
    shown = capsys.readouterr()
    assert json.loads(shown.out[shown.out.index("[\n") :])[0]["study"] == name
    assert len(list(tmp_path.glob("*.csv"))) == 2
    assert shown.err == ""
