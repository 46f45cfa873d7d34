"""The program of the tests of commands: prints epochs as JSON, or misbehaves as its argument `--fault` says."""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from pathlib import Path


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rate", type=float, default=0.1)
    parser.add_argument("--arm", default="sgd")
    parser.add_argument("--fault", default="none")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--text")
    arguments = parser.parse_args()
    print("this line is not JSON {", file=sys.stderr)
    if arguments.out is not None:
        (arguments.out / "pid").write_text(str(os.getpid()))
        (arguments.out / "arguments.json").write_text(json.dumps(sys.argv[1:]))
    if arguments.fault == "crash":
        print("loading the data")
        print("ValueError: no such layer", file=sys.stderr)
        sys.exit(3)
    if arguments.fault == "hang":
        print("waiting for a lock", flush=True)
        child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
        (arguments.out / "child").write_text(str(child.pid))
        time.sleep(600)
    if arguments.fault == "garbage":
        sys.stdout.buffer.write(b"\xff\xfe not json \x1b[31m\n{broken\n[1, 2]\n{}\n")
        return
    if arguments.fault == "memory":
        print("RuntimeError: CUDA out of memory. Tried to allocate 20.00 GiB", file=sys.stderr)
        sys.exit(1)
    for epoch in range(1, 4):
        score = min(1.0, 0.3 + arguments.rate * epoch / 3 + 0.05 * (arguments.arm == "adam"))
        print(json.dumps({"epoch": epoch, "loss": 1 - score, "note": "training"}))
        print(json.dumps({"epoch": epoch, "accuracy": score}), flush=True)


if __name__ == "__main__":
    main()
