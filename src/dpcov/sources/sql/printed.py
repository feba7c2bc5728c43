"""Statements for a database that only its administrator reaches: printed here, run there, and the sums brought back in a file.

The file holds exact sums: it is as secret as the rows. It is read once, and only where nobody else can read it.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from dpcov._version import __version__
from dpcov.errors import EngineError, ParameterError, SchemaError, check_choice
from dpcov.kernel.questions.groups import GroupCounts, GroupedMoment
from dpcov.kernel.questions.measure import Summable
from dpcov.kernel.questions.moments import Count, SecondMoment, Sum
from dpcov.kernel.questions.norms import Trace
from dpcov.kernel.questions.together import Together
from dpcov.kernel.rows.aside import Aside
from dpcov.kernel.rows.grid import most_rows
from dpcov.kernel.rows.groups import Groups
from dpcov.paths import checked_path, private_text
from dpcov.schema import Numeric, Schema
from dpcov.sources.by import By
from dpcov.sources.sql.beside import Beside
from dpcov.sources.sql.columns import Cells, Meaning
from dpcov.sources.sql.database import checked_query
from dpcov.sources.sql.dialects import DIALECTS, DUCKDB
from dpcov.sources.sql.result import Found, Integers
from dpcov.sources.sql.statement import Statement

SOME_ROWS = 1000  # of zeros: what is asked is looked at, nothing else

WRITTEN = "written"
"""What cells must be that say whose a row is: text, which the database refuses where it is none."""

INTEGER = "-?[0-9]{1,40}"
"""As far as sums of databases go: 128 bits, or so many decimals."""

HINT = "run the printed statement again, with the same query, schema and options on both sides"


@dataclass(frozen=True)
class PrintedSql:
    """Rows of a query that somebody else runs: ``data`` for the functions that release. `dpcov.sql_text` makes one.

    Attributes
    ----------
    query : str
        The query.
    dialect : str, optional
        What its statement is to be written in.
    exact_sums : Path, optional
        The file of what that statement printed.
    """

    query: str
    dialect: str | None = None
    exact_sums: Path | None = None


def sql_text(query: str, dialect: str | None = None, *, exact_sums: str | os.PathLike[str] | None = None) -> PrintedSql:
    """Return the rows of a query as data, for a database that only its administrator reaches.

    First without ``exact_sums``: a function that releases then ends in `dpcov.SqlToRun`, whose ``statement`` is what the
    administrator runs; nothing is spent. Then with the file that holds what it printed, **which is secret**: exact sums have no
    noise. The file must be its owner's alone (mode 0600), and is deleted once it is read.

    Parameters
    ----------
    query : str
        One SELECT, with a row for each person, or more with ``unit``. Numbers must be doubles there, levels text, or truth
        values where they are true and false, and identifiers text: cast them in the query.
    dialect : {"duckdb", "postgres", "spark"}, optional
        What the statement is written in.
    exact_sums : path, optional
        What the statement printed.

    Notes
    -----
    Only mechanisms that read the rows once, for sums, can be run so: gaussian, wishart, laplace, frobenius, projection.

    Examples
    --------
    >>> import dpcov
    >>> people = dpcov.sql_text("SELECT age FROM people", "postgres")
    >>> try:
    ...     dpcov.covariance(people, dpcov.ZCDP(1), row_norm=100, columns=["age"], mechanism="gaussian")
    ... except dpcov.SqlToRun as found:
    ...     print(found.statement[:7])
    WITH s1
    """
    if dialect is not None:
        check_choice("dialect", dialect, DIALECTS, "the database that will run it")
    if (dialect is None) == (exact_sums is None):
        raise ParameterError("dialect or exact_sums must be given, one of them. Hint: first dialect='postgres'.")
    return PrintedSql(checked_query(query), dialect, None if exact_sums is None else checked_path(exact_sums))


class SqlToRun(EngineError):  # noqa: N818 - it is no failure
    """The statement that is to be run elsewhere; nothing was spent.

    Attributes
    ----------
    statement : str
        The statement. Its result is one cell of text, which is secret.
    """

    def __init__(self, statement: str) -> None:
        super().__init__(
            "data must be read by somebody else, with the statement of this exception. Hint: print(error.statement)."
        )
        self.statement = statement


@dataclass
class OneReading:
    """A source whose only reading is made elsewhere."""

    data: PrintedSql
    columns: Sequence[str] | None
    schema: Schema | None
    center: bool
    aside: Aside | None = None
    by: By | None = None
    asked: list[Any] = field(default_factory=list)
    """What was asked of zeros, before the run."""

    rehearsing: bool = False
    known_n: int | None = None
    ordered = False

    def __post_init__(self) -> None:
        if self.schema is not None and self.columns is not None:
            self.schema = self.schema.select(self.columns)
        names = self.columns if self.schema is None else self.schema.table_columns(self.schema.used)
        if not names or not all(isinstance(name, str) for name in names):
            raise SchemaError("columns must be named where nobody here can see the table, got none. Hint: columns=['age'].")
        beside = [] if self.aside is None else list(self.aside.names)
        apart = beside if self.by is None else [*beside, self.by.of]
        if len(set(apart)) < len(apart) or set(apart) & {*names, *(() if self.schema is None else self.schema.used)}:
            raise ParameterError(
                "unit, weight and by must be different columns that are no features, got other ones. "
                "Hint: leave it out of columns= and out of the schema."
            )
        self._features, self._names = list(names), [*names, *apart]
        self.feature_names = tuple(names) if self.schema is None else self.schema.feature_names

    @property
    def prints(self) -> bool:
        """Whether its reading ends in a statement that is to be run elsewhere, and in no sums."""
        return self.data.exact_sums is None

    @property
    def n(self) -> int:
        """The number of rows, which comes with the sums; of a rehearsal some."""
        assert self.known_n is not None or self.rehearsing
        return SOME_ROWS if self.known_n is None else self.known_n

    @property
    def d(self) -> int:
        """The number of features."""
        return len(self.feature_names)

    @property
    def rereadable(self) -> bool:
        """Whether more may be asked than once: not of weights, whose sum of squares would be read by itself."""
        return self.aside is None or not self.aside.weight

    @property
    def groups(self) -> Groups | None:
        """The groups into which rows fall."""
        return None if self.by is None else self.by.groups

    def rehearse(self, run: Callable[[], object]) -> None:
        """Run a mechanism on zeros, and refuse it where it reads the rows more than once, or asks for more than sums."""
        self.rehearsing, self.known_n = True, None
        try:
            run()
        finally:
            self.rehearsing, self.known_n = False, None
        if len(set(self.asked)) > 1:
            raise ParameterError(
                "mechanism must read the rows once where somebody else runs the statement, got one that reads them again. "
                "Hint: docs/engines.md lists those that read them once."
            )

    def total(self, statistic: Summable) -> Integers:
        """Return sums of the file; or end with the statement that makes them."""
        statement = self._statement(statistic)
        if self.rehearsing:
            _ = statement.printed  # refuses what is no sum
            self.asked.append(statistic)
            self.known_n = SOME_ROWS
            found = statement.from_printed([0] * statement.width)
        elif self.data.exact_sums is None:
            raise SqlToRun(statement.printed.replace(statement.mark, self._tag(statistic)))
        else:
            found = self._read(statement, statistic)
        return np.asarray(statistic.entries(statement.read(found)))

    def _statement(self, statistic: Any) -> Statement:
        dialect = DIALECTS[self.data.dialect] if self.data.dialect else DUCKDB
        named = ", ".join(f"{dialect.quoted(name)} AS c{place}" for place, name in enumerate(self._names))
        base = f"(SELECT {named} FROM ({self.data.query}\n) AS people) AS rows"
        described = {} if self.schema is None else self.schema.cells()
        kinds = {name: _kind(described.get(name)) for name in self._names}
        if self.by is not None:
            kinds[self.by.of] = _kind(self.by.column)
        if self.aside is not None and self.aside.unit:
            kinds[self.aside.unit] = WRITTEN
        cells = {name: Cells(f"c{place}", kinds[name]) for place, name in enumerate(self._names)}
        meaning = Meaning({name: cells[name] for name in self._features}, self.schema, self.center)
        return Statement(dialect, base, meaning, statistic, Beside(self.aside, self.by, cells))

    def _tag(self, statistic: Any) -> str:
        """Return what a file begins with: it says what its sums are of."""
        meant = (__version__, self.data.query, self._names, self.center, statistic, self.aside, self.groups)
        schema = None if self.schema is None else list(self.schema.columns.items())
        return f"dpcov-sums {hashlib.sha256(repr((meant, schema)).encode()).hexdigest()[:32]}"

    def _read(self, statement: Statement, statistic: Any) -> Found:
        """Read the file, check what it holds, and delete it."""
        path = self.data.exact_sums
        assert path is not None
        text = private_text(path)
        found = re.findall(rf"{self._tag(statistic)} ({INTEGER}(?:,{INTEGER})*)(?![\w.,+-])", text)
        numbers = [int(number) for number in found[0].split(",")] if len(found) == 1 else []
        if len(numbers) != statement.width:
            raise EngineError(f"exact sums must be those of the printed statement, and are not. Hint: {HINT}.")
        read = statement.from_printed(numbers)
        if not possible(statement.n(read), statement, statistic, read):
            raise EngineError(f"exact sums must be what rows can have, and are not. Hint: {HINT}.")
        try:
            path.unlink()
        except OSError as error:
            raise EngineError(
                f"exact sums must be in a file that can be deleted, got {path.name!r} ({error.strerror}). "
                f"Hint: put it into a folder of yours."
            ) from None
        self.known_n = statement.n(read)
        return read


def _kind(described: Any) -> str:
    """Return what cells must be in a query that nobody here can look at."""
    if isinstance(described, Numeric) and described.dates is not None:
        raise SchemaError("bounds must be numbers where somebody else runs the statement, got dates. Hint: days, as doubles.")
    kinds = {"text": "text", "boolean": "boolean"}
    return kinds.get(getattr(described, "kind", ""), "float")


def possible(n: int, statement: Statement, statistic: Any, found: Found) -> bool:
    """Whether rows that are clipped as the question says can have these sums: by their number, and by Cauchy and Schwarz."""
    members = statistic.members if type(statistic) is Together else (statistic,)
    parts = (
        statistic.split(statement.read(found)) if type(statistic) is Together else [statistic.entries(statement.read(found))]
    )
    return 0 <= n <= most_rows(1) and all(fits(n, one, entries.tolist()) for one, entries in zip(members, parts, strict=True))


def fits(n: int, statistic: Any, entries: list[int]) -> bool:
    """Whether the sums of one question are possible."""
    if type(statistic) in (Count, GroupCounts):
        return min(entries) >= 0 and sum(entries) <= n << statistic.unit_bits
    reach = statistic.scaled_reach
    if n * reach >= 2**63:  # it may have wrapped
        return True
    if type(statistic) is Trace:
        return bool(0 <= entries[0] <= n * reach)
    if type(statistic) is Sum:
        return bool(sum(entry**2 for entry in entries) <= (n * statistic.person) ** 2 * statistic.grid.reach)
    assert type(statistic) in (SecondMoment, GroupedMoment)
    packed = statistic.blocks(np.array(entries)).tolist() if type(statistic) is GroupedMoment else [entries]
    traces = [sum(block[: statistic.d]) for block in packed]
    return sum(traces) <= n * reach and all(_is_moment(block, statistic.d) for block in packed)


def _is_moment(packed: list[int], d: int) -> bool:
    """Whether a packed matrix has no negative square, and obeys Cauchy and Schwarz."""
    diagonal, upper = packed[:d], iter(packed[d:])
    return min(diagonal) >= 0 and all(next(upper) ** 2 <= a * b for i, a in enumerate(diagonal) for b in diagonal[i + 1 :])
