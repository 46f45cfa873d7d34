"""The command line: `robustness COMMAND ...`.

The arguments of every command are declared in `robustness.cli.arguments`, which imports nothing heavy, so help is fast.
What a command does is `run(arguments) -> exit code` in a module of its name, imported only when the command runs.
"""

from __future__ import annotations

import argparse
import errno
import importlib
import os
import re
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from difflib import get_close_matches
from pathlib import Path
from typing import Any, NamedTuple, NoReturn, TextIO

from robustness.cli import arguments as declare
from robustness.errors import RobustnessError, shown, unknown_name
from robustness.guards.printable import printable
from robustness.version import __version__

DONE, INCOMPLETE, BAD_INPUT, INTERRUPTED = 0, 1, 2, 130
"""Exit codes: all done; some trials failed or the run was cut short; bad input; stopped by the user, can be resumed."""


WHERE_TO_START = """\
start here:                  robustness sweep quickstart
runs that you already have:  robustness import --help
your own functions:          import robustness, see docs/any_code.md
documentation:               docs/get_started.md
"""


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
    "report": Command(
        "write the report of a stored study: HTML, JSON, CSV, parquet or LaTeX", declare.add_report_arguments
    ),
    "compare": Command("compare two stored studies", declare.add_compare_arguments),
    "status": Command("show the progress of stored studies and the estimated time left", declare.add_status_arguments),
    "serve": Command("serve a live page of stored studies", declare.add_serve_arguments),
    "plan": Command("show what a sweep or search would run, without running it", declare.add_plan_arguments),
    "prepare": Command(
        "convert downloaded photographs into the format used for training", declare.add_prepare_arguments
    ),
    "predict": Command(
        "classify images with a final model and flag uncertain ones for review", declare.add_predict_arguments
    ),
    "import": Command(
        "import runs from other tools: Optuna, Ray Tune, MLflow, W&B, TensorBoard, CSV and more",
        declare.add_import_arguments,
    ),
    "merge": Command("merge the shards of a study into one store", declare.add_merge_arguments),
    "schema": Command("print the JSON schema of study files, for editors", declare.add_schema_arguments),
    "doctor": Command("check this machine: packages, devices, memory and store", declare.add_doctor_arguments),
}
"""Every command, in the order of the help text."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code; an error becomes one line on stderr."""
    if _fill_closed_streams():
        print_error("standard output is closed; to discard it, redirect it to /dev/null")
        return BAD_INPUT
    debug = False
    try:
        try:
            parser = make_parser()
            if not (sys.argv[1:] if argv is None else argv):
                # Who types the bare name wants to know where to start.
                parser.print_help(sys.stderr)
                return BAD_INPUT
            arguments = parser.parsed(argv)
            debug = arguments.debug
            code: int = importlib.import_module(_module(arguments.command)).run(arguments)
        finally:
            # What is still buffered fails here, if it must, and not after the exit code is set.
            sys.stdout.flush()
        return code
    except KeyboardInterrupt:
        print("robustness: interrupted", file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:
        return DONE  # The reader of our output (`| head`) has left.
    except Exception as error:
        if debug:
            raise
        line, code = _explained(error)
        print_error(line)
        return code
    finally:
        _flush_or_discard(sys.stdout)
        _flush_or_discard(sys.stderr)


def _explained(error: Exception) -> tuple[str, int]:
    """The line and the exit code of an error."""
    if isinstance(error, RobustnessError):
        return str(error), BAD_INPUT
    if isinstance(error, MemoryError):
        return "out of memory", INCOMPLETE
    if isinstance(error, OSError):
        place = "" if error.filename is None else f"{os.fsdecode(error.filename)}: "
        if not place and error.errno in _FULL:
            place = "the output cannot be written: "
        elif not place and not _folder_exists():
            place = "the current folder no longer exists: "
        return f"{place}{error.strerror or error}", INCOMPLETE if error.errno in _FULL else BAD_INPUT
    line = f"unexpected error, please report it: {type(error).__name__}: {error} (--debug shows where)"
    return line, INCOMPLETE


_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)


def _folder_exists() -> bool:
    try:
        return bool(Path.cwd())
    except OSError:
        return False


def _fill_closed_streams() -> bool:
    """Whether standard output is closed; opens closed streams to nowhere, lest a database gets their number."""
    closed = sys.stdout is None
    for descriptor in range(3):
        try:
            os.fstat(descriptor)
        except OSError:
            os.open(os.devnull, os.O_RDWR)
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, Path(os.devnull).open("w", encoding="utf-8"))  # noqa: SIM115 - open to the end
        elif stream.errors == "strict" and hasattr(stream, "reconfigure"):
            # A name that the terminal's encoding lacks is escaped, not an error.
            stream.reconfigure(errors="backslashreplace")
    return closed


def _flush_or_discard(stream: TextIO) -> None:
    """Write what a stream has buffered, or send it nowhere, so that the interpreter's last flush succeeds."""
    try:
        stream.flush()
    except OSError:
        with suppress(OSError, ValueError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def make_parser() -> _Parser:
    """The parser of the whole command line."""
    parser = _Parser(
        prog="robustness",
        description="Is method A less sensitive to its hyperparameters than method B?",
        epilog=WHERE_TO_START,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action=_Version, nargs=0, help="show the version and exit")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for name, (summary, add_arguments) in COMMANDS.items():
        command = commands.add_parser(name, help=summary, description=f"{summary[0].upper()}{summary[1:]}.")
        add_arguments(command)
        parser.commands[name] = command
        command.add_argument("--debug", action="store_true", help="show the traceback of an error")
    return parser


def print_error(error: RobustnessError | str) -> None:
    """Print an error as one line on stderr."""
    with suppress(OSError):
        print(f"robustness: {printable(error)}", file=sys.stderr)


class _Parser(argparse.ArgumentParser):
    """A parser whose errors look like all others."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.commands: dict[str, _Parser] = {}
        """The parser of each command."""

    def parsed(self, argv: Sequence[str] | None) -> argparse.Namespace:
        """Parse a whole command line; a word that its command does not know is an error of that command."""
        arguments, unknown = self.parse_known_args(argv)
        if unknown:
            self.commands[arguments.command].refuse(unknown)
        return arguments

    def refuse(self, unknown: Sequence[str]) -> NoReturn:
        """End with an error about unknown words, with the option that the first of them may mean."""
        option = next((word.partition("=")[0] for word in unknown if word.startswith("-")), None)
        if option is None:
            self.error(f"unexpected word {shown(unknown[0])}")
        closest = get_close_matches(option, self._option_string_actions, n=1)
        self.error(f"unknown option {option}" + (f"; did you mean {closest[0]}?" if closest else ""))

    def error(self, message: str) -> NoReturn:
        misspelt = re.match(r"argument COMMAND: invalid choice: '([^']*)'", message)
        if misspelt:
            message = unknown_name("command", misspelt[1], COMMANDS)
        print_error(f"{message} (see {self.prog} --help)")
        self.exit(BAD_INPUT)


def _module(command: str) -> str:
    """The module of a command; `import` is a keyword, so its module has another name."""
    return f"robustness.cli.{'import_runs' if command == 'import' else command}"


class _Version(argparse.Action):
    """Print the version of the installed package and exit."""

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        print(f"robustness {__version__}")
        parser.exit()
