"""Whether a database computes as this process does: the very statements of releases, on public rows, over the same connection.

Rows are made here: cells at the ends of doubles, ties at half steps, rows on a radius, missing cells, unknown levels. Every
kind of question is asked about them in every way in which rows are clipped, and must have this process's integers.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pyarrow as pa

from dpcov.errors import EngineError
from dpcov.kernel.questions.bins import Bins
from dpcov.kernel.questions.clipped_pair import ClippedPair
from dpcov.kernel.questions.moments import Count, SecondMoment, Sum
from dpcov.kernel.questions.norms import Norms, Trace
from dpcov.kernel.questions.table import Histograms, LevelCounts
from dpcov.kernel.questions.together import Together
from dpcov.kernel.rows.annulus import Annulus
from dpcov.kernel.rows.columns import Columns
from dpcov.kernel.rows.frames import Ball, Box, Ellipsoid
from dpcov.kernel.rows.grid import Grid
from dpcov.kernel.rows.standard import LevelUnits, NumericUnits, Standard, Units
from dpcov.schema import Categorical, Numeric, Schema
from dpcov.sources.arrow import ArrowSource
from dpcov.sources.sql.columns import Cells, Meaning
from dpcov.sources.sql.connections import Connection, fetched
from dpcov.sources.sql.dialects import Dialect
from dpcov.sources.sql.statement import Statement
from dpcov.sources.tables import StreamTable

Floats = list[float | None]

STEP = 2.0**-15
"""The grid below has radius 2: its integers are multiples of this."""

SCHEMA = Schema(
    {
        "a": Numeric(-1.7, 1e3, weight=2, nullable=True, missing="flag"),
        "b": Numeric(-1e-3, 1e-3),
        "c": Categorical(["Zürich", "a \"b' \\c", "zürich"]),
        "d": Categorical([3, 1.5]),
        "e": Categorical([False, True]),
    }
)

ODD = (
    *(None, float("nan"), float("inf"), -float("inf"), 1.7976931348623157e308, -1e308, 1e154, -1e100, 1e-100, 1e-154),
    *(2.2250738585072014e-308, 5e-324, -5e-324, -0.0, 0.0),
)
ORDINARY = (
    *(0.5 * STEP, 1.5 * STEP, -0.5 * STEP, -2.5 * STEP, 0.49999999999999994 * STEP, 2.0, 1.2, -1.6, 1.6, 1e-3, -1e-3, 1.5, 3.0),
    *(0.1, -0.7, 0.30000000000000004, 1.9999999999999998, 2.0000000000000004, 999.9, 123456.789, -1.7, 4503599627370495.5),
)
TEXTS = ("Zürich", "a \"b' \\c", "zürich", "ZÜRICH", "Zürich ", "", "Paris", None)


@cache
def rows() -> list[tuple[float | None, float | None, str | None, float | None, bool | None]]:
    """Return rows of two numbers, a text, a number and a truth value."""
    numbers = (*ODD, *ORDINARY)
    pairs = [(x, numbers[(7 * place + 3) % len(numbers)]) for place, x in enumerate(numbers)]
    pairs += [(numbers[(5 * place + 1) % len(numbers)], x) for place, x in enumerate(ORDINARY)]
    # On the radius 2, and within rounding of it: lengths 1.2 and 1.6, and multiples of half a step beside them.
    pairs += [(1.2 + i * STEP / 4, 1.6 + j * STEP / 4) for i in range(-4, 5) for j in range(-4, 5)]
    pairs += [(0.01 * i * i - 1.3, 0.7 - 0.05 * i) for i in range(40)]
    return [
        (
            a,
            b,
            TEXTS[place % len(TEXTS)],
            (3.0, 1.5, 3.0000000000000004, None, float("nan"))[place % 5],
            (True, False, None)[place % 3],
        )
        for place, (a, b) in enumerate(pairs)
    ]


def values(dialect: Dialect) -> str:
    """Return the rows as a query."""
    kinds = {"duckdb": ("DOUBLE", "VARCHAR", "BOOLEAN"), "postgres": ("float8", "text", "boolean")}
    double, text, boolean = kinds.get(dialect.name, ("DOUBLE", "STRING", "BOOLEAN"))

    def of_number(cell: float | None) -> str:
        if cell is None:
            return f"CAST(NULL AS {double})"
        return dialect.number(cell) if np.isfinite(cell) else f"CAST('{_word(cell)}' AS {double})"

    def of_text(cell: str | None) -> str:
        escaped = "NULL" if cell is None else dialect.literal(cell)
        return f"CAST({escaped} AS {text})"

    def of_truth(cell: bool | None) -> str:
        return f"CAST({'NULL' if cell is None else str(cell).upper()} AS {boolean})"

    lines = [f"({of_number(a)}, {of_number(b)}, {of_text(c)}, {of_number(d)}, {of_truth(e)})" for a, b, c, d, e in rows()]
    return f"(VALUES {', '.join(lines)}) AS rows(c0, c1, c2, c3, c4)"


def _word(cell: float) -> str:
    return "NaN" if np.isnan(cell) else "Infinity" if cell > 0 else "-Infinity"


def table() -> Any:
    """Return the rows as Arrow holds them."""
    kinds = (pa.float64(), pa.float64(), pa.string(), pa.float64(), pa.bool_())
    return pa.table(
        {name: pa.array(cells, kind) for name, cells, kind in zip("abcde", zip(*rows(), strict=True), kinds, strict=True)}
    )


CELLS = {
    name: Cells(f"c{place}", kind)
    for place, (name, kind) in enumerate(zip("abcde", ("float", "float", "text", "float", "boolean"), strict=True))
}


def asked() -> list[tuple[Schema | None, bool, Any]]:
    """Return what is asked: with or without a schema, centred or not, each as one reading."""
    found: list[tuple[Schema | None, bool, Any]] = []
    for schema, center in ((None, False), (None, True), (SCHEMA, False), (SCHEMA, True)):
        d, length = (2, 2.0) if schema is None else (len(schema.feature_names), 1.0)
        grid = Grid(length, center=center)
        wide = grid.width(d)
        members: list[Any] = [Count(), Sum(grid, wide), SecondMoment(grid, wide), Trace(grid.clipped(0.3), wide)]
        if not center:
            members += _local(d, length, wide=schema is None)
            found.append((schema, center, ClippedPair(Annulus(Grid(0.4 * length), Grid(length)), d)))
        found.append((schema, center, Together(tuple(members))))
    return [*found, (SCHEMA, True, _by_column(Columns.of(SCHEMA)))]


def _local(d: int, length: float, *, wide: bool) -> list[Any]:
    """Return questions about rows as seen from elsewhere; ``wide`` ones are about any doubles."""
    centre = tuple((np.linspace(-0.2, 0.3, d) * length).tolist())
    ball, box = Ball(centre, 0.7 * length), Box(centre, (0.5 * length,) * d)
    found: list[Any] = [SecondMoment(ball, d), Norms(Grid(length), d, 4, 6)]
    if wide:
        ellipsoid = Ellipsoid(centre, (np.eye(d) + 0.1 * np.tri(d)) * 2 / length)
        found += [SecondMoment(ellipsoid, d), Norms(ball, d, 3, 5), Bins(box, d, 9), Sum(box, d)]
    return found


def _by_column(columns: Columns) -> Together:
    numbers = tuple(NumericUnits(-0.2, 0.2, 0.05, 0.1) for _ in columns.numeric)
    levels = tuple(
        LevelUnits(tuple(range(count)), (1.0 / (count + 1),) * (count + 1), (0.5,) * (count + 1)) for _, count in columns.levels
    )
    private = Standard(Units(columns, numbers, levels), 1.0, 4.0)
    return Together(
        (
            Histograms(columns, 6),
            LevelCounts(columns),
            SecondMoment(private, private.width),
            Norms(private, private.width, 4, 4),
        )
    )


@cache
def expected() -> list[list[int]]:
    """Return this process's integers."""
    found = []
    for schema, center, statistic in asked():
        source = ArrowSource(StreamTable(table()), ["a", "b"] if schema is None else None, schema, center)
        found.append(np.ravel(source.total(statistic)).tolist())
    return found


def check(connection: Connection) -> None:
    """Refuse a database that has other integers: nothing was spent."""
    dialect = connection.dialect
    for (schema, center, statistic), integers in zip(asked(), expected(), strict=True):
        cells = {name: CELLS[name] for name in ("ab" if schema is None else CELLS)}
        statement = Statement(dialect, values(dialect), Meaning(cells, schema, center), statistic)
        if np.ravel(statement.read(fetched(connection, statement))).tolist() != integers:
            raise EngineError(
                "database must compute the integers of public rows as this process does, and does not. Nothing was spent. "
                "Hint: export the rows through Arrow: of DuckDB, pass the relation itself."
            )
