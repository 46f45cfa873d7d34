"""A password may stand anywhere in a store's address: no message, table, file name or command line shows it."""

from __future__ import annotations

import argparse
from pathlib import Path
from urllib.parse import quote

import pytest
from sqlalchemy import make_url

from robustness.cli import main
from robustness.cli.interruption import store_option
from robustness.errors import StoreError
from robustness.store.connection import file_beside, read_url
from robustness.store.hiding import complaint, shown

SECRET = "Hunter2/&geheim"  # noqa: S105
QUOTED = quote(SECRET, safe="")
NOWHERE = "host=/no/such/folder"

ADDRESSES = {
    "password": f"postgresql://me:{QUOTED}@/x?{NOWHERE}",
    "password without a name": f"postgresql://:{QUOTED}@/x?{NOWHERE}",
    "option": f"postgresql://me@/x?{NOWHERE}&password={QUOTED}",
    "upper-case option": f"postgresql://me@/x?{NOWHERE}&PASSWORD={QUOTED}",
    "mixed-case option": f"postgresql://me@/x?{NOWHERE}&PassWord={QUOTED}",
    "misspelt: pasword": f"postgresql://me@/x?{NOWHERE}&pasword={QUOTED}",
    "misspelt: passwd": f"postgresql://me@/x?{NOWHERE}&passwd={QUOTED}",
    "misspelt: pwd": f"postgresql://me@/x?{NOWHERE}&pwd={QUOTED}",
    "misspelt: passord": f"postgresql://me@/x?{NOWHERE}&passord={QUOTED}",
    "misspelt: kennwort": f"postgresql://me@/x?{NOWHERE}&kennwort={QUOTED}",
    "key's password": f"postgresql://me@/x?{NOWHERE}&sslpassword={QUOTED}",
    "file of passwords": f"postgresql://me@/x?{NOWHERE}&passfile={QUOTED}",
    "server options": f"postgresql://me@/x?{NOWHERE}&options=-c%20my.token%3D{QUOTED}",
    "twice": f"postgresql://me@/x?{NOWHERE}&password=a&password={QUOTED}",
    "both": f"postgresql://me:other@/x?{NOWHERE}&password={QUOTED}",
    "in another option": f"postgresql://me@/x?host=me:{QUOTED}@nowhere",
    "in the user's name": f"postgresql://me%3A{QUOTED}@/x?{NOWHERE}",
    "@ not escaped": "postgresql://me:a@Hunter2/&geheim@nowhere/x",
    "only @ not escaped": "postgresql://me:a@Hunter2@nowhere/x",
    "libpq's form": f"host=/no/such/folder user=me password={SECRET}",
    "libpq's form, quoted": f"host='/no/such/folder' password='{SECRET}' dbname=x",
    "libpq's form as database": f"postgresql:///dbname=x password={QUOTED}",
    "address as database": "postgresql:///postgresql://me:Hunter2geheim@nowhere/x",
    "port that is none": f"postgresql://me:{QUOTED}@nowhere:port/x",
    "unknown kind": f"mysql://me:{QUOTED}@nowhere/x",
    "old driver": f"postgresql+psycopg2://me:{QUOTED}@nowhere/x",
    "no kind": f"me:{QUOTED}@nowhere/x",
    "no slashes": f"postgresql:me:{QUOTED}@nowhere/x",
    "SQLite with a key": f"sqlite:///no/such/folder/x.db?key={QUOTED}",
    "SQLite as a host": f"sqlite://me:{QUOTED}@nowhere/x.db",
}
COMMANDS = (["status"], ["report", "x"], ["compare", "x", "y"], ["doctor"])


def leaks(text: str) -> bool:
    return any(part in text for part in ("Hunter2", "geheim", quote(SECRET), "MySecret"))


@pytest.mark.parametrize("name", ADDRESSES)
def test_no_command_shows_the_secret(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PGPASSWORD", "MySecretVariable")
    place = list(ADDRESSES).index(name)
    words = COMMANDS[place % len(COMMANDS)]
    in_environment = place % 2 == 1
    if in_environment:
        monkeypatch.setenv("ROBUSTNESS_STORE", ADDRESSES[name])
    assert main(words if in_environment else [*words, "--store", ADDRESSES[name]]) in (1, 2)
    output = capsys.readouterr()
    assert not leaks(output.out + output.err)
    assert "Traceback" not in output.err
    if words[0] != "doctor":
        assert output.err.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ADDRESSES)
def test_the_address_for_messages_command_lines_and_file_names_has_no_secret(name: str) -> None:
    assert not leaks(descriptions(ADDRESSES[name]))


def descriptions(address: str) -> str:
    try:
        url = read_url(address)
    except StoreError as error:
        return str(error)
    return f"{shown(url)} {store_option(argparse.Namespace(store=address))} {file_beside(url, 'study.unsaved.jsonl')}"


@pytest.mark.parametrize(
    "message",
    [
        f"cannot use {SECRET}",
        f"cannot use {QUOTED} here",
        "connection to postgresql://me:Hunter2@nowhere/x failed",
        "invalid conninfo: user=me password=Hunter2geheim",
        "invalid conninfo: password = 'Hunter2 geheim' user=me",
        'invalid conninfo: PASSWORD="Hunter2 geheim"',
        "option sslpassword=geheim, host=x",
        "MySecretVariable was refused",
        "first line\nsecond line with MySecretVariable",
    ],
)
def test_a_driver_s_message_has_no_secret(message: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PGPASSWORD", "MySecretVariable")
    url = make_url(f"postgresql://me:{QUOTED}@host/x")
    line = complaint(RuntimeError(message), url)
    assert not leaks(line)
    assert "\n" not in line


def test_what_is_harmless_is_shown() -> None:
    url = read_url("postgresql://me:word@host:5433/x?sslmode=require&connect_timeout=3&pasword=word")
    assert shown(url) == "postgresql://me:***@host:5433/x?connect_timeout=3&pasword=***&sslmode=require"
    assert "127.0.0.1" in complaint(RuntimeError("127.0.0.1 refused"), read_url("postgresql://me@host/x?conect=1"))
