"""A stored study with its analysis, made for notebooks: the first screen of its page, tables, figures and the page.

    result = Result("sqlite:///robustness.db", "quickstart")
    result                                                       # shows the first screen
    result.verdict, result.trials, result.epochs, result.results
    result.figures, result.plot("profiles"), result.report("page.html")

The store is read once, when something is first asked for, and never changed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from report.analysis import Analysis, analyse
from report.drawing.style import drawing
from report.exports import results_table
from report.frames import KEY
from report.page import notebook_html, pictures, write_report
from report.sections.verdict import headline
from robustness.errors import RobustnessError, unknown_name
from robustness.store import StudyStore, open_store
from robustness.store.connection import address, read_url
from robustness.store.hiding import shown
from robustness.store.reading import EPOCH_COLUMNS

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class Result:
    """A study in a store; a notebook shows the first screen of its page."""

    store: str | None
    """The URL of the store; None is ROBUSTNESS_STORE or `sqlite:///robustness.db`."""
    study: str
    """The study's name in the store."""

    def __post_init__(self) -> None:
        # A script may change its folder or environment before it asks for something.
        object.__setattr__(self, "store", address(read_url(self.store)))

    @staticmethod
    def of(study: StudyStore) -> Result:
        """The result of a study in an open store."""
        return Result(address(study.url), study.name)

    @property
    def verdict(self) -> str:
        """What the study shows so far, in a few sentences, one a line."""
        return headline(self.analysis)

    @property
    def trials(self) -> pd.DataFrame:
        """One row for each trial: configuration, replicate, arm, hyperparameters, status, scores, outcomes, error."""
        table = results_table(self.analysis.frames, self.analysis.study.trials)
        return table.assign(seconds=self.analysis.frames.trials["seconds"], error=self.analysis.frames.trials["error"])

    @property
    def epochs(self) -> pd.DataFrame:
        """One row for each epoch of each trial, with a column for each measure; the usual ones are always there."""
        measured = self.analysis.frames.epochs
        return measured.reindex(columns=list(dict.fromkeys([*KEY, *EPOCH_COLUMNS, *measured.columns])))

    @property
    def results(self) -> Mapping[str, Any]:
        """Every statistic of the report, as in `robustness report --format json` (docs/report_json.md)."""
        return self.analysis.results

    @cached_property
    def analysis(self) -> Analysis:
        """The analysis behind the report."""
        with open_store(self.store, create=False) as store:
            return analyse(store.study(self.study))

    @property
    def figures(self) -> dict[str, str]:
        """The title of each figure that `plot` draws, by its name."""
        return {picture.name: picture.title for picture, _ in pictures(self.analysis)}

    def plot(self, name: str | None = None) -> Figure:
        """Return a figure of the report by its name, or the first one of a section by that section's name.

        None is the first figure: that of the verdict, where arms are compared. Raises RobustnessError for an unknown
        name, with the nearest one or all that there are.
        """
        known = list(pictures(self.analysis))
        if not known:
            raise RobustnessError(f"study {self.study!r} has no figures yet: no pair of trials has ended")
        for picture, section in known:
            if name in (None, picture.name, section):
                with drawing():
                    figure = picture.draw()
                figure.set_facecolor("white")
                return figure
        names = {each for picture, section in known for each in (section, picture.name)}
        raise RobustnessError(unknown_name("figure", name, names))

    def report(self, path: Path | str, force: bool = False) -> Path:
        """Write the page of the report; `force` replaces a file that robustness did not write."""
        return write_report(self.analysis, path, force)

    def __repr__(self) -> str:
        return f"Result({shown(read_url(self.store))!r}, {self.study!r})"

    def _repr_html_(self) -> str:
        """The first screen of the page, with its style; every text of the study is escaped."""
        return notebook_html(self.analysis)
