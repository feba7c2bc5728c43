"""Derived columns: the same integers from every container and in blocks of any size, each row by itself."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

import dpcov
from dpcov.errors import SchemaError
from dpcov.kernel.questions.moments import SecondMoment
from dpcov.kernel.rows.grid import Grid
from dpcov.schema import Categorical, Numeric, Product, Schema
from dpcov.sources import base, csv_file, tables
from dpcov.sources import parquet as parquet_file
from dpcov.sources.arrow import ArrowSource
from dpcov.sources.opening import open_source
from tests.sources.mixed import parquet, written
from tests.sources.test_by_column import rows_of

Floats = NDArray[np.float64]
NAN, INF = math.nan, math.inf

SCHEMA = Schema(
    {
        "x": Numeric(-2, 5, nullable=True, missing="flag"),
        "income": Numeric(1.5, 1e6, transform="log"),
        "grade": Categorical([1, 2, 3]),
        "x squared": Numeric(-2, 5, of="x", transform="square", about=1),
        "root": Numeric(0, 9, of="y", transform="sqrt", weight=2),
        "x * income": Product(["x", "log(income)"]),
        "x * 2": Product(["grade=2", "x"]),
        "2 * y": Product(["root", "grade=2"]),
    }
)
NUMBERS = (None, NAN, INF, -INF, 1e308, -1e308, 5e-324, -0.0, 0.0, -2.0, 5.0, 1.0, 2.0, 3.0, 0.1, 4.99999, 7.0, 123456.75)
CASES = st.lists(st.tuples(*[st.one_of(st.sampled_from(NUMBERS), st.floats(-10, 10))] * 4), max_size=6)
ROWS: list[tuple[float | None, ...]] = [
    tuple(NUMBERS[place] for place in places)
    for places in np.random.default_rng(31).integers(0, len(NUMBERS), (240, 4)).tolist()
]
TABLE = ("x", "income", "grade", "y")


def by_hand(row: tuple[float | None, ...]) -> list[float]:
    """The row by column, in plain Python: each cell is clipped, then transformed; missing where one is missing."""
    cells = dict(zip(TABLE, row, strict=True))

    def clipped(name: str, low: float, high: float) -> float:
        cell = cells[name]
        return NAN if cell is None or not math.isfinite(cell) else min(max(cell, low), high)

    x, y, grade = clipped("x", -2, 5), clipped("y", 0, 9), cells["grade"]
    income = math.log(clipped("income", 1.5, 1e6)) if not math.isnan(clipped("income", 1.5, 1e6)) else NAN
    is_two = float(grade == 2) if grade in (1, 2, 3) else NAN
    level = float([1, 2, 3].index(grade)) if grade in (1, 2, 3) else NAN  # type: ignore[arg-type]
    root = math.sqrt(y) if not math.isnan(y) else NAN
    return [x, float(not math.isnan(x)), income, level, (x - 1) * (x - 1), root, x * income, is_two * x, root * is_two]


def decoded(rows: Floats) -> Floats:
    """Rows by column in the user's units; levels are positions."""
    found = rows.copy()
    for place, (column, offset, scale) in enumerate(SCHEMA.encodings(True)):
        if isinstance(column, Numeric):
            found[:, place] = rows[:, place] * scale + offset
    return found


def arrow(rows: list[tuple[float | None, ...]] = ROWS) -> Any:
    cells = list(zip(*rows, strict=True)) or [()] * len(TABLE)
    return pa.table({name: pa.array(list(column), pa.float64()) for name, column in zip(TABLE, cells, strict=True)})


def array() -> Floats:
    return np.array([[NAN if cell is None else cell for cell in row] for row in ROWS])


def csv_text() -> bytes:
    lines = [",".join("" if cell is None else repr(cell) for cell in row) for row in ROWS]
    return "\n".join([",".join(TABLE), *lines, ""]).encode()


CONTAINERS: dict[str, Any] = {
    "array": lambda _: array(),
    "array by columns": lambda _: np.asfortranarray(array()),
    "every second of an array": lambda _: np.repeat(array(), 2, axis=0)[::2],
    "arrow": lambda _: arrow(),
    "arrow in other orders": lambda _: arrow().select(["y", "income", "x", "grade"]),
    "pandas": lambda _: pd.DataFrame(array(), columns=list(TABLE)),
    "polars": lambda _: pl.from_arrow(arrow()),
    "parquet": lambda folder: parquet(folder, arrow()),
    "csv": lambda folder: written(folder, "t.csv", csv_text()),
}
any_container = pytest.mark.parametrize("container", CONTAINERS)


def total(data: Any, center: bool = True) -> list[int]:
    source, grid = open_source(data, None, SCHEMA, center), Grid(1.0, center=center)
    entries: list[int] = source.total(SecondMoment(grid, grid.width(source.d))).tolist()
    return entries


@given(CASES)
@settings(max_examples=200)
def test_cells_are_clipped_then_transformed_then_multiplied(rows: list[tuple[float | None, ...]]) -> None:
    found = decoded(rows_of(open_source(arrow(rows), None, SCHEMA, True)))
    expected = np.array([by_hand(row) for row in rows]).reshape(-1, 9)
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9, equal_nan=True)


def test_the_rows_have_what_they_are_about() -> None:
    rows = np.array([by_hand(row) for row in ROWS])
    assert (np.isnan(rows).sum(axis=0)[[0, 2, 3, 4, 5, 6, 7, 8]] > 20).all()
    assert all(len(np.unique(column[~np.isnan(column)])) > 2 for column in rows.T[[0, 2, 4, 5, 6, 7, 8]])


@any_container
@pytest.mark.parametrize("center", [False, True])
def test_every_container_gives_the_same_integers(container: str, center: bool, tmp_path: Path) -> None:
    assert total(CONTAINERS[container](tmp_path), center) == total(arrow(), center)


@any_container
def test_every_container_has_the_same_cells(container: str, tmp_path: Path) -> None:
    found = rows_of(open_source(CONTAINERS[container](tmp_path), None, SCHEMA, True))
    assert found.tobytes() == rows_of(open_source(arrow(), None, SCHEMA, True)).tobytes()


@any_container
@pytest.mark.parametrize("rows", [1, 7])
def test_blocks_of_any_size(container: str, rows: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data, whole = CONTAINERS[container](tmp_path), total(arrow())
    monkeypatch.setattr(base, "BLOCK_ELEMENTS", 1)
    monkeypatch.setattr(base, "BLOCK_ROWS", rows)
    monkeypatch.setattr(tables, "BATCH_ROWS", rows)
    monkeypatch.setattr(parquet_file, "PARQUET_ROWS", rows)
    monkeypatch.setattr(csv_file, "CSV_BLOCK", 150 * rows)
    assert total(data) == whole


def test_a_row_adds_what_it_adds_alone() -> None:
    """So replacing, adding or removing one row changes what that row adds, and nothing else."""
    whole = np.array(total(arrow()))
    order = np.random.default_rng(32).permutation(len(ROWS))
    assert total(arrow().take(order)) == whole.tolist()
    for gone in range(0, len(ROWS), 12):
        kept = arrow().take(np.delete(np.arange(len(ROWS)), gone))
        assert (whole - np.array(total(kept))).tolist() == total(arrow()[gone : gone + 1])


@given(CASES)
@settings(max_examples=100)
def test_rows_have_norm_at_most_one(rows: list[tuple[float | None, ...]]) -> None:
    for center in (False, True):
        source = open_source(arrow(rows), None, SCHEMA, center)
        assert isinstance(source, ArrowSource)
        for block in source._blocks(100):
            assert np.isfinite(block).all()
            assert np.linalg.norm(block, axis=1).max(initial=0) <= 1 + 1e-9


class TestRefusals:
    """Before a row is read, by name."""

    def test_a_column_that_a_product_needs(self) -> None:
        table = arrow().drop_columns(["grade"])
        with pytest.raises(SchemaError, match="must have one column 'grade', got no column of that name"):
            open_source(table, ["x * 2"], SCHEMA)

    def test_a_declared_type_that_does_not_fit(self) -> None:
        table = arrow().set_column(3, "y", pa.array(["a"] * len(ROWS)))
        with pytest.raises(SchemaError, match="column 'y' must be numeric"):
            open_source(table, ["2 * y"], SCHEMA)

    def test_an_array_of_other_columns(self) -> None:
        with pytest.raises(SchemaError, match="got 4 descriptions for 3 columns"):
            open_source(array()[:, :3], None, SCHEMA)

    def test_nothing_is_spent(self) -> None:
        class Watched:
            def __arrow_c_stream__(self, requested: object = None) -> object:
                def batches() -> Any:
                    raise AssertionError("a row was read")
                    yield

                kinds = pa.schema([("x", pa.string()), ("income", pa.float64()), ("grade", pa.float64()), ("y", pa.float64())])
                return pa.RecordBatchReader.from_batches(kinds, batches()).__arrow_c_stream__(requested)

        with pytest.raises(SchemaError, match="column 'x' must be numeric"):
            dpcov.covariance(Watched(), dpcov.PureDP(1), schema=SCHEMA)


def test_only_what_is_used_is_read() -> None:
    source = open_source(arrow(), ["x squared"], SCHEMA, True)
    assert source.feature_names == ("x squared",)
    broken = arrow().select(["x"])
    assert rows_of(open_source(broken, ["x squared"], SCHEMA, True)).tobytes() == rows_of(source).tobytes()
