"""A stored study with its analysis, made for notebooks: the verdict, tables, figures and the page.

    result = Result("sqlite:///robustness.db", "quickstart")
    result.verdict, result.trials, result.epochs, result.results
    result.plot("profiles"), result.report("page.html")

The store is read once, when something is first asked for, and never changed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from report.analysis import Analysis, analyse
from report.document import Picture
from report.drawing.style import drawing
from report.drawing.svg import to_svg
from report.exports import results_table
from report.page import write_report
from report.sections import make_sections
from report.sections.verdict import headline
from robustness.errors import RobustnessError, unknown_name
from robustness.store import StudyStore, open_store
from robustness.store.connection import address, read_url
from robustness.store.hiding import shown

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

FRONT_PICTURE = "profiles"
"""The section whose picture a notebook shows, if the study has it."""


@dataclass(frozen=True)
class Result:
    """A study in a store; in a notebook it shows its verdict and a picture."""

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
        """One row for each epoch of each trial, with a column for each measure."""
        return self.analysis.frames.epochs.copy()

    @property
    def results(self) -> Mapping[str, Any]:
        """Every statistic of the report, as in `robustness report --format json` (docs/report_json.md)."""
        return self.analysis.results

    @cached_property
    def analysis(self) -> Analysis:
        """The analysis behind the report."""
        with open_store(self.store, create=False) as store:
            return analyse(store.study(self.study))

    def plot(self, name: str = FRONT_PICTURE) -> Figure:
        """Return a figure of the report by its name, or by its section's; raises RobustnessError for another name."""
        known: set[str] = set()
        for picture, section in self._pictures():
            if name in (picture.name, section):
                with drawing():
                    figure = picture.draw()
                figure.set_facecolor("white")
                return figure
            known |= {picture.name, section}
        if not known:
            raise RobustnessError(f"study {self.study!r} has no figures yet: no pair of trials has ended")
        raise RobustnessError(unknown_name("figure", name, known))

    def report(self, path: Path | str, force: bool = False) -> Path:
        """Write the page of the report; `force` replaces a file that robustness did not write."""
        return write_report(self.analysis, path, force)

    def __repr__(self) -> str:
        return f"Result({shown(read_url(self.store))!r}, {self.study!r})"

    def _repr_html_(self) -> str:
        """The summary that a notebook shows: name, verdict and one picture; every text is escaped."""
        lines = "".join(f"<p>{escape(line)}</p>" for line in self.verdict.splitlines())
        return f"<div><h3>{escape(self.study)}</h3>{lines}{self._front_picture()}</div>"

    def _front_picture(self) -> str:
        pictures = list(self._pictures())
        chosen = next((each for each in pictures if each[1] == FRONT_PICTURE), pictures[0] if pictures else None)
        if chosen is None:
            return ""
        picture = chosen[0]
        with drawing():
            drawn = to_svg(picture.draw(), picture.name, picture.title, picture.description)
        return f'<div style="max-width: 520px">{drawn}</div>'

    def _pictures(self) -> Iterator[tuple[Picture, str]]:
        """Every picture of the report with the name of its section."""
        for section in make_sections(self.analysis):
            yield from ((picture, section.name) for picture in section.pictures)
