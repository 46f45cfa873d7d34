"""Run all benchmarks, each in its own process; print a table and write it as JSON.

make benchmark        or: python benchmarks/all.py [--out benchmarks.json] [--markdown]
"""

from __future__ import annotations

import argparse
import json
import platform
import subprocess
import sys
import time
from dataclasses import asdict
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from results import Result, line, markdown, read

from robustness.store.provenance import git_commit, hardware, versions

BENCHMARKS: dict[str, tuple[str, ...]] = {
    "training_step": (),
    "evaluation": (),
    "sweep": (),
    "startup": (),
    "store": (),
    "report_page": (),
    "growth": (),
    "importing": (),
    "stopping": ("--needed", "--sweeps", "2500"),
    "live_page": (),
}
"""Each benchmark with its arguments."""
VERSIONS = ("python", "torch", "ray", "optuna", "sqlalchemy", "bayesian-torch", "blitz-bayesian-pytorch", "torchbnn")


def run(name: str) -> list[Result]:
    """Run one benchmark and return its results; a benchmark that crashes ends the run."""
    script = Path(__file__).with_name(f"{name}.py")
    command = [sys.executable, str(script), "--json", *BENCHMARKS.get(name, ())]
    process = subprocess.run(command, stdout=subprocess.PIPE, text=True)
    if process.returncode not in (0, 1) or not process.stdout:
        raise SystemExit(f"{script} exited with status {process.returncode}")
    return read(process.stdout)


def machine() -> dict[str, object]:
    """Commit, date, hardware and versions behind the figures."""
    installed = {name.lower(): version for name, version in versions().items()}
    return {
        "commit": git_commit(),
        "date": time.strftime("%Y-%m-%d"),
        **{key: value for key, value in hardware().items() if value},
        "versions": {name: installed[name] for name in VERSIONS if name in installed}
        | {"python": platform.python_version()},
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"any of {', '.join(BENCHMARKS)}; default: all")
    parser.add_argument("--out", type=Path, default=Path("benchmarks.json"), help="output file")
    parser.add_argument("--markdown", action="store_true", help="print Markdown tables")
    arguments = parser.parse_args()
    started, tables = time.perf_counter(), {}
    for name in arguments.names or BENCHMARKS:
        start = time.perf_counter()
        tables[name] = run(name)
        print(f"\n## {name} ({time.perf_counter() - start:.0f} s)\n", flush=True)
        print(markdown(tables[name]) if arguments.markdown else "\n".join(map(line, tables[name])), flush=True)
    results = [result for table in tables.values() for result in table]
    missed = [result for result in results if result.met is False]
    seconds = time.perf_counter() - started
    print(f"\n{len(results)} figures in {seconds / 60:.1f} minutes; {len(missed)} targets missed")
    document = {
        "machine": machine(),
        "seconds": seconds,
        "benchmarks": {
            name: [asdict(result) | {"met": result.met} for result in table] for name, table in tables.items()
        },
    }
    arguments.out.write_text(json.dumps(document, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
