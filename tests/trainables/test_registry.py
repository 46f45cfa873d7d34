"""The registry of trainables: each one can be found first, and without torch."""

from __future__ import annotations

import subprocess
import sys

import pytest

from robustness.trainables import TRAINABLES


@pytest.mark.parametrize("name", TRAINABLES)
def test_a_trainable_is_found_in_a_fresh_process_without_torch(name: str) -> None:
    code = (
        "import sys\n"
        "from robustness.plugins import find_trainable\n"
        f"find_trainable({name!r})\n"
        "sys.exit('torch was imported' if 'torch' in sys.modules else 0)\n"
    )
    result = subprocess.run([sys.executable, "-c", code], check=False, capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
