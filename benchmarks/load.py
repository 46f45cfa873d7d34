"""Kills, restarts and large studies: nothing is lost, nothing runs twice, and the results are the same bytes.

    python benchmarks/load.py                            # everything, about half an hour on two free cores
    python benchmarks/load.py kills --kills 8 --seed 3   # one part, shortened

`kills` sends SIGKILL to `robustness sweep` and `robustness optimize` at random moments, on SQLite and on PostgreSQL,
runs the same command again until the study is complete, and compares its CSV with that of an undisturbed run.
`restarts` restarts the PostgreSQL server under a sweep. `trials` runs 200,000 simulated trials and follows the
driver's memory (Linux). `import` imports 200,000 runs. PostgreSQL comes from `.ci/start-postgres`.
"""

from __future__ import annotations

import csv
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import yaml

sys.path.insert(0, str(Path(__file__).parent))

from postgres_server import running_server
from results import Result, parser, show

from robustness.errors import StoreError
from robustness.store import open_store
from robustness.trial import ENDED, TrialKey

ROOT = Path(__file__).parents[1]
EPOCHS = 4
KEY = ["configuration", "arm", "replicate"]
COMMANDS = ("sweep", "optimize")
MOST_MEMORY_GROWTH = 1.1
MOST_SECONDS_OF_IMPORT = 30.0


def study_file(folder: Path, command: str, trials: int, pause: float) -> Path:
    """A study of simulated trials, `pause` seconds an epoch; its name is the command's."""
    document: dict[str, Any] = {
        "name": command,
        "trainable": "simulated_trials:short",
        "arms": ["first", "second"],
        "space": {"rate": {"low": 0.001, "high": 1.0, "scale": "log"}},
        "sampling": {"seed": 3},
        "training": {"epochs": EPOCHS, "pause": pause},
        "outcomes": {"learned_nothing": {"below": 0.4}, "good": {"at_least": 0.8}},
    }
    if command == "optimize":
        document["search"] = {"runs": trials // 2, "sampler": "tpe", "startup": 5}
    else:
        document["sampling"]["configurations"] = trials // 2
    path = folder / f"{command}.yaml"
    path.write_text(yaml.safe_dump(document))
    return path


def start(command: str, *words: str, folder: Path) -> subprocess.Popen[str]:
    """A command line of the project, with the simulated trials on its path."""
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "benchmarks")])}
    full = [sys.executable, "-m", "robustness", command, *words]
    return subprocess.Popen(
        full, env=environment, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def run(command: str, path: Path, url: str) -> subprocess.Popen[str]:
    """`sweep` or `optimize` in one process, without a report."""
    return start(command, str(path), "--store", url, "--inline", "--quiet", "--no-report", folder=path.parent)


def finish(process: subprocess.Popen[str], code: int = 0) -> str:
    """The output of a process that must end with this exit code."""
    output, errors = process.communicate()
    if process.returncode != code:
        raise SystemExit(f"{process.args!r} exited with status {process.returncode}: {errors}")
    return output


def results_of(url: str, name: str, folder: Path) -> str:
    """The CSV of a study."""
    return finish(start("report", name, "--store", url, "--format", "csv", folder=folder))


def ended(url: str, name: str) -> dict[TrialKey, tuple[str, float]]:
    """Status and end of each ended trial; also checks that all epochs of ended ones are there."""
    try:
        with open_store(url, create=False) as store:
            study = store.study(name)
            trials, epochs = study.trials(), study.epochs()
    except StoreError:
        return {}  # Killed before the study was registered.
    counts = epochs.groupby(KEY).size().to_dict()
    rows = trials[trials["status"].isin(ENDED)]
    keys = [TrialKey(*key) for key in zip(*(rows[name].tolist() for name in KEY), strict=True)]
    for key in keys:
        if counts.get(tuple(key)) != EPOCHS:
            raise SystemExit(f"{url}: trial {key} has ended with {counts.get(tuple(key))} of {EPOCHS} epochs")
    moments = (moment.timestamp() for moment in rows["ended"].tolist())
    return dict(zip(keys, zip(rows["status"].tolist(), moments, strict=True), strict=True))


def kill_results(kills: int, seed: int, trials: int) -> Iterator[Result]:
    """Kill both commands on both databases, a quarter of `kills` each."""
    moments = random.Random(seed)
    with tempfile.TemporaryDirectory() as name, running_server() as server:
        folder = Path(name)
        for command in COMMANDS:
            path = study_file(folder, command, trials, pause=0.01)
            whole = f"sqlite:///{folder}/{command}-whole.db"
            begun = time.perf_counter()
            finish(run(command, path, whole))
            seconds = time.perf_counter() - begun
            expected = results_of(whole, command, folder)
            places: dict[str, Callable[[int], str]] = {
                "SQLite": lambda number, command=command: f"sqlite:///{folder}/{command}-{number}.db",  # type: ignore[misc]
                "PostgreSQL": lambda number, command=command: server.database(f"{command}_{number}"),  # type: ignore[misc]
            }
            for database, place in places.items():
                share = kills // 4
                tally = kill_until(share, command, path, place, expected, moments, seconds)
                note = f"{share} kills, {tally['studies']} studies of {trials} trials"
                yield Result(f"{command}, {database}: lost", tally["lost"], "trials", most=0, note=note)
                yield Result(f"{command}, {database}: ended twice", tally["twice"], "trials", most=0)
                yield Result(f"{command}, {database}: different results", tally["different"], "studies", most=0)


def kill_until(
    kills: int,
    command: str,
    path: Path,
    place: Callable[[int], str],
    expected: str,
    moments: random.Random,
    seconds: float,
) -> dict[str, int]:
    """Run studies, killed again and again, until there have been this many kills; each is then run to its end."""
    tally = {"studies": 0, "lost": 0, "twice": 0, "different": 0}
    done = 0
    while done < kills:
        url = place(tally["studies"])
        tally["studies"] += 1
        seen: dict[TrialKey, tuple[str, float]] = {}
        while done < kills:
            process = run(command, path, url)
            try:
                # Anywhere between its start and its end.
                process.wait(moments.uniform(0.0, seconds))
                finish(process)
                break
            except subprocess.TimeoutExpired:
                process.send_signal(signal.SIGKILL)
                process.communicate()
                done += 1
            now = ended(url, command)
            tally["lost"] += len(seen.keys() - now.keys())
            tally["twice"] += sum(now[key] != state for key, state in seen.items() if key in now)
            seen = now
        finish(run(command, path, url))
        now = ended(url, command)
        tally["twice"] += sum(now.get(key) != state for key, state in seen.items())
        tally["different"] += results_of(url, command, path.parent) != expected
    return tally


def restart_results(restarts: int, seed: int, trials: int) -> Iterator[Result]:
    """Restart the server again and again while a sweep runs."""
    moments = random.Random(seed)
    with tempfile.TemporaryDirectory() as name, running_server() as server:
        folder = Path(name)
        path = study_file(folder, "sweep", trials, pause=0.05)
        whole = f"sqlite:///{folder}/whole.db"
        finish(run("sweep", path, whole))
        expected = results_of(whole, "sweep", folder)
        done = studies = different = resumed = 0
        while done < restarts:
            url = server.database(f"restarted_{studies}")
            studies += 1
            process = run("sweep", path, url)
            while process.poll() is None and done < restarts:
                time.sleep(moments.uniform(0.5, 3.0))
                if process.poll() is None:
                    server.restart(moments.choice(["fast", "immediate"]))
                    done += 1
            process.communicate()
            if process.returncode:
                # The server was away when the sweep began or ended, and it said so.
                resumed += 1
                finish(run("sweep", path, url))
            different += results_of(url, "sweep", folder) != expected
            ended(url, "sweep")
        note = f"{done} restarts, {studies} sweeps, {resumed} of them had to be resumed"
        yield Result("PostgreSQL restarts: different results", different, "studies", most=0, note=note)


def trial_results(count: int) -> Iterator[Result]:
    """The memory of the driver over a sweep of many trials."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        path = study_file(folder, "sweep", count, pause=0.0)
        url = f"sqlite:///{folder}/store.db"
        begun = time.perf_counter()
        process = run("sweep", path, url)
        memory = list(followed(process, url))
        finish(process)
        seconds = time.perf_counter() - begun
        with open_store(url, create=False) as store:
            counts = store.study("sweep").counts()
        early = next(size for share, size in memory if share >= 0.1)
        note = f"{early / 2**20:.0f} MiB after a tenth, {memory[-1][1] / 2**20:.0f} MiB at the end, {seconds:.0f} s"
        yield Result(f"{count:,} trials: not finished", count - counts.get("finished", 0), "trials", most=0)
        growth = memory[-1][1] / early
        yield Result(f"{count:,} trials: driver's memory, end / a tenth", growth, most=MOST_MEMORY_GROWTH, note=note)


def followed(process: subprocess.Popen[str], url: str) -> Iterator[tuple[float, int]]:
    """The share of ended trials and the driver's memory in bytes, every second until it exits."""
    while process.poll() is None:
        time.sleep(1.0)
        try:
            with open_store(url, create=False) as store:
                counts = store.study("sweep").counts()
            pages = int(Path(f"/proc/{process.pid}/statm").read_text().split()[1])
        except (StoreError, OSError):
            continue
        total = sum(counts.values())
        if total and pages:
            yield 1 - (counts.get("planned", 0) + counts.get("running", 0)) / total, pages * os.sysconf("SC_PAGE_SIZE")


def import_results(count: int, seed: int) -> Iterator[Result]:
    """The time to import a CSV file of many runs."""
    draws = random.Random(seed)
    with tempfile.TemporaryDirectory() as name, running_server() as server:
        folder = Path(name)
        with (folder / "runs.csv").open("w", newline="") as file:
            rows = csv.writer(file)
            rows.writerow(["arm", "learning_rate", "batch_size", "validation_auc"])
            for _ in range(count // 2):
                drawn = (10 ** draws.uniform(-5, -1), draws.choice([16, 32, 64]))
                rows.writerows([arm, *drawn, round(draws.random(), 5)] for arm in ("first", "second"))
        for database, url in {"SQLite": f"sqlite:///{folder}/store.db", "PostgreSQL": server.database("runs")}.items():
            words = ["runs.csv", "--study", "runs", "--metric", "validation_auc", "--good", "0.8"]
            begun = time.perf_counter()
            process = start("import", *words, "--learned-nothing", "0.5", "--store", url, folder=folder)
            used = children_time(lambda process=process: finish(process))  # type: ignore[misc]
            note = f"{used:.1f} s of processor time"
            seconds = time.perf_counter() - begun
            yield Result(f"import of {count:,} runs, {database}", seconds, "s", most=MOST_SECONDS_OF_IMPORT, note=note)
            with open_store(url, create=False) as store:
                missing = count - store.study("runs").counts().get("finished", 0)
            yield Result(f"import of {count:,} runs, {database}: missing", missing, "runs", most=0)


def children_time(work: Callable[[], object]) -> float:
    """The processor time of child processes that end during `work`."""
    before = os.times()
    work()
    after = os.times()
    return after.children_user + after.children_system - before.children_user - before.children_system


def main() -> int:
    options = parser(__doc__)
    options.add_argument("part", nargs="?", choices=("kills", "restarts", "trials", "import"), help="default: all")
    options.add_argument("--seed", type=int, default=0)
    options.add_argument("--kills", type=int, default=100)
    options.add_argument("--restarts", type=int, default=20)
    options.add_argument("--trials", type=int, default=200_000, help="of the large sweep and of the import")
    options.add_argument("--size", type=int, default=120, help="trials of the studies that are disturbed")
    arguments = options.parse_args()
    parts: dict[str, Callable[[], Iterator[Result]]] = {
        "kills": lambda: kill_results(arguments.kills, arguments.seed, arguments.size),
        "restarts": lambda: restart_results(arguments.restarts, arguments.seed, arguments.size),
        "trials": lambda: trial_results(arguments.trials),
        "import": lambda: import_results(arguments.trials, arguments.seed),
    }
    chosen = [arguments.part] if arguments.part else list(parts)
    return show((result for part in chosen for result in parts[part]()), arguments.json)


if __name__ == "__main__":
    sys.exit(main())
