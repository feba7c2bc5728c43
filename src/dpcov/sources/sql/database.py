"""Rows in a database: each reading is one statement, and nothing but its sums comes back.

The statement does to a row, operation by operation, what this process would do (`integers`), and adds in integers that cannot
overflow. Before the first reading the same statements are tried on public rows over the same connection (`check`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Self

from dpcov.errors import ParameterError, shown
from dpcov.kernel.questions.asked import SUMMED
from dpcov.kernel.questions.clipped_pair import ClippedPair
from dpcov.kernel.questions.together import Together
from dpcov.kernel.rows.aside import Aside
from dpcov.sources.arrow import ArrowPart
from dpcov.sources.split import PartSums
from dpcov.sources.sql.beside import Beside
from dpcov.sources.sql.check import check
from dpcov.sources.sql.columns import Meaning
from dpcov.sources.sql.connections import HINT, Connection, connected, fetched
from dpcov.sources.sql.integers import ELSEWHERE
from dpcov.sources.sql.statement import Statement
from dpcov.sources.tables import Batch, reading

SENT = (*SUMMED, Together, ClippedPair)
"""What is a sum and nothing else."""

NOT_HERE = (
    f"data must be rows that this process can read for this, got a query, whose rows stay in the database. Hint: {ELSEWHERE}."
)


class Query:
    """Rows that stay in a database: ``data`` for whatever takes a table. `dpcov.sql` makes one.

    Attributes
    ----------
    text : str
        The query.
    dialect : str
        "duckdb" or "postgres".
    """

    def __init__(self, connection: Connection, text: str) -> None:
        self._connection, self.text = connection, text
        self._checked: set[bool] = set()
        """Of which rows the statements were tried: without anything beside them, and with."""

    @property
    def dialect(self) -> str:
        """What statements are written in."""
        return self._connection.dialect.name

    def __repr__(self) -> str:
        return f"<Query of a database, in the dialect {self.dialect}>"  # it may hold a password


def sql(connection: Any, query: str) -> Query:
    """Return the rows of a query as data whose sums a database makes itself.

    Each reading is one statement: the database rounds, clips and adds, and returns integers, the same as this process would
    make of the same rows. Noise is drawn here. Before anything is spent the statements are tried on public rows over the same
    connection.

    Parameters
    ----------
    connection : duckdb.DuckDBPyConnection or psycopg.Connection
        An open connection. It stays open, and is not to be used for anything else while a release is made.
    query : str
        One SELECT, with a row for each person, or more with ``unit``. Columns that it does not need it should leave out.

    Returns
    -------
    Query
        Pass it as ``data``.

    Notes
    -----
    docs/engines.md says what is computed where, what a column can be, and what is refused.

    Examples
    --------
    >>> import duckdb, dpcov
    >>> people = dpcov.sql(duckdb.connect(), "SELECT 0.5e0 AS x, 0.25e0 AS y FROM range(10000)")
    >>> release = dpcov.covariance(people, dpcov.ZCDP(0.5), row_norm=1, seed=0)
    >>> release.second_moment.round(1).tolist()
    [[0.2, 0.1], [0.1, 0.1]]
    """
    return Query(connected(connection), checked_query(query))


def checked_query(query: object) -> str:
    """Return one SELECT without what ends it."""
    text = query.strip().rstrip(";").strip() if isinstance(query, str) else ""
    if not text or text.split(None, 1)[0].split("(")[0].upper() not in ("SELECT", "WITH", "FROM", "VALUES", "TABLE", ""):
        raise ParameterError(f"query must be one SELECT, got {shown(query)}. Hint: 'SELECT age, income FROM people'.")
    return text


class SqlTable:
    """The names and declared types of a query's columns; its rows stay where they are, in no order."""

    parsed, decimal = False, "."
    rereadable, ordered = True, False
    rows: int | None = None

    def __init__(self, query: Query) -> None:
        self.query = query
        with reading(HINT):
            self.columns = query._connection.columns(query.text)
        self.names, self.types = [name for name, *_ in self.columns], [kind for *_, kind in self.columns]

    def batches(self, columns: Sequence[str], rows: int) -> Iterator[tuple[Batch, float | None]]:  # noqa: ARG002
        """Refuse: rows do not come here."""
        raise ParameterError(NOT_HERE)

    def pieces(self, columns: Sequence[str]) -> Iterator[tuple[Self, float]]:  # noqa: ARG002 - a statement names its columns
        """Yield the table itself."""
        yield self, 1.0

    @property
    def base(self) -> str:
        """What stands behind FROM: columns are c0, c1, ..., whatever they are called."""
        return f"({self.query.text}\n) AS rows({', '.join(f'c{j}' for j in range(len(self.columns)))})"

    def meaning(self, part: ArrowPart) -> Meaning:
        """Return what the columns are that a source uses."""
        cells = {name: cells for name, cells, _ in self.columns}
        return Meaning({name: cells[name] for name in part.columns or cells}, part.schema, part.center)

    def beside(self, part: ArrowPart, aside: Aside | None) -> Beside:
        """Return what stands beside the features of a row."""
        return Beside(aside, part.by, {name: cells for name, cells, _ in self.columns})


class Database:
    """The engine of such tables: one statement for each reading, all of them in one transaction.

    Its transaction begins with the first reading and is rolled back when it is closed. ``aside`` says whose rows they are.
    """

    joins_people = True  # the table is one part, and its statement counts them

    def __init__(self, aside: Aside | None = None) -> None:
        self._aside = aside
        self._end: Callable[[], object] | None = None

    def run(self, statistic: Any, parts: Iterable[Any]) -> Iterator[PartSums]:
        """Yield the sums over the table, which is one part."""
        for part in parts:
            if type(statistic) not in SENT:
                raise ParameterError(NOT_HERE)
            table: SqlTable = part.table
            connection = table.query._connection
            beside = table.beside(part, self._aside)
            statement = Statement(connection.dialect, table.base, table.meaning(part), statistic, beside)
            if self._end is None:  # before the check, whose statements would begin a transaction that is nobody's
                with reading(HINT):
                    self._end = connection.snapshot()
            more = self._aside is not None or part.by is not None
            for kind in sorted({False, more} - table.query._checked):
                check(connection, beside=kind)
                table.query._checked.add(kind)
            found = fetched(connection, statement)
            yield PartSums(statistic.entries(statement.read(found)), statement.n(found), 1.0)

    def close(self) -> None:
        """End the transaction; a connection that is lost has ended it."""
        end, self._end = self._end, None
        if end is not None:
            with reading(HINT):
                end()
