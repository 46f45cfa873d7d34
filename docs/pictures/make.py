"""Take the picture of the report's first screen that the README shows: python docs/pictures/make.py

Runs the quickstart in a temporary folder (a minute and a half), or reads it from `--store URL`, and photographs its
page with Chromium, which has to be installed.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from PIL import Image

PICTURE = Path(__file__).parent / "report.png"
MOST_BYTES = 200_000
WIDTH, HEIGHT = 1200, 800


def main() -> None:
    """Write the picture, with fewer colours if it would exceed the limit."""
    parser = argparse.ArgumentParser(description="Take the picture of the report's first screen.")
    parser.add_argument("--store", metavar="URL", help="store that holds the study (default: run it now)")
    parser.add_argument("--study", default="quickstart")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        page, shot = Path(folder) / "page.html", Path(folder) / "page.png"
        store = arguments.store or f"sqlite:///{folder}/robustness.db"
        tool = [sys.executable, "-m", "robustness"]
        if arguments.store is None:
            subprocess.run([*tool, "sweep", arguments.study, "--store", store, "--no-report"], check=True)
        subprocess.run([*tool, "report", arguments.study, "--store", store, "--out", str(page), "--quiet"], check=True)
        photograph(page, shot)
        picture = Image.open(shot).convert("RGB")
        picture.save(PICTURE, optimize=True)
        for colours in (256, 128, 64):
            if PICTURE.stat().st_size >= MOST_BYTES:
                picture.quantize(colours, Image.Quantize.FASTOCTREE).save(PICTURE, optimize=True)
    print(f"{PICTURE}: {PICTURE.stat().st_size:,} bytes")


def photograph(page: Path, shot: Path) -> None:
    """Save the first screen of a page as PNG."""
    chromium = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if chromium is None:
        sys.exit("make.py: chromium is not installed (Debian: apt-get install chromium)")
    words = [chromium, "--headless=new", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars"]
    words += [f"--window-size={WIDTH},{HEIGHT}", f"--screenshot={shot}", "--virtual-time-budget=5000"]
    if os.geteuid() == 0:
        words.append("--no-sandbox")  # Chromium refuses to run as root, the user of containers, with it
    subprocess.run([*words, page.resolve().as_uri()], check=True, capture_output=True, timeout=120)


if __name__ == "__main__":
    main()
