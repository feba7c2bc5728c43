"""Tables that are refused, with one line that quotes no cell and before anything is spent; and odd ones that are taken."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import dpcov
from dpcov.errors import DpcovError, EngineError, ParameterError, SchemaError
from dpcov.kernel.account import Account
from dpcov.kernel.bits import SeededBits
from dpcov.kernel.budget import Budget
from dpcov.kernel.rows.grid import Grid
from dpcov.schema import Categorical, Ignored, Numeric, Schema
from dpcov.sources.opening import open_source
from dpcov.verify.testing import opened
from tests.helpers.small import charged, untouched

AGE = Schema({"age": Numeric(0, 100)})
BOTH = Schema({"age": Numeric(0, 100), "town": Categorical(["SECRET", "Basel"])})
FRAME = pd.DataFrame({"age": [424242.0, 2.0], "town": ["SECRET", "x"]})
TABLE = pa.table({"age": [424242.0, 2.0], "town": ["SECRET", "x"]})
LINES = b"age,town\n" + b"424242,SECRET\n" * 3000


def ask(data: Any, **changes: Any) -> dpcov.Release:
    arguments: dict[str, Any] = {"seed": 0} | changes
    if not {"schema", "row_norm"} & set(changes):
        arguments["schema"] = BOTH
    return dpcov.covariance(data, dpcov.ZCDP(1), **arguments)


@pytest.fixture
def unspent(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fail whoever charges the budget."""

    def charge(_: Account, *budgets: Budget) -> NoReturn:
        raise AssertionError(f"{budgets!r} were charged")

    monkeypatch.setattr(Account, "charge", charge)


def file(name: str, content: bytes) -> Callable[[Path], Any]:
    def make(folder: Path) -> Path:
        (folder / name).write_bytes(content)
        return folder / name

    return make


def parquet(cut: slice = slice(None), zeroed: slice = slice(0)) -> Callable[[Path], Any]:
    def make(folder: Path) -> Path:
        path = folder / "t.parquet"
        cells = np.random.default_rng(3).random(20_000)
        pq.write_table(pa.table({"age": cells, "town": ["SECRET"] * 20_000}), path, row_group_size=5000)
        content = bytearray(path.read_bytes())
        content[zeroed] = bytes(len(content[zeroed]))
        path.write_bytes(content[cut])
        return path

    return make


def given(data: Any) -> Callable[[Path], Any]:
    return lambda _: data


def column(values: Any, kind: Any = None) -> Callable[[Path], Any]:
    return given(pa.table({"age": [1.0] * len(values), "town": pa.array(values, kind)}))


def failing(_: Path) -> Any:
    def batches() -> Any:
        yield TABLE.to_batches()[0]
        raise KeyError("SECRET 424242")

    return pa.RecordBatchReader.from_batches(TABLE.schema, batches())


WIDE = Schema({"town": Categorical(list(range(2**15 + 1)))})
IGNORING = Schema({"age": Numeric(0, 100), "b": Ignored()})
QUERY = "select 1.0 as age, cast(s as int) as town from (values ('SECRET')) t(s)"
DATE = pd.Timestamp("2024-04-24")
Case = tuple[type[DpcovError], Callable[[Path], Any], dict[str, Any]]
REFUSED: dict[str, Case] = {
    "text without levels": (SchemaError, given(FRAME), {"row_norm": 1.0}),
    "text without levels, polars": (SchemaError, given(pl.DataFrame(FRAME.to_dict("list"))), {"row_norm": 1.0}),
    "text as a number": (SchemaError, given(TABLE), {"schema": Schema({"town": Numeric(0, 1)})}),
    "text as numeric levels": (SchemaError, given(TABLE), {"schema": Schema({"town": Categorical([1, 2])})}),
    "numbers as text levels": (SchemaError, given(FRAME), {"schema": Schema({"age": Categorical(["1"])})}),
    "numbers as truth": (SchemaError, given(FRAME), {"schema": Schema({"age": Categorical([True])})}),
    "truth as numeric levels": (SchemaError, column([True]), {"schema": Schema({"town": Categorical([0, 1])})}),
    "array as text levels": (SchemaError, given(np.full((3, 2), 424242.0)), {}),
    "array of another width": (SchemaError, given(np.full((3, 3), 424242.0)), {}),
    "array with a schema, one dimension": (ParameterError, given(np.full(3, 424242.0)), {}),
    "array too wide": (ParameterError, given(np.ones((1, 2**15 + 1))), {"row_norm": 1.0}),
    "array of text": (ParameterError, given(np.full((3, 2), "SECRET")), {}),
    "array too wide for a centre": (ParameterError, given(np.ones((1, 2**15))), {"row_norm": 1.0, "center": True}),
    "missing column": (SchemaError, given(FRAME[["town"]]), {}),
    "missing column, CSV": (SchemaError, file("t.csv", b"Age,town\n424242,SECRET\n"), {}),
    "missing column, Parquet": (SchemaError, parquet(), {"schema": Schema({"size": Numeric(0, 1)})}),
    "twice the same column": (SchemaError, given(pd.concat([FRAME, FRAME], axis=1)), {}),
    "twice the same column, CSV": (SchemaError, file("t.csv", b"age,town,age\n424242,SECRET,1\n"), {}),
    "twice the same column, Arrow": (SchemaError, given(pa.table([[1.0], [424242.0]], names=["age", "age"])), {"schema": AGE}),
    "no names in a CSV file": (ParameterError, file("t.csv", b"424242,SECRET\n1,x\n"), {"row_norm": 1.0}),
    "no names in a CSV file, with a schema": (SchemaError, file("t.csv", b"424242,SECRET\n1,x\n"), {}),
    "names twice in a first row": (SchemaError, file("t.csv", b"SECRET,SECRET\n1,2\n"), {"row_norm": 1.0}),
    "blank name": (ParameterError, file("t.csv", b",age\n1,424242\n"), {"row_norm": 1.0}),
    "empty file": (EngineError, file("t.csv", b""), {}),
    "empty lines": (EngineError, file("t.csv", b"\n\n"), {}),
    "empty Parquet": (EngineError, file("t.parquet", b""), {}),
    "empty gz": (EngineError, file("t.csv.gz", b""), {}),
    "names only": (ParameterError, file("t.csv", b"age,town\n"), {}),
    "no rows": (ParameterError, given(FRAME[:0]), {}),
    "no rows, stream": (ParameterError, given(TABLE[:0].to_reader()), {}),
    "other bytes": (EngineError, file("t.parquet", b"age,town\n424242,SECRET\n"), {}),
    "no gzip": (EngineError, file("t.csv.gz", LINES), {}),
    "UTF-16": (EngineError, file("t.csv", LINES.decode().encode("utf-16")), {}),
    "Parquet without its footer": (EngineError, parquet(cut=slice(None, -40)), {}),
    "Parquet without its beginning": (EngineError, parquet(cut=slice(40, None)), {}),
    "Parquet cut in half": (EngineError, parquet(cut=slice(None, 60_000)), {}),
    "Parquet damaged in the middle": (EngineError, parquet(zeroed=slice(60_000, 90_000)), {}),
    "a short line": (EngineError, file("t.csv", LINES + b"424242\n"), {}),
    "a long line": (EngineError, file("t.csv", LINES + b"1,SECRET,424242\n"), {}),
    "a short line, late": (EngineError, file("t.csv", LINES * 200 + b"424242\n"), {}),
    "a short line first": (EngineError, file("t.csv", b"age,town\n424242\n1,SECRET\n"), {}),
    "a directory": (EngineError, lambda folder: folder, {}),
    "a directory called .csv": (EngineError, lambda folder: (folder / "t.csv").mkdir() or folder / "t.csv", {}),  # type: ignore[func-returns-value]
    "no such file": (EngineError, lambda folder: folder / "t.csv", {}),
    "a name too long": (EngineError, lambda folder: folder / ("x" * 300 + ".csv"), {}),
    "no name": (ParameterError, given(""), {}),
    "a NUL in the name": (ParameterError, given("a\0.csv"), {}),
    "unknown ending": (ParameterError, file("t.docx", b"SECRET"), {}),
    "no ending": (ParameterError, file("t", LINES), {}),
    "an ending after the ending": (ParameterError, file("t.csv.bak", LINES), {}),
    "only an ending": (ParameterError, file(".csv", LINES), {}),
    "a LazyFrame without a column": (SchemaError, given(pl.LazyFrame({"age": [424242.0]})), {}),
    "a list": (ParameterError, given([[424242.0, "SECRET"]]), {}),
    "a dict": (ParameterError, given({"age": [424242.0]}), {}),
    "None": (ParameterError, given(None), {}),
    "bytes": (ParameterError, given(LINES), {}),
    "a pandas Series": (ParameterError, given(FRAME["age"]), {}),
    "a polars Series": (ParameterError, given(pl.Series("age", [424242.0])), {}),
    "a chunked array": (ParameterError, given(TABLE["age"]), {}),
    "columns as text": (ParameterError, given(FRAME), {"columns": "age"}),
    "columns as bytes": (ParameterError, given(FRAME), {"columns": b"age"}),
    "no columns": (ParameterError, given(FRAME), {"columns": []}),
    "columns as a set": (ParameterError, given(FRAME), {"columns": {"age"}}),
    "columns as a number": (ParameterError, given(FRAME), {"columns": 0}),
    "columns twice": (SchemaError, given(FRAME), {"columns": ["age", "age"]}),
    "columns twice, without a schema": (SchemaError, given(FRAME), {"columns": ["age", "age"], "row_norm": 1.0}),
    "columns twice, by name and position": (SchemaError, given(TABLE), {"columns": ["age", 0]}),
    "columns twice, array": (ParameterError, given(np.ones((3, 2))), {"columns": [1, "x1"], "row_norm": 1.0}),
    "position too large": (ParameterError, given(FRAME), {"columns": [2]}),
    "position below 0": (ParameterError, given(FRAME), {"columns": [-1]}),
    "position too large, array": (ParameterError, given(np.ones((3, 2))), {"columns": [2], "row_norm": 1.0}),
    "truth as a position": (ParameterError, given(FRAME), {"columns": [True]}),
    "a fraction as a position": (ParameterError, given(FRAME), {"columns": [0.0]}),
    "a name that the schema lacks": (SchemaError, given(FRAME), {"columns": ["town"], "schema": AGE}),
    "a name that the schema ignores": (SchemaError, given(FRAME), {"columns": ["b"], "schema": IGNORING}),
    "a name that the table lacks": (SchemaError, given(FRAME), {"columns": ["size"], "row_norm": 1.0}),
    "dates": (SchemaError, given(pd.DataFrame({"age": [1.0], "town": [DATE]})), {}),
    "dates as numbers": (SchemaError, given(pd.DataFrame({"age": [DATE]})), {"row_norm": 1.0}),
    "durations": (SchemaError, given(pd.DataFrame({"age": [DATE - DATE]})), {"schema": AGE}),
    "periods": (SchemaError, given(pd.DataFrame({"age": pd.period_range("2024", periods=1, freq="D")})), {"schema": AGE}),
    "complex numbers": (SchemaError, given(pd.DataFrame({"age": [424242 + 1j]})), {"schema": AGE}),
    "sparse numbers": (SchemaError, given(pd.DataFrame({"age": pd.arrays.SparseArray([424242.0])})), {"schema": AGE}),
    "Python objects": (SchemaError, given(pd.DataFrame({"age": [424242, "SECRET"]}, dtype=object)), {"schema": AGE}),
    "lists": (SchemaError, column([["SECRET"]]), {}),
    "structs": (SchemaError, column([{"SECRET": 424242}]), {}),
    "lists as numbers": (SchemaError, column([[424242.0]]), {"row_norm": 1.0}),
    "dictionaries of dates": (SchemaError, column(pa.array([DATE]).dictionary_encode()), {}),
    "too many features": (SchemaError, column([424242]), {"schema": WIDE}),
    "one feature too many with a centre": (
        SchemaError,
        column([424242]),
        {"schema": Schema({"town": Categorical(list(range(2**15)))}), "center": True},
    ),
    "a query that fails": (EngineError, lambda _: duckdb.connect().sql(QUERY), {"row_norm": 1.0}),
    "a stream that fails": (EngineError, failing, {}),
    "row_norm and schema": (ParameterError, given(FRAME), {"schema": BOTH, "row_norm": 1.0}),
    "neither row_norm nor schema": (ParameterError, given(FRAME), {"schema": None, "row_norm": None}),
    "a dict for a schema": (ParameterError, given(FRAME), {"schema": {"age": Numeric(0, 1)}}),
    "a path for a schema": (ParameterError, given(FRAME), {"schema": "schema.toml"}),
    "a class for a schema": (ParameterError, given(FRAME), {"schema": Schema}),
    "a number for center": (ParameterError, given(FRAME), {"center": 1}),
}  # fmt: skip


def assert_clear(error: DpcovError) -> None:
    message = str(error)
    assert re.fullmatch(r".+ must .+(, got .+|, and (is|are) not)\. Hint: .+[.?]", message), message
    assert "424242" not in message
    assert "SECRET" not in message
    assert error.__cause__ is None
    assert error.__context__ is None  # nor may a traceback quote a cell


@pytest.mark.usefixtures("unspent")
@pytest.mark.parametrize("case", REFUSED)
def test_refused(case: str, tmp_path: Path) -> None:
    kind, make, changes = REFUSED[case]
    with pytest.raises(DpcovError) as raised:
        ask(make(tmp_path), **changes)
    assert type(raised.value) is kind, raised.value
    assert_clear(raised.value)


TAKEN: dict[str, Callable[[Path], Any]] = {
    "what the refusals start from": given(FRAME),
    "the same as CSV": file("t.csv", LINES),
    "the same as Parquet": parquet(),
    "mixed Python objects": given(pd.DataFrame({"age": [1.0, 2, 3], "town": pd.Series(["SECRET", 424242, [1]], dtype=object)})),
    "an unused column of any type": given(pd.DataFrame({"age": [1.0], "town": ["x"], "z": [1j], "date": [DATE]})),
    "constant columns": given(pd.DataFrame({"age": [50.0] * 9, "town": ["Basel"] * 9})),
    "nothing but gaps": given(pd.DataFrame({"age": [np.nan] * 9, "town": [None] * 9}, dtype=object).astype({"age": float})),
    "nulls without a type": given(pa.table({"age": pa.nulls(5), "town": pa.nulls(5)})),
    "a dictionary with null entries": column(pa.DictionaryArray.from_arrays(pa.array([0, 1, None]), pa.array(["Basel", None]))),
    "a dictionary without entries": column(
        pa.DictionaryArray.from_arrays(pa.array([None, None], pa.int8()), pa.array([], pa.string()))
    ),
    "batches without rows": given(pa.concat_tables([TABLE[:0], TABLE[:1], TABLE[:0], TABLE[1:], TABLE[:0]])),
    "an unused duplicate": file("t.csv", b"a,age,a,town\n1,2,SECRET,4\n"),
    "blank lines": file("t.csv", b"age,town\n\n1,Basel\n\n2,x\n\n"),
    "no newline at the end": file("t.csv", b"age,town\n1,Basel"),
}


@pytest.mark.parametrize("center", [False, True])
@pytest.mark.parametrize("case", TAKEN)
def test_taken(case: str, center: bool, tmp_path: Path) -> None:
    release = ask(TAKEN[case](tmp_path), center=center, mechanism="gaussian")
    assert release.feature_names == ("age", "town=SECRET", "town=Basel")
    assert np.isfinite(release.covariance).all()
    assert len(release.spent) == 1


EMPTY: dict[str, Callable[[Path], Any]] = {
    "pandas": given(FRAME[:0]),
    "Arrow without batches": lambda _: pa.RecordBatchReader.from_batches(TABLE.schema, []),
    "polars": given(pl.DataFrame(schema={"age": pl.Float64, "town": pl.String})),
    "CSV": file("t.csv", b"age,town\n"),
    "Parquet": lambda folder: (pq.write_table(TABLE[:0], folder / "t.parquet"), folder / "t.parquet")[1],
    "array": given(np.zeros((0, 1))),
}


@pytest.mark.parametrize("center", [False, True])
@pytest.mark.parametrize("case", EMPTY)
def test_no_rows_are_a_table_like_any_other_under_add_remove(case: str, center: bool, tmp_path: Path) -> None:
    release = ask(EMPTY[case](tmp_path), center=center, neighbors="add-remove", schema=AGE)
    assert release.n >= 1
    assert np.isfinite(release.covariance).all()


def test_a_blank_line_of_one_column_is_a_row(tmp_path: Path) -> None:
    # Otherwise a missing cell would change n, which is public under replace.
    assert ask(file("t.csv", b"age\n1\n\n3\n")(tmp_path), schema=AGE).n == 3


def test_a_stream_answers_one_question() -> None:
    source = open_source(TABLE.to_reader(), None, BOTH)
    curator = opened(source, Grid(1.0), dpcov.ZCDP(1), "add-remove", SeededBits(0))
    curator.noisy(curator.public.second_moment(), dpcov.ZCDP("0.25"), noise="gaussian")
    curator.ask_n(dpcov.ZCDP("0.25"))  # the rows were counted on the way
    with pytest.raises(EngineError) as raised:
        curator.noisy(curator.public.second_moment(), dpcov.ZCDP("0.25"), noise="gaussian")
    assert_clear(raised.value)
    assert (len(curator.answers), len(charged(curator))) == (2, 2)


@pytest.mark.parametrize("neighbors", ["replace", "add-remove"])
def test_a_stream_is_released_once(neighbors: str) -> None:
    reader = TABLE.to_reader()
    ask(reader, neighbors=neighbors)
    with pytest.raises(DpcovError) as raised:
        ask(reader, neighbors=neighbors)
    assert_clear(raised.value)


def test_a_file_that_changed_between_two_readings(tmp_path: Path) -> None:
    path = file("t.csv", b"age\n1\n2\n")(tmp_path)
    source = open_source(path, None, AGE)
    assert source.n == 2
    path.write_bytes(b"age\n1\n2\n424242\n")
    curator = opened(source, Grid(1.0), dpcov.ZCDP(1), "replace", SeededBits(0))
    for change in (lambda: None, path.unlink):  # longer, and then gone
        change()
        with pytest.raises(EngineError) as raised:
            curator.noisy(curator.public.second_moment(), dpcov.ZCDP(1), noise="gaussian")
        assert_clear(raised.value)
    assert untouched(curator)


class TestColumnsOfText:
    """A CSV file declares no types: which of its columns are numbers is said, and nothing is spent on a guess."""

    LINES = "age,town\n30,SECRET\n40,SECRET\n"

    def test_they_must_be_named_without_a_schema(self, tmp_path: Path) -> None:
        path = tmp_path / "people.csv"
        path.write_text(self.LINES, encoding="utf-8")
        calls: list[Any] = [
            lambda **said: dpcov.covariance(path, dpcov.PureDP(1), row_norm=1, **said),
            lambda **said: dpcov.pca(path, dpcov.PureDP(1), 1, row_norm=1, **said),
            lambda **said: dpcov.ridge(path, dpcov.PureDP(1), "age", alpha=1, row_norm=1, **said),
            lambda **said: dpcov.rehearse("covariance", path, dpcov.PureDP(1), row_norm=1, **said),
            lambda **said: dpcov.PrivateCovariance(epsilon=1, row_norm=1, **said).fit(path),
        ]
        for ask in calls:
            with pytest.raises(ParameterError, match=r"^columns must be given for text without a schema") as raised:
                ask()
            assert "SECRET" not in str(raised.value)
        assert dpcov.covariance(path, dpcov.PureDP(1), row_norm=1, columns=["age"]).feature_names == ("age",)
        schema = dpcov.Schema({"age": dpcov.Numeric(0, 100)})
        assert dpcov.covariance(path, dpcov.PureDP(1), schema=schema).feature_names == ("age",)

    def test_a_typed_file_says_it_itself(self, tmp_path: Path) -> None:
        path = tmp_path / "people.parquet"
        pq.write_table(pa.table({"age": [30.0, 40.0], "height": [1.5, 1.8]}), path)
        assert dpcov.covariance(path, dpcov.PureDP(1), row_norm=1).feature_names == ("age", "height")
        pq.write_table(pa.table({"age": [30.0, 40.0], "town": ["SECRET", "SECRET"]}), path)
        with pytest.raises(SchemaError, match="column 'town' must be numeric"):
            dpcov.covariance(path, dpcov.PureDP(1), row_norm=1)
