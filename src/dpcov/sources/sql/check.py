"""Whether a database computes as this process does: the very statements of releases, on public rows, over the same connection.

Rows are made here: cells at the ends of doubles, ties at half steps, rows on a radius, missing cells, unknown levels. Every
kind of question is asked about them in every way in which rows are clipped, and must have this process's integers. Where rows
have something beside their features, they are asked about people and groups, too: identifiers that nearly agree, and weights.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from dpcov.errors import EngineError
from dpcov.kernel.questions.bins import Bins
from dpcov.kernel.questions.clipped_pair import ClippedPair
from dpcov.kernel.questions.groups import GroupCounts, GroupedMoment
from dpcov.kernel.questions.moments import Count, SecondMoment, Sum
from dpcov.kernel.questions.norms import Norms, Trace
from dpcov.kernel.questions.table import Histograms, LevelCounts
from dpcov.kernel.questions.together import Together
from dpcov.kernel.questions.weights import SquaredWeights, Weights
from dpcov.kernel.rows.annulus import Annulus
from dpcov.kernel.rows.aside import USUAL_PEOPLE, Aside, aside_of
from dpcov.kernel.rows.columns import Columns
from dpcov.kernel.rows.frames import Ball, Box, Ellipsoid
from dpcov.kernel.rows.grid import DEFAULT_BITS, Grid
from dpcov.kernel.rows.standard import LevelUnits, NumericUnits, Standard, Units
from dpcov.schema import Categorical, Numeric, Schema
from dpcov.sources.arrow import ArrowSource
from dpcov.sources.by import By, checked_by
from dpcov.sources.sql.beside import Beside
from dpcov.sources.sql.columns import Cells, Meaning
from dpcov.sources.sql.connections import Connection, fetched
from dpcov.sources.sql.dialects import Dialect
from dpcov.sources.sql.statement import Statement
from dpcov.sources.tables import StreamTable

KINDS = dict(zip("abcdefghi", ("float", "float", "text", "float", "boolean", "text", "float", "whole", "float"), strict=True))
"""What the columns below hold."""

CELLS = {name: Cells(f"c{place}", kind) for place, (name, kind) in enumerate(KINDS.items())}

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
OWNERS = (
    *(
        "7",
        "07",
        "7 ",
        "a",
        "A",
        "é",
        "e\u0301",
        "ß",
        "SS",
        "\tN/A\r\n",
        "NaN",
        "nan1",
        "",
        " \v\f",
        "\u00a0",
        "<NA>",
        "Null",
        "nat",
    ),
    *("x" * 70, "x" * 70 + "y", "NONE", "non\u0435", None, "7", "7", "a"),
)
NUMBERED = (
    *(7.0, 7.000000000000001, 0.0, -0.0, 5e-324, float("nan"), float("inf"), -float("inf"), None, 1e308, -7.0, 7.0, 7.0),
    *(9007199254740992.0, 9007199254740994.0),
)
WHOLES = (0, 9007199254740992, 9007199254740993, -9223372036854775808, 9223372036854775807, None, 7, 7, 7, 7, -1)
WEIGHTS = (
    *(1.0, 2.5, 0.1, 3.0, 7.3, 7.299999999999999, 1e308, float("inf"), -float("inf"), float("nan"), None, -1.0, 0.0, 5e-324),
    *(1e-300, 1e-16, 0.3333333333333333),
)
MAX_WEIGHT = 7.3


@cache
def rows() -> list[tuple[Any, ...]]:
    """Return rows of two numbers, a text, a number and a truth value, three identifiers and a weight."""
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
            OWNERS[(place + place // 7) % len(OWNERS)],
            NUMBERED[(place + place // 5) % len(NUMBERED)],
            WHOLES[(place + place // 3) % len(WHOLES)],
            WEIGHTS[place % len(WEIGHTS)],
        )
        for place, (a, b) in enumerate(pairs)
    ]


def values(dialect: Dialect) -> str:
    """Return the rows as a query."""
    double = {"postgres": "float8"}.get(dialect.name, "DOUBLE")
    text = {"duckdb": "VARCHAR", "postgres": "text"}.get(dialect.name, "STRING")
    types = {"float": double, "text": text, "boolean": "BOOLEAN", "whole": "BIGINT"}

    def written(cell: Any, kind: str) -> str:
        if kind == "float" and cell is not None and np.isfinite(cell):
            return dialect.number(cell)
        said = _word(cell) if kind == "float" and cell is not None else str(cell)
        return f"CAST({'NULL' if cell is None else dialect.literal(said)} AS {types[kind]})"

    lines = [f"({', '.join(written(*one) for one in zip(row, KINDS.values(), strict=True))})" for row in rows()]
    return f"(VALUES {', '.join(lines)}) AS rows({', '.join(f'c{place}' for place in range(len(KINDS)))})"


def _word(cell: float) -> str:
    return "NaN" if np.isnan(cell) else "Infinity" if cell > 0 else "-Infinity"


def table() -> Any:
    """Return the rows as Arrow holds them."""
    types = {"float": pa.float64(), "text": pa.string(), "boolean": pa.bool_(), "whole": pa.int64()}
    columns = zip(KINDS.items(), zip(*rows(), strict=True), strict=True)
    return pa.table({name: pa.array(cells, types[kind]) for (name, kind), cells in columns})


class Case(NamedTuple):
    """What is asked in one reading, of which rows."""

    schema: Schema | None
    center: bool
    statistic: Any
    aside: Aside | None = None
    by: By | None = None


def asked(*, beside: bool) -> list[Case]:
    """Return what is asked of rows with something beside their features, or of those without."""
    return _of_people_and_groups() if beside else _of_rows()


def _of_people_and_groups() -> list[Case]:
    """Return people by each kind of identifier, with weights and without, and groups of rows."""

    def about(unit: str, most_rows: int = 0, weight: str = "", max_weight: float = MAX_WEIGHT) -> Aside:
        return aside_of(unit, DEFAULT_BITS, USUAL_PEOPLE, most_rows, weight, max_weight if weight else 0.0)

    def of(case: Case, aside: Aside) -> Case:
        members = getattr(case.statistic, "members", ())
        if type(case.statistic) is not Together:
            return case._replace(statistic=replace(case.statistic, aside=aside), aside=aside)
        counts = aside.partial or not aside.unit  # of people, each once: their source counts them
        kept = tuple(replace(one, aside=aside) for one in members if counts or type(one) is not Count)
        return case._replace(statistic=Together(kept), aside=aside)

    pair, plain, centred, clipped, encoded, middle, by_column = _of_rows()
    grid, by = Grid(2.0, center=True), checked_by({"c": TEXTS[:3]}, None)
    groups = Together((GroupedMoment(grid, 3, 3), GroupCounts(3)))
    of_people = Together(tuple(replace(one, aside=about("g", 0, "i")) for one in groups.members))
    found = replace(about("f", 0, "i"), searched=True)
    cut = Together((Weights(), SquaredWeights(), Count(), SecondMoment(grid, 3)))
    weighed = Together(tuple(replace(one, aside=replace(found, cut=11)) for one in cut.members))
    return [
        of(pair, about("g", 3)),
        of(plain, about("f")),
        of(centred, about("", 0, "i")),
        of(clipped, about("h", 0, "i", 1e-3)),
        of(encoded, about("g")),
        of(middle, about("f", 2, "i", 1e150)),
        of(by_column, about("h", 4, "i")),
        Case(None, True, weighed, found),
        Case(None, True, groups, by=by),
        Case(None, True, of_people, about("g", 0, "i"), by),
    ]


def _of_rows() -> list[Case]:
    """Return what is asked with or without a schema, centred or not, each as one reading."""
    found: list[Case] = []
    for schema, center in ((None, False), (None, True), (SCHEMA, False), (SCHEMA, True)):
        d, length = (2, 2.0) if schema is None else (len(schema.feature_names), 1.0)
        grid = Grid(length, center=center)
        wide = grid.width(d)
        members: list[Any] = [Count(), Sum(grid, wide), SecondMoment(grid, wide), Trace(grid.clipped(0.3), wide)]
        if not center:
            members += _local(d, length, wide=schema is None)
            found.append(Case(schema, center, ClippedPair(Annulus(Grid(0.4 * length), Grid(length)), d)))
        found.append(Case(schema, center, Together(tuple(members))))
    return [*found, Case(SCHEMA, True, _by_column(Columns.of(SCHEMA)))]


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
def expected(*, beside: bool) -> list[tuple[int, list[int]]]:
    """Return this process's integers, and how many people there are."""
    found = []
    for schema, center, statistic, aside, by in asked(beside=beside):
        named = ["a", "b"] if schema is None else None
        source = ArrowSource(StreamTable(table()), named, schema, center, aside=aside, by=by)
        integers = np.ravel(source.total(statistic)).tolist()
        found.append((source.n, integers))
    return found


def check(connection: Connection, *, beside: bool) -> None:
    """Refuse a database that has other integers: nothing was spent."""
    dialect = connection.dialect
    for (schema, center, statistic, aside, by), known in zip(asked(beside=beside), expected(beside=beside), strict=True):
        cells = {name: CELLS[name] for name in ("ab" if schema is None else CELLS)}
        more = Beside(aside, by, CELLS)
        statement = Statement(dialect, values(dialect), Meaning(cells, schema, center), statistic, more)
        found = fetched(connection, statement)
        if (statement.n(found), np.ravel(statistic.entries(statement.read(found))).tolist()) != known:
            raise EngineError(
                "database must compute the integers of public rows as this process does, and does not. Nothing was spent. "
                "Hint: export the rows through Arrow: of DuckDB, pass the relation itself."
            )
