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
from dpcov.kernel.account import Account
from dpcov.kernel.questions.clipped_pair import ClippedPair
from dpcov.kernel.questions.groups import GroupCounts, GroupedMoment
from dpcov.kernel.questions.moments import Count, SecondMoment, Sum
from dpcov.kernel.questions.norms import Norms, Trace
from dpcov.kernel.questions.together import Together
from dpcov.kernel.questions.weights import SquaredWeights, Weights
from dpcov.kernel.rows.aside import LAST_CUT, USUAL_PEOPLE, Aside, aside_of
from dpcov.kernel.rows.grid import DEFAULT_BITS, Grid
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


BESIDE = 'SELECT *, stadt AS who, grade AS number, "größe" AS w FROM people'


def with_beside() -> Any:
    """The table of every kind of column, with some of them once more."""
    table = arrow()
    columns = {"who": table["stadt"], "number": table["grade"], "w": table["größe"]}
    for name, column in columns.items():
        table = table.append_column(name, column)
    return table


@pytest.mark.parametrize("center", [False, True])
@pytest.mark.parametrize("which", ["who", "number", "weights of decimals"])
def test_every_question_has_the_same_integers(database: Any, center: bool, which: str) -> None:
    aside = about("who", 2, 700.25) if which == "weights of decimals" else about(which)
    for schema, names in ((SCHEMA, None), (None, NUMBERS)):
        here = open_source(with_beside(), names, schema, center, aside=aside)
        with closing(opened(database, BESIDE, names, schema, center, aside=aside)) as source:
            for question in (of_people(one, aside) for one in questions(source.d, center, schema)):
                assert source.total(question).tolist() == here.total(question).tolist(), question.name
            assert (source.n, source.rereadable) == (here.n, True)


BY: dict[str, tuple[Any, Any]] = {
    "levels of a schema": ("stadt", SCHEMA),
    "numbers": ("grade", SCHEMA),
    "truth values": ("smoker", SCHEMA),
    "levels that are given": ({"stadt": ["東京", "Zürich", "nowhere"]}, None),
    "numbers that are given": ({"grade": [2.5, 1, 8]}, None),
}


def in_groups(by: By, d: int, center: bool) -> list[Any]:
    """Return every question about groups, alone and together with each other."""
    grid, count = Grid(1.0, center=center), by.groups.count
    asked: list[Any] = [GroupedMoment(grid, grid.width(d), count), GroupCounts(count)]
    return [*asked, Together(tuple(asked))]


@pytest.mark.parametrize("center", [False, True])
@pytest.mark.parametrize("which", BY)
def test_groups_have_the_same_integers(database: Any, which: str, center: bool) -> None:
    by = checked_by(*BY[which])
    names = ["height", "âge 🙂"] if by.features is None else None
    here = open_source(arrow(), names, by.features, center, by=by)
    with closing(opened(database, QUERY, names, by.features, center, by=by)) as source:
        assert (source.groups, source.feature_names) == (by.groups, here.feature_names)
        for question in in_groups(by, here.d, center):
            found = source.total(question)
            assert found.tolist() == here.total(question).tolist(), question
            assert found.any()
        assert source.n == 240
        if by.features is not None and center:
            standard = next(
                one.grid for one in questions(here.d, True, by.features) if hasattr(getattr(one, "grid", 0), "units")
            )
            asked = GroupedMoment(standard, standard.width, by.groups.count)
            assert source.total(asked).tolist() == here.total(asked).tolist()
        assert source.total(Together((Count(), Sum(Grid(1.0), here.d)))).tolist() == [240, *here.total(Sum(Grid(1.0), here.d))]


def test_groups_of_nobody(database: Any) -> None:
    by = checked_by({"ward": ["north", "south", "east"]}, None)
    for rows in (0, 3):
        table = pa.table({"x": pa.array([0.5] * rows, pa.float64()), "ward": pa.array([None] * rows, pa.string())})
        with closing(opened(database, loaded(database, table), ["x"], by=by)) as source:
            for question in in_groups(by, 1, True):
                assert not source.total(question).any()
            assert source.n == rows


@pytest.mark.parametrize("which", ASIDES)
def test_groups_of_people_have_the_same_integers(database: Any, which: str) -> None:
    table, aside, by = crowd(2500, 7900), ASIDES[which], checked_by({"ward": ["north", "south", "South"]}, None)
    names = ["x0", "x1", "x2"]
    here = open_source(table, names, None, True, aside=aside, by=by)
    with closing(opened(database, loaded(database, table), names, None, True, aside=aside, by=by)) as source:
        for question in (of_people(one, aside) for center in (False, True) for one in in_groups(by, 3, center)):
            assert source.total(question).tolist() == here.total(question).tolist(), question
            assert source.n == here.n


@pytest.mark.parametrize("which", ["weights", "weights of people", "weights of rows"])
@pytest.mark.parametrize("cut", [None, 0, 3, 60, LAST_CUT])
def test_weights_that_are_searched_have_the_same_integers(database: Any, which: str, cut: int | None) -> None:
    """A question says which weight counts as 1; those that are counted by weight do not know of it."""
    table, aside = crowd(2500, 7910), replace(ASIDES[which], searched=True)
    plain = Together((Weights(), Count(), SecondMoment(Grid(1.0), 2), SquaredWeights(), Norms(Grid(1.0), 2, 2, 3)))
    asked = of_people(plain, replace(aside, cut=cut))
    here = open_source(table, ["x0", "x1"], aside=aside)
    with closing(opened(database, loaded(database, table), ["x0", "x1"], aside=aside)) as source:
        assert source.total(asked).tolist() == here.total(asked).tolist()


class TestWhoIsWho:
    WORDS = ("a", "A", "é", "e\u0301", "É", "a ", " a", "7", "07", "ß", "ss", "a", "", "nan", None)

    def people(self, connection: Any, query: str) -> int:
        with closing(opened(connection, query, ["x"], aside=about("text"))) as source:
            return int(source.n)

    def test_whatever_collation_duckdb_has(self) -> None:
        table = pa.table({"x": [0.5] * len(self.WORDS), "text": list(self.WORDS)})
        with closing(duckdb.connect()) as connection:
            connection.execute("SET default_collation = 'NOCASE.NOACCENT'")
            loaded(connection, table)
            assert connection.execute("SELECT count(DISTINCT text) FROM crowd").fetchone() == (10,)
            assert self.people(connection, "SELECT * FROM crowd") == 11
            assert self.people(connection, "SELECT x, text COLLATE NOCASE AS text FROM crowd") == 11
            kinds = ["a", "A", "é"]
            connection.execute(f"CREATE TABLE kinds (x DOUBLE, text ENUM ({', '.join(map(repr, kinds))}))")
            connection.executemany("INSERT INTO kinds VALUES (0.5, ?)", [[kind] for kind in [*kinds, "a"]])
            assert self.people(connection, "SELECT * FROM kinds") == 3

    def test_whatever_collation_postgres_has(self, postgres: Any) -> None:
        table = pa.table({"x": [0.5] * len(self.WORDS), "text": list(self.WORDS)})
        loaded(postgres, table)
        postgres.execute("CREATE COLLATION alike (provider = icu, locale = 'und-u-ks-level1', deterministic = false)")
        postgres.execute("ALTER TABLE crowd ALTER COLUMN text TYPE text COLLATE alike")
        assert postgres.execute("SELECT count(DISTINCT text) FROM crowd").fetchone()[0] < 11
        assert self.people(postgres, "SELECT * FROM crowd") == 11
        assert self.people(postgres, "SELECT x, CAST(text AS varchar(9)) AS text FROM crowd") == 11
        assert self.people(postgres, "SELECT x, text::char(5) AS text FROM crowd") == 10  # which has no blanks at its end
        postgres.rollback()

    def test_numbers_are_compared_exactly(self, duck: Any) -> None:
        query = "SELECT 0.5e0 AS x, unnest([9223372036854775808, 9223372036854775809, 18446744073709551615, 0])::UBIGINT AS big"
        with closing(opened(duck, query, ["x"], aside=about("big"))) as source:
            assert source.n == 4

    @pytest.mark.parametrize("cells", [[7] * 500, list(range(500)), [None] * 500, [7] * 499 + [None], []])
    def test_one_person_with_all_rows_and_every_row_a_person(self, database: Any, cells: list[Any]) -> None:
        table = pa.table({"x": np.full(len(cells), 0.3), "whole": pa.array(cells, pa.int64())})
        with closing(opened(database, loaded(database, table), ["x"], aside=about("whole"))) as source:
            here = open_source(table, ["x"], aside=about("whole"))
            for question in (SecondMoment(Grid(1.0), 1), Sum(Grid(1.0), 1), ClippedPair(shapes(1)[4].annulus, 1)):
                asked = replace(question, aside=about("whole"))
                assert np.array_equal(source.total(asked), here.total(asked))
            assert source.n == len({cell for cell in cells if cell is not None})

    def test_a_persons_rows_never_count_more_than_one(self, database: Any) -> None:
        """Whatever rows and weights are: one person's moment stays within the square of the radius."""
        draw = np.random.default_rng(7950)
        for rows in (1, 2, 3, 7, 1000):
            columns = {"x": draw.normal(size=rows) * 5, "y": draw.normal(size=rows), "whole": np.full(rows, 3)}
            table = pa.table({**columns, "w": draw.exponential(5, rows)})
            for aside in (about("whole"), about("whole", 0, 1.0), about("whole", 3)):
                with closing(opened(database, loaded(database, table), ["x", "y"], aside=aside)) as source:
                    moment = SecondMoment(Grid(1.0), 2, aside=aside)
                    xx, yy, _ = source.total(moment).tolist()
                    assert 0 < xx + yy <= moment.scaled_reach


PLAIN: dict[str, Any] = {"row_norm": 1.0, "columns": ["x0", "x1"]}
BOUNDS = dpcov.Schema({"x0": dpcov.Numeric(-1, 2), "x1": dpcov.Numeric(-1, 1), "ward": dpcov.Categorical(["north", "south"])})
RELEASES: dict[str, tuple[str, dict[str, Any]]] = {
    "people": ("covariance", {**PLAIN, "unit": "text"}),
    "people of a schema": ("covariance", {"schema": BOUNDS, "unit": "whole"}),
    "people who are counted": ("covariance", {**PLAIN, "unit": "number", "neighbors": "add-remove", "mechanism": "gaussian"}),
    "rows alike": ("covariance", {"schema": BOUNDS, "unit": "whole", "weighting": "rows", "most_rows": 5}),
    "weights": ("covariance", {**PLAIN, "weight": "w", "max_weight": 2.0, "mechanism": "wishart"}),
    "weights of people": ("covariance", {"schema": BOUNDS, "unit": "text", "weight": "w", "max_weight": 2.0}),
    "mean": ("mean", {"radius": 1.0, "columns": ["x0", "x1"], "unit": "text"}),
    "components": ("pca", {"schema": BOUNDS, "k": 2, "unit": "whole"}),
    "regression": ("ridge", {"schema": BOUNDS, "target": "x1", "unit": "whole", "alpha": 0.1}),
    "groups": ("covariance", {"schema": BOUNDS, "by": "ward"}),
    "groups of people": ("covariance", {"schema": BOUNDS, "by": "ward", "unit": "text", "weight": "w", "max_weight": 2.0}),
    "groups in private units": ("covariance", {"schema": BOUNDS, "by": "ward", "unit": "whole", "mechanism": "standardized"}),
    "weights that are searched": (
        "covariance",
        {**PLAIN, "unit": "whole", "weight": "w", "max_weight": 1e6, "clip_weight": "private"},
    ),
    "groups that are counted": (
        "covariance",
        {**PLAIN, "by": {"ward": ["south", "north"]}, "clip": "private", "mechanism": "gaussian"},
    ),
}


@pytest.mark.parametrize("release", RELEASES)
def test_a_seeded_release_is_the_same_byte_by_byte(database: Any, release: str) -> None:
    table = crowd(700, 7960)
    target, settings = RELEASES[release]
    made = getattr(dpcov, target)
    there = made(dpcov.sql(database, loaded(database, table)), dpcov.ApproxDP(2, 1e-6), seed=7, **settings)
    assert text_of(there) == text_of(made(table, dpcov.ApproxDP(2, 1e-6), seed=7, **settings))


class TestRefusedBeforeAnythingIsRead:
    """Rows of these queries cannot be read at all."""

    UNREAD = (
        "SELECT 1e0 / (i - i) + CAST(CAST(i AS text) || 'x' AS integer) AS x, CAST('a' AS text) AS who, 0.5e0 AS w, "
        "CAST(1 AS boolean) AS truth, CAST(1.5 AS decimal(9, 2)) AS long, DATE '2020-01-01' AS day "
        "FROM generate_series(1, 3) AS t(i)"
    )

    @pytest.mark.parametrize(
        ("settings", "told"),
        [
            ({"unit": "nobody"}, "unit must be a column of the data, got 'nobody' and no column of that name"),
            ({"unit": "x"}, "unit must be a column that is no feature, and not that of groups, got 'x'"),
            (
                {"unit": "truth"},
                "unit must be a column of whole numbers, numbers or text, got 'truth' of another declared type",
            ),
            ({"unit": "long"}, "unit must be a column of whole numbers, numbers or text, got 'long'"),
            ({"unit": "day"}, "unit must be a column of whole numbers, numbers or text, got 'day'"),
            ({"weight": "who", "max_weight": 1}, "column 'who' must be numeric"),
            ({"weight": "day", "max_weight": 1}, "column 'day' must be numeric"),
            ({"weight": "w", "max_weight": 0}, "max_weight must be a finite number above 0"),
            ({"unit": "who", "weight": "x", "max_weight": 1}, "weight must be a column that is no feature"),
            ({"by": {"nobody": ["a", "b"]}}, "data must have one column 'nobody'"),
            ({"by": {"w": ["a", "b"]}}, "levels of column 'w' must fit its type, got text levels"),
            ({"by": {"x": [0, 1]}}, "columns must not hold the column of groups"),
            ({"by": {"who": ["a", "b"]}, "unit": "who"}, "unit must be a column that is no feature, and not that of groups"),
            ({"by": {"who": ["a", "b"]}, "mechanism": "frobenius"}, "mechanism 'frobenius'"),
        ],
    )
    def test_columns_and_types(self, database: Any, settings: dict[str, Any], told: str) -> None:
        with pytest.raises(DpcovError, match=told):
            dpcov.covariance(dpcov.sql(database, self.UNREAD), BUDGET, row_norm=1, columns=["x"], **settings)

    def test_rows_are_read_only_then(self, database: Any) -> None:
        """Otherwise the queries above would show nothing."""
        with pytest.raises(EngineError, match="data must be readable to the end"):
            dpcov.covariance(dpcov.sql(database, self.UNREAD), BUDGET, row_norm=1, columns=["x"], unit="who")

    def test_columns_that_stand_twice(self, duck: Any) -> None:
        query = "SELECT 0.5e0 AS x, 'a' AS who, 'b' AS who"
        with pytest.raises(SchemaError, match="unit must be a column of the data, got 'who' and 2 columns of that name"):
            dpcov.covariance(dpcov.sql(duck, query), BUDGET, row_norm=1, columns=["x"], unit="who")

    def test_more_groups_than_a_result_has_room_for(self, duck: Any) -> None:
        wide = f"SELECT 'a' AS ward, {', '.join(f'0e0 AS x{j}' for j in range(60))}"
        by = {"ward": [str(level) for level in range(4096)]}
        with pytest.raises(ParameterError, match="fewer columns, levels or bins for one statement of SQL"):
            dpcov.covariance(dpcov.sql(duck, wide), BUDGET, row_norm=1, mechanism="gaussian", by=by)


WRONG: dict[str, dict[str, Any]] = {
    "capitals alike": {"octets": lambda x: f"encode(lower({x}))"},
    "accents alike": {"octets": lambda x: f"encode(strip_accents({x}))"},
    "blanks that count for nothing": {"octets": lambda x: f"encode(trim({x}))"},
    "texts by a few letters": {"octets": lambda x: f"encode(left({x}, 70))"},
    "blanks that stay": {"said": lambda x: f"lower(trim({x}))"},
    "missing identifiers in small letters": {"said": lambda x: f"trim({x}, {dialects.BLANKS})"},
    "quotients rounded": {"quotient": lambda a, b: f"CAST(round({a} / {b}) AS BIGINT)"},
    "infinite weights": {"infinite": {}},
    "infinite weights below 0": {"infinite": {"float": lambda cell: f"isinf({cell})"}},
    "numbers that are missing": {"infinite": {"float": lambda cell: f"{cell} > 1e0"}},
    "rounding up": {"nearest": lambda x: f"ceil({x})"},
}


class TestADatabaseThatComputesOtherwise:
    @pytest.mark.parametrize("how", WRONG)
    def test_it_is_refused_and_nothing_is_spent(
        self, duck: Any, how: str, accounts: list[Account], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("dpcov.sources.sql.connections.DUCKDB", replace(dialects.DUCKDB, **WRONG[how]))
        data = dpcov.sql(duck, "SELECT 0.5e0 AS x, 'a' AS who, 1e0 AS w FROM range(9)")
        data._checked.add(False)
        with pytest.raises(EngineError, match=r"as this process does, and does not. Nothing was spent"):
            dpcov.covariance(
                data, BUDGET, row_norm=1, columns=["x"], unit="who", weight="w", max_weight=2, mechanism="gaussian"
            )
        assert [account.charged for account in accounts] == [[]]

    def test_both_checks_are_made_once(self, duck: Any) -> None:
        data = dpcov.sql(duck, "SELECT 0.5e0 AS x, i AS who FROM range(9) AS t(i)")
        dpcov.covariance(data, BUDGET, row_norm=1, columns=["x"])
        assert data._checked == {False}
        dpcov.covariance(data, BUDGET, row_norm=1, columns=["x"], unit="who")
        assert data._checked == {False, True}
