"""`python -m robustness` is the command line."""

from robustness.cli.process import run

if __name__ == "__main__":
    run()
