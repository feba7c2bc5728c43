"""Queries of DuckDB and Postgres: the same integers and releases, refusals, and databases that compute otherwise."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from decimal import Decimal
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dpcov
from dpcov.errors import EngineError, ParameterError, SchemaError
from dpcov.kernel.account import Account
from dpcov.kernel.questions.bins import Bins
from dpcov.kernel.questions.clipped_pair import ClippedPair
from dpcov.kernel.questions.moments import Count, SecondMoment, Sum
from dpcov.kernel.questions.norms import Norms
from dpcov.kernel.questions.table import Histograms
from dpcov.kernel.questions.together import Together
from dpcov.kernel.rows.annulus import Annulus
from dpcov.kernel.rows.columns import Columns
from dpcov.kernel.rows.frames import Ball, Box, Ellipsoid
from dpcov.kernel.rows.grid import Grid
from dpcov.kernel.rows.lengths import OFFSET
from dpcov.kernel.rows.standard import LevelUnits, NumericUnits, Standard, Units
from dpcov.release.file import text_of
from dpcov.schema import Categorical, Numeric, Product, Schema
from dpcov.sources.opening import open_source
from dpcov.sources.sql import connections
from dpcov.sources.sql.arithmetic import bucket, over, product, square, times
from dpcov.sources.sql.chain import Chain
from dpcov.sources.sql.columns import Cells, Feature, Meaning, by_place
from dpcov.sources.sql.connections import connected, fetched
from dpcov.sources.sql.dialects import DUCKDB, POSTGRES
from dpcov.sources.sql.integers import encoded, scaled
from dpcov.sources.sql.result import wrapped
from dpcov.sources.sql.statement import Statement
from tests.engines.databases import QUERY, people
from tests.engines.engines import expected
from tests.engines.test_every_engine import RELEASES, in_memory
from tests.sources.mixed import NUMBERS, SCHEMA, arrow
from tests.test_docs import ROOT, blocks

BUDGET = dpcov.ZCDP(1)
HOSTILE = (
    *(None, float("nan"), float("inf"), -float("inf"), 1.7976931348623157e308, -1e308, 1e154, 1e-154, 5e-324, -5e-324, -0.0),
    *(2.0**-16, 2.0**-17, 3 * 2.0**-17, -(2.0**-17), 1.0, 0.6, -0.8, 0.30000000000000004, 67108864.5, 4503599627370495.5),
)


def opened(connection: Any, query: str, schema: Schema | None = None, center: bool = False, names: Any = None) -> Any:
    """Return a source of a query whose check is done elsewhere."""
    data = dpcov.sql(connection, query)
    data._checked |= {False, True}
    return open_source(data, names, schema, center)


@pytest.mark.parametrize("center", [False, True])
def test_every_question_has_the_same_integers(database: Any, center: bool) -> None:
    for schema, names in ((SCHEMA, None), (None, NUMBERS)):
        with closing(opened(database, QUERY, schema, center, names)) as source:
            assert source.known_n is None
            for question, integers in expected(center, schema):
                found = source.total(question)
                assert found.tolist() == integers, question.name
                assert found.dtype == np.int64
            assert source.n == 240


@pytest.mark.parametrize("release", [name for name in RELEASES if name != "rounds"])
def test_a_seeded_release_is_the_same_byte_by_byte(duck: Any, release: str) -> None:
    same_release(duck, release)


@pytest.mark.parametrize("release", RELEASES)
def test_a_seeded_release_of_postgres_is_the_same_byte_by_byte(postgres: Any, release: str) -> None:
    same_release(postgres, release)


def same_release(connection: Any, release: str) -> None:
    target, budget, options = RELEASES[release]
    data = dpcov.sql(connection, QUERY + ";")
    data._checked |= {False} - {release == "add-remove"}
    assert text_of(getattr(dpcov, target)(data, budget, seed=7, **options)) == in_memory(release)


def test_plain_numbers_under_a_row_norm(database: Any) -> None:
    settings: dict[str, Any] = {"row_norm": 40.0, "columns": NUMBERS, "seed": 7}
    found = dpcov.covariance(dpcov.sql(database, QUERY), BUDGET, **settings)
    assert text_of(found) == text_of(dpcov.covariance(arrow(), BUDGET, **settings))


def test_an_estimator(duck: Any) -> None:
    estimator = dpcov.PrivateCovariance(rho=1, schema=SCHEMA, random_state=7, mechanism="gaussian")
    there = estimator.fit(dpcov.sql(duck, QUERY)).covariance_
    assert there.tolist() == estimator.fit(arrow()).covariance_.tolist()


def test_a_rehearsal_reads_nothing(duck: Any) -> None:
    query = "SELECT error('read') AS a, CAST(1 AS DOUBLE) AS b FROM range(3)"
    found = dpcov.rehearse("covariance", dpcov.sql(duck, query), BUDGET, row_norm=1, columns=["b"], mechanism="gaussian")
    assert found.n is None


def numbers(connection: Any, rows: Any) -> str:
    """Put rows of doubles into a table, and return a query of it."""
    kind = {"duckdb": "DOUBLE", "postgres": "float8"}[connected(connection).dialect.name]
    width = len(rows[0])
    connection.execute("DROP TABLE IF EXISTS numbers")
    connection.execute(f"CREATE TEMPORARY TABLE numbers ({', '.join(f'x{j} {kind}' for j in range(width))})")
    sign = "?" if kind == "DOUBLE" else "%s"
    cursor = connection if kind == "DOUBLE" else connection.cursor()
    cursor.executemany(f"INSERT INTO numbers VALUES ({', '.join([sign] * width)})", [list(row) for row in rows])
    return "SELECT * FROM numbers"


def in_arrow(rows: Any) -> Any:
    return pa.table({f"x{j}": pa.array(column, pa.float64()) for j, column in enumerate(zip(*rows, strict=True))})


def shapes(d: int) -> list[Any]:
    """Questions whose clips are of every kind, at usual and extreme radii."""
    centre = tuple(np.linspace(-1, 2, d).tolist())
    ball, box = Ball(centre, 0.7), Box(centre, (1e-150, *[0.4] * (d - 1)))
    ellipsoid = Ellipsoid(centre, (np.eye(d) + 0.3 * np.tri(d)) * 1.7)
    asked: list[Any] = [SecondMoment(Grid(norm, bits=bits), d) for norm, bits in ((1.0, 16), (1e-153, 16), (1e150, 1))]
    asked += [SecondMoment(Grid(1.0, center=True), d + 1), ClippedPair(Annulus(Grid(0.4), Grid(1.0)), d)]
    asked += [SecondMoment(ball, d), SecondMoment(ellipsoid, d), Sum(box, d), Bins(box, d, 7)]
    return [*asked, Norms(Grid(1.0), d, 4, 5), Norms(Grid(1e150), d, 1, 900), Norms(ball, d, 2, 4)]


def extreme(count: int, d: int, seed: int) -> Any:
    """Doubles of every exponent, ties at half steps, rows on the radius, and cells that are no numbers."""
    draw = np.random.default_rng(seed)
    normal = draw.normal(size=(count, d))
    kinds = [
        np.ldexp(normal, draw.integers(-1090, 1023, (count, d))),
        draw.integers(-(2**18), 2**18, (count, d)) * 2.0**-17,
        normal / np.linalg.norm(normal, axis=1)[:, None] * (1 + draw.normal(size=(count, 1)) * 2.0**-40),
        np.where(draw.random((count, d)) < 0.4, draw.choice(np.array(HOSTILE[1:], dtype=float), (count, d)), normal),
    ]
    return np.choose(draw.integers(0, len(kinds), count)[:, None], kinds)


def test_extreme_rows_have_the_same_integers(database: Any) -> None:
    rows = extreme(1500, 3, 5).tolist()
    here: Any = open_source(in_arrow(rows))
    with closing(opened(database, numbers(database, rows))) as source:
        for question in shapes(3):
            assert np.array_equal(source.total(question), here.total(question)), question


cells = st.one_of(st.sampled_from(HOSTILE), st.floats(), st.none())


@pytest.mark.parametrize("kind", ["duckdb", "postgres"])
def test_no_cell_makes_a_statement_fail(kind: str, request: pytest.FixtureRequest) -> None:
    connection = request.getfixturevalue("duck" if kind == "duckdb" else "postgres")
    schema = Schema({"x0": Numeric(-3, 1e100, nullable=True, missing="flag"), "x1": Numeric(-1e-100, 1e-100)})

    @settings(max_examples=15, deadline=None, database=None, derandomize=True)
    @given(st.lists(st.tuples(cells, cells), min_size=1, max_size=12))
    def run(rows: Any) -> None:
        query, table = numbers(connection, rows), in_arrow(rows)
        plain = (SecondMoment(Grid(1.0), 2), Norms(Ball((0.5, -1e-300), 1e-3), 2, 3, 3))
        asked = [(None, False, plain), (schema, True, (Histograms(Columns.of(schema), 5), Sum(Grid(1.0, center=True), 5)))]
        for meaning, center, questions in asked:
            here: Any = open_source(table, None, meaning, center)
            with closing(opened(connection, query, meaning, center)) as source:
                for question in questions:
                    assert source.total(question).tolist() == here.total(question).tolist()

    run()


def test_neighbours_differ_by_the_integers_of_one_row(database: Any) -> None:
    """Added, and replaced: what a row moves is bounded by its clip, whatever it holds."""
    grid, rows = Grid(1.0), extreme(30, 2, 11)
    asked = SecondMoment(grid, 2)

    def total(some: Any) -> Any:
        with closing(opened(database, numbers(database, some.tolist()))) as source:
            return source.total(asked)

    everyone = total(rows)
    for place in (0, 7, 19):
        own = grid.encode(rows[place : place + 1].copy())[0]
        assert float(own @ own) <= grid.reach
        without = total(np.delete(rows, place, axis=0))
        assert (everyone - without).tolist() == [int(own[0] ** 2), int(own[1] ** 2), int(own[0] * own[1])]


def test_rows_at_a_radius_are_decided_exactly(database: Any) -> None:
    """Those whose squares a database adds too roughly come back, and are compared in integers."""
    norms = Norms(Grid(1.0), 2, 4, 6)
    bounds = [float(np.sqrt(bound)) for bound in (norms.radii[:0:-1] ** 2 * OFFSET)]
    rows = [(x * 0.6, y * 0.8) for bound in bounds for x in near(bound) for y in near(bound)]
    with closing(opened(database, numbers(database, rows))) as source:
        assert source.total(norms).tolist() == open_source(in_arrow(rows)).total(norms).tolist()


def test_lengths_on_an_edge(duck: Any) -> None:
    """A number is larger than an edge, or it is not."""
    connection = connected(duck)
    edges = [0.25, 0.5, 1.0, 2.0]
    chain = Chain(DUCKDB, "rows")
    some = [*edges, 0.1, 0.75, 3.0, float(np.nextafter(0.5, 1))]
    [found] = connection.rows(f"SELECT {', '.join(bucket(chain, DUCKDB.number(x), edges) for x in some)}")
    assert list(found) == np.searchsorted(edges, some, side="left").tolist()


def test_what_is_still_too_long_is_nothing(database: Any) -> None:
    """Whatever factor it was scaled by: sensitivities rest on the squares of the integers alone."""
    dialect = connected(database).dialect
    chain = Chain(dialect, f"(SELECT {dialect.number(3.0)}, {dialect.number(-4.0)}) AS rows(c0, c1)")
    entries = chain.all(["c0", "c1"])
    found = {}
    for reach in (25, 24):
        last = scaled(chain, entries, dialect.number(1.0), reach)
        selects = chain.selects(*last)
        steps = ", ".join(f"s{place} AS ({one})" for place, one in enumerate(selects, start=1))
        [found[reach]] = connected(database).rows(f"WITH {steps} SELECT {', '.join(last)} FROM s{len(selects)}")
    assert {reach: list(row) for reach, row in found.items()} == {25: [3, -4], 24: [0, 0]}


def test_text_that_looks_like_a_name(duck: Any) -> None:
    """Of a step of the statement that comes later."""
    schema = Schema({"w": Categorical(["v7", "v30"]), "x": Numeric(0, 1)})
    with closing(opened(duck, "SELECT 'v30' AS w, 0.5e0 AS x", schema)) as source:
        assert source.total(Sum(Grid(1.0), 3)).tolist()[:2] == [0, round(2**16 / 2**0.5)]
    chain = Chain(POSTGRES, "rows")
    cell = chain.let("c0")
    last = chain.let(chain.let(f"CASE WHEN {cell} = 'v2' THEN 1 END") + " + 1")
    assert last == "v2"
    assert chain.selects(last)[0] == "SELECT c0 AS v0 FROM rows OFFSET 0"


def near(number: float) -> list[float]:
    return [float(np.nextafter(number, 0)), number, float(np.nextafter(number, np.inf))]


TYPED: dict[str, tuple[str, Any, list[Any]]] = {
    "whole": ("bigint", pa.int64(), [2**62 + 1, -(2**53) - 1, 7, None]),
    "decimal": ("decimal(18, 5)", pa.decimal128(18, 5), [Decimal("317.12345"), Decimal("-1234567890123.45678"), None]),
    "truth": ("boolean", pa.bool_(), [True, False, None]),
    "single": ("real", pa.float32(), [0.1, -3e38, float("nan"), None]),
    "day": ("date", pa.date32(), [datetime.date(2019, 1, 31), datetime.date(1, 1, 1), datetime.date(9999, 12, 31), None]),
    "moment": (
        "timestamp",
        pa.timestamp("us"),
        [datetime.datetime(2019, 1, 31, 23, 59, 59, 999999), datetime.datetime(1901, 2, 3, 4, 5, 6, 7), None],
    ),
    "words": ("text", pa.string(), ["TRUE", "False", "true ", "", None]),
}
OF_TYPES = Schema(
    {
        "whole": Numeric(-1e10, 1e19),
        "decimal": Numeric(-1e14, 1e3),
        "truth": Numeric(0, 1),
        "single": Numeric(-5, 5, nullable=True, missing="flag"),
        "day": Numeric("1950-01-01", "2030-06-30"),
        "moment": Numeric("1900-01-01T00:00", "2020-01-01T12:30"),
        "words": Categorical([True, False], nullable=True, missing="flag"),
        "square": Numeric(-5, 5, of="single", transform="square", about=0.25),
        "root": Numeric(0, 9, of="whole", transform="sqrt"),
        "both": Product(["single", "words"]),
    }
)


@pytest.mark.parametrize("center", [False, True])
def test_cells_of_every_type(database: Any, center: bool) -> None:
    count = 24
    columns = {name: [known[(place * 5 + 1) % len(known)] for place in range(count)] for name, (_, _, known) in TYPED.items()}
    table = pa.table({name: pa.array(columns[name], TYPED[name][1]) for name in TYPED})
    database.execute("DROP TABLE IF EXISTS typed")
    database.execute(f"CREATE TEMPORARY TABLE typed ({', '.join(f'{name} {kind}' for name, (kind, *_) in TYPED.items())})")
    name = connected(database).dialect.name
    cursor, sign = (database, "?") if name == "duckdb" else (database.cursor(), "%s")
    cursor.executemany(
        f"INSERT INTO typed VALUES ({', '.join([sign] * len(TYPED))})", list(zip(*columns.values(), strict=True))
    )
    here = open_source(table, None, OF_TYPES, center)
    with closing(opened(database, "SELECT * FROM typed", OF_TYPES, center)) as source:
        for question, _ in expected(center, SCHEMA)[:4]:
            grid = getattr(question, "grid", None)
            asked = question if grid is None else replace(question, d=grid.width(here.d))
            assert source.total(asked).tolist() == here.total(asked).tolist(), question


def test_endless_dates_and_long_numbers_fail_nothing(postgres: Any) -> None:
    query = (
        "SELECT * FROM (VALUES ('infinity'::date, 'NaN'::numeric, 'NaN'::numeric(9, 2)), ('-infinity', 1e400, 1), "
        "('2000-01-01', 1e-400, 2), ('2000-01-02', 'Infinity', 3), (NULL, NULL, NULL)) AS t(day, long, short)"
    )
    schema = Schema({"day": Numeric("1999-01-01", "2001-01-01"), "long": Numeric(-1, 3), "short": Numeric(0, 2)})
    cells = {
        "day": pa.array([1e6, -1e6, 10957.0, 10958.0, None]),
        "long": pa.array([None, None, 0.0, None, None], pa.float64()),
        "short": pa.array([None, 1.0, 2.0, 3.0, None]),
    }
    plain = Schema({"day": Numeric(10592, 11323), "long": Numeric(-1, 3), "short": Numeric(0, 2)})
    asked = SecondMoment(Grid(1.0, center=True), 4)
    with closing(opened(postgres, query, schema, True)) as source:
        assert source.total(asked).tolist() == open_source(pa.table(cells), None, plain, True).total(asked).tolist()


def test_large_integers_and_enums_of_duckdb(duck: Any) -> None:
    duck.execute("CREATE OR REPLACE TEMPORARY TABLE odd (a HUGEINT, b ENUM ('x', 'y'), c TIMESTAMPTZ, d TIMESTAMP_NS, e DATE)")
    duck.execute(
        "INSERT INTO odd VALUES (170141183460469231731687303715884105727, 'y', '2020-01-01 00:00:00.5+02', "
        "'2020-01-01 00:00:00.123456789', 'infinity'), (18446744073709551617, 'x', NULL, NULL, NULL), (NULL, NULL, 'infinity', "
        "'1960-02-03', '-infinity')"
    )
    schema = Schema(
        {
            "a": Numeric(0, 1e39),
            "b": Categorical(["y", "x"]),
            **{name: Numeric("1950-01-01T00:00", "2030-01-01T00:00") for name in "cde"},
        }
    )
    asked = SecondMoment(Grid(1.0), 6)
    with closing(opened(duck, "SELECT * FROM odd", schema)) as source:
        assert source.total(asked).tolist() == open_source(duck.sql("SELECT * FROM odd"), None, schema).total(asked).tolist()


def test_decimals_are_those_of_arrow(duck: Any) -> None:
    """To the last bit, which a quotient would not have."""
    steps = np.random.default_rng(8).integers(-(10**18) + 1, 10**18, 300)
    for digits, scale in ((9, 2), (18, 5), (18, 18)):
        some = [Decimal(int(step) % 10**digits).scaleb(-scale) for step in steps]
        wanted = pa.array(some, pa.decimal128(digits, scale))
        duck.register("decimals", pa.table({"x": wanted}))
        found = duck.execute(f"SELECT {DUCKDB.numbers['decimal']('x', scale)} FROM decimals").fetchall()
        assert [number for (number,) in found] == wanted.cast(pa.float64(), safe=False).to_pylist()
    duck.unregister("decimals")


def test_levels_are_compared_letter_by_letter(duck: Any) -> None:
    """Whatever collation a column has, and whatever stands in a level."""
    duck.execute("CREATE OR REPLACE TEMPORARY TABLE words (w VARCHAR COLLATE NOCASE)")
    levels = ["a", "'; v1 %s {}", "v0", 'x"y', "back\\slash", "zero\0", "日本"]
    duck.executemany("INSERT INTO words VALUES (?)", [[word] for word in (*levels, "A", "", None)])
    schema = Schema({"w": Categorical(levels)})
    with closing(opened(duck, "SELECT * FROM words", schema)) as source:
        moment = source.total(SecondMoment(Grid(1.0), len(levels)))
    assert moment[: len(levels)].tolist() == [2**32] * len(levels)


def test_a_column_of_nothing_has_no_level(duck: Any) -> None:
    """A column that is NULL throughout has a type of its own in DuckDB."""
    schema = Schema({"w": Categorical(["a", "b"]), "x": Numeric(0, 1)})
    asked = SecondMoment(Grid(1.0), 3)
    with closing(opened(duck, "SELECT NULL AS w, 0.5e0 AS x FROM range(5)", schema)) as source:
        there = source.total(asked).tolist()
    here = open_source(pa.table({"w": pa.nulls(5), "x": [0.5] * 5}), None, schema, False)
    assert there == here.total(asked).tolist()
    assert there[:2] == [0, 0]


def test_a_number_that_all_positions_share_is_written_once(duck: Any) -> None:
    chain = Chain(DUCKDB, "rows(c0)")
    alike, others = (by_place(chain, place, values, 2.0) for place, values in (("c0", [2.0, 2.0]), ("1", [2.0, 3.0])))
    [found] = connected(duck).rows(f"SELECT {alike}, {others}")
    assert tuple(found) == (2.0, 3.0)
    assert "c0" not in alike


def test_levels_that_no_text_there_can_equal(postgres: Any) -> None:
    """Postgres has no text with a zero byte, and would refuse a statement that holds one."""
    schema = Schema({"w": Categorical(["a", "zero\0"])})
    with closing(opened(postgres, "SELECT 'a' AS w FROM generate_series(1, 3)", schema)) as source:
        assert source.total(SecondMoment(Grid(1.0), 2)).tolist() == [3 * 2**32, 0, 0]


def test_private_units_without_coordinates(database: Any) -> None:
    """A constant column has none, nor has a categorical one of a single group."""
    columns = Columns.of(SCHEMA)
    numbers = tuple(NumericUnits(-0.2, 0.2, 0.05, 0.1 * (place > 0)) for place, _ in enumerate(columns.numeric))
    levels = tuple(
        LevelUnits((0,) * count, (1.0,), (0.5,))
        if place == 0
        else LevelUnits(tuple(range(count)), (1 / count,) * count, (0.5,) * count)
        for place, (_, count) in enumerate(columns.levels)
    )
    rows = Standard(Units(columns, numbers, levels), 1.0, 4.0)
    with closing(opened(database, QUERY, SCHEMA)) as source:
        for asked in (SecondMoment(rows, rows.width), Norms(rows, rows.width, 4, 4)):
            assert source.total(asked).tolist() == open_source(arrow(), None, SCHEMA, False).total(asked).tolist()


class TestRefusedBeforeAnythingIsRead:
    @pytest.mark.parametrize(
        ("shape", "told"),
        [
            (Annulus(Grid(1e-130), Grid(1.0)), "clip must be at least 1e-125 of row_norm inside a database"),
            (object(), "rows must be of a shape that has statements"),
        ],
    )
    def test_shapes_that_have_no_statement(self, shape: Any, told: str) -> None:
        with pytest.raises(ParameterError, match=told):
            encoded(Chain(DUCKDB, "rows(c0)"), shape, [Feature("c0")])

    def test_pairs_and_workers(self, duck: Any) -> None:
        data = dpcov.sql(duck, QUERY)
        with pytest.raises(ParameterError, match="data must have rows in a fixed order for pairs"):
            dpcov.covariance(data, BUDGET, row_norm=1, columns=["height"], mechanism="coinpress", centring="pairs")
        with pytest.raises(ParameterError, match="workers must be 1 for data in a database"):
            dpcov.covariance(data, BUDGET, row_norm=1, columns=["height"], workers=2)

    def test_columns_and_types(self, database: Any) -> None:
        data = dpcov.sql(database, QUERY)
        for names, told in (
            (["weight"], "must have one column 'weight'"),
            (["height", "stadt"], "column 'stadt' must be numeric, got the declared type string"),
        ):
            with pytest.raises(SchemaError, match=told):
                dpcov.covariance(data, BUDGET, row_norm=1, columns=names)
        day = dpcov.sql(database, "SELECT DATE '2020-01-01' AS day, '{}' AS text")
        with pytest.raises(SchemaError, match="column 'day' must be numeric, got the declared type date32"):
            dpcov.covariance(day, BUDGET, row_norm=1, columns=["day"])

    def test_tables_that_are_missing_and_connections_that_are_closed(self, database: Any) -> None:
        with pytest.raises(EngineError, match="data must be readable to the end") as caught:
            dpcov.covariance(dpcov.sql(database, "SELECT * FROM nobody"), BUDGET, row_norm=1)
        assert caught.value.__context__ is None
        closed = duckdb.connect()
        closed.close()
        with pytest.raises(EngineError, match="data must be readable to the end"):
            dpcov.covariance(dpcov.sql(closed, "SELECT 1 AS a"), BUDGET, row_norm=1)

    def test_what_wants_rows(self, duck: Any) -> None:
        for call in (
            lambda data: dpcov.look(data, dpcov.Schema({"height": Numeric(0, 1)})),
            lambda data: dpcov.compare(data, [BUDGET], ["gaussian"], row_norm=1, columns=["height"]),
        ):
            with pytest.raises(ParameterError, match="got a query, whose rows stay in the database"):
                call(dpcov.sql(duck, QUERY))
        with pytest.raises(ParameterError, match="got a Query in a database"):
            dpcov.PrivateRidge(rho=1, row_norm=1, target_bound=1).fit(dpcov.sql(duck, QUERY), [1.0])

    def test_logarithms(self, duck: Any) -> None:
        schema = Schema({"height": Numeric(0.1, 2, transform="log")})
        with pytest.raises(ParameterError, match="transform must be 'square' or 'sqrt' inside a database, got 'log'"):
            dpcov.covariance(dpcov.sql(duck, QUERY), BUDGET, schema=schema, mechanism="gaussian")

    def test_statements_that_are_too_long(self, duck: Any) -> None:
        wide = f"SELECT {', '.join(f'0e0 AS x{j}' for j in range(200))}"
        with pytest.raises(ParameterError, match="fewer columns, levels or bins for one statement of SQL"):
            dpcov.covariance(dpcov.sql(duck, wide), BUDGET, row_norm=1, mechanism="gaussian", neighbors="add-remove")

    @pytest.mark.parametrize("query", ["", " ;", "DELETE FROM people", 3])
    def test_what_is_no_query(self, duck: Any, query: Any) -> None:
        with pytest.raises(ParameterError, match="query must be one SELECT"):
            dpcov.sql(duck, query)

    def test_a_query_shows_nothing_of_its_text(self, duck: Any, postgres: Any) -> None:
        """It may hold a password."""
        for connection, dialect in ((duck, "duckdb"), (postgres, "postgres")):
            query = dpcov.sql(connection, "SELECT 'secret' AS a")
            assert query.dialect == dialect
            assert repr(query) == f"<Query of a database, in the dialect {dialect}>"

    def test_other_connections(self) -> None:
        with pytest.raises(ParameterError, match="connection must be one of duckdb or of psycopg 3"):
            dpcov.sql("people.db", QUERY)


WRONG: dict[str, dict[str, Any]] = {
    "half up": {"nearest": lambda x: f"floor({x} + 0.5e0)"},
    "floor": {"toward_zero": lambda x: f"floor({x})"},
    "words alike": {"text": lambda cell, level, _: f"lower({cell}) = '{level.lower().replace(chr(39), 2 * chr(39))}'"},
    "sums in singles": {"total": lambda x: f"CAST(sum(CAST({x} AS FLOAT)) AS HUGEINT)"},
    "roots": {"toward_zero": lambda x: f"trunc({x} * (1e0 - 1e-12))"},
    "infinite numbers": {
        "numbers": {**DUCKDB.numbers, "float": lambda cell, _: f"CASE WHEN NOT isnan({cell}) THEN {cell} END"}
    },
    "missing numbers": {
        "numbers": {**DUCKDB.numbers, "float": lambda cell, _: f"coalesce(CASE WHEN isfinite({cell}) THEN {cell} END, 0)"}
    },
}


class TestADatabaseThatComputesOtherwise:
    @pytest.mark.parametrize("how", WRONG)
    def test_it_is_refused_and_nothing_is_spent(
        self, duck: Any, how: str, accounts: list[Account], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(connections, "DUCKDB", replace(DUCKDB, **WRONG[how]))
        with pytest.raises(EngineError, match=r"as this process does, and does not. Nothing was spent|data must be readable"):
            dpcov.covariance(dpcov.sql(duck, QUERY), BUDGET, schema=SCHEMA, mechanism="gaussian")
        assert [account.charged for account in accounts] == [[]]

    def test_literals_are_read_back(self, duck: Any, accounts: list[Account], monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(connections, "DUCKDB", replace(DUCKDB, number=lambda x: f"CAST({x:.15e} AS DOUBLE)"))
        data = dpcov.sql(duck, QUERY)
        data._checked |= {False, True}
        with pytest.raises(EngineError, match="database must read literals as written, and does not"):
            dpcov.covariance(data, BUDGET, schema=SCHEMA, mechanism="gaussian")
        assert [account.charged for account in accounts] == [[]]

    def test_the_right_one_is_not(self, duck: Any, accounts: list[Account]) -> None:
        """Otherwise the tests above would show nothing."""
        dpcov.covariance(dpcov.sql(duck, QUERY), BUDGET, schema=SCHEMA, mechanism="gaussian")
        assert [len(account.charged) for account in accounts] == [1]

    def test_rows_that_did_not_come_back_are_missed(self, duck: Any) -> None:
        """Those too near a radius are counted there, and sent; a database that sends others is refused."""
        near = Norms(Grid(1.0), 1, 4, 6)
        bound = float(np.sqrt(near.radii[3] ** 2 * OFFSET))
        rows = f"(SELECT {DUCKDB.number(bound)} FROM range(3)) AS rows(c0)"
        statement = Statement(DUCKDB, rows, Meaning({"a": Cells("c0", "float")}, None, False), near)
        records = list(connected(duck).rows(statement.text))
        assert statement.read(statement.found(records)).sum() == 3
        undecided = [record for record in records if record[0] is not None and record[0] < 0]
        assert len(undecided) == 3
        with pytest.raises(EngineError, match="must return the sums that it was asked for"):
            statement.read(statement.found([record for record in records if record is not undecided[0]]))

    @pytest.mark.parametrize("lost", ["sums", "counts"])
    def test_answers_that_cannot_be_are_refused(self, duck: Any, lost: str) -> None:
        connection = connected(duck)
        asked: Any = SecondMoment(Grid(1.0), 1)
        asked = Together((Norms(Grid(1.0), 1, 4, 6), asked)) if lost == "counts" else asked
        statement = Statement(
            DUCKDB,
            f"({QUERY}) AS rows(c0, c1, c2, c3, c4, c5, c6, c7)",
            Meaning({"a": Cells("c0", "float")}, None, False),
            asked,
        )
        records = list(connection.rows(statement.text))
        assert statement.found(records).rows == 240
        broken = [(None, 3, ["many"], None)] if lost == "sums" else records[:-1]
        with pytest.raises(EngineError, match="must return the sums that it was asked for"):
            statement.found(broken)


class TestReadings:
    def test_see_the_same_rows(self, server: str, postgres: Any) -> None:
        """Others write between them; the transaction sees one state, and is over when the release is made."""
        import psycopg

        postgres.execute("CREATE TABLE growing AS SELECT 0.5::float8 AS x FROM generate_series(1, 5)")
        postgres.commit()
        with psycopg.connect(server, autocommit=True) as other, closing(opened(postgres, "SELECT * FROM growing")) as source:
            source.total(Count())
            other.execute("INSERT INTO growing VALUES (1)")
            assert source.total(Sum(Grid(1.0), 1)).tolist() == [5 * 2**15]
            with pytest.raises(psycopg.errors.ReadOnlySqlTransaction):
                postgres.execute("INSERT INTO growing VALUES (1)")
        assert postgres.info.transaction_status == connections.IDLE
        postgres.execute("SELECT 1")  # a transaction of the user's own, in which each statement sees what is there by then
        with psycopg.connect(server, autocommit=True) as other, closing(opened(postgres, "SELECT * FROM growing")) as source:
            source.total(Sum(Grid(1.0), 1))
            other.execute("INSERT INTO growing VALUES (1)")
            with pytest.raises(EngineError, match="data must be the same each time they are read"):
                source.total(Sum(Grid(0.5), 1))
        assert postgres.info.transaction_status != connections.IDLE
        postgres.rollback()
        postgres.execute("DROP TABLE growing")
        postgres.commit()

    def test_the_check_is_in_their_transaction(self, postgres: Any) -> None:
        """It is the first to send a statement; psycopg would begin a transaction with it that sees more, and is left open."""
        made: Any = open_source(dpcov.sql(postgres, QUERY), ["height"], None, False)
        with closing(made) as source:
            source.total(Count())
            settings = [postgres.execute(f"SHOW transaction_{name}").fetchone() for name in ("isolation", "read_only")]
            assert settings == [("repeatable read",), ("on",)]
        assert postgres.info.transaction_status == connections.IDLE

    def test_in_a_transaction_of_the_users(self, duck: Any) -> None:
        duck.execute("BEGIN TRANSACTION")
        assert dpcov.covariance(people(), BUDGET, schema=SCHEMA, mechanism="gaussian").n == 240
        with closing(opened(duck, QUERY, None, False, ["height"])) as source:
            source.total(Count())
        duck.execute("COMMIT")  # still there

    def test_a_later_one_that_fails_ends_in_one_clear_error(self, duck: Any) -> None:
        """What was asked before it is spent; the transaction is over."""
        data = dpcov.sql(duck, QUERY)
        data._checked |= {False, True}
        run: Callable[[str], Any] = data._connection.rows
        counted: list[str] = []

        def failing(text: str) -> Any:
            counted.append(text)
            if sum("GROUP BY" in one for one in counted) and "GROUP BY" not in text and "WITH" in text:
                return run("SELECT error('SECRET')")
            return run(text)

        data._connection = replace(data._connection, rows=failing)
        with pytest.raises(EngineError, match="data must be readable to the end") as caught:
            dpcov.covariance(data, BUDGET, row_norm=9, columns=NUMBERS, mechanism="rescaled")
        assert "SECRET" not in str(caught.value)
        assert caught.value.__context__ is None
        duck.execute("BEGIN TRANSACTION")
        duck.execute("ROLLBACK")

    def test_no_rows(self, database: Any) -> None:
        empty = dpcov.sql(database, QUERY + " WHERE height > 1e300 AND height < 0")
        options: dict[str, Any] = {"neighbors": "add-remove", "mechanism": "gaussian", "schema": SCHEMA, "seed": 7}
        assert text_of(dpcov.covariance(empty, BUDGET, **options)) == text_of(dpcov.covariance(arrow()[:0], BUDGET, **options))
        with pytest.raises(ParameterError, match=r"data must have 1 to 2\*\*30 rows, got 0"):
            dpcov.covariance(empty, BUDGET, schema=SCHEMA, mechanism="gaussian")

    def test_comments_and_names(self, duck: Any) -> None:
        """A query may end in a comment, and columns may be called alike but for capitals, or as the statement's own."""
        query = 'SELECT 0.5e0 AS "A", 0.25e0 AS a, 1e0 AS v0, 0e0 AS "rows" -- everything'
        with closing(opened(duck, query, None, False, ["a", "v0"])) as source:
            assert source.total(Sum(Grid(2.0), 2)).tolist() == [2**13, 2**15]


class TestOneStatement:
    """What stands behind a query is not run."""

    def test_of_duckdb(self, duck: Any) -> None:
        with pytest.raises(ParameterError, match="query must be one SELECT, got several statements"):
            dpcov.covariance(dpcov.sql(duck, "SELECT 1e0 AS x; DROP TABLE people"), BUDGET, row_norm=1)
        assert duck.execute("SELECT count(*) FROM people").fetchone() == (240,)

    @pytest.mark.parametrize("query", ["SELECT 1 AS x; {}", "SELECT 1 AS x) AS rows; {}; SELECT * FROM (SELECT 1 AS x"])
    def test_of_postgres(self, postgres: Any, query: str) -> None:
        with pytest.raises(EngineError, match="data must be readable to the end"):
            dpcov.covariance(dpcov.sql(postgres, query.format("CREATE TABLE left_behind ()")), BUDGET, row_norm=1)
        assert postgres.execute("SELECT to_regclass('left_behind')").fetchone() == (None,)


def test_connections_whose_rows_are_no_tuples(server: str) -> None:
    import psycopg
    from psycopg.rows import dict_row

    with psycopg.connect(server, row_factory=dict_row) as connection:
        found = dpcov.covariance(dpcov.sql(connection, QUERY), BUDGET, schema=SCHEMA, mechanism="gaussian")
    assert found.n == 240


def test_the_pages_example_runs(server: str, monkeypatch: pytest.MonkeyPatch) -> None:
    import psycopg

    monkeypatch.setenv("PGHOST", server.split()[0].removeprefix("host="))
    monkeypatch.setenv("PGUSER", "postgres")
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute("CREATE DATABASE hospital")
    people = "SELECT 18 + i % 72 AS age, 20000 + 900 * (i % 72) + i % 7000 AS income FROM generate_series(0, 1999) AS t(i)"
    with psycopg.connect("dbname=hospital") as connection:
        connection.execute(f"CREATE TABLE people AS {people}")
    [code] = blocks(ROOT / "docs" / "engines.md", "python postgres")
    found: dict[str, Any] = {}
    exec(code, found)
    i = np.arange(2000)
    here = np.column_stack([18 + i % 72, 20000 + 900 * (i % 72) + i % 7000])
    assert text_of(found["release"]) == text_of(dpcov.covariance(here, dpcov.ZCDP(0.5), schema=found["schema"], seed=7))


def test_sums_wrap_as_everywhere() -> None:
    assert wrapped([2**63, 2**64 + 5, -(2**63) - 1, 7]).tolist() == [-(2**63), 5, 2**63 - 1, 7]


def test_sums_beyond_64_bits_fail_nothing(database: Any) -> None:
    """More rows than there can be: a database adds in wider integers, and the sum wraps here."""
    connection = connected(database)
    total = connection.dialect.total("x")
    [(found,)] = connection.rows(f"SELECT {total} FROM (VALUES (9223372036854775807), (9223372036854775807)) AS t(x)")
    assert wrapped([int(found)]).tolist() == [-2]


@pytest.mark.parametrize("by", [0.1, 1e-300, 3.0, 5e-324, -0.7])
def test_products_that_vanish(postgres: Any, by: float) -> None:
    """Where Postgres would raise, the bits are those of IEEE arithmetic."""
    chain = Chain(POSTGRES, "(SELECT 1) AS rows(c0)")
    odd = [5e-324, 1e-323, 1e-308, -3e-162, 1.4e-162, 1.5e-162, 0.0, 2.0, -1e-10, 1e-200]
    for x in odd:
        cell = f"({POSTGRES.number(x)})"
        wanted = {times(chain, cell, by): x * by, square(chain, cell): x * x}
        wanted |= {product(chain, cell, f"({POSTGRES.number(y)})"): x * y for y in odd}
        if abs(by) > 1e-10:
            wanted[over(chain, cell, by)] = x / by
        [found] = postgres.cursor(binary=True).execute(f"SELECT {', '.join(wanted)}").fetchall()
        assert list(found) == [value + 0.0 for value in wanted.values()]
    postgres.rollback()


def test_the_statement_computes_nothing_twice() -> None:
    """Otherwise an optimiser would make of d columns as many roundings as there are products."""
    cells = {f"x{j}": Cells(f"c{j}", "float") for j in range(8)}
    text = Statement(POSTGRES, "rows", Meaning(cells, None, False), SecondMoment(Grid(1.0), 8)).text
    assert text.count("trunc(") == 8
    assert text.count("OFFSET 0") == text.count(" AS (")


def test_what_is_fetched_is_sums(duck: Any) -> None:
    """One row for a second moment, whatever the number of rows."""
    cells = {"a": Cells("c0", "float"), "b": Cells("c1", "whole")}
    base = f"({QUERY}) AS rows(c0, c1, c2, c3, c4, c5, c6, c7)"
    statement = Statement(DUCKDB, base, Meaning(cells, None, False), SecondMoment(Grid(1.0), 2))
    [(key, rows, sums, entries)] = connected(duck).rows(statement.text)
    assert (key, rows, len(sums), entries) == (None, 240, 3, None)
    assert fetched(connected(duck), statement).rows == 240
