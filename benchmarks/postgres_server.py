"""A PostgreSQL server for one benchmark, from `.ci/start-postgres`."""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from sqlalchemy import NullPool, create_engine, make_url, text

ROOT = Path(__file__).parents[1]


@dataclass(frozen=True)
class PostgresServer:
    """A server that keeps everything in a folder."""

    url: str
    folder: Path

    def database(self, name: str) -> str:
        """Create a database and return its URL."""
        engine = create_engine(
            make_url(self.url).set(drivername="postgresql+psycopg"), isolation_level="AUTOCOMMIT", poolclass=NullPool
        )
        with engine.connect() as connection:
            connection.execute(text(f"CREATE DATABASE {name}"))
        return make_url(self.url).set(database=name).render_as_string(hide_password=False)

    def restart(self, mode: str) -> None:
        """Restart the server: `fast` closes all connections, `immediate` is a crash with recovery."""
        newest = max(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda path: int(path.parent.name))
        words = [str(newest / "pg_ctl"), "-D", str(self.folder / "data"), "-w", "-m", mode, "restart"]
        words += ["-l", str(self.folder / "server.log")]
        as_owner = ["runuser", "-u", "postgres", "--"] if os.getuid() == 0 else []
        subprocess.run([*as_owner, *words], check=True, cwd="/", stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


@contextmanager
def running_server() -> Iterator[PostgresServer]:
    """Start a server for the length of a block."""
    with tempfile.TemporaryDirectory(prefix="pg") as name:
        process = subprocess.run([ROOT / ".ci" / "start-postgres", name], check=True, stdout=subprocess.PIPE, text=True)
        try:
            yield PostgresServer(process.stdout.strip(), Path(name))
        finally:
            subprocess.run([ROOT / ".ci" / "stop-postgres", name], check=True, stderr=subprocess.DEVNULL)
