"""A PostgreSQL server for the tests: a fresh cluster on a Unix socket, ended with the tests.

It listens on no port. PostgreSQL does not run as root, so root starts it as `nobody`.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

HINT = "no PostgreSQL: install postgresql"
_SECONDS = 60.0
_NEW = ("--auth=trust", "--no-sync", "--encoding=UTF8", "--locale=C")
_QUIET = ("-c", "listen_addresses=", "-c", "fsync=off")
_PLACES = ("/usr/local/bin", "/usr/lib/postgresql/*/bin", "/usr/pgsql-*/bin", "/opt/homebrew/bin")


def find_postgresql() -> Path | None:
    """The folder of `initdb` and `postgres`, which distributions keep off the PATH."""
    on_path = shutil.which("postgres")
    folders = [Path(on_path).resolve().parent] if on_path else []
    for place in _PLACES:
        folders += sorted(Path("/").glob(place.lstrip("/")), reverse=True)
    return next((one for one in folders if (one / "postgres").exists()), None)


class PostgreSQL:
    """A running cluster; each test has its own databases in it."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._numbers = itertools.count(1)
        self._free: list[str] = []

    def url(self, database: str) -> str:
        return f"postgresql+psycopg://approval@/{database}?host={self._folder}"

    def new_database(self) -> str:
        """The SQLAlchemy URL of a new, empty database."""
        name = f"test_{next(self._numbers)}"
        self._execute("postgres", f"CREATE DATABASE {name}")
        return self.url(name)

    @contextlib.contextmanager
    def empty_databases(self) -> Iterator[Callable[[], str]]:
        """Gives URLs of empty databases, which are emptied at the end and used again: each one that
        is created copies seven megabytes in three hundred files."""
        lent: list[str] = []

        def lend() -> str:
            lent.append(self._free.pop() if self._free else self.new_database())
            return lent[-1]

        try:
            yield lend
        finally:
            for url in lent:
                self._empty(url.partition("?")[0].rpartition("/")[2])
            self._free += lent

    def _empty(self, name: str) -> None:
        """Also of what a session that was never closed still holds."""
        others = f"datname = '{name}' AND pid <> pg_backend_pid()"
        self._execute(
            name,
            f"SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity WHERE {others}",
            "DROP SCHEMA public CASCADE",
            "CREATE SCHEMA public",
        )

    def _execute(self, database: str, *statements: str) -> None:
        import psycopg

        with psycopg.connect(self._conninfo(database), autocommit=True) as connection:
            for statement in statements:
                connection.execute(statement.encode())

    def wait_until_ready(self, process: subprocess.Popen[bytes]) -> None:
        import psycopg

        give_up = time.monotonic() + _SECONDS
        while True:
            try:
                psycopg.connect(self._conninfo()).close()
                return
            except psycopg.OperationalError:
                assert process.poll() is None, "PostgreSQL ended while it started"
                assert time.monotonic() < give_up, "PostgreSQL did not start"
                time.sleep(0.02)

    def _conninfo(self, database: str = "postgres") -> str:
        return f"host={self._folder} user=approval dbname={database} connect_timeout=10"


@contextlib.contextmanager
def started_postgresql() -> Iterator[PostgreSQL]:
    programs = find_postgresql()
    assert programs is not None, HINT
    # Not below pytest's temporary folder, which only its owner may enter.
    folder = Path(tempfile.mkdtemp(prefix="mcp-approval-pg-"))
    become: list[str] = []
    if os.geteuid() == 0:
        shutil.chown(folder, "nobody", "nogroup")
        become = ["setpriv", "--reuid=nobody", "--regid=nogroup", "--clear-groups"]
    data = str(folder / "data")
    try:
        subprocess.run(
            [*become, programs / "initdb", f"--pgdata={data}", "--username=approval", *_NEW],
            cwd=folder,
            check=True,
            capture_output=True,
            timeout=_SECONDS,
        )
        process = subprocess.Popen(
            [*become, programs / "postgres", "-D", data, "-k", str(folder), *_QUIET],
            cwd=folder,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        try:
            running = PostgreSQL(folder)
            running.wait_until_ready(process)
            yield running
        finally:
            process.send_signal(signal.SIGINT)  # "fast": it does not wait for its clients
            process.wait(_SECONDS)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
