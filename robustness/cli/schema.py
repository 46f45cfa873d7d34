"""`robustness schema`: print the JSON schema of study files, with which editors complete and check them."""

from __future__ import annotations

import argparse
import json

from robustness.cli import DONE
from robustness.study.sections import study_schema


def run(arguments: argparse.Namespace) -> int:  # noqa: ARG001
    """Print the schema."""
    print(json.dumps(study_schema(), indent=2))
    return DONE
