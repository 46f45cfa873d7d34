"""`python -m robustness` is the command line."""

import sys

from robustness.cli import main

if __name__ == "__main__":
    sys.exit(main())
