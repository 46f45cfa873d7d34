"""`robustness report STUDY`: write a stored study's report as a page, JSON, CSV, parquet or LaTeX; it only reads.

With `--format archive` it writes the study itself, for another store.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from report.analysis import Analysis, analyse, as_json_text
from report.exports import results_csv, results_records, write_parquet
from report.exports.latex import as_latex
from report.frames import StudyFrames, load_frames
from report.page import write_figures, write_report
from report.sections.cautions import cautions
from report.sections.verdict import headline
from robustness.cli import DONE
from robustness.cli.import_runs import next_steps
from robustness.cli.interruption import store_option
from robustness.errors import StudyFileError, plural
from robustness.files import file_name
from robustness.guards.limits import is_file, is_folder
from robustness.guards.outputs import ARCHIVE_ENDING, writing
from robustness.guards.printable import printable
from robustness.store import Store, StudyStore, open_store
from robustness.store.archive import write_archive
from robustness.study.bundled import find_study
from robustness.study.yaml_reader import read_file
from robustness.trial import IMPORTED

ENDINGS = {"latex": "tex", "archive": ARCHIVE_ENDING.removeprefix(".")}
"""The ending of a format's file, if it is not the format's name."""


def run(arguments: argparse.Namespace) -> int:
    """Write the report, and the figures if asked for."""
    kind = str(arguments.format)
    if arguments.width is not None and not arguments.figures:
        raise StudyFileError("--width: is the width of the figures of --figures DIR")
    if arguments.figures and kind == "archive":
        raise StudyFileError("--figures: cannot be combined with --format archive, which draws nothing")
    with open_store(arguments.store, create=False) as store:
        stored = _find(store, arguments.study)
        if kind == "archive":
            return _write_archive(stored, arguments)
        frames = load_frames(stored)
    _warn(frames)
    study = analyse(frames) if kind in ("html", "json", "latex") else frames
    if arguments.out in (None, "-") and kind in ("json", "csv", "latex"):
        sys.stdout.write(_text(study, kind))
    else:
        path = _path(frames.name, arguments.out, kind)
        _write(study, kind, path, arguments.force)
        if not arguments.quiet:
            if kind == "html" and isinstance(study, Analysis):
                print_headline(study)
                print(caveats_line(study))
                for line in _next_steps(study, arguments):
                    print(printable(line))
            print(printable(f"report: {path}" if kind == "html" else path))
    if arguments.figures:
        write_figures(study, Path(arguments.figures), arguments.force, arguments.width)
    return DONE


def _write_archive(study: StudyStore, arguments: argparse.Namespace) -> int:
    path = _path(study.name, arguments.out, "archive")
    with writing(path, arguments.force, "wb") as file:
        write_archive(study, file)
    if not arguments.quiet:
        print(printable(path))
    return DONE


def _warn(frames: StudyFrames) -> None:
    """Say on stderr that the store was damaged, which a table of results does not show."""
    if frames.contradictions:
        count = plural(len(frames.contradictions), "trial")
        print(
            f"warning: the store contradicts itself: the result of {count}, such as {frames.contradictions[0]}, does "
            "not follow from the recorded epochs",
            file=sys.stderr,
        )


def print_headline(analysis: Analysis) -> None:
    """Print the verdict and what belongs to it, as a sweep ends."""
    for line in headline(analysis).splitlines():
        print(printable(line))


def _next_steps(analysis: Analysis, arguments: argparse.Namespace) -> list[str]:
    """What to do where a study answers less than it could."""
    document = analysis.frames.document
    if document.get("trainable") == IMPORTED:
        return next_steps(document, store_option(arguments))
    if len(document["arms"]) < 2:
        return ["one arm only, so nothing is compared: add another arm to the study, and run the sweep again"]
    return []


def caveats_line(analysis: Analysis) -> str:
    count = len(cautions(analysis))
    return f"{plural(count, 'caveat')} on the page" if count else "no caveats"


def write_page(analysis: Analysis) -> Path:
    """Write the page of a study to the working folder, as `robustness report` does without options."""
    path = _path(analysis.frames.name, None, "html")
    _write(analysis, "html", path)
    return path


def _find(store: Store, name: str) -> StudyStore:
    """The stored study of this name; a study file stands for the name in it."""
    if name not in store.names() and (name.endswith((".yaml", ".yml")) or is_file(Path(name))):
        document = read_file(find_study(name), StudyFileError)
        return store.study(str(document.get("name", name)))
    return store.study(name)


def _path(name: str, out: str | None, kind: str) -> Path:
    """The file to write: `out`, or a file named after the study in the working folder or in the folder `out`."""
    file = f"{file_name(name)}.{ENDINGS.get(kind, kind)}"
    if out is None:
        return Path(file)
    return Path(out) / file if is_folder(Path(out)) else Path(out)


def _text(study: StudyFrames | Analysis, kind: str) -> str:
    """The JSON or LaTeX of an analysis, or the CSV of frames."""
    if not isinstance(study, Analysis):
        return results_csv(study)
    if kind == "latex":
        return as_latex(study)
    return as_json_text({**study.results, "trials": results_records(study.frames, study.study.trials)})


def _write(study: StudyFrames | Analysis, kind: str, path: Path, force: bool = False) -> None:
    if kind == "html":
        write_report(study, path, force)
    elif kind == "parquet" and isinstance(study, StudyFrames):
        with writing(path, force, "wb") as file:
            write_parquet(study, file)
    else:
        with writing(path, force, encoding="utf-8", newline="") as file:
            file.write(_text(study, kind))
