"""`robustness schema`: the JSON schema of study files, with which an editor completes and checks them."""

from __future__ import annotations

import argparse
import json


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.epilog = (
        "Save it beside your studies (robustness schema > study.schema.json) and begin a study file with "
        "`# yaml-language-server: $schema=study.schema.json`."
    )


def run(arguments: argparse.Namespace) -> int:  # noqa: ARG001
    """Print the schema; 0."""
    from robustness.study.sections import study_schema

    print(json.dumps(study_schema(), indent=2))
    return 0
