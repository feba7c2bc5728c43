"""Whose rows are they: the same people in every container, identifiers that nearly agree, and ones that are missing."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any
from uuid import UUID

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

import dpcov
from dpcov.errors import DpcovError, EngineError
from dpcov.kernel.questions.moments import Count, SecondMoment
from dpcov.kernel.questions.table import Histograms, LevelCounts
from dpcov.kernel.rows.aside import SHARE_BITS, USUAL_PEOPLE, aside_of
from dpcov.kernel.rows.columns import Columns
from dpcov.kernel.rows.grid import DEFAULT_BITS, Grid
from dpcov.linalg import unpack
from dpcov.sources import people
from dpcov.sources.arrow import ArrowSource
from dpcov.sources.base import Source
from dpcov.sources.opening import open_source
from dpcov.sources.people import WHOLE, People, kind_of

SCHEMA = dpcov.Schema({"a": dpcov.Numeric(-1, 1), "b": dpcov.Numeric(-1, 1), "ward": dpcov.Categorical(["x", "y"])})


def opened(data: Any, unit: str = "who", **given: Any) -> Any:
    return open_source(data, aside=aside_of(unit, DEFAULT_BITS, USUAL_PEOPLE), **given)


def frame(rows: int = 3000, people: int = 300, seed: int = 7300) -> Any:
    """Visits in any order; some people have one, some have many, and some rows are nobody's."""
    draw = np.random.default_rng(seed)
    who = np.minimum(draw.geometric(0.01, rows), people)
    found = pd.DataFrame({"a": draw.normal(size=rows) * 0.4, "who": who, "b": draw.normal(size=rows) * 0.3})
    found["ward"] = np.where(draw.random(rows) < 0.3, "x", "y")
    return found


def by_pandas(table: Any) -> Any:
    """Average over people of the average over each one's rows, of products of clipped rows."""
    clipped = table[["a", "b"]] / np.maximum(np.linalg.norm(table[["a", "b"]], axis=1), 1.0)[:, None]
    products = pd.DataFrame({f"{i}{j}": clipped[i] * clipped[j] for i in "ab" for j in "ab"})
    return products.groupby(table["who"]).mean().mean().to_numpy().reshape(2, 2)


def moment(source: Source) -> Any:
    question = SecondMoment(Grid(1.0), 2, aside=source.aside)  # type: ignore[attr-defined]
    return unpack(source.total(question), 2) / 2.0**question.unit_bits / source.n


def csv(table: Any, folder: Path) -> Any:
    table.to_csv(folder / "t.csv", index=False)
    return folder / "t.csv"


def parquet(table: Any, folder: Path) -> Any:
    pq.write_table(pa.Table.from_pandas(table), folder / "t.parquet", row_group_size=700)
    return folder / "t.parquet"


def folder_of(table: Any, folder: Path) -> Any:
    (folder / "parts").mkdir()
    for place in range(3):
        pq.write_table(pa.Table.from_pandas(table.iloc[place::3]), folder / "parts" / f"{place}.parquet")
    return folder / "parts"


CONTAINERS: dict[str, Callable[[Any, Path], Any]] = {
    "pandas": lambda table, _: table,
    "pandas text": lambda table, _: table.assign(who=[f"p{who}" for who in table["who"]]),
    "pandas categories": lambda table, _: table.assign(who=pd.Categorical([f"p{who}" for who in table["who"]])),
    "pandas floats": lambda table, _: table.assign(who=table["who"] + 0.5),
    "arrow": lambda table, _: pa.Table.from_pandas(table),
    "arrow dictionary": lambda table, _: pa.table(
        {"a": table["a"], "b": table["b"], "who": pa.array(table["who"]).dictionary_encode()}
    ),
    "arrow unsigned": lambda table, _: pa.table(
        {"a": table["a"], "b": table["b"], "who": pa.array(2**63 + table["who"].to_numpy(np.uint64), pa.uint64())}
    ),
    "polars": lambda table, _: pl.from_pandas(table),
    "polars lazy": lambda table, _: pl.from_pandas(table).lazy(),
    "duckdb": lambda table, _: duckdb.from_arrow(pa.Table.from_pandas(table)),
    "csv": csv,
    "parquet": parquet,
    "folder": folder_of,
    "dataset": lambda table, folder: ds.dataset(folder_of(table, folder)),
}


class TestEveryContainer:
    @pytest.mark.parametrize("name", CONTAINERS)
    def test_has_what_pandas_computes(self, name: str, tmp_path: Path) -> None:
        table = frame()
        source = opened(CONTAINERS[name](table, tmp_path), columns=["a", "b"])
        assert source.n == table["who"].nunique()
        assert source.feature_names == ("a", "b")
        assert np.abs(moment(source) - by_pandas(table)).max() < 2e-5
        assert source.total(Count()).tolist() == [source.n]

    def test_all_columns_but_the_identifier_are_features(self, tmp_path: Path) -> None:
        table = frame().drop(columns="ward")
        for data in (table, pa.Table.from_pandas(table), parquet(table, tmp_path)):
            assert opened(data).feature_names == ("a", "b")

    def test_arrays_of_numbers(self, tmp_path: Path) -> None:
        table = frame()
        array = table[["a", "who", "b"]].to_numpy()
        np.save(tmp_path / "t.npy", array)
        for data in (array, np.asfortranarray(array), tmp_path / "t.npy"):
            source = opened(data, "x1")
            assert source.feature_names == ("x0", "x2")
            assert np.abs(moment(source) - by_pandas(table)).max() < 2e-5

    def test_a_schema_and_rows_by_column(self) -> None:
        table = frame()
        source = opened(table, schema=SCHEMA, center=True)
        assert source.feature_names == open_source(table, schema=SCHEMA, center=True).feature_names
        assert source.n == table["who"].nunique()
        columns = Columns.of(SCHEMA)
        levels, cells = (LevelCounts(columns, aside=source.aside), Histograms(columns, 4, aside=source.aside))
        for _ in range(2):  # cells are kept after the first time
            counts = source.total(levels) / 2.0**levels.unit_bits
            shares = pd.get_dummies(table["ward"]).groupby(table["who"]).mean().sum()
            assert counts == pytest.approx(shares.to_numpy(), rel=1e-3)
            assert source.total(cells).sum() / 2.0**cells.unit_bits == pytest.approx(2 * source.n, rel=1e-3)


def counted(*columns: Any) -> People:
    known = People()
    for column in columns:
        known.count(column)
    known.counted()
    known.start()
    return known


def shares(known: People, column: Any) -> list[float]:
    return [float(share) / 2**SHARE_BITS for share in known.shares(column)]


class TestWhoIsWho:
    def test_numbers_are_compared_exactly(self) -> None:
        column = pa.array([2**53, 2**53 + 1, 2**53 + 1, -(2**63), 2**63 - 1], pa.int64())
        assert shares(counted(column), column) == [1, 0.5, 0.5, 1, 1]

    def test_minus_zero_is_zero_and_near_numbers_are_not_alike(self) -> None:
        column = pa.array([0.0, -0.0, 5e-324, 1.0, 1.0 + 2**-52])
        assert shares(counted(column), column) == [0.5, 0.5, 1, 1, 1]

    def test_text_is_compared_by_its_bytes(self) -> None:
        column = pa.array(["7", "07", "7 ", "é", "e\u0301", "A", "a", "a"])
        assert shares(counted(column), column) == [1, 1, 1, 1, 1, 1, 0.5, 0.5]
        broken = pa.array([b"\xff", b"\xff\x00", b"\xff"], pa.binary())
        assert shares(counted(broken), broken) == [0.5, 1, 0.5]

    @pytest.mark.parametrize(
        "column",
        [
            pa.array([None, np.nan, np.inf, -np.inf, 3.0]),
            pa.array([None, None, None, None, 3], pa.int64()),
            pa.array([None, "", "  ", "NaN", "x"]),
            pa.array([None, "null", "N/A", "<NA>", "x"]).dictionary_encode(),
            np.array([np.nan, np.nan, np.inf, -np.inf, 3.0]),
        ],
    )
    def test_nobody_s_rows_are_neither_one_person_s_nor_many_people_s(self, column: Any) -> None:
        known = counted(column, column)
        assert known.n == 1
        assert shares(known, column) == [0, 0, 0, 0, 0.5]
        assert counted(column[:4]).n == 0

    def test_many_batches_are_counted_as_one(self) -> None:
        draw = np.random.default_rng(7301)
        who = draw.integers(-50, 50, 5000)
        whole = counted(pa.array(who))
        for column in (pa.array(who), pa.array([str(one) for one in who])):
            parts = counted(*(column[start : start + 13] for start in range(0, 5000, 13)))
            assert parts.n == whole.n == 100
            assert shares(parts, column) == [2**SHARE_BITS // rows / 2**SHARE_BITS for rows in np.bincount(who + 50)[who + 50]]

    def test_texts_with_one_place_and_long_texts_are_told_apart(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """As if all texts were scattered to the same place: what they say decides."""
        draw = np.random.default_rng(7302)
        texts = [b"", b"a", b"a\x00", b"b" * 8, b"b" * 8 + b"\x00", b"c" * 64, b"c" * 65, b"c" * 65 + b"d", b"e" * 3000]
        texts += [b"f" * 20, b"f" * 19 + b"g"]
        column = pa.array([texts[one] for one in draw.integers(0, 11, 200)], pa.binary())
        sizes = {text: column.to_pylist().count(text) for text in texts}
        expected = [2**SHARE_BITS // sizes[text] / 2**SHARE_BITS if text else 0 for text in column.to_pylist()]
        monkeypatch.setattr(people, "PIECE", 3)
        for scatter in (people.SCATTER, np.uint64(0)):
            monkeypatch.setattr(people, "SCATTER", scatter)
            for whole in (column, column.dictionary_encode()):
                known = counted(*(whole[start : start + 9] for start in range(0, 200, 9)))
                assert known.n == 10
                assert shares(known, whole) == expected
                assert known.shares(pa.array([b"a\x00\x00", b"c" * 66, b"f"], pa.binary())).tolist() == [0, 0, 0]

    @pytest.mark.parametrize("scatter", [people.SCATTER, np.uint64(0)])
    def test_numbers_that_look_like_a_free_place(self, monkeypatch: pytest.MonkeyPatch, scatter: np.uint64) -> None:
        monkeypatch.setattr(people, "SCATTER", scatter)
        column = pa.array([0, 3, None, 0, -1, 2**63 - 1, None, 5, 0])
        known = counted(column[:3], column[3:])
        assert known.n == 5
        third = 2**SHARE_BITS // 3 / 2**SHARE_BITS
        assert shares(known, column) == [third, 1, 0, third, 1, 1, 0, 1, third]
        assert shares(counted(pa.array([7, 8])), pa.array([0, 7])) == [0, 1]

    @pytest.mark.parametrize("length", [3, 80])
    def test_text_that_says_nobody_in_many_ways(self, length: int) -> None:
        """Blanks around it and large letters change nothing, in batches of short texts and of long ones."""
        said = ["", " ", "\tNaN\n", "  none", "N/A  ", "na", "nAt", "<na>", " " * length + "null", " " * length]
        column = pa.array([*said, "nan\0", "nanny", "nan nan", "x" * length, None])
        for whole in (column, column.dictionary_encode(), column.cast(pa.large_string())):
            known = counted(whole[:6], whole[6:])
            assert known.n == 4
            assert shares(known, whole) == [0] * len(said) + [1, 1, 1, 1, 0]

    def test_texts_of_other_lengths_in_a_later_batch_and_a_later_pass(self) -> None:
        known = counted(pa.array(["ab", "cd"]), pa.array(["a" * 20, "ab"]), pa.array(["cd", "ab"]))
        assert known.n == 3
        assert shares(known, pa.array(["cd", "a" * 40, "a" * 20, "ab\0"])) == [0.5, 0, 1, 0]

    def test_rows_beyond_those_counted_give_nothing(self) -> None:
        """Whatever the data do between two readings, what a person gives sums to at most 1."""
        first, then = pa.array([1, 1, 2]), pa.array([1, 2, 2, 2, 3, 1, 1, 1])
        known = counted(first)
        found = np.array(shares(known, then[:3]) + shares(known, then[3:]))
        for who in (1, 2, 3):
            assert found[np.array(then) == who].sum() <= 1
        assert found[np.array(then) == 3].sum() == 0
        known.start()
        assert shares(known, first) == [0.5, 0.5, 1]


class Restless:
    """A table whose rows differ each time it is read."""

    parsed, decimal, rows = False, ".", None
    rereadable = ordered = True
    names = ("who", "a", "b")
    types = (pa.int64(), pa.float64(), pa.float64())

    def __init__(self) -> None:
        self.readings = 0

    def batches(self, columns: Sequence[str], rows: int) -> Iterator[Any]:  # noqa: ARG002
        self.readings += 1
        who = [1, 2, 3, 4] if self.readings == 1 else [1, 1, 1, 1]
        whole = pa.record_batch([pa.array(who), pa.array([1.0] * 4), pa.array([0.0] * 4)], names=list(self.names))
        yield whole.select(list(columns)), None


def test_a_table_that_changes_gives_no_person_more_than_one_share() -> None:
    table: Any = Restless()
    source = ArrowSource(table, ["a", "b"], aside=aside_of("who", DEFAULT_BITS, USUAL_PEOPLE))
    question = SecondMoment(Grid(1.0), 2, aside=source.aside)
    assert source.n == 4
    assert source.total(question)[0] <= 2**question.unit_bits


class TestRefusals:
    @pytest.mark.parametrize(
        ("data", "given", "words"),
        [
            (frame(20), {"unit": "patient"}, "no column of that name"),
            (frame(20), {"unit": "a", "columns": ["a", "b"]}, "which is one"),
            (frame(20), {"unit": "ward", "schema": SCHEMA, "columns": None}, "which is one"),
            (frame(20).assign(who=True), {}, "another declared type"),
            (frame(20).assign(who=pd.Timestamp("2026-01-01")), {}, "another declared type"),
            (pa.Table.from_pandas(frame(20)).to_reader(), {}, "more than once"),
            (frame(20)[["a", "b"]].to_numpy(), {"unit": "x5"}, "column of the array"),
            (frame(20)[["a", "b"]].to_numpy(), {"unit": "x0", "columns": ["x0", "x1"]}, "no features"),
            (np.ones((4, 1)), {"unit": "x0"}, "no features"),
            (np.ones((4, 2), dtype=np.longdouble), {"unit": "x0"}, "64 bits"),
        ],
        ids=["unknown", "feature", "in the schema", "truth", "date", "stream", "array", "array feature", "alone", "long"],
    )
    def test_a_column_that_cannot_tell_people_apart(self, data: Any, given: dict[str, Any], words: str) -> None:
        given = {"unit": "who", "columns": None if isinstance(data, np.ndarray) else ["a", "b"]} | given
        with pytest.raises(DpcovError, match=words):
            opened(data, given.pop("unit"), **given)

    def test_kinds_that_differ_from_file_to_file(self, tmp_path: Path) -> None:
        for place, who in enumerate(([1, 2], ["1", "2"])):
            pq.write_table(pa.table({"who": who, "a": [1.0, 2.0]}), tmp_path / f"{place}.parquet")
        with pytest.raises(DpcovError, match="one kind in each file"):
            opened(tmp_path)
        assert kind_of("who", [pa.int32(), pa.int64(), pa.dictionary(pa.int8(), pa.int16())]) == WHOLE

    def test_mixed_objects_of_pandas_are_who_they_say(self) -> None:
        data = pd.DataFrame({"who": ["1", 1, None, 2.5, "1", True], "a": np.ones(6)})
        source = opened(data)
        assert source.n == 3  # "1", 2.5 and "True"

    def test_a_table_of_other_rows_at_the_second_reading(self) -> None:
        class Growing(Restless):
            def batches(self, columns: Sequence[str], rows: int) -> Iterator[Any]:
                yield from super().batches(columns, rows)
                if self.readings > 1:
                    yield from super().batches(columns, rows)

        table: Any = Growing()
        source = ArrowSource(table, ["a", "b"], aside=aside_of("who", DEFAULT_BITS, USUAL_PEOPLE))
        with pytest.raises(EngineError, match="the same each time"):
            source.total(SecondMoment(Grid(1.0), 2, aside=source.aside))


class Told:
    """An object whose text nobody may ask for."""

    def __str__(self) -> str:
        raise AssertionError("a cell was made text")

    __repr__ = __str__


class TestPythonObjects:
    """Columns of pandas that declare nothing: whole numbers among them are people, and no cell raises."""

    @pytest.mark.parametrize(
        "cells",
        [
            [1, 2, 2, 3],
            [2**53, 2**53 + 1, 2**53 + 1, 2**70],
            [np.int64(1), 2, np.int8(2), -3],
            [b"a", b"b", b"b", b"c"],
            [UUID(int=1), UUID(int=2), UUID(int=2), UUID(int=3)],
            [Decimal("1.5"), Decimal("2.50"), Decimal("2.5"), Decimal("1E+999999")],
            [Decimal("1E+999999999"), Decimal("10E+99999"), Decimal("1E+100000"), Decimal("-" + "9" * 9999)],
            [0.1, 0.5, np.float32(0.5), 5e-324],
            ["1", "7", 7, 7.5],
            [10**5000, 7, Decimal(7), -(10**5000)],
            ["x", -0.0, 0, 1e308],
            ["x", 1, np.float64(1), "é"],
        ],
    )
    @pytest.mark.parametrize("kind", ["objects", "categories"])
    def test_are_told_apart_by_what_they_are(self, cells: list[Any], kind: str) -> None:
        column = pd.Series(cells, dtype=object)
        if kind == "categories":
            known = pd.Index(list(dict.fromkeys(cells)), dtype=object)
            column = pd.Series(pd.Categorical(column, categories=known))
        made = opened(pd.DataFrame({"who": column, "a": [0.1, 0.2, 0.3, 0.4]}), columns=["a"])
        assert made.n == 3

    @pytest.mark.parametrize(
        "cell",
        [
            None,
            pd.NA,
            pd.NaT,
            np.nan,
            np.inf,
            Decimal("NaN"),
            Decimal("sNaN"),
            Decimal("-Infinity"),
            (1,),
            [],
            Told(),
            1j,
            "na",
            "",
        ],
    )
    def test_nobody_s(self, cell: Any) -> None:
        cells = pd.Series([cell, 7, 7, 8], dtype=object)
        assert opened(pd.DataFrame({"who": cells, "a": [0.1, 0.2, 0.3, 0.4]}), columns=["a"]).n == 2

    def test_features_are_what_they_were(self) -> None:
        """Numbers among objects are no text, and so no level."""
        levels = dpcov.Schema({"ward": dpcov.Categorical(["1", "2"])})
        table = pd.DataFrame({"who": pd.Series([1, 2], dtype=object), "ward": pd.Series([1, "2"], dtype=object)})
        source = opened(table, schema=levels)
        assert moment_of(source).tolist() == [0.0, 0.5]


def moment_of(source: Source) -> Any:
    question = SecondMoment(Grid(1.0), 2, aside=source.aside)  # type: ignore[attr-defined]
    return np.diag(unpack(source.total(question), 2)).round() / 2.0**question.unit_bits / source.n


class TestArraysWithASchema:
    """The identifiers of an array that a schema describes are read in its own type: float64 would merge some of them."""

    DESCRIBED = dpcov.Schema({"a": dpcov.Numeric(0, 9), "who": dpcov.Ignored(), "b": dpcov.Numeric(0, 9)}, unit="who")

    @pytest.mark.parametrize("kind", [np.int64, ">i8", np.uint64])
    def test_beyond_two_to_the_53(self, kind: Any, tmp_path: Path) -> None:
        who = 2**62 + np.arange(300) // 3
        array = np.column_stack([np.arange(300) % 7, who, np.arange(300) % 5]).astype(kind)
        np.save(tmp_path / "rows.npy", array)
        for data in (array, tmp_path / "rows.npy"):
            made = dpcov.covariance(data, dpcov.ZCDP(1), schema=self.DESCRIBED)
            assert (made.n, made.feature_names) == (100, ("a", "b"))

    @pytest.mark.parametrize("kind", [np.float32, np.float64, np.float16, np.int16])
    def test_of_any_type_of_numbers(self, kind: Any) -> None:
        array = np.column_stack([np.arange(300) % 7, np.arange(300) // 3, np.arange(300) % 5]).astype(kind)
        assert dpcov.covariance(array, dpcov.ZCDP(1), schema=self.DESCRIBED).n == 100

    @pytest.mark.parametrize("kind", [np.longdouble, np.bool_])
    def test_of_no_type_that_says_whose_a_row_is(self, kind: Any) -> None:
        with pytest.raises(DpcovError, match="unit must be a column of whole numbers, numbers or text"):
            dpcov.covariance(np.ones((9, 3)).astype(kind), dpcov.ZCDP(1), schema=self.DESCRIBED)
