"""`robustness report STUDY`: what the store holds of a study as a page, or as JSON, CSV or parquet; it only reads."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from robustness.store import Store, StudyStore

ENDINGS = {"html": ".html", "json": ".json", "csv": ".csv", "parquet": ".parquet"}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("study", metavar="STUDY", help="the name of a study in the store, or a study file")
    parser.add_argument("--store", metavar="URL", help="where the results are (default: ROBUSTNESS_STORE)")
    parser.add_argument("--format", choices=list(ENDINGS), default="html", help="default: html, a page in one file")
    parser.add_argument(
        "--out",
        "--output",
        metavar="FILE",
        help="the file or folder to write (default: a file of the study's name; for csv and json, standard output)",
    )
    parser.add_argument("--figures", metavar="DIR", help="write each figure there as well, as SVG and PDF")
    parser.add_argument("--quiet", action="store_true", help="do not print where the report is")


def run(arguments: argparse.Namespace) -> int:
    """Write the report; 0."""
    from robustness.store import open_store

    with open_store(arguments.store, create=False) as store:
        study = _find(store, arguments.study)
        kind = str(arguments.format)
        if arguments.out in (None, "-") and kind in ("json", "csv"):
            sys.stdout.write(_text(study, kind))
        else:
            path = _place(study.name, arguments.out, ENDINGS[kind])
            _write(study, kind, path)
            if not arguments.quiet:
                print(path)
        if arguments.figures:
            from report.page import write_figures

            write_figures(study, Path(arguments.figures))
    return 0


def _find(store: Store, name: str) -> StudyStore:
    """The study of that name in the store; a study file stands for the name in it."""
    if name not in store.names() and (name.endswith((".yaml", ".yml")) or Path(name).is_file()):
        from robustness.errors import StudyFileError
        from robustness.study.bundled import find_study
        from robustness.study.yaml_reader import read_file

        data = read_file(find_study(name), StudyFileError)
        return store.study(str(data.get("name", name)))
    return store.study(name)


def write_page(study: StudyStore) -> Path:
    """Write the page of a study into the working folder, as `robustness report` does without options."""
    path = _place(study.name, None, ENDINGS["html"])
    _write(study, "html", path)
    return path


def _place(name: str, out: str | None, ending: str) -> Path:
    """The file to write: the one given, or one with the study's name, here or in the folder given."""
    # A study that was brought in from elsewhere may have any name.
    file = "".join(letter if letter.isalnum() or letter in " -_." else "_" for letter in name).strip(" .") + ending
    if out is None:
        return Path(file)
    return Path(out) / file if Path(out).is_dir() else Path(out)


def _text(study: StudyStore, kind: str) -> str:
    if kind == "csv":
        from report.exports import results_csv

        return results_csv(study)
    from report.analysis import analyse, as_json_text

    return as_json_text(analyse(study).results)


def _write(study: StudyStore, kind: str, path: Path) -> None:
    from robustness.errors import RobustnessError

    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        if kind == "html":
            from report.page import write_report

            write_report(study, path)
        elif kind == "parquet":
            from report.exports import write_parquet

            write_parquet(study, path)
        else:
            path.write_text(_text(study, kind), encoding="utf-8", newline="")
    except OSError as error:
        raise RobustnessError(f"--out {str(path)!r} cannot be written: {error.strerror or error}") from None
