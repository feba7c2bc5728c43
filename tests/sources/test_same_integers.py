"""The same cells give the same integers, whatever holds them and however they are read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from numpy.typing import NDArray

import dpcov
from dpcov.kernel.questions.moments import Count, Sum
from dpcov.kernel.rows.grid import Grid
from dpcov.linalg import pack
from dpcov.sources import base, csv_file, tables
from dpcov.sources import parquet as parquet_file
from dpcov.sources.opening import open_source, open_table
from tests.helpers.rows import fuzz
from tests.sources.mixed import (
    CELLS,
    CONTAINERS,
    NUMBERS,
    SCHEMA,
    arrow,
    columns,
    csv_text,
    encoded,
    frame,
    parquet,
    total,
    written,
)

either = pytest.mark.parametrize("center", [False, True])
any_container = pytest.mark.parametrize("container", CONTAINERS)


def some_containers(*sizes: int) -> pytest.MarkDecorator:
    """Give each container one of the sizes in turn; the others to the audit."""
    cases = [
        pytest.param(container, size, marks=() if turn == place % len(sizes) else pytest.mark.audit)
        for place, container in enumerate(CONTAINERS)
        for turn, size in enumerate(sizes)
    ]
    return pytest.mark.parametrize(("container", "rows"), cases)


def by_hand(center: bool, cells: dict[str, list[Any]] = CELLS) -> list[int]:
    z = Grid(1.0, center=center).encode(encoded(center, cells)).astype(np.int64)
    entries: list[int] = pack(z.T @ z).tolist()
    return entries


@either
@any_container
def test_every_container_gives_the_integers_of_plain_python(container: str, center: bool, tmp_path: Path) -> None:
    assert total(CONTAINERS[container](tmp_path), center) == by_hand(center)


def test_the_table_has_what_it_is_about() -> None:
    # Otherwise the equalities above could be about midpoints and zeros only.
    rows = encoded(center=False)
    assert np.all(np.any(rows != rows[0], axis=0))
    assert rows.shape == (240, 13)
    assert by_hand(center=False) != by_hand(center=False, cells=CELLS | {"smoker": CELLS["smoker"][::-1]})
    assert {type(cell) for cells in CELLS.values() for cell in cells} >= {type(None), int, bool, float, str}


@any_container
@pytest.mark.parametrize(("neighbors", "center"), [("replace", True), ("add-remove", False)])
def test_every_container_gives_the_same_release(container: str, neighbors: str, center: bool, tmp_path: Path) -> None:
    def release(data: Any) -> dpcov.Release:
        arguments: dict[str, Any] = {"schema": SCHEMA, "neighbors": neighbors, "center": center, "seed": 7}
        return dpcov.covariance(data, dpcov.PureDP(1), mechanism="wishart", **arguments)

    found, expected = release(CONTAINERS[container](tmp_path)), release(arrow())
    assert [answer.integers.tolist() for answer in found.answers] == [answer.integers.tolist() for answer in expected.answers]
    assert (found.n, found.feature_names, found.spent) == (expected.n, expected.feature_names, expected.spent)
    assert found.covariance.tobytes() == expected.covariance.tobytes()


@either
@any_container
def test_chosen_columns_in_a_chosen_order(container: str, center: bool, tmp_path: Path) -> None:
    names = ["smoker", "größe", "stadt"]
    expected = total(arrow(), center, dpcov.Schema({name: SCHEMA.columns[name] for name in names}))
    assert total(CONTAINERS[container](tmp_path), center, names=names) == expected


def as_array(dtype: Any = np.float64) -> NDArray[Any]:
    return np.array([[np.nan if cell is None else float(cell) for cell in CELLS[name]] for name in NUMBERS], dtype=dtype).T


@either
@pytest.mark.parametrize("layout", [np.ascontiguousarray, np.asfortranarray, lambda array: np.repeat(array, 2, axis=1)[:, ::2]])
def test_an_array_takes_the_names_of_its_schema(layout: Any, center: bool) -> None:
    schema = SCHEMA.select(NUMBERS)
    assert total(layout(as_array()), center, schema) == total(arrow(), center, names=NUMBERS)
    assert total(layout(as_array(">f8")), center, schema, names=NUMBERS[::-1]) == total(arrow(), center, names=NUMBERS[::-1])
    ignoring = dpcov.Schema(dict(schema.columns) | {"member": dpcov.Ignored()})
    left = [name for name in NUMBERS if name != "member"]
    assert total(layout(as_array()), center, ignoring) == total(arrow(), center, names=left)


def test_an_array_of_truth_values() -> None:
    schema = dpcov.Schema({"a": dpcov.Categorical([True]), "b": dpcov.Numeric(0, 1)})
    cells = np.array([[True, False], [False, True], [True, True]])
    assert total(cells, True, schema) == total(pd.DataFrame(cells, columns=["a", "b"]), True, schema)


def test_a_column_called_like_a_field_of_another(tmp_path: Path) -> None:
    cells = pa.array([1.0, 0.25])
    table = pa.table({"s": [{"x": 9.0, "y": 8.0}] * 2, "y": cells, "s.x": cells, "s.x.z": [[7.0]] * 2})
    for names in (["s.x"], ["y", "s.x"]):
        expected = total(pa.table(dict.fromkeys(names, cells)), True, None)
        assert total(parquet(tmp_path, table), True, None, names) == total(table, True, None, names) == expected


@any_container
def test_names_and_types_are_known_before_reading(container: str, tmp_path: Path) -> None:
    table = open_table(CONTAINERS[container](tmp_path))
    assert set(CELLS) <= set(table.names)
    assert len(table.types) == len(table.names)


@either
def test_positions_are_names(center: bool, tmp_path: Path) -> None:
    for container in ("pandas objects", "arrow table", "csv"):
        source = open_source(CONTAINERS[container](tmp_path), [4, 0], SCHEMA, center)
        assert source.feature_names[-1] == "height"
        assert source.feature_names[0] == "stadt=Zürich"


@pytest.mark.parametrize("row_norm", [1.0, 50.0])
def test_without_a_schema_every_container_of_numbers_is_its_array(row_norm: float, tmp_path: Path) -> None:
    grid, names = Grid(row_norm, center=True), NUMBERS
    expected = open_source(as_array()).total(Sum(grid, 6)).tolist()
    for container, make in CONTAINERS.items():
        source = open_source(make(tmp_path), names)
        assert source.feature_names == tuple(names)
        assert source.total(Sum(grid, 6)).tolist() == expected, container


class TestRowsAreReadOneByOne:
    @some_containers(1, 17)
    def test_batches_of_any_size(self, container: str, rows: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        data = CONTAINERS[container](tmp_path)
        monkeypatch.setattr(tables, "BATCH_ROWS", rows)
        monkeypatch.setattr(parquet_file, "PARQUET_ROWS", rows)
        monkeypatch.setattr(csv_file, "CSV_BLOCK", 150 * rows)  # bytes; the longest line has fewer
        assert total(data, center=True) == by_hand(center=True)

    @some_containers(1, 50)
    def test_blocks_of_any_size(self, container: str, rows: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(base, "BLOCK_ELEMENTS", 1)
        monkeypatch.setattr(base, "BLOCK_ROWS", rows)
        assert total(CONTAINERS[container](tmp_path), center=True) == by_hand(center=True)

    @either
    def test_permuting_splitting_and_removing_rows(self, center: bool, tmp_path: Path) -> None:
        table = arrow(columns(150, seed=72))
        whole = total(table, center)
        order = np.random.default_rng(73).permutation(150)
        for other in (table.take(order), pl_rows(table, order), table.to_pandas(types_mapper=pd.ArrowDtype).iloc[order]):
            assert total(other, center) == whole
        for cut in (0, 1, 77, 150):
            parts = zip(total(table[:cut], center), total(parquet(tmp_path, table[cut:]), center), strict=True)
            assert [a + b for a, b in parts] == whole
        for gone in range(0, 150, 10):
            alone, kept = table[gone : gone + 1], table.take(np.delete(np.arange(150), gone))
            assert [a - b for a, b in zip(whole, total(kept, center), strict=True)] == total(alone, center)

    def test_a_csv_file_in_two_halves(self, tmp_path: Path) -> None:
        lines = csv_text(cells=columns(60, seed=74)).encode().splitlines(keepends=True)
        halves = [
            written(tmp_path, f"{cut.start}.csv", b"".join([lines[0], *lines[cut]])) for cut in (slice(1, 30), slice(30, None))
        ]
        whole = written(tmp_path, "whole.csv", b"".join(lines))
        parts = zip(*(total(half, True) for half in halves), strict=True)
        assert [a + b for a, b in parts] == total(whole, True)


@either
@pytest.mark.parametrize("d", [1, 2, 13, 50])
@pytest.mark.parametrize("row_norm", [1.0, 0.3, 1e150])
def test_the_layout_of_a_block_cannot_be_seen(d: int, row_norm: float, center: bool) -> None:
    grid, rows = Grid(row_norm, center=center), fuzz(75, 400, d)
    z = grid.encode(rows)
    for same in (
        np.asfortranarray(rows),
        np.repeat(rows, 2, axis=1)[:, ::2],
        np.repeat(rows, 2, axis=0)[::2],
        rows[:, ::-1][:, ::-1],
    ):
        assert np.array_equal(grid.encode(same), z)
        assert np.array_equal(grid.encode(same.copy(order="K"), scratch=True), z)


@any_container
def test_rows_are_counted(container: str, tmp_path: Path) -> None:
    data = CONTAINERS[container](tmp_path)
    source = open_source(data, None, SCHEMA)
    assert source.known_n in (None, 240)
    assert source.total(Count()).tolist() == [240]
    assert (source.n, source.known_n) == (240, 240)


def test_the_source_is_left_alone() -> None:
    data, array = frame(), as_array()
    before, cells = data.copy(deep=True), array.tobytes()
    total(data, True)
    total(array, False, SCHEMA.select(NUMBERS))
    total(array, False, None)
    pd.testing.assert_frame_equal(data, before)
    assert array.tobytes() == cells


def test_progress_ends_at_one_or_is_unknown(tmp_path: Path) -> None:
    for container, make in CONTAINERS.items():
        seen: list[float | None] = []
        open_source(make(tmp_path), None, SCHEMA, progress=seen.append).total(Count())
        known = [fraction for fraction in seen if fraction is not None]
        assert known == sorted(known), container
        assert all(0 <= fraction <= 1 for fraction in known), container


def pl_rows(table: Any, order: NDArray[np.intp]) -> Any:
    import polars as pl

    return pl.DataFrame(pl.from_arrow(table))[order.tolist()]


def test_a_batch_is_a_table() -> None:
    batch = arrow().combine_chunks().to_batches()[0]
    assert isinstance(batch, pa.RecordBatch)
    assert total(batch, True) == by_hand(True)
