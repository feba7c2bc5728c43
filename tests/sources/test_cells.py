"""What a cell stands for: which spellings are numbers, which are levels, and that none can raise."""

from __future__ import annotations

import datetime
import enum
import uuid
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpcov.schema import Categorical, Level, Numeric, Schema
from dpcov.sources.arrow import ArrowSource
from dpcov.sources.opening import open_source
from tests.helpers.rows import Floats

NAN = float("nan")
repeatable = settings(derandomize=True, deadline=None, max_examples=150)


def values(data: Any) -> list[float]:
    """The column x as numbers, NaN where there is none."""
    source = open_source(data, ["x"])
    assert isinstance(source, ArrowSource)
    return [float(value) for block in source._blocks(1000) for value in block[:, 0]]


def one_hot(data: Any, levels: list[Level], center: bool = False) -> list[list[float]]:
    """The column x as one coordinate per level; alone it has all the weight."""
    source = open_source(data, None, Schema({"x": Categorical(levels)}), center)
    assert isinstance(source, ArrowSource)
    return [[float(value) for value in row] for block in source._blocks(1000) for row in block]


def positions(data: Any, levels: list[Level]) -> list[int]:
    """Which level each cell is, −1 for none."""
    rows = one_hot(data, levels)
    assert all(sorted(row)[-1] in (0.0, 1.0) and sum(row) <= 1 for row in rows)
    return [row.index(1.0) if 1.0 in row else -1 for row in rows]


def csv_file(folder: Path, cells: list[bytes]) -> Path:
    """A second column keeps a line with an empty cell from being an empty line."""
    path = folder / "cells.csv"
    path.write_bytes(b"x,y\n" + b"".join(cell + b",0\n" for cell in cells))
    return path


SPELLINGS: dict[bytes, float] = {
    b"1": 1.0,
    b" 1.5 ": 1.5,
    b"\t7\t": 7.0,
    b"+5": 5.0,
    b"-.5e3": -500.0,
    b"5.": 5.0,
    b"-0": 0.0,
    b"007": 7.0,
    b"1E-5": 1e-5,
    b"0.1": 0.1,
    b"2.2250738585072011e-308": 2.2250738585072011e-308,
    b"179769313486231580793e288": 1.7976931348623158e308,
    b"1e999": float("inf"),
    b"-1e999": -float("inf"),
    b"1e-99999999999999999999": 0.0,
    b"9" * 4000: float("inf"),
    b"0." + b"0" * 4000 + b"1": 0.0,
    b'"12"': 12.0,
    b'" 12 "': 12.0,
    **dict.fromkeys([b"", b" ", b'""', b"NA", b"N/A", b"null", b"None", b"nan", b"NaN", b"-nan", b"inf", b"-Infinity"], NAN),
    **dict.fromkeys([b'"1,5"', b"0x10", b"1_000", b"1 000", b"1e", b"e5", b".", b"+", b"--1", b"1.2.3", b"12%", b"True"], NAN),
    **dict.fromkeys(["１".encode(), "٣".encode(), "−1".encode(), "½".encode(), "\u00a01".encode()], NAN),
    **dict.fromkeys([b"\xff", b"1\xff", b"\xc3\x28", b"1\x00", b"\x00", b"\xed\xa0\x80"], NAN),
    **dict.fromkeys([b'"1\n2"', b'"1\n"', b'"\r\n1"', b'"1""2"', b'""""', b'"a ""b"" c"', b'5"', b'"5"6 7'], NAN),
}


@pytest.mark.parametrize("spelling", SPELLINGS, ids=lambda spelling: repr(spelling[:20]))
def test_numbers_in_a_csv_file(spelling: bytes, tmp_path: Path) -> None:
    path = csv_file(tmp_path, [b"3", spelling, b"4"])
    assert values(path) == pytest.approx([3.0, SPELLINGS[spelling], 4.0], rel=0, abs=0, nan_ok=True)


def test_spellings_do_not_disturb_each_other(tmp_path: Path) -> None:
    path = csv_file(tmp_path, list(SPELLINGS) * 3)
    assert values(path) == pytest.approx(list(SPELLINGS.values()) * 3, rel=0, abs=0, nan_ok=True)


@given(number=st.floats(allow_nan=False, allow_infinity=False))
@repeatable
def test_what_python_writes_is_read_back(number: float, tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("float")
    for text in (repr(number), f"{number:.17e}", f" {number:+.20g}"):
        assert values(csv_file(folder, [text.encode()])) == [number]


@given(cells=st.lists(st.binary(max_size=8).map(lambda raw: b'"' + raw.replace(b'"', b'""') + b'"'), max_size=20))
@repeatable
def test_no_bytes_can_raise(cells: list[bytes], tmp_path_factory: pytest.TempPathFactory) -> None:
    path = csv_file(tmp_path_factory.mktemp("bytes"), cells)
    assert len(values(path)) == len(cells)
    for levels in (["a", "b"], [1, 2], [True, False]):
        assert len(positions(path, list(levels))) == len(cells)


TEXT = ["Zürich", "東京", "a,b", 'q"q', "two\nlines", "a  b"]
TEXT_CELLS: dict[bytes, int] = {
    "Zürich".encode(): 0,
    "  Zürich\t".encode(): 0,
    '" Zürich "'.encode(): 0,
    "東京".encode(): 1,
    b'"a,b"': 2,
    b'"q""q"': 3,
    b'"two\nlines"': 4,
    b'" two\nlines "': 4,
    b"a  b": 5,
    **dict.fromkeys([b"", b'""', b"a b", b"zurich", "ZÜRICH".encode(), "Zürich".encode("latin-1"), b"\xff\xfe"], -1),
    **dict.fromkeys(["Zu\u0308rich".encode(), "Zürich.".encode(), "\u00a0Zürich".encode(), b'"two\r\nlines"'], -1),
}


def test_text_levels_in_a_csv_file(tmp_path: Path) -> None:
    assert positions(csv_file(tmp_path, list(TEXT_CELLS)), list(TEXT)) == list(TEXT_CELLS.values())


def test_no_spelling_is_null_where_it_is_a_level(tmp_path: Path) -> None:
    levels: list[Level] = ["NA", "", "null", "nan", "#N/A"]
    cells = [b"null", b"", b"NA", b'""', b" ", b"#N/A", b"nan", b"NaN"]
    assert positions(csv_file(tmp_path, cells), levels) == [2, 1, 0, 1, 1, 4, 3, -1]


def test_truth_values_in_a_csv_file(tmp_path: Path) -> None:
    cells = [b"True", b"TRUE", b"false", b" False ", b"fAlSe", b"1", b"0", b"yes", b"", b"tru", b"\xff", b'"true"']
    assert positions(csv_file(tmp_path, cells), [False, True]) == [1, 1, 0, 0, 0, -1, -1, -1, -1, -1, -1, 1]


def test_numeric_levels_in_a_csv_file(tmp_path: Path) -> None:
    cells = [b"1", b"1.0", b"01", b" 1e0 ", b"+1", b"2.5", b"2.50", b"-3", b"1.0000000000000002", b"", b"one", b"1e999", b"nan"]
    expected = [1, 1, 1, 1, 1, 0, 0, 2, -1, -1, -1, -1, -1]
    assert positions(csv_file(tmp_path, cells), [2.5, 1, -3]) == expected
    assert positions(csv_file(tmp_path, cells), ["1", "1.0", "01"]) == [0, 1, 2, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1]


@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r"])
@pytest.mark.parametrize("last", [True, False])
@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
def test_ends_of_lines_and_marks(end: bytes, last: bool, mark: bytes, tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes(mark + end.join([b'"x",y', b"1,2", b'"3",4', b"5,6"]) + end * last)
    assert values(path) == [1.0, 3.0, 5.0]


def test_a_cell_longer_than_a_block_of_its_neighbours(tmp_path: Path) -> None:
    cells = [b"1", b'"' + b"x" * 10**6 + b'"', b"2"]
    assert values(csv_file(tmp_path, cells)) == pytest.approx([1.0, NAN, 2.0], nan_ok=True)


class Colour(enum.StrEnum):
    RED = "red"


class Odd:
    def __repr__(self) -> str:
        raise RuntimeError("nobody may look at me")

    __str__ = __hash__ = __repr__  # type: ignore[assignment]

    def __eq__(self, other: object) -> bool:
        raise RuntimeError("nobody may compare me")


OBJECTS = [
    "a", 1, 2.5, None, NAN, True, b"a", Decimal(1), ["a"], {"a": 1}, Odd(), datetime.date(2024, 1, 1), np.int64(3), "\ud800",
    "b", pd.NA, pd.NaT, float("inf"), 10**400, 1j, uuid.UUID(int=1), np.array([1, 2]), np.True_, "a ", Colour.RED, (1, 2),
]  # fmt: skip


class TestPythonObjects:
    """A column of Python objects is text, whatever is in it, and never raises."""

    def frame(self) -> Any:
        series = pd.Series([None] * len(OBJECTS), dtype=object)
        for place, cell in enumerate(OBJECTS):
            series.iat[place] = cell
        return pd.DataFrame({"x": series})

    def test_text_is_found_among_them(self) -> None:
        expected = {0: 0, 14: 1, 24: 2}
        assert positions(self.frame(), ["a", "b", "red"]) == [expected.get(place, -1) for place in range(len(OBJECTS))]

    def test_truth_values_are_found_among_them(self) -> None:
        assert [place for place, found in enumerate(positions(self.frame(), [True])) if found == 0] == [5, 22]

    def test_they_are_refused_as_numbers_by_their_type(self) -> None:
        for column in (Numeric(0, 1), Categorical([1, 2])):
            for frame in (self.frame(), pd.DataFrame({"x": pd.Series([1, 2], dtype=object)})):
                with pytest.raises(ValueError, match="'x' must"):
                    open_source(frame, None, Schema({"x": column}))

    def test_in_a_subclass_of_a_frame(self) -> None:
        class Special(pd.DataFrame):  # type: ignore[misc]
            pass

        assert positions(Special({"x": ["a", None, "b"]}), ["b", "a"]) == [1, -1, 0]
        assert positions(Special(self.frame()), ["b"]).count(0) == 1

    def test_as_categories(self) -> None:
        mixed = pd.Categorical.from_codes([2, 1, -1, 3, 0, 4, 5], categories=["b", 7, "a", Decimal(2), b"a", True])
        assert positions(pd.DataFrame({"x": mixed}), ["a", "b", "c"]) == [0, -1, -1, -1, 1, -1, -1]
        assert positions(pd.DataFrame({"x": mixed}), [False, True]) == [-1, -1, -1, -1, -1, -1, 1]

    def test_categories_of_nothing(self) -> None:
        for levels in (["a"], [True]):
            nothing = pd.DataFrame({"x": pd.Series([None, None], dtype=object).astype("category")})
            assert positions(nothing, list(levels)) == [-1, -1]

    def test_strings_that_are_no_text(self) -> None:
        frame = pd.DataFrame({"x": pd.Series(["a", "\ud800", None], dtype=pd.StringDtype("python"))})
        assert positions(frame, ["a", "?"]) == [0, 1, -1]


NULLS: dict[str, Any] = {
    "arrow": pa.table({"x": pa.nulls(3)}),
    "arrow dictionary": pa.table({"x": pa.DictionaryArray.from_arrays(pa.array([0, 0, None], pa.int8()), pa.nulls(1))}),
    "polars": pl.DataFrame({"x": [None, None, None]}),
    "pandas": pd.DataFrame({"x": [None, None, None]}, dtype="Int64"),
}


@pytest.mark.parametrize("container", NULLS)
def test_a_column_of_nulls(container: str) -> None:
    data = NULLS[container]
    assert np.isnan(values(data)).all()
    kinds: list[list[Level]] = [[1, 2], ["a"], [True, False]]
    for levels in kinds[: 1 if container == "pandas" else 3]:
        assert positions(data, levels) == [-1, -1, -1]


def encoded(data: Any, column: Numeric, center: bool) -> Floats:
    source = open_source(data, None, Schema({"x": column}), center)
    assert isinstance(source, ArrowSource)
    return np.concatenate([block[:, 0].copy() for block in source._blocks(1000)])


@pytest.mark.parametrize(
    "kind", ["float16", "float32", "float64", "int8", "int16", "int32", "int64", "uint8", "uint64", "bool"]
)
def test_every_type_of_number(kind: str) -> None:
    cells = np.array([0, 1, 1, 0, 1]).astype(kind)
    table = pa.table({"x": pa.array(cells)})
    assert values(table) == [0.0, 1.0, 1.0, 0.0, 1.0]
    assert encoded(table, Numeric(0, 1), center=True).tolist() == [-1.0, 1.0, 1.0, -1.0, 1.0]
    assert values(pa.table({"x": pa.array(cells).dictionary_encode()})) == [0.0, 1.0, 1.0, 0.0, 1.0]


@pytest.mark.parametrize("kind", [pa.decimal128(38, 2), pa.decimal256(76, 2), pa.decimal128(38, -2)])
def test_decimals_of_any_size(kind: Any) -> None:
    large = Decimal(10) ** 33
    cells = [Decimal(100), -large, None, large]
    assert values(pa.table({"x": pa.array(cells, kind)})) == pytest.approx([100.0, -1e33, NAN, 1e33], rel=1e-15, nan_ok=True)


@pytest.mark.parametrize(
    "kind", [pa.string(), pa.large_string(), pa.string_view(), pa.binary(), pa.large_binary(), pa.binary_view()]
)
def test_every_type_of_text(kind: Any) -> None:
    cells = pa.array([b"a", None, b"True", b" a", b"b"], pa.binary()).cast(kind)
    assert positions(pa.table({"x": cells}), ["a", "b"]) == [0, -1, -1, -1, 1]  # only the text of CSV files is trimmed
    assert positions(pa.table({"x": cells}), [True]) == [-1, -1, 0, -1, -1]


def test_a_number_is_clipped_and_a_gap_is_the_midpoint() -> None:
    cells = pa.table({"x": [-1e308, 10.0, 20.0, 25.0, 30.0, 1e308, NAN, float("inf"), -float("inf"), None]})
    assert encoded(cells, Numeric(10, 30), center=True).tolist() == [-1, -1, 0, 0.5, 1, 1, 0, 0, 0, 0]
    third = 1 / 3
    expected = [third, third, 2 * third, 25 / 30, 1, 1, *[2 * third] * 4]
    assert encoded(cells, Numeric(10, 30), center=False).tolist() == pytest.approx(expected, rel=1e-15)
