"""People, weights and groups inside databases: the integers of this process, whatever cells and identifiers hold."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import closing
from dataclasses import replace
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pytest

import dpcov
from dpcov.errors import DpcovError, EngineError, ParameterError, SchemaError
from dpcov.kernel.questions.clipped_pair import ClippedPair
from dpcov.kernel.questions.groups import GroupCounts, GroupedMoment
from dpcov.kernel.questions.moments import Count, SecondMoment, Sum
from dpcov.kernel.questions.norms import Trace
from dpcov.kernel.questions.together import Together
from dpcov.kernel.rows.aside import USUAL_PEOPLE, Aside, aside_of
from dpcov.kernel.rows.grid import DEFAULT_BITS, Grid
from dpcov.linalg import pack
from dpcov.release.file import text_of
from dpcov.sources.by import By, checked_by
from dpcov.sources.opening import open_source
from dpcov.sources.sql import dialects
from dpcov.sources.sql.connections import connected
from tests.engines.asked import questions
from tests.engines.databases import QUERY
from tests.engines.test_sql import extreme, shapes
from tests.sources.mixed import NUMBERS, SCHEMA, arrow

BUDGET = dpcov.ZCDP(1)
TEXTS = (
    *("7", "07", "7 ", " 7", "a", "A", "é", "e\u0301", "É", "ß", "SS", "ﬁ", "fi", "\u0130", "i", "I", "nan\u200b", "n\u0430n"),
    *(
        "",
        " ",
        "\t\n\v\f\r",
        "\u00a0",
        "\u2003",
        "NaN",
        " nan ",
        "NAT",
        "na",
        "N/A",
        "<na>",
        "NULL",
        "None",
        "nullx",
        "\x1f",
        "\x85",
    ),
    *("v3", "'; --", 'q"', "back\\slash", "%s {}", "日本", "𝔸", "x" * 64, "x" * 65, "x" * 3000, "x" * 2999 + "y", None, None),
)
FLOATS = (
    *(
        None,
        np.nan,
        np.inf,
        -np.inf,
        0.0,
        -0.0,
        5e-324,
        -5e-324,
        1.0,
        1.0000000000000002,
        1e308,
        -1e308,
        0.1,
        0.30000000000000004,
    ),
    *(2.0**53, 2.0**53 + 2),
)
WHOLES = (None, 0, -1, 7, 2**53, 2**53 + 1, -(2**53) - 1, 2**63 - 1, -(2**63), 2**31, -(2**31))
WEIGHTS = (
    *(None, np.nan, np.inf, -np.inf, -0.0, 0.0, -1.0, 5e-324, 1e-320, 1e-200, 1e-16, 2.0**-52, 2.0**-53, 0.1, 1.0, 2.999),
    *(3.0000000000000004, 3.0, 1e150, 1e308, 1.7976931348623157e308),
)


def crowd(rows: int, seed: int) -> Any:
    """Rows of extreme doubles, owned by few people with identifiers that nearly agree, by many, or by nobody."""
    draw = np.random.default_rng(seed)
    many = draw.integers(0, rows, rows)

    def some(known: Iterable[Any], others: list[Any]) -> list[Any]:
        hostile = list(known)
        return [
            hostile[place % len(hostile)] if kind < 0.6 else other
            for place, kind, other in zip(draw.integers(0, 1000, rows).tolist(), draw.random(rows), others, strict=True)
        ]

    return pa.table(
        {
            **{f"x{j}": pa.array(column) for j, column in enumerate(extreme(rows, 3, seed).T)},
            "text": pa.array(some(TEXTS, [f"p{one}" for one in many]), pa.string()),
            "number": pa.array(some(FLOATS, (many * 0.1).tolist()), pa.float64()),
            "whole": pa.array(some(WHOLES, many.tolist()), pa.int64()),
            "w": pa.array(some(WEIGHTS, np.abs(draw.normal(size=rows)).tolist()), pa.float64()),
            "ward": pa.array(some(("north", "South", "south", "south ", None, "", "east"), ["north"] * rows), pa.string()),
        }
    )


KINDS = {"string": ("VARCHAR", "text"), "double": ("DOUBLE", "float8"), "int64": ("BIGINT", "bigint"), "bool": ("BOOLEAN",) * 2}


def loaded(connection: Any, table: Any) -> str:
    """Put a table into a database, and return a query of it."""
    columns = [
        f"{field.name} {KINDS[str(field.type)][connected(connection).dialect.name == 'postgres']}" for field in table.schema
    ]
    connection.execute("DROP TABLE IF EXISTS crowd")
    connection.execute(f"CREATE TEMPORARY TABLE crowd ({', '.join(columns)})")
    if connected(connection).dialect.name == "duckdb":
        connection.register("given", table)
        connection.execute("INSERT INTO crowd SELECT * FROM given")
        connection.unregister("given")
    else:
        with connection.cursor().copy("COPY crowd FROM STDIN") as copy:
            for row in zip(*(column.to_pylist() for column in table.columns), strict=True):
                copy.write_row(row)
    return "SELECT * FROM crowd"


def about(unit: str = "", most_rows: int = 0, max_weight: float = 0.0) -> Aside:
    return aside_of(unit, DEFAULT_BITS, USUAL_PEOPLE, most_rows, "w" if max_weight else "", max_weight)


ASIDES = {
    "text": about("text"),
    "numbers": about("number"),
    "whole numbers": about("whole"),
    "rows alike": about("text", 3),
    "weights": about("", 0, 3.0),
    "weights of people": about("whole", 0, 1e-3),
    "weights of rows": about("number", 40, 1e150),
}


def opened(connection: Any, query: str, *given: Any, **more: Any) -> Any:
    """Return a source of a query whose check is done elsewhere."""
    data = dpcov.sql(connection, query)
    data._checked |= {False, True}
    return open_source(data, *given, **more)


def of_people(question: Any, aside: Aside) -> Any:
    if type(question) is Together:
        counts = aside.partial or not aside.unit
        members = [one for one in question.members if counts or type(one) is not Count]
        return Together(tuple(replace(one, aside=aside) for one in members))
    return replace(question, aside=aside)


@pytest.mark.parametrize("which", ASIDES)
def test_extreme_rows_have_the_same_integers(database: Any, which: str) -> None:
    table, aside = crowd(4000, 7800 + len(which)), ASIDES[which]
    names = ["x0", "x1", "x2"]
    asked = [*shapes(3), Trace(Grid(1.0), 3), Sum(Grid(1.0, center=True), 4), Count(), SecondMoment(Grid(3e-5), 3)]
    here = open_source(table, names, aside=aside)
    with closing(opened(database, loaded(database, table), names, aside=aside)) as source:
        assert (source.aside, source.feature_names, source.known_n) == (aside, ("x0", "x1", "x2"), None)
        for question in (of_people(one, aside) for one in asked):
            assert np.array_equal(source.total(question), here.total(question)), question
            assert source.n == here.n
