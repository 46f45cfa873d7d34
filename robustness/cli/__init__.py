"""The command line: `robustness COMMAND ...`.

The arguments of every command are declared in `robustness.cli.arguments`, which imports nothing heavy, so help is fast.
What a command does is `run(arguments) -> exit code` in a module of its name, imported only when the command runs.
"""

from __future__ import annotations

import argparse
import importlib
import os
import sys
from collections.abc import Callable, Sequence
from typing import NamedTuple

from robustness.cli import arguments as declare
from robustness.errors import RobustnessError

DONE, INCOMPLETE, BAD_INPUT, INTERRUPTED = 0, 1, 2, 130
"""Exit codes: all done; some trials failed or the run was cut short; bad input; stopped by the user, can be resumed."""


class Command(NamedTuple):
    """A command as the help text describes it."""

    summary: str
    add_arguments: Callable[[argparse.ArgumentParser], None]


COMMANDS = {
    "sweep": Command("run a study; rerun the same command to resume it", declare.add_sweep_arguments),
    "optimize": Command(
        "search for the best configuration of each arm, then train and test the final models",
        declare.add_optimize_arguments,
    ),
    "report": Command("write the report of a stored study: HTML, JSON, CSV or parquet", declare.add_report_arguments),
    "compare": Command("compare two stored studies", declare.add_compare_arguments),
    "status": Command("show the progress of stored studies and the time left", declare.add_status_arguments),
    "plan": Command("show what a sweep or search would run, without running it", declare.add_plan_arguments),
    "prepare": Command("convert downloaded data into the form used for training", declare.add_prepare_arguments),
    "predict": Command(
        "classify images with a final model and flag uncertain ones for review", declare.add_predict_arguments
    ),
    "import": Command("import runs made elsewhere, from CSV files", declare.add_import_arguments),
    "schema": Command("print the JSON schema of study files, for editors", declare.add_schema_arguments),
    "doctor": Command("check this machine: packages, devices, memory and store", declare.add_doctor_arguments),
}
"""Every command, in the order of the help text."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code; an expected error becomes one line on stderr."""
    arguments = make_parser().parse_args(argv)
    try:
        code: int = importlib.import_module(_module(arguments.command)).run(arguments)
        return code
    except RobustnessError as error:
        if arguments.debug:
            raise
        print_error(error)
        return BAD_INPUT
    except KeyboardInterrupt:
        print("robustness: interrupted", file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:
        # The reader of our output (`| head`) has left; without this the interpreter's last flush would complain.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return DONE


def make_parser() -> argparse.ArgumentParser:
    """The parser of the whole command line."""
    parser = argparse.ArgumentParser(
        prog="robustness", description="Is method A less sensitive to its hyperparameters than method B?"
    )
    parser.add_argument("--version", action=_Version, nargs=0, help="show the version and exit")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for name, (summary, add_arguments) in COMMANDS.items():
        command = commands.add_parser(name, help=summary, description=f"{summary[0].upper()}{summary[1:]}.")
        add_arguments(command)
        command.add_argument("--debug", action="store_true", help="show the traceback of an error")
    return parser


def print_error(error: RobustnessError) -> None:
    """Print an expected error as one line on stderr."""
    print(f"robustness: {' '.join(str(error).split())}", file=sys.stderr)


def _module(command: str) -> str:
    """The module of a command; `import` is a keyword, so its module has another name."""
    return f"robustness.cli.{'import_runs' if command == 'import' else command}"


class _Version(argparse.Action):
    """Print the version of the installed package and exit."""

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        # Reading package metadata would double the time of every --help.
        from importlib.metadata import version

        print(f"robustness {version('robustness-study')}")
        parser.exit()
