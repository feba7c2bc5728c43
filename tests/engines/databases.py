"""The table of every kind of column in databases: DuckDB in this process, Postgres in a cluster that the tests start."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import duckdb

import dpcov
from tests.sources.mixed import CELLS, arrow

QUERY = "SELECT * FROM people"
POSTGRES_TYPES = ("float8", "bigint", "boolean", "numeric(9, 2)", "text", "float8", "boolean", "text")


def in_duckdb() -> Any:
    """Return a connection to a database that holds the table."""
    connection = duckdb.connect()
    connection.execute("SET threads = 1")
    connection.register("from_arrow", arrow())
    connection.execute("CREATE TABLE people AS SELECT * FROM from_arrow")
    return connection


def people() -> Any:
    """Return the table of a database of its own."""
    return dpcov.sql(in_duckdb(), QUERY)


def programs() -> Path | None:
    """Return the folder of Postgres' programs, which Debian keeps out of the path."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda path: int(path.parts[4]))
    on_path = shutil.which("initdb")
    return found[-1].parent if found else None if on_path is None else Path(on_path).parent


def why_no_postgres() -> str:
    """Say what is missing, or nothing."""
    if find_spec("psycopg") is None:
        return "psycopg is not installed: make engines"
    if programs() is None:
        return "there is no Postgres server: apt-get install postgresql"
    return "" if os.getuid() != 0 or shutil.which("runuser") else "Postgres does not run as root, and there is no runuser"


@contextmanager
def cluster(folder: Path) -> Iterator[str]:
    """Start a server on a socket in a folder, with the table in it, and end it."""
    import psycopg

    found = programs()
    assert found is not None
    as_user = ["runuser", "-u", "postgres", "--"] if os.getuid() == 0 else []
    if as_user:
        shutil.chown(folder, "postgres")

    def run(*command: str | Path) -> None:
        subprocess.run([*as_user, *command], check=True, cwd="/", stdout=subprocess.DEVNULL, stdin=subprocess.DEVNULL)

    data = folder / "data"
    run(found / "initdb", "-D", data, "-A", "trust", "-U", "postgres", "-E", "UTF8", "--locale=C", "--no-sync")
    settings = f"-c listen_addresses='' -c unix_socket_directories='{folder}' -c fsync=off -c shared_buffers=16MB"
    run(found / "pg_ctl", "-D", data, "-l", folder / "log", "-o", settings, "-w", "start")
    try:
        address = f"host={folder} user=postgres dbname=postgres"
        with psycopg.connect(address) as connection:
            columns = ", ".join(f'"{name}" {kind}' for name, kind in zip(CELLS, POSTGRES_TYPES, strict=True))
            connection.execute(f"CREATE TABLE people ({columns})")
            places = ", ".join(["%s"] * len(CELLS))
            connection.cursor().executemany(f"INSERT INTO people VALUES ({places})", list(zip(*CELLS.values(), strict=True)))
        yield address
    finally:
        run(found / "pg_ctl", "-D", data, "-m", "immediate", "-w", "stop")
