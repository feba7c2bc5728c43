"""What differs between connections: how a query's columns are told, how rows come back, and what keeps readings alike.

Connections are the user's: they are asked for what they are, and neither package is imported.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from dpcov.errors import EngineError, ParameterError, shown
from dpcov.sources.sql.columns import Cells
from dpcov.sources.sql.dialects import DUCKDB, POSTGRES, Dialect
from dpcov.sources.sql.integers import ELSEWHERE
from dpcov.sources.sql.result import Found
from dpcov.sources.sql.statement import Statement
from dpcov.sources.tables import reading

Column = tuple[str, Cells, Any]
"""Its name, its cells, and its type as Arrow calls it: a type that has no cells of any kind is refused where it is used."""

HINT = "run the query by itself in the database; its message may quote cells, so it is not repeated here"

UNKNOWN = pa.struct([])
MOST_DIGITS = 18
"""Of decimals with a declared number of digits: their digits are an integer of 64 bits."""

DUCKDB_TYPES = {
    **dict.fromkeys(("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UTINYINT", "USMALLINT", "UINTEGER"), ("whole", pa.int64())),
    "UBIGINT": ("whole", pa.uint64()),
    "HUGEINT": ("whole", pa.decimal128(38, 0)),
    "FLOAT": ("float", pa.float32()),
    "DOUBLE": ("float", pa.float64()),
    "BOOLEAN": ("boolean", pa.bool_()),
    "VARCHAR": ("text", pa.string()),
    "DATE": ("date", pa.date32()),
    "TIMESTAMP": ("time", pa.timestamp("us")),
    "TIMESTAMP_S": ("time", pa.timestamp("s")),
    "TIMESTAMP_MS": ("time", pa.timestamp("ms")),
    "TIMESTAMP_NS": ("fine time", pa.timestamp("ns")),
    "TIMESTAMP WITH TIME ZONE": ("zoned time", pa.timestamp("us", "UTC")),
    '"NULL"': ("nothing", pa.null()),
}

POSTGRES_TYPES = {
    **dict.fromkeys((20, 21, 23), ("whole", pa.int64())),
    700: ("float", pa.float32()),
    701: ("float", pa.float64()),
    16: ("boolean", pa.bool_()),
    **dict.fromkeys((25, 1042, 1043), ("text", pa.string())),
    1082: ("date", pa.date32()),
    1114: ("time", pa.timestamp("us")),
    1184: ("zoned time", pa.timestamp("us", "UTC")),
}
"""By the numbers of its catalogue, which are the same everywhere."""

LITERALS = 1000  # are read back at a time
NUMERIC, IDLE = 1700, 0  # a type of Postgres, and the status of a connection that is in no transaction


@dataclass(frozen=True)
class Connection:
    """What is done over a connection.

    Attributes
    ----------
    dialect : Dialect
        What statements are written in.
    columns : callable
        The columns of a query, without reading a row.
    rows : callable
        The rows of a statement, as tuples.
    snapshot : callable
        Begins what lets several statements see the same rows, and returns what ends it.
    """

    dialect: Dialect
    columns: Callable[[str], list[Column]]
    rows: Callable[[str], Iterable[Sequence[Any]]]
    snapshot: Callable[[], Callable[[], None]]


def connected(connection: Any) -> Connection:
    """Return what is done over a user's connection, by its type."""
    homes = {(kind.__module__.split(".")[0].lstrip("_"), kind.__name__) for kind in type(connection).__mro__}
    if ("duckdb", "DuckDBPyConnection") in homes:
        return Connection(
            DUCKDB,
            lambda query: _duckdb_columns(connection, query),
            lambda text: connection.execute(text).fetchall(),
            lambda: _duckdb_snapshot(connection),
        )
    if ("psycopg", "Connection") in homes:
        return Connection(
            POSTGRES,
            lambda query: _postgres_columns(connection, query),
            lambda text: _postgres_cursor(connection).execute(text).fetchall(),
            lambda: _postgres_snapshot(connection),
        )
    raise ParameterError(
        f"connection must be one of duckdb or of psycopg 3, not asynchronous, got {shown(connection)}. "
        f"Hint: duckdb.connect('people.db')."
    )


def _duckdb_columns(connection: Any, query: str) -> list[Column]:
    if len(connection.extract_statements(query)) != 1:  # all of them would be run
        raise ParameterError("query must be one SELECT, got several statements. Hint: run the others by themselves.")
    described = connection.execute(f"DESCRIBE {query}").fetchall()
    found: list[Column] = []
    for place, (name, kind, *_) in enumerate(described):
        decimal = re.fullmatch(r"DECIMAL\((\d+),(\d+)\)", kind)
        if decimal and int(decimal[1]) <= MOST_DIGITS:
            cells, arrow = Cells(f"c{place}", "decimal", int(decimal[2])), pa.decimal128(int(decimal[1]), int(decimal[2]))
        else:
            known, arrow = ("text", pa.string()) if kind.startswith("ENUM(") else DUCKDB_TYPES.get(kind, ("", UNKNOWN))
            cells = Cells(f"c{place}", known)
        found.append((name, cells, arrow))
    return found


def _duckdb_snapshot(connection: Any) -> Callable[[], None]:
    """Begin a transaction, unless the user has: each sees one state of the data."""
    if _duckdb_moment(connection) == _duckdb_moment(connection):  # beginning another would fail, and end the user's
        return lambda: None
    connection.execute("BEGIN TRANSACTION")
    return lambda: connection.execute("ROLLBACK") and None


def _duckdb_moment(connection: Any) -> object:
    """Return the number of a transaction: of every statement another one, unless the user has begun one."""
    return connection.execute("SELECT txid_current()").fetchone()


def _postgres_cursor(connection: Any) -> Any:
    """Return a cursor of tuples, whatever rows the user's have, that takes doubles as they are and one statement at a time."""
    return connection.cursor(binary=True, row_factory=lambda _: tuple)


def _postgres_columns(connection: Any, query: str) -> list[Column]:
    with connection.transaction(), _postgres_cursor(connection) as cursor:
        cursor.execute(f"SELECT * FROM ({query}\n) AS rows LIMIT 0")
        described = list(cursor.description)
        cursor.execute("SELECT oid FROM pg_type WHERE typtype = 'e'")
        enums = {oid for (oid,) in cursor.fetchall()}
    found: list[Column] = []
    for place, column in enumerate(described):
        digits, scale = column.precision, column.scale
        if column.type_code == NUMERIC and digits is not None and digits <= MOST_DIGITS and 0 <= scale <= digits:
            cells, arrow = Cells(f"c{place}", "decimal", scale), pa.decimal128(digits, scale)
        elif column.type_code == NUMERIC:
            cells, arrow = Cells(f"c{place}", "numeric"), pa.decimal128(38, 0)
        else:
            text = ("text", pa.string()) if column.type_code in enums else ("", UNKNOWN)
            known, arrow = POSTGRES_TYPES.get(column.type_code, text)
            cells = Cells(f"c{place}", known)
        found.append((column.name, cells, arrow))
    return found


def _postgres_snapshot(connection: Any) -> Callable[[], None]:
    """Begin a transaction that sees one state of the data and writes nothing, unless the user has begun one."""
    own = connection.info.transaction_status == IDLE
    transaction = connection.transaction(force_rollback=True)  # inside of another: what fails here does not end that
    transaction.__enter__()
    if own:
        connection.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
    connection.execute("SET LOCAL jit = off")  # compiling a thousand sums takes longer than adding them

    def end() -> None:
        transaction.__exit__(None, None, None)

    return end


def fetched(connection: Connection, statement: Statement) -> Found:
    """Run a statement whose literals were read back as the doubles that they stand for."""
    check_literals(connection, statement.dialect, statement.literals)
    with reading(HINT):
        records = list(connection.rows(statement.text))
    return statement.found(records)


def check_literals(connection: Connection, dialect: Dialect, literals: Sequence[float]) -> None:
    """Refuse a database that reads a literal as another number."""
    for start in range(0, len(literals), LITERALS):
        some = literals[start : start + LITERALS]
        with reading(HINT):
            ((back,),) = connection.rows(f"SELECT {dialect.listed([dialect.number(one) for one in some])}")
        if np.array(back, dtype=np.float64).tobytes() != np.array(some).tobytes():
            raise EngineError(f"database must read literals as written, and does not. Hint: {ELSEWHERE}.")
