"""The command line: `robustness COMMAND ...`.

A command is a module `robustness/cli/NAME.py` with two functions, `add_arguments(parser)` and
`run(arguments) -> exit code`. Only the module of the command that was asked for is imported, so help is fast.
"""

from __future__ import annotations

import argparse
import importlib
import os
import sys
from collections.abc import Sequence

from robustness import __version__
from robustness.errors import RobustnessError

COMMANDS = {
    "sweep": "run a study; the same command goes on after a stop",
    "optimize": "search the best configuration of each arm, then train and score the final models",
    "report": "write what the store holds of a study as a page, JSON, CSV or parquet",
    "compare": "two studies of a store beside each other",
    "status": "what is planned, running, done and failed, and when it should end",
    "plan": "what a sweep would run: counts and a table of configurations",
    "prepare": "turn downloaded data into the form that trains fast",
    "predict": "what a final model says of pictures, how sure it is, and which to refer",
    "import": "bring runs made elsewhere, from CSV, into the store",
    "schema": "the JSON schema of study files, for editors",
    "doctor": "what this machine has, and what is wrong with it",
}
"""Every command with its line in the help text, in the order of the help text."""

DONE, INCOMPLETE, BAD_INPUT, INTERRUPTED = 0, 1, 2, 130
"""The exit codes: all done; some trials failed or it was cut short; bad input; stopped by the user, resumable."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and give its exit code; an expected error becomes one line on stderr."""
    words = list(sys.argv[1:] if argv is None else argv)
    parser = _parser(words)
    arguments = parser.parse_args(words)
    try:
        command = importlib.import_module(_module(arguments.command))
        code: int = command.run(arguments)
        return code
    except RobustnessError as error:
        if arguments.debug:
            raise
        print(f"robustness: {' '.join(str(error).split())}", file=sys.stderr)
        return BAD_INPUT
    except KeyboardInterrupt:
        print("robustness: interrupted", file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:
        # Whoever read our output (`| head`) has left: no word of it, and none from the interpreter's last flush either.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return DONE


def _parser(words: Sequence[str]) -> argparse.ArgumentParser:
    """The parser of all commands, in which only the command that is asked for knows its own arguments."""
    parser = argparse.ArgumentParser(
        prog="robustness", description="Is method A less sensitive to its hyperparameters than method B?"
    )
    parser.add_argument("--version", action="version", version=f"robustness {__version__}")
    asked = next((word for word in words if not word.startswith("-")), None)
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for name, line in COMMANDS.items():
        command = commands.add_parser(name, help=line, description=f"{line[0].upper()}{line[1:]}.")
        command.add_argument("--debug", action="store_true", help="show the traceback of an error")
        if name == asked:
            importlib.import_module(_module(name)).add_arguments(command)
    return parser


def _module(command: str) -> str:
    """The module of a command; `import` is a keyword, which no module can be imported by."""
    return f"robustness.cli.{'import_runs' if command == 'import' else command}"
