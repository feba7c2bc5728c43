"""Statements that somebody else runs: the same release from their sums, which nobody else may read, and nothing else."""

from __future__ import annotations

import datetime
import os
from pathlib import Path
from typing import Any

import duckdb
import pytest

import dpcov
from dpcov.errors import DpcovError, EngineError, ParameterError, SchemaError
from dpcov.kernel.questions.groups import GroupCounts, GroupedMoment
from dpcov.kernel.questions.moments import Count, SecondMoment, Sum
from dpcov.kernel.questions.norms import Trace
from dpcov.kernel.rows.aside import aside_of
from dpcov.kernel.rows.grid import Grid
from dpcov.release.file import text_of
from dpcov.sources.opening import open_source
from dpcov.sources.sql.printed import fits
from tests.cli.shell import call
from tests.engines.databases import in_duckdb
from tests.sources.mixed import SCHEMA, arrow

QUERY = "SELECT height, stadt, grade, smoker, stadt AS who, height AS w FROM people"
TABLE = arrow().append_column("who", arrow()["stadt"]).append_column("w", arrow()["height"])
SMALL = SCHEMA.select(["height", "stadt", "grade", "smoker"])
BUDGET = dpcov.ZCDP(1)


def statement(dialect: str = "duckdb", **settings: Any) -> str:
    with pytest.raises(dpcov.SqlToRun) as found:
        dpcov.covariance(dpcov.sql_text(QUERY, dialect), **({"budget": BUDGET} | settings))
    return found.value.statement


def sums(folder: Path, **settings: Any) -> Path:
    """What an administrator brings back: with a line of names, and quotes around the cell."""
    [(cell,)] = in_duckdb().execute(statement(**settings)).fetchall()
    path = folder / "sums.csv"
    path.write_text(f'sums\n"{cell}"\n', encoding="ascii")
    path.chmod(0o600)
    return path


OTHER = dpcov.ApproxDP(1, 1e-6)
"""A budget of which nothing is spent on the sum of squared weights."""

SETTINGS: dict[str, dict[str, Any]] = {
    "gaussian": {"mechanism": "gaussian"},
    "add-remove": {"mechanism": "gaussian", "neighbors": "add-remove"},
    "projection": {"mechanism": "projection", "center": False},
    "some columns": {"mechanism": "gaussian", "columns": ["smoker", "height"]},
    "people": {"mechanism": "gaussian", "unit": "who"},
    "people who are counted": {"mechanism": "gaussian", "unit": "who", "neighbors": "add-remove"},
    "rows alike": {"mechanism": "gaussian", "unit": "who", "weighting": "rows", "most_rows": 40},
    "weights": {"mechanism": "gaussian", "weight": "w", "max_weight": 3.0, "budget": OTHER},
    "weights of people": {"mechanism": "wishart", "unit": "who", "weight": "w", "max_weight": 3.0, "budget": OTHER},
    "groups": {"mechanism": "gaussian", "by": "stadt"},
    "groups of people": {"mechanism": "gaussian", "by": "grade", "unit": "who", "weighting": "rows", "most_rows": 9},
    "groups of some columns": {"mechanism": "gaussian", "by": "grade", "columns": ["smoker", "height"]},
}


@pytest.mark.parametrize("how", SETTINGS)
def test_a_seeded_release_is_the_same_byte_by_byte(how: str, tmp_path: Path) -> None:
    settings: dict[str, Any] = {"schema": SMALL, "seed": 7, "budget": BUDGET, **SETTINGS[how]}
    here = dpcov.covariance(TABLE, **settings)
    path = sums(tmp_path, **settings)
    assert text_of(dpcov.covariance(dpcov.sql_text(QUERY, exact_sums=path), **settings)) == text_of(here)
    assert not path.exists()


@pytest.mark.parametrize("dialect", ["duckdb", "postgres", "spark"])
def test_each_dialect_has_its_own_words(dialect: str) -> None:
    text = statement(dialect, schema=SMALL, mechanism="gaussian")
    assert ("float8" in text, "MATERIALIZED" in text, "rint(" in text) == {
        "duckdb": (False, True, False),
        "postgres": (True, False, False),
        "spark": (False, False, True),
    }[dialect]


@pytest.mark.parametrize("mechanism", ["auto", "rescaled", "standardized", "adaptive", "coinpress"])
def test_what_reads_more_than_once_is_refused(mechanism: str) -> None:
    with pytest.raises(ParameterError, match=r"mechanism must (read the rows once|ask for sums alone) where somebody else"):
        dpcov.covariance(
            dpcov.sql_text(QUERY, "postgres"), BUDGET, schema=SMALL, mechanism=mechanism, neighbors="replace",
            center=mechanism in ("auto", "standardized"),
        )  # fmt: skip


@pytest.mark.parametrize(
    "more",
    [
        {"mechanism": "projection", "neighbors": "add-remove"},
        {"mechanism": "gaussian", "weight": "w", "max_weight": 3.0},
        {"mechanism": "gaussian", "by": "grade"},
    ],
    ids=["rows that are counted", "weights", "groups"],
)
def test_a_second_reading_is_refused(more: dict[str, Any]) -> None:
    """Of sums alone: a count, and then the others. Before anything is spent, and not when it is asked for."""
    with pytest.raises(ParameterError, match="mechanism must read the rows once where somebody else runs the statement"):
        dpcov.covariance(dpcov.sql_text(QUERY, "postgres"), BUDGET, schema=SMALL, center=False, **more)


@pytest.mark.parametrize(
    ("more", "told"),
    [
        ({"unit": "height"}, "unit, weight and by must be different columns that are no features"),
        ({"weight": "smoker", "max_weight": 1.0}, "unit, weight and by must be different columns"),
        ({"unit": "stadt", "by": "stadt"}, "unit, weight and by must be different columns"),
    ],
)
def test_what_stands_beside_is_no_feature(more: dict[str, Any], told: str) -> None:
    with pytest.raises(ParameterError, match=told):
        dpcov.covariance(dpcov.sql_text(QUERY, "duckdb"), BUDGET, schema=SMALL, mechanism="gaussian", **more)


def test_groups_with_too_many_sums() -> None:
    """There is one sum for each group and entry; inside a database that this process reaches, one for each entry."""
    by = {"w": [str(level) for level in range(2000)]}
    with pytest.raises(ParameterError, match="groups must have at most 8192 sums together where somebody else runs"):
        statement(row_norm=1, columns=["height", "grade"], by=by, mechanism="gaussian", center=True)


@pytest.mark.parametrize("unit", ["grade", "smoker"])
def test_identifiers_that_are_no_text_are_refused_there(unit: str, request: pytest.FixtureRequest) -> None:
    """By their declared type: as text two numbers might be one person's, and infinite ones somebody's."""
    import psycopg

    asked: dict[str, Any] = {"row_norm": 1, "columns": ["height"], "unit": unit, "mechanism": "gaussian"}
    with pytest.raises(duckdb.BinderException):
        in_duckdb().execute(statement(**asked))
    with psycopg.connect(request.getfixturevalue("server")) as connection, pytest.raises(psycopg.errors.UndefinedFunction):
        connection.execute(statement("postgres", **asked))


def test_in_postgres(tmp_path: Path, postgres: Any) -> None:
    """Statements that are printed have this process's sums there, too."""
    for how in ("weights of people", "groups"):
        settings: dict[str, Any] = {"schema": SMALL, "seed": 7, "budget": BUDGET, **SETTINGS[how]}
        [cell] = postgres.execute(statement("postgres", **settings)).fetchone()
        path = tmp_path / "sums.txt"
        path.write_text(cell, encoding="ascii")
        path.chmod(0o600)
        there = dpcov.covariance(dpcov.sql_text(QUERY, exact_sums=path), **settings)
        assert text_of(there) == text_of(dpcov.covariance(TABLE, **settings))


def test_weights_are_those_of_rows_that_are_read_once(tmp_path: Path) -> None:
    """Their squares are not asked for, as of a stream."""
    settings: dict[str, Any] = {"schema": SMALL, "seed": 7, "mechanism": "gaussian", "weight": "w", "max_weight": 3.0}
    path = sums(tmp_path, **settings)
    there = dpcov.covariance(dpcov.sql_text(QUERY, exact_sums=path), BUDGET, **settings)
    assert text_of(there) == text_of(dpcov.covariance(TABLE.to_reader(), BUDGET, **settings))
    with pytest.raises(ParameterError, match="clip_weight='private'"):
        statement(**settings | {"clip_weight": "private"})


class TestTheFile:
    settings: dict[str, Any] = {"schema": SMALL, "mechanism": "gaussian"}  # noqa: RUF012 - never changed

    def refused(self, path: Path, told: str, kind: type[DpcovError] = EngineError, **settings: Any) -> None:
        with pytest.raises(kind, match=told) as caught:
            dpcov.covariance(dpcov.sql_text(QUERY, exact_sums=path), BUDGET, **(self.settings | settings))
        assert not any(number in str(caught.value) for number in ("240", "4294967296"))
        assert path.exists()

    @pytest.mark.parametrize("mode", [0o644, 0o640, 0o604, 0o620])
    def test_others_must_not_read_it(self, tmp_path: Path, mode: int) -> None:
        path = sums(tmp_path, **self.settings)
        path.chmod(mode)
        self.refused(path, "exact sums must be in a file that only you can read")

    def test_it_is_no_link(self, tmp_path: Path) -> None:
        path = sums(tmp_path, **self.settings)
        link = tmp_path / "link"
        link.symlink_to(path)
        self.refused(link, "exact sums must be in a file that only you can read")

    def test_it_has_one_name(self, tmp_path: Path) -> None:
        """Under another one the sums would stay."""
        path = sums(tmp_path, **self.settings)
        (tmp_path / "other").hardlink_to(path)
        self.refused(path, "exact sums must be in a file that only you can read, got 'sums.csv', which has other names")

    @pytest.mark.parametrize("make", [Path.mkdir, os.mkfifo], ids=["folder", "pipe"])
    def test_it_is_a_file(self, tmp_path: Path, make: Any) -> None:
        path = tmp_path / "sums"
        make(path, 0o600)
        self.refused(path, "exact sums must be in a file that only you can read")

    def test_it_is_read_to_the_end_or_not_at_all(self, tmp_path: Path) -> None:
        """A last number that is cut short is another one."""
        path = sums(tmp_path, **self.settings)
        cell = path.read_text(encoding="ascii").split('"')[1]
        path.write_text(cell.rjust(2**24 + 1), encoding="ascii")
        self.refused(path, "exact sums must be in a file that only you can read, of at most 16 MB")

    def test_it_can_be_deleted(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        path = sums(tmp_path, **self.settings)

        def held(_: Path) -> None:
            raise PermissionError(13, "Permission denied")

        monkeypatch.setattr(Path, "unlink", held)
        self.refused(path, r"exact sums must be in a file that can be deleted, got 'sums.csv' \(Permission denied\)")

    def test_it_is_of_this_statement(self, tmp_path: Path) -> None:
        path = sums(tmp_path, **self.settings)
        self.refused(path, "exact sums must be those of the printed statement", center=False)
        self.refused(path, "exact sums must be those of the printed statement", schema=SMALL.select(["height"]))

    @pytest.mark.parametrize(
        ("change", "told"),
        [
            (lambda cell: cell + ",1", "those of the printed statement"),
            (lambda cell: cell.rpartition(",")[0], "those of the printed statement"),
            (lambda cell: cell + '"\n"' + cell, "those of the printed statement"),
            (lambda cell: cell.replace(",", ".5,", 1), "those of the printed statement"),
            (lambda cell: cell + ".5", "those of the printed statement"),
            (lambda cell: cell + "e3", "those of the printed statement"),
            (lambda cell: cell + "0" * 5000, "those of the printed statement"),
            (lambda cell: cell.replace(" 240,", " 3,"), "what rows can have"),
            (lambda cell: cell.replace(",", ",-", 1), "what rows can have"),
        ],
    )
    def test_it_holds_what_rows_can_have(self, tmp_path: Path, change: Any, told: str) -> None:
        path = sums(tmp_path, **self.settings)
        cell = path.read_text(encoding="ascii").split('"')[1]
        path.write_text(f'"{change(cell)}"\n', encoding="ascii")
        self.refused(path, told)

    def test_it_is_used_once(self, tmp_path: Path) -> None:
        path = sums(tmp_path, **self.settings)
        dpcov.covariance(dpcov.sql_text(QUERY, exact_sums=path), BUDGET, **self.settings)
        with pytest.raises(EngineError, match="No such file"):
            dpcov.covariance(dpcov.sql_text(QUERY, exact_sums=path), BUDGET, **self.settings)


class TestWhatRowsCanHave:
    """Sums of n rows of length 1 at most, on the grid: by their number, and by Cauchy and Schwarz."""

    GRID = Grid(1.0, bits=1)  # 4 is the largest square
    PEOPLE, WEIGHTS = aside_of("who", 16, 2**26), aside_of("", 16, 2**26, 0, "w", 1.0)  # 4 and 18 bits finer

    @pytest.mark.parametrize(
        ("asked", "n", "right", "wrong"),
        [
            (Count(), 3, [3], [4]),
            (Trace(GRID, 2), 3, [12], [13]),
            (Trace(GRID, 2), 3, [0], [-1]),
            (Sum(GRID, 2), 3, [6, 0], [6, 1]),
            (Sum(GRID, 2, aside=PEOPLE), 3, [6 << 18, 0], [6 << 18, 1]),
            (Count(aside=WEIGHTS), 3, [3 << 18], [(3 << 18) + 1]),
            (Count(aside=WEIGHTS), 3, [0], [-1]),
            (SecondMoment(GRID, 1, aside=PEOPLE), 3, [12 << 4], [(12 << 4) + 1]),
            (GroupCounts(2), 3, [2, 1], [2, 2]),
            (GroupedMoment(GRID, 2, 2), 3, [4, 2, 1, 5, -2, 2], [4, 2, 1, 5, -2, 3]),
            (GroupedMoment(GRID, 1, 2), 3, [8, 4], [8, 5]),
            (SecondMoment(GRID, 2), 3, [6, 6, 6], [6, 6, 7]),
            (SecondMoment(GRID, 2), 3, [12, 0, 0], [12, 1, 0]),
            (SecondMoment(Grid(1.0), 1), 2**31, [-1], None),  # it may have wrapped
        ],
    )
    def test_it_is_told_from_what_they_cannot(self, asked: Any, n: int, right: list[int], wrong: list[int] | None) -> None:
        assert fits(n, asked, right)
        assert wrong is None or not fits(n, asked, wrong)


def test_how_many_features_is_known_before_anything_is_read() -> None:
    assert open_source(dpcov.sql_text(QUERY, "duckdb"), None, SMALL).d == len(SMALL.feature_names)


def test_dates_are_days_there() -> None:
    day = dpcov.Numeric(datetime.date(2020, 1, 1), datetime.date(2021, 1, 1))
    with pytest.raises(SchemaError, match="bounds must be numbers where somebody else runs the statement, got dates"):
        dpcov.covariance(dpcov.sql_text(QUERY, "duckdb"), BUDGET, schema=dpcov.Schema({"day": day}), mechanism="gaussian")


def test_columns_are_named() -> None:
    with pytest.raises(SchemaError, match="columns must be named"):
        dpcov.covariance(dpcov.sql_text(QUERY, "duckdb"), BUDGET, row_norm=1, columns=[0, 1], mechanism="gaussian")
    with pytest.raises(SchemaError, match="columns must be named where nobody here can see the table"):
        dpcov.covariance(dpcov.sql_text(QUERY, "duckdb"), BUDGET, row_norm=1, mechanism="gaussian")
    with pytest.raises(ParameterError, match="dialect or exact_sums must be given"):
        dpcov.sql_text(QUERY)
    with pytest.raises(ParameterError, match="dialect must be one of"):
        dpcov.sql_text(QUERY, "oracle")


def test_in_the_shell(tmp_path: Path) -> None:
    asked = ["--query", "SELECT 0.5e0 AS x, 0.25e0 AS y FROM range(9)", "--rho", "1", "--row-norm", "1", "--columns", "x,y"]
    asked += ["--mechanism", "gaussian", "--seed", "7"]
    printed = call("release", *asked, "--print-sql", "duckdb")
    path = tmp_path / "sums.txt"
    path.write_text(duckdb.connect().execute(printed.out).fetchall()[0][0], encoding="ascii")
    path.chmod(0o600)
    target = tmp_path / "out.json"
    assert call("release", *asked, "--exact-sums", path, "-o", target, "--quiet").code == 0
    assert dpcov.load(target).n == 9
    assert not path.exists()
