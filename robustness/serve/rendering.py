"""A process that renders one report: `python -m robustness.serve.rendering`.

It reads `{"store": URL, "study": NAME}` from standard input, since the URL may have a password, which a command line
would show to everybody on the machine; it writes the page to standard output, or one line to standard error.
"""

from __future__ import annotations

import json
import os
import sys
import warnings

from report.analysis import analyse
from report.page import render
from robustness.errors import RobustnessError
from robustness.store import open_store

NICE = 10
"""Trials go first."""


def main() -> int:
    """Render the report; returns the exit code."""
    warnings.simplefilter("ignore")
    os.nice(NICE)
    wanted = json.load(sys.stdin)
    try:
        with open_store(wanted["store"], create=False) as store:
            page = render(analyse(store.study(wanted["study"])))
    except RobustnessError as error:
        print(error, file=sys.stderr)
        return 1
    sys.stdout.buffer.write(page.encode())
    return 0


if __name__ == "__main__":
    sys.exit(main())
