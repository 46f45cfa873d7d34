"""`robustness doctor` and the first answers of the command line."""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path

import pytest

from robustness import __version__
from robustness.cli import COMMANDS, main


def test_doctor_lists_what_the_machine_has(capsys: pytest.CaptureFixture[str]) -> None:
    code = main(["doctor"])
    shown = capsys.readouterr().out
    for word in ("python", "torch", "ray", "optuna", "sqlalchemy", "store", "cores"):
        assert word in shown
    assert (code == 0) == ("no problems found" in shown)


def test_doctor_says_what_is_wrong_with_a_store_and_makes_no_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    missing = tmp_path / "missing.db"
    assert main(["doctor", "--store", f"sqlite:///{missing}"]) == 1
    assert "missing.db" in next(line for line in capsys.readouterr().out.splitlines() if line.startswith("! store"))
    assert not missing.exists()


def test_doctor_never_shows_a_password(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor", "--store", "postgresql://user:verysecret@127.0.0.1:1/nothing"]) == 1
    shown = capsys.readouterr()
    assert "verysecret" not in shown.out + shown.err


def test_help_names_every_command(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["--help"])
    assert ended.value.code == 0
    shown = capsys.readouterr().out
    assert all(name in shown for name in COMMANDS)


def test_help_and_the_bare_name_say_where_to_start(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["--help"])
    shown = capsys.readouterr().out
    assert main([]) == 2
    assert capsys.readouterr().err == shown
    for door in ("robustness sweep quickstart", "robustness import --help", "docs/any_code.md", "docs/get_started.md"):
        assert door in shown.partition("options:")[2]


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_a_help_text(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main([command, "--help"])
    assert ended.value.code == 0
    assert f"usage: robustness {command}" in capsys.readouterr().out


def test_options_have_the_same_short_form_in_every_command() -> None:
    short = {"--out": "-o", "--quiet": "-q", "--store": "-s", "--workers": "-w"}
    seen = set()
    for command in COMMANDS.values():
        parser = argparse.ArgumentParser()
        command.add_arguments(parser)
        for action in parser._actions:
            for name in short.keys() & set(action.option_strings):
                assert short[name] in action.option_strings
                seen.add(name)
    assert seen == set(short)


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["--version"])
    assert capsys.readouterr().out == f"robustness {__version__}\n"


def test_help_imports_nothing_heavy() -> None:
    heavy = ["torch", "ray", "optuna", "pandas", "sqlalchemy", "numpy", "scipy", "pydantic", "rich", "yaml"]
    code = (
        "import sys, contextlib\n"
        "from robustness.cli import main\n"
        "with contextlib.suppress(SystemExit): main(['--help'])\n"
        f"print('imported:', [name for name in {heavy} if name in sys.modules])"
    )
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert shown.endswith("imported: []\n")


def test_an_unknown_command_exits_with_2(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["sweeep"])
    assert ended.value.code == 2
    assert "sweeep" in capsys.readouterr().err
