"""The keys of a command in a study file: the command itself, and where its results come from."""

from __future__ import annotations

import re
from typing import Any, Literal

from pydantic import ConfigDict, Field, field_validator, model_validator

from robustness.trainables.command.words import split
from robustness.validation import StrictOptions


class Source(StrictOptions):
    """Where the results of a command come from; set exactly one of the keys."""

    model_config = ConfigDict(serialize_by_alias=True)

    stdout: Literal["stdout-json"] | None = Field(default=None, alias="from")
    """`stdout-json`: each line of its output that is a JSON object, such as {"epoch": 1, "accuracy": 0.5}."""
    file: str | None = Field(default=None, min_length=1)
    """A file with a JSON object a line, in the folder of the run unless it is an absolute path."""
    pattern: str | None = Field(default=None, min_length=1)
    """A regular expression that is searched in each line of its output; its named groups are measures."""

    @model_validator(mode="after")
    def _exactly_one(self) -> Source:
        if sum(value is not None for value in (self.stdout, self.file, self.pattern)) != 1:
            raise ValueError("needs exactly one of from, file and pattern")
        return self

    @field_validator("pattern")
    @classmethod
    def _compiles(cls, pattern: str | None) -> str | None:
        if pattern is None:
            return None
        try:
            groups = re.compile(pattern).groupindex
        except (re.error, OverflowError, RecursionError) as error:
            raise ValueError(f"is not a regular expression ({error}), found {pattern[:60]!r}") from None
        if not groups:
            raise ValueError(f"has no named group, such as (?P<accuracy>[0-9.]+), found {pattern[:60]!r}")
        return pattern


class CommandOptions(StrictOptions):
    """What a command study has in `training`: the command, its results, and further values for placeholders."""

    model_config = ConfigDict(extra="allow")

    command: list[str] = Field(min_length=1)
    """The words of the command; a string is split at spaces, as a shell would, but no shell runs it."""
    metrics: Source = Source.model_validate({"from": "stdout-json"})

    @field_validator("command", mode="before")
    @classmethod
    def _words(cls, command: Any) -> Any:
        return split(command) if isinstance(command, str) else command

    @property
    def further(self) -> dict[str, Any]:
        """Further values under `training`, such as `epochs`, which placeholders can name."""
        return dict(self.model_extra or {})
