"""Rows by column: the same for whatever holds the table, in batches of any size; kept while they are few, and read seldom."""

from __future__ import annotations

import weakref
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from numpy.typing import NDArray

import dpcov
from dpcov.errors import EngineError, ParameterError
from dpcov.kernel.questions.moments import EXACT, Count, SecondMoment
from dpcov.kernel.questions.norms import Norms
from dpcov.kernel.questions.table import ColumnMoments, Histograms, LevelCounts, Range
from dpcov.kernel.questions.together import Together
from dpcov.kernel.rows.columns import Columns
from dpcov.kernel.rows.encoding import Encoding
from dpcov.kernel.rows.grid import Grid
from dpcov.kernel.rows.standard import LevelUnits, NumericUnits, Standard, Units
from dpcov.kernel.sums import ExactSums
from dpcov.schema import Numeric, Schema
from dpcov.sources import arrow as arrow_module
from dpcov.sources import base, csv_file, tables
from dpcov.sources import parquet as parquet_file
from dpcov.sources.array import ArraySource
from dpcov.sources.arrow import ArrowSource
from dpcov.sources.csv_file import CsvTable
from dpcov.sources.kept import KeptSource
from dpcov.sources.opening import open_source
from dpcov.sources.tables import StreamTable
from tests.sources.mixed import CELLS, CONTAINERS, NUMBERS, SCHEMA, arrow, columns, csv_text, written

Floats = NDArray[np.float64]
ONCE = ("arrow reader, once",)
any_container = pytest.mark.parametrize("container", CONTAINERS)


class Blocks:
    """A statistic that is all of the rows, block by block."""

    name, max_block, shape, by_column = "rows", EXACT, (1,), True

    def __init__(self) -> None:
        self.blocks: list[Floats] = []

    def of(self, rows: Floats, *, scratch: bool = False) -> NDArray[np.int64]:
        assert not scratch  # the source may keep them
        self.blocks.append(rows.copy())
        return np.zeros(1, dtype=np.int64)

    def entries(self, total: NDArray[np.int64]) -> NDArray[np.int64]:
        return total


def rows_of(source: Any) -> Floats:
    keep = Blocks()
    source.total(keep)
    return np.concatenate(keep.blocks)


def by_hand(cells: dict[str, list[Any]] = CELLS, schema: Schema = SCHEMA) -> Floats:
    """Each cell in plain Python: about the midpoint, in its scale; the place of its level; NaN for all else."""
    found = []
    for name, (column, offset, scale) in zip(schema.used, schema.encodings(True), strict=True):
        if isinstance(column, Numeric):
            numbers = [float("nan") if cell is None else float(cell) for cell in cells[name]]
            finite = [x if np.isfinite(x) else float("nan") for x in numbers]
            clipped = [x if x != x else min(max(x, column.lower), column.upper) for x in finite]
            found.append([(x - offset) * (1 / scale) for x in clipped])
        else:
            levels = list(column.levels)
            found.append([float(levels.index(cell)) if cell is not None and cell in levels else np.nan for cell in cells[name]])
    return np.array(found).T


def same(rows: Floats, others: Floats) -> bool:
    """Whether rows are those by hand, but for the last digit of a decimal number."""
    return rows.shape == others.shape and np.allclose(rows, others, rtol=0, atol=1e-15, equal_nan=True)


def units(schema: Schema = SCHEMA) -> Units:
    """Other units for each column; the second of numbers is constant."""
    of = Columns.of(schema)
    numeric = tuple(
        NumericUnits(-0.5 * r, 0.75 * r, 0.1 * r, 0.0 if i == 1 else 0.2 * r) for i, (_, r) in enumerate(of.numeric)
    )
    levels = tuple(LevelUnits(tuple(range(n)), (1 / n,) * n, tuple(0.5 + j / n for j in range(n))) for _, n in of.levels)
    return Units(of, numeric, levels)


def questions(schema: Schema = SCHEMA) -> list[Any]:
    of, own = Columns.of(schema), units(schema)
    asked: list[Any] = [Histograms(of, 7), LevelCounts(of)]
    asked += [Norms(Standard(own, 0.0, 9.0), own.size, 4, 3), SecondMoment(Standard(own, 0.5, 2.0), own.size + 1)]
    return asked


def integers(data: Any, schema: Schema = SCHEMA) -> list[int]:
    """What a curator reads for all questions about columns, in one pass."""
    total: list[int] = open_source(data, None, schema, True).total(Together(tuple(questions(schema)))).tolist()
    return total


def expected(cells: dict[str, list[Any]] = CELLS, schema: Schema = SCHEMA) -> list[int]:
    """The same from rows by hand, all at once."""
    rows = by_hand(cells, schema)
    return [int(entry) for one in questions(schema) for entry in np.ravel(one.of(rows))]


@any_container
class TestEveryContainer:
    def test_has_the_same_rows(self, container: str, tmp_path: Path) -> None:
        rows = rows_of(open_source(CONTAINERS[container](tmp_path), None, SCHEMA, True))
        assert same(rows, by_hand())

    def test_has_the_same_integers(self, container: str, tmp_path: Path) -> None:
        assert integers(CONTAINERS[container](tmp_path)) == expected()

    def test_in_batches_of_a_few_rows(self, container: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        data = CONTAINERS[container](tmp_path)
        monkeypatch.setattr(tables, "BATCH_ROWS", 3)
        monkeypatch.setattr(parquet_file, "PARQUET_ROWS", 3)
        monkeypatch.setattr(csv_file, "CSV_BLOCK", 450)
        assert integers(data) == expected()

    @pytest.mark.parametrize("kept", [100, 2**23])
    def test_in_blocks_of_any_size_kept_or_not(
        self, container: str, kept: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """A second reading, of what was kept or of the table, finds the same."""
        monkeypatch.setattr(base, "BLOCK_ELEMENTS", 1)
        monkeypatch.setattr(base, "BLOCK_ROWS", 7)
        monkeypatch.setattr(arrow_module, "KEPT_CELLS", kept)
        source = open_source(CONTAINERS[container](tmp_path), None, SCHEMA, True)
        whole = Together(tuple(questions()))
        for _ in range(1 if container in ONCE else 2):
            assert source.total(whole).tolist() == expected()


@pytest.mark.parametrize("layout", [np.ascontiguousarray, np.asfortranarray])
def test_an_array_with_a_schema(layout: Any) -> None:
    numbers = SCHEMA.select(NUMBERS)
    array = np.array([[np.nan if cell is None else float(cell) for cell in CELLS[name]] for name in NUMBERS]).T
    rows = by_hand(CELLS, numbers)
    assert same(rows_of(open_source(layout(array), None, numbers, True)), rows)
    assert integers(layout(array), numbers) == expected(CELLS, numbers)
    assert integers(arrow(), numbers) == expected(CELLS, numbers)


def test_an_array_of_truth_values() -> None:
    schema = Schema({"a": dpcov.Categorical([True, False]), "b": dpcov.Numeric(0, 1)})
    rows = rows_of(open_source(np.array([[True, False], [False, True]]), None, schema, True))
    assert rows[:, 0].tolist() == [0.0, 1.0]
    assert (np.sign(rows[:, 1]) == [-1, 1]).all()


FLAGGED = Schema(
    {
        "height": Numeric(-2.5, 7.25, nullable=True, missing="flag"),
        "stadt": dpcov.Categorical(["Zürich", "東京"], nullable=True, missing="flag"),
        "grade": dpcov.Categorical([3, 1, 2.5]),
    }
)


@pytest.mark.parametrize("container", ["pandas objects", "polars", "arrow dictionaries", "parquet", "csv"])
def test_flags_say_whether_a_cell_is_there(container: str, tmp_path: Path) -> None:
    """Behind their columns: a number that is none, and text that is no level, are not there."""
    rows = rows_of(open_source(CONTAINERS[container](tmp_path), None, FLAGGED, True))
    assert list(FLAGGED.used) == ["height", "height observed", "stadt", "stadt observed", "grade"]
    heights, cities = [np.nan if cell is None else cell for cell in CELLS["height"]], CELLS["stadt"]
    assert rows[:, 1].tolist() == [float(np.isfinite(cell)) for cell in heights]
    assert rows[:, 3].tolist() == [float(cell in ("Zürich", "東京")) for cell in cities]
    assert (np.isnan(rows[:, 0]) == (rows[:, 1] == 0)).all()
    assert (np.isnan(rows[:, 2]) == (rows[:, 3] == 0)).all()
    of = Columns.of(FLAGGED)
    assert [place for place, _ in of.numeric] == [0]
    assert of.levels == ((1, 2), (2, 2), (3, 2), (4, 3))


def test_selected_columns_stand_in_their_order() -> None:
    rows, names = by_hand(), ["smoker", "height"]
    chosen = rows_of(open_source(arrow(), names, SCHEMA, True))
    alone = by_hand(CELLS, SCHEMA.select(names))
    assert np.array_equal(chosen, alone, equal_nan=True)
    assert np.array_equal(chosen[:, 0], rows[:, list(SCHEMA.used).index("smoker")], equal_nan=True)


def test_a_row_depends_on_itself_alone() -> None:
    table = arrow(columns(60, seed=91))
    whole = rows_of(open_source(table, None, SCHEMA, True))
    for row in range(60):
        alone = rows_of(open_source(table[row : row + 1], None, SCHEMA, True))
        assert np.array_equal(alone, whole[row : row + 1], equal_nan=True)


def test_sums_of_columns_are_zero_for_a_table_without_rows() -> None:
    assert set(integers(arrow()[:0])) == {0}


class Held(Blocks):
    """How many cells of earlier blocks are still in memory."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: list[Any] = []
        self.most = 0

    def of(self, rows: Floats, *, scratch: bool = False) -> NDArray[np.int64]:  # noqa: ARG002
        memory: Any = rows if rows.base is None else rows.base
        self.seen.append(weakref.ref(memory))
        self.most = max(self.most, self.now())
        return np.zeros(1, dtype=np.int64)

    def now(self) -> int:
        """How many there are, memory that is used again counted once."""
        alive = {id(memory): memory.size for memory in (one() for one in self.seen) if memory is not None}
        return sum(alive.values())


def test_rows_kept_without_a_schema_have_no_cells() -> None:
    source = KeptSource(ArraySource(np.zeros((3, 2))))
    with pytest.raises(ParameterError, match=r"data must be a table with a schema that can be read twice"):
        source.total(questions()[0])


class TestKeptCells:
    """Small tables are decoded once; of large ones nothing stays."""

    @pytest.mark.parametrize("kept", [0, 300, 1000])
    def test_they_are_bounded(self, kept: int, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(base, "BLOCK_ELEMENTS", 1)
        monkeypatch.setattr(base, "BLOCK_ROWS", 10)
        monkeypatch.setattr(arrow_module, "KEPT_CELLS", kept)
        source = ArrowSource(StreamTable(arrow()), None, SCHEMA, True)
        held = Held()
        source.total(held)
        block = 10 * 7
        assert held.most <= kept + 2 * block  # the one too many, and the next
        assert held.now() == 0

    def test_they_are_dropped_with_their_source(self) -> None:
        held, source = Held(), ArrowSource(StreamTable(arrow()), None, SCHEMA, True)
        source.total(held)
        assert held.now() == 240 * 7
        del source
        assert held.now() == 0

    def test_a_table_is_read_once_for_all_questions(self, monkeypatch: pytest.MonkeyPatch) -> None:
        source = ArrowSource(StreamTable(arrow()), None, SCHEMA, True)
        readings = count_readings(monkeypatch, StreamTable)
        for question in questions() * 2:
            source.total(question)
        assert readings == [1]

    def test_rows_that_are_not_by_column_are_another_reading(self, monkeypatch: pytest.MonkeyPatch) -> None:
        source = ArrowSource(StreamTable(arrow()), None, SCHEMA, True)
        readings = count_readings(monkeypatch, StreamTable)
        moment = SecondMoment(Grid(1.0, center=True), source.d + 1)
        before = source.total(moment).tolist()
        source.total(questions()[0])
        assert source.total(moment).tolist() == before
        assert readings == [1, 1, 1]

    def test_a_reading_that_failed_leaves_nothing(self, monkeypatch: pytest.MonkeyPatch) -> None:
        batches = StreamTable.batches

        def broken(self: StreamTable, names: Any, rows: int) -> Iterator[Any]:
            yield next(batches(self, names, rows))
            raise EngineError("data must be readable to the end, got a failure. Hint: check the file.")

        source = ArrowSource(StreamTable(arrow()), None, SCHEMA, True)
        with monkeypatch.context() as broken_table:
            broken_table.setattr(StreamTable, "batches", broken)
            with pytest.raises(EngineError):
                source.total(questions()[0])
        assert source.total(Together(tuple(questions()))).tolist() == expected()

    def test_questions_leave_them_as_they_are(self) -> None:
        source = ArrowSource(StreamTable(arrow()), None, SCHEMA, True)
        before = rows_of(source)
        for question in questions():
            source.total(question)
        assert np.array_equal(rows_of(source), before, equal_nan=True)


def count_readings(monkeypatch: pytest.MonkeyPatch, table: type) -> list[int]:
    """Count how often the table is streamed."""
    batches: Any = table.batches  # type: ignore[attr-defined]
    readings: list[int] = []

    def counted(self: Any, names: Any, rows: int) -> Any:
        readings.append(1)
        return batches(self, names, rows)

    monkeypatch.setattr(table, "batches", counted)
    return readings


class TestKeptSource:
    @pytest.mark.parametrize("kept", [0, 100, 2**23])
    def test_it_has_the_sums_of_its_source(self, kept: int, monkeypatch: pytest.MonkeyPatch) -> None:
        """Blocks that the source uses again are copied."""
        monkeypatch.setattr(base, "BLOCK_ELEMENTS", 1)
        monkeypatch.setattr(base, "BLOCK_ROWS", 7)
        monkeypatch.setattr(arrow_module, "KEPT_CELLS", kept)
        source = KeptSource(open_source(arrow(), None, SCHEMA, True))
        assert source.total(Together(tuple(questions()))).tolist() == expected()
        assert source.total(Count()).tolist() == [240]

    def test_a_stream_has_no_rows_by_column(self) -> None:
        source = KeptSource(open_source(arrow().to_reader(max_chunksize=17), None, SCHEMA, True))
        moment = SecondMoment(Grid(1.0, center=True), source.d + 1)
        same = open_source(arrow(), None, SCHEMA, True).total(moment)
        assert np.array_equal(source.total(moment), same)
        with pytest.raises(
            ParameterError, match=r"data must be a table with a schema that can be read twice, got something else\. Hint: "
        ):
            source.total(questions()[0])

    def test_sums_are_kept_and_the_oldest_let_go(self, monkeypatch: pytest.MonkeyPatch) -> None:
        source = KeptSource(ArraySource(np.ones((3, 2))))
        assert (source.n, source.known_n, source.d) == (3, 3, 2)
        read: list[int] = []

        def blocks(_: KeptSource, rows: int, by_column: bool) -> Iterator[Floats]:  # noqa: ARG001
            read.append(rows)
            yield np.ones((3, 2))

        monkeypatch.setattr(KeptSource, "_blocks", blocks)
        monkeypatch.setattr("dpcov.sources.kept.SUMS", 2)
        first, *others = (SecondMoment(Grid(float(norm)), 2) for norm in (1, 2, 3))
        for question in (first, first, others[0], first, others[1], first):
            source.total(question)
        assert len(read) == 3  # each was read once
        source.total(others[0])
        assert len(read) == 4  # the one that nobody asked for the longest time was let go

    def test_a_table_without_rows(self) -> None:
        source = KeptSource(open_source(arrow()[:0], None, SCHEMA, True))
        assert set(source.total(Together(tuple(questions()))).tolist()) == {0}


def test_sums_of_both_kinds_of_rows_can_be_read_ahead() -> None:
    """Each is given the rows that it is about."""
    source = open_source(arrow(), None, SCHEMA, True)
    encoding = Encoding(source.feature_names, 1.0, constant=True, midpoints=True, schema=SCHEMA)
    moment = SecondMoment(encoding.grid, source.d + 1)
    histograms, levels = questions()[:2]
    alone = {one: ExactSums(source, encoding, "replace").read(one).tolist() for one in (moment, histograms, levels, Count())}
    for asked in [(histograms, moment), (moment, histograms, levels), (Count(), levels, moment, histograms)]:
        sums = ExactSums(open_source(arrow(), None, SCHEMA, True), encoding, "replace")
        sums.prefetch(*asked)
        assert {one: sums.read(one).tolist() for one in asked} == {one: alone[one] for one in asked}
    within = ColumnMoments(histograms, (Range(0, 3, 90, 5), Range(2, 0, 128)))
    assert sums.read(within).tolist() == within.of_counts(np.array(alone[histograms])).tolist()


BUDGETS = [dpcov.PureDP(2), dpcov.ZCDP("1/4"), dpcov.ApproxDP(2, "1/1000000")]


@pytest.mark.parametrize("neighbors", ["replace", "add-remove"])
@pytest.mark.parametrize("budget", BUDGETS, ids=repr)
class TestReadings:
    """A release in private units: the columns, the norms, the moment; three readings of a file, one of a small table."""

    def released(self, folder: Path, budget: Any, neighbors: str) -> dpcov.Release:
        path = written(folder, "t.csv", csv_text(cells=columns(3000, seed=92)).encode())
        return dpcov.covariance(path, budget, schema=SCHEMA, center=True, mechanism="standardized", neighbors=neighbors, seed=5)

    def test_a_small_file_is_read_once(
        self, budget: Any, neighbors: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        readings = count_readings(monkeypatch, CsvTable)
        release = self.released(tmp_path, budget, neighbors)
        assert isinstance(release.answers[-1].question.grid, Standard)  # type: ignore[attr-defined]
        assert len(readings) == 1

    def test_a_large_file_is_read_three_times(
        self, budget: Any, neighbors: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(arrow_module, "KEPT_CELLS", 1000)
        readings = count_readings(monkeypatch, CsvTable)
        small = self.released(tmp_path, budget, neighbors)
        assert len(readings) == 3
        monkeypatch.undo()
        again = self.released(tmp_path, budget, neighbors)
        for one, other in zip(small.answers, again.answers, strict=True):
            assert np.array_equal(one.integers, other.integers)


def test_a_table_in_an_arrow_stream_is_counted() -> None:
    """Of n as well: nothing else tells it."""
    batches = pa.table(arrow()).to_reader(max_chunksize=50)
    source = open_source(batches, None, SCHEMA, True)
    assert source.known_n is None
    source.total(questions()[0])
    assert source.known_n == 240
