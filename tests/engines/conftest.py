"""Databases for the tests of engines: DuckDB in this process, and one Postgres for all of them."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from dpcov.kernel.account import Account
from tests.engines.databases import cluster, in_duckdb, why_no_postgres


@pytest.fixture(scope="module")
def duck() -> Iterator[Any]:
    with closing(in_duckdb()) as connection:
        yield connection


@pytest.fixture(scope="session")
def server() -> Iterator[str]:
    if why := why_no_postgres():
        pytest.skip(why)
    with tempfile.TemporaryDirectory() as folder:  # not in one of pytest's, which the server's user may not enter
        Path(folder).chmod(0o755)
        with cluster(Path(folder)) as address:
            yield address


@pytest.fixture
def postgres(server: str) -> Iterator[Any]:
    import psycopg

    with psycopg.connect(server) as connection:
        yield connection


@pytest.fixture(params=["duckdb", "postgres"])
def database(request: pytest.FixtureRequest) -> Any:
    return request.getfixturevalue("duck" if request.param == "duckdb" else "postgres")


@pytest.fixture
def accounts(monkeypatch: pytest.MonkeyPatch) -> list[Account]:
    """What was charged: the accounts of releases, but for those of rehearsals."""
    found: list[Account] = []

    def opened(*given: Any) -> Account:
        found.append(Account(*given))
        return found[-1]

    monkeypatch.setattr("dpcov.request.Account", opened)
    return found
