"""The one way from a source to a study: understand, assemble, settle, check."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import pandas as pd

from robustness.errors import RobustnessError, shown
from robustness.importing.assembling import Runs, assemble, with_real_replicates
from robustness.importing.candidates import check_arms
from robustness.importing.combining import chosen, combined
from robustness.importing.failures import settle
from robustness.importing.imported_study import ImportedStudy
from robustness.importing.options import ImportOptions
from robustness.importing.own_results import with_metric
from robustness.importing.pairing import check_guess
from robustness.importing.proposing import with_proposal
from robustness.importing.questions import Question, together
from robustness.importing.runs import SourceTable
from robustness.importing.understanding import Understood, understand
from robustness.importing.values import without_containers
from robustness.study.arms import check_label


@dataclass(frozen=True)
class Import:
    """A study that is ready to be stored, and what was understood of its source."""

    study: ImportedStudy
    understood: Understood

    @property
    def runs(self) -> Runs:
        return self.study.runs


def make_import(name: str, tables: Sequence[SourceTable], options: ImportOptions) -> Import:
    """The study of some sources; raises RobustnessError with one line where it is not clear what they mean."""
    check_label(name, options.named("study"))
    table = chosen(with_metric(combined(tables), options.metric), options)
    table = replace(table, frame=without_containers(table.frame))
    questions: list[Question] = []
    # Whatever is open is asked at once, so each question is answered for now to find the next.
    trial = options
    while True:
        try:
            found = _import(name, table, trial)
        except Question as question:
            questions.append(question)
            trial = replace(trial, **question.answer)
        except RobustnessError:
            if not questions:
                raise
            raise together(questions) from None
        else:
            if questions:
                raise together(questions)
            return found


def _import(name: str, table: SourceTable, options: ImportOptions) -> Import:
    understood = understand(table, options)
    runs = assemble(table, understood, options)
    check_arms(runs.arms, table, options)
    check_guess(runs, understood, options)
    runs = settle(with_proposal(with_real_replicates(runs), options), options)
    return Import(ImportedStudy.of(name, runs, options, understood.ignored), understood)


def table_of_frame(frame: pd.DataFrame, source: str = "the data frame") -> SourceTable:
    """A user's data frame as a source; raises RobustnessError if it is none or names a column twice."""
    if not isinstance(frame, pd.DataFrame):
        raise RobustnessError(f"{source}: must be a pandas DataFrame, found {type(frame).__name__}")
    if frame.empty:
        raise RobustnessError(f"{source}: has no rows")
    names = pd.Index([str(name) for name in frame.columns])
    if names.has_duplicates:
        raise RobustnessError(f"{source}: the column {shown(names[names.duplicated()][0])} appears twice")
    plain = frame.reset_index(drop=True)
    plain.columns = names
    return SourceTable(source, "frame", plain)
