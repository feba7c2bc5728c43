"""Folders, patterns, URIs and files of other programs: found in one order, checked before a row is read, named in messages."""

from __future__ import annotations

import builtins
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import scipy.sparse
from pyarrow import fs

import dpcov
from dpcov.errors import DpcovError, EngineError, ParameterError, SchemaError
from dpcov.kernel.questions.moments import Count, Sum
from dpcov.kernel.rows.grid import Grid
from dpcov.schema import Categorical, Numeric, Schema
from dpcov.sources import places
from dpcov.sources.files import ENDINGS, local_files, open_file
from dpcov.sources.mapped import MappedRows
from dpcov.sources.opening import open_source, open_table
from dpcov.sources.places import find
from dpcov.sources.split import Here, SplitSource
from dpcov.sources.through_pandas import open_by_pandas
from tests.sources.test_tables import assert_clear, unspent

__all__ = ["unspent"]

BOTH = Schema({"age": Numeric(0, 100), "town": Categorical(["SECRET", "Basel"])})
TABLE = pa.table({"age": [424242.0, 2.0], "town": ["SECRET", "x"]})
DATE = pa.array([0, 1], pa.date32())


def write(place: Path, table: Any = TABLE) -> Path:
    place.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(table, place)
    return place


def files(**tables: Any) -> Callable[[Path], str]:
    def make(folder: Path) -> str:
        for name, table in tables.items():
            write(folder / f"{name}.parquet", table)
        return f"{folder}/*.parquet"

    return make


def texts(**contents: str) -> Callable[[Path], str]:
    def make(folder: Path) -> str:
        for name, content in contents.items():
            (folder / f"{name}.csv").write_text(content, encoding="utf-8")
        return f"{folder}/*.csv"

    return make


def keyed(*names: str, table: Any = TABLE) -> Callable[[Path], Path]:
    def make(folder: Path) -> Path:
        for name in names:
            write(folder / name / "t.parquet", table)
        return folder

    return make


def cut(folder: Path) -> str:
    files(a=TABLE, b=TABLE)(folder)
    place = folder / "b.parquet"
    place.write_bytes(place.read_bytes()[:-30])
    return f"{folder}/*.parquet"


def npy(content: bytes | np.ndarray[Any, Any], name: str = "t.npy") -> Callable[[Path], Path]:
    def make(folder: Path) -> Path:
        if isinstance(content, bytes):
            (folder / name).write_bytes(content)
        else:
            np.save(folder / name, content)
        return folder / name

    return make


def cut_npy(folder: Path) -> Path:
    place = npy(np.full((100, 2), 424242.0))(folder)
    place.write_bytes(place.read_bytes()[:-50])
    return place


SECOND = r"'b.parquet' \(file 2 of 2\)"
NUMBERS: dict[str, Any] = {"schema": None, "row_norm": 1.0}
REFUSED: dict[str, tuple[type[DpcovError], str, Callable[[Path], Any], dict[str, Any]]] = {
    "a column that one file lacks": (
        SchemaError,
        f"'town', got no column of that name in {SECOND}",
        files(a=TABLE, b=TABLE.select(["age"])),
        {},
    ),
    "a column twice in one file": (
        SchemaError,
        f"'age', got 2 columns of that name in {SECOND}",
        files(a=TABLE, b=TABLE.add_column(0, "age", TABLE["age"])),
        {},
    ),
    "text in place of numbers": (
        SchemaError,
        f"column 'age' must be numeric, got the declared type string in {SECOND}",
        files(a=TABLE, b=TABLE.set_column(0, "age", TABLE["town"])),
        {},
    ),
    "dates in place of numbers": (
        SchemaError,
        rf"column 'age' must be numeric, got the declared type date32\[day\] in {SECOND}",
        files(a=TABLE, b=TABLE.set_column(0, "age", DATE)),
        {},
    ),
    "numbers in place of levels": (
        SchemaError,
        f"levels of column 'town' must fit its type, got text levels for double in {SECOND}",
        files(a=TABLE, b=TABLE.set_column(1, "town", TABLE["age"])),
        {},
    ),
    "a column that only one file has": (
        SchemaError,
        f"the same columns in each file, got 'z' in {SECOND} but not in the first",
        files(a=TABLE.select(["age"]), b=TABLE.select(["age"]).append_column("z", TABLE["age"])),
        NUMBERS,
    ),
    "a column that only the first file has": (
        SchemaError,
        f"'z', got no column of that name in {SECOND}",
        files(a=TABLE.select(["age"]).append_column("z", TABLE["age"]), b=TABLE.select(["age"])),
        NUMBERS,
    ),
    "another line of names": (
        SchemaError,
        r"'age', 'town', got no column of these names in 'b.csv' \(file 2 of 2\)",
        texts(a="age,town\n1,x\n", b="424242,SECRET\n1,x\n"),
        {},
    ),
    "a ragged file": (
        EngineError,
        r"an error in 'b.csv' \(file 2 of 2\)",
        texts(a="age,town\n1,x\n", b="age,town\n1,x\n424242\n"),
        {},
    ),
    "an empty file": (EngineError, r"got 'b.csv' \(file 2 of 2\), which is empty", texts(a="age,town\n1,x\n", b=""), {}),
    "no numbers for names": (
        ParameterError,
        r"got 'b.csv' \(file 2 of 2\) with numbers or blanks there",
        texts(a="age,town\n1,x\n", b="424242,7\n1,x\n"),
        NUMBERS,
    ),
    "a truncated file": (EngineError, f"complete Parquet file, got {SECOND}, which is not", cut, {}),
    "an empty folder": (EngineError, r"\(a directory\) with none", lambda folder: folder, {}),
    "a pattern that nothing fits": (EngineError, "with none", lambda folder: f"{folder}/*.parquet", {}),
    "two kinds of files": (
        ParameterError,
        "files of one kind",
        lambda folder: (texts(a="age,town\n1,x\n")(folder), files(b=TABLE)(folder), folder)[2],
        {},
    ),
    "folders of other keys": (ParameterError, "folders of the same keys", keyed("y=1", "z=1"), {}),
    "some folders without keys": (ParameterError, "folders of the same keys", keyed("y=1", "z"), {}),
    "a key that is a column": (
        SchemaError,
        "column 'age' must be in the files or in the names of their folders",
        keyed("age=1", "age=2"),
        {},
    ),
    "a key twice": (SchemaError, "column 'y' must be in the files or", keyed("y=1/y=2", "y=1/y=3"), {}),
    "keys without columns": (
        ParameterError,
        "columns must be given for text without a schema",
        keyed("y=1", "y=2", table=TABLE.select(["age"])),
        NUMBERS,
    ),
    "an address that leads nowhere": (
        EngineError,
        "readable to the end",
        lambda _: "nowhere://SECRET:424242@bucket/a.parquet",
        {},
    ),
    "a folder behind an address": (EngineError, "with none", lambda folder: folder.as_uri(), {}),
    "a separator for Parquet": (
        ParameterError,
        "a CSV file",
        lambda folder: dpcov.Csv(write(folder / "a.parquet"), separator=";"),
        {},
    ),
    "a separator for a spreadsheet": (
        ParameterError,
        "a CSV file",
        lambda folder: dpcov.Csv(folder / npy(b"x", "a.xlsx")(folder), separator=";"),
        {},
    ),
    "npy of text": (ParameterError, "numeric numpy array", npy(np.array([["SECRET"]])), NUMBERS),
    "npy of one dimension": (ParameterError, "got 1 dimension", npy(np.full(3, 424242.0)), NUMBERS),
    "npy of a number": (ParameterError, "got 1 dimension", npy(np.array(424242.0)), NUMBERS),
    "npy of objects": (
        EngineError,
        r"complete .npy file of numbers, got 't.npy'",
        npy(np.array([["SECRET", 424242]], dtype=object)),
        NUMBERS,
    ),
    "npy that is none": (EngineError, r"complete .npy file of numbers, got 't.npy'", npy(b"SECRET"), NUMBERS),
    "npy that is empty": (EngineError, r"complete .npy file of numbers, got 't.npy'", npy(b""), NUMBERS),
    "npy that is cut": (EngineError, r"complete .npy file of numbers, got 't.npy'", cut_npy, NUMBERS),
    "npy of another width": (SchemaError, "got 2 descriptions for 3 columns", npy(np.full((2, 3), 424242.0)), {}),
    "npy that is not there": (EngineError, "no such file", lambda folder: folder / "t.npy", NUMBERS),
    "npy files": (
        ParameterError,
        "one .npy file, got several",
        lambda folder: (npy(np.ones((2, 2)), "a.npy")(folder), npy(np.ones((2, 2)), "b.npy")(folder), f"{folder}/?.npy")[2],
        NUMBERS,
    ),
    "npy far away": (ParameterError, "on this machine for .npy files", lambda _: "s3://SECRET:424242@bucket/t.npy", NUMBERS),
    "sparse of one dimension": (
        ParameterError,
        "got 1 dimension",
        lambda _: scipy.sparse.coo_array(np.full(3, 424242.0)),
        NUMBERS,
    ),
    "sparse of complex numbers": (
        ParameterError,
        "complex128",
        lambda _: scipy.sparse.csr_array(np.full((3, 2), 424242j)),
        NUMBERS,
    ),
}


@pytest.mark.usefixtures("unspent")
@pytest.mark.parametrize("case", REFUSED)
def test_refused(case: str, tmp_path: Path) -> None:
    kind, words, make, changes = REFUSED[case]
    with pytest.raises(DpcovError) as raised:
        dpcov.covariance(make(tmp_path), dpcov.ZCDP(1), **{"schema": BOTH, "seed": 0, **changes})
    assert type(raised.value) is kind, raised.value
    assert re.search(words, str(raised.value)), raised.value
    assert_clear(raised.value)


class TestFound:
    def test_in_the_order_of_their_paths(self, tmp_path: Path) -> None:
        for name in ("b/1", "a/10", "a/9", "c"):
            write(tmp_path / f"{name}.parquet")
        for data in (tmp_path, str(tmp_path), tmp_path.as_uri()):
            found = [Path(place.path).relative_to(tmp_path).as_posix() for place in find(data, ENDINGS)]
            assert found == ["a/10.parquet", "a/9.parquet", "b/1.parquet", "c.parquet"]
        found = [Path(place.path).relative_to(tmp_path).as_posix() for place in find(f"{tmp_path}/[ab]/*", ENDINGS)]
        assert found == ["a/10.parquet", "a/9.parquet", "b/1.parquet"]
        assert len(find(f"{tmp_path}/**/*.parquet", ENDINGS)) == 4

    def test_the_keys_of_folders(self, tmp_path: Path) -> None:
        for name in ("y=a%2Fb=c/z=", "y=__HIVE_DEFAULT_PARTITION__/z=1"):
            write(tmp_path / name / "t.parquet")
        assert [place.keys for place in find(tmp_path, ENDINGS)] == [(("y", None), ("z", "1")), (("y", "a/b=c"), ("z", ""))]

    def test_what_writers_leave_beside_is_no_data(self, tmp_path: Path) -> None:
        write(tmp_path / "t.parquet")
        for name in (
            "_SUCCESS",
            "_metadata.parquet",
            ".t.parquet.crc",
            "_delta_log/0.parquet",
            ".hidden/0.parquet",
            "notes.txt",
        ):
            (tmp_path / name).parent.mkdir(exist_ok=True)
            (tmp_path / name).write_bytes(b"SECRET")
        assert [Path(place.path).name for place in find(tmp_path, ENDINGS)] == ["t.parquet"]
        assert [Path(place.path).name for place in find(f"{tmp_path}/*.parquet", ENDINGS)] == ["t.parquet"]

    def test_a_file_whose_name_looks_like_a_pattern(self, tmp_path: Path) -> None:
        write(tmp_path / "a[1].parquet")
        write(tmp_path / "a1.parquet", TABLE[:0])
        assert open_file(tmp_path / "a[1].parquet").rows == 2

    def test_a_pattern_below_the_working_folder(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        write(tmp_path / "x" / "a.parquet")
        monkeypatch.chdir(tmp_path)
        assert open_file("x/*.parquet").rows == open_file("*/a.parquet").rows == 2

    def test_files_that_a_release_must_not_overwrite(self, tmp_path: Path) -> None:
        files(a=TABLE, b=TABLE)(tmp_path)
        expected = [str(tmp_path / name) for name in ("a.parquet", "b.parquet")]
        assert local_files(tmp_path) == local_files(f"{tmp_path}/*.parquet") == expected
        assert local_files(tmp_path / "none.parquet") == local_files(TABLE) == local_files("") == []


class TestFarAway:
    """A filesystem behind a URI, as pyarrow opens it; here a folder that stands for a bucket."""

    @pytest.fixture
    def bucket(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
        def from_uri(uri: str) -> tuple[Any, str]:
            return fs.SubTreeFileSystem(str(tmp_path), fs.LocalFileSystem()), uri.removeprefix("test://bucket/")

        monkeypatch.setattr(places, "filesystem", from_uri)
        return tmp_path

    @pytest.mark.parametrize("path", ["one/a.parquet", "one", "*/a.parquet", "one/*", "t.csv", "t.csv.gz"])
    def test_it_is_read_as_if_it_were_here(self, path: str, bucket: Path) -> None:
        write(bucket / "one" / "a.parquet", TABLE)
        TABLE.to_pandas().to_csv(bucket / "t.csv", index=False)
        TABLE.to_pandas().to_csv(bucket / "t.csv.gz", index=False)
        source: Any = open_source(f"test://bucket/{path}", ["age"])
        assert source.total(Sum(Grid(1e6), 1)).tolist() == open_source(TABLE, ["age"]).total(Sum(Grid(1e6), 1)).tolist()
        assert len(list(source.parts())) == 1

    def test_what_is_not_there(self, bucket: Path) -> None:
        with pytest.raises(EngineError, match="got a URI with none"):
            open_source(f"test://bucket/{bucket.name}/*.parquet")

    def test_spreadsheets_must_be_here(self, bucket: Path) -> None:
        (bucket / "t.xlsx").write_bytes(b"SECRET")
        with pytest.raises(EngineError, match=r"must be on this machine for this format, got 't\.xlsx'"):
            open_source("test://bucket/t.xlsx")


def test_a_folder_is_not_named(tmp_path: Path) -> None:
    """Its name may be a cell."""
    write(tmp_path / "town=SECRET" / "a.parquet", TABLE.select(["age"]))
    broken = write(tmp_path / "town=SECRET" / "b.parquet", TABLE.select(["age"]))
    broken.write_bytes(broken.read_bytes()[:-9])
    with pytest.raises(EngineError, match=r"got 'b\.parquet' \(file 2 of 2\), which is not") as raised:
        open_source(tmp_path, None, BOTH)
    assert "SECRET" not in str(raised.value)


def test_a_column_of_folders_is_text_or_numbers_as_the_schema_says(tmp_path: Path) -> None:
    table = TABLE.select(["age"])
    for name in ("year=2001", "year=2003", "year=__HIVE_DEFAULT_PARTITION__", "year=20%2001"):
        write(tmp_path / name / "t.parquet", table)
    asked: dict[str, Any] = {"mechanism": "gaussian", "postprocess": "none", "allow_weak": True}
    numbers = Schema({"age": Numeric(0, 10), "year": Numeric(2000, 2004)})
    made = dpcov.covariance(tmp_path, dpcov.ZCDP(10**9), schema=numbers, **asked)
    assert made.n == 8
    assert made.mean[1] == pytest.approx(2002, abs=0.01)  # what is no number counts as the midpoint
    words = Schema({"age": Numeric(0, 10), "year": Categorical(["2001", "20 01"])})
    assert dpcov.covariance(tmp_path, dpcov.ZCDP(10**9), schema=words, **asked).mean[1:] == pytest.approx(
        [0.25, 0.25], abs=0.01
    )
    only = Schema({"year": Categorical([2001, 2003])})
    assert dpcov.covariance(tmp_path, dpcov.ZCDP(10**9), schema=only, **asked).mean == pytest.approx([0.25, 0.25], abs=0.01)


def test_only_the_column_of_folders(tmp_path: Path) -> None:
    """Its cells are as many as the rows of the files, though nothing else is read of them."""
    for name, rows in (("y=1", 3), ("y=2", 2)):
        (tmp_path / name).mkdir()
        pd.DataFrame({"age": [7.0] * rows}).to_csv(tmp_path / name / "t.csv.gz", index=False)
        write(tmp_path / "other" / name / "t.parquet", pa.table({"age": [7.0] * rows}))
    for data in (f"{tmp_path}/y=*/*.gz", tmp_path / "other"):
        source: Any = open_source(data, ["y"])
        for one in (source, SplitSource(source, Here())):
            assert one.total(Sum(Grid(4.0), 1)).tolist() == [(3 * 1 + 2 * 2) * 2**14]
            assert one.n == 5


def test_predictions_for_many_files(tmp_path: Path) -> None:
    schema = Schema({"age": Numeric(0, 10), "year": Categorical(["1", "2"])})
    for year in (1, 2):
        write(tmp_path / f"year={year}" / "t.parquet", pa.table({"age": [3.0, 5.0]}))
    made = dpcov.covariance(tmp_path, dpcov.ZCDP(10), schema=schema, seed=0, mechanism="gaussian", allow_weak=True)
    whole = pa.table({"year": ["1", "1", "2", "2"]})
    assert made.ridge("age").predict(tmp_path).tolist() == made.ridge("age").predict(whole).tolist()


def test_a_folder_of_keyed_csv_files_checks_their_names(tmp_path: Path) -> None:
    (tmp_path / "y=1").mkdir()
    (tmp_path / "y=1" / "t.csv").write_text("1,2\n3,4\n", encoding="utf-8")
    with pytest.raises(ParameterError, match="with numbers or blanks there"):
        open_table(tmp_path)
    assert open_table(texts(a="age\n1\n", b="age\n2\n")(tmp_path)).names == ["age"]


class TestThroughPandas:
    FRAME = pd.DataFrame({"age": [1.5, 30.0, np.nan], "code": [1, 2, 2], "town": ["Basel", "x", "SECRET"]})
    SCHEMA = Schema({"age": Numeric(0, 50), "code": Categorical([1, 2]), "town": Categorical(["Basel", "SECRET"])})

    def sums(self, data: Any) -> list[int]:
        source = open_source(data, None, self.SCHEMA)
        entries: list[int] = source.total(Sum(Grid(1.0), source.d)).tolist()
        return entries

    def test_stata(self, tmp_path: Path) -> None:
        self.FRAME.to_stata(tmp_path / "t.dta", write_index=False)
        assert self.sums(tmp_path / "t.dta") == self.sums(self.FRAME)

    def test_labels_of_numbers_stay_numbers(self, tmp_path: Path) -> None:
        self.FRAME.to_stata(tmp_path / "t.dta", write_index=False, value_labels={"code": {1: "SECRET", 2: "no"}})
        assert self.sums(tmp_path / "t.dta") == self.sums(self.FRAME)

    @pytest.mark.parametrize(
        ("name", "reader"), [("t.sav", "read_spss"), ("t.zsav", "read_spss"), ("t.sas7bdat", "read_sas"), ("t.xpt", "read_sas")]
    )
    def test_other_programs(self, name: str, reader: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        (tmp_path / name).write_bytes(b"anything")
        monkeypatch.setattr(pd, reader, lambda path, **_: self.FRAME if Path(path).name == name else None)
        assert self.sums(tmp_path / name) == self.sums(self.FRAME)

    def sheet(self, monkeypatch: pytest.MonkeyPatch, cells: list[list[Any]]) -> None:
        def read_excel(_: str, header: None, dtype: type, keep_default_na: bool) -> pd.DataFrame:
            assert (header, dtype, keep_default_na) == (None, object, False)
            return pd.DataFrame(cells, dtype=object)

        monkeypatch.setattr(pd, "read_excel", read_excel)

    def test_a_sheet_is_text_cell_by_cell(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """One cell of text among numbers, or a date, is a missing cell and changes no type."""
        (tmp_path / "t.xlsx").write_bytes(b"anything")
        date = pd.Timestamp("2024-04-24")
        rows: list[list[Any]] = [
            ["age", "code", "town"],
            [1.5, np.int64(1), "Basel"],
            ["30", 2.0, "x"],
            [date, True, "SECRET"],
            [np.nan, 2, None],
        ]
        self.sheet(monkeypatch, rows)
        frame = pd.DataFrame({"age": [1.5, 30.0, None, None], "code": [1, 2, None, 2], "town": ["Basel", "x", "SECRET", None]})
        assert self.sums(tmp_path / "t.xlsx") == self.sums(frame)
        assert open_source(tmp_path / "t.xlsx", ["age"]).n == 4
        with pytest.raises(ParameterError, match="columns must be given"):
            dpcov.covariance(tmp_path / "t.xlsx", dpcov.ZCDP(1), row_norm=1)

    @pytest.mark.usefixtures("unspent")
    @pytest.mark.parametrize(
        ("cells", "kind", "words"),
        [
            ([], EngineError, "got 't.xlsx', which is empty"),
            ([[1.5, "x"], [424242, "SECRET"]], ParameterError, "got 't.xlsx' with numbers or blanks there"),
            ([["age", None], [424242, "SECRET"]], ParameterError, "got 't.xlsx' with numbers or blanks there"),
            ([["age", "age"], [424242, "SECRET"]], SchemaError, "one column for each name, got 2 columns"),
        ],
    )
    def test_sheets_that_are_refused(
        self, cells: list[list[Any]], kind: type, words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        (tmp_path / "t.xlsx").write_bytes(b"anything")
        self.sheet(monkeypatch, cells)
        with pytest.raises(DpcovError, match=words) as raised:
            dpcov.covariance(tmp_path / "t.xlsx", dpcov.ZCDP(1), row_norm=1)
        assert type(raised.value) is kind
        assert_clear(raised.value)

    def test_a_real_sheet(self, tmp_path: Path) -> None:
        pytest.importorskip("openpyxl")
        self.FRAME.to_excel(tmp_path / "t.xlsx", index=False)
        assert self.sums(tmp_path / "t.xlsx") == self.sums(self.FRAME)

    @pytest.mark.usefixtures("unspent")
    @pytest.mark.parametrize("name", ["t.xlsx", "t.dta", "t.sav", "t.sas7bdat", "t.xpt"])
    def test_a_broken_file_is_named_and_not_quoted(self, name: str, tmp_path: Path) -> None:
        (tmp_path / name).write_bytes(b"SECRET 424242" * 99)
        with pytest.raises(EngineError) as raised:
            dpcov.covariance(tmp_path / name, dpcov.ZCDP(1), schema=BOTH)
        assert repr(name) in str(raised.value)
        assert "SECRET" not in str(raised.value)
        assert raised.value.__context__ is None

    @pytest.mark.parametrize(
        ("error", "package"),
        [
            (ImportError("Missing optional dependency 'openpyxl'. Use pip or conda to install openpyxl."), "openpyxl"),
            (ImportError("`Import pyreadstat` failed. Use pip or conda to install the pyreadstat package."), "pyreadstat"),
            (ModuleNotFoundError("No module named 'xlrd'", name="xlrd"), "xlrd"),
            (ImportError("something else"), "pandas"),
        ],
    )
    def test_the_missing_package_is_named(
        self, error: ImportError, package: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        (tmp_path / "t.xlsx").write_bytes(b"anything")

        def read_excel(*_: Any, **__: Any) -> None:
            raise error

        monkeypatch.setattr(pd, "read_excel", read_excel)
        with pytest.raises(EngineError, match=f"package {package} must be installed to read 't.xlsx', and is not") as raised:
            open_table(tmp_path / "t.xlsx")
        assert_clear(raised.value)

    def test_without_pandas(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        ordinary = builtins.__import__

        def without(name: str, *rest: Any) -> Any:
            if name == "pandas":
                raise ModuleNotFoundError("No module named 'pandas'", name="pandas")
            return ordinary(name, *rest)

        monkeypatch.setattr(builtins, "__import__", without)
        with pytest.raises(
            EngineError, match=r"package pandas must be installed to read 't.dta', and is not\. Hint: pip install"
        ):
            open_by_pandas(places.Place(str(tmp_path / "t.dta")))


def test_rows_of_a_mapped_file_and_of_parts_of_its_parts(tmp_path: Path) -> None:
    rows = np.arange(60.0).reshape(20, 3)
    np.save(tmp_path / "t.npy", rows)
    mapped = MappedRows(tmp_path / "t.npy")
    assert np.array_equal(mapped[3:7], rows[3:7])
    part = mapped.part(5, 10).part(4, 10)
    assert len(part) == 6
    assert np.array_equal(part[1:100], rows[10:15])


def test_an_array_without_rows_has_a_part(tmp_path: Path) -> None:
    np.save(tmp_path / "t.npy", np.zeros((0, 2)))
    for data in (tmp_path / "t.npy", np.zeros((0, 2)), scipy.sparse.csr_array((0, 2))):
        source: Any = open_source(data)
        assert [part.sums(Count()).rows for part in source.parts()] == [0]
    pq.write_table(TABLE[:0], tmp_path / "t.parquet")
    (tmp_path / "t.csv").write_text("age\n", encoding="utf-8")
    pq.ParquetWriter(tmp_path / "none.parquet", TABLE.schema).close()  # not even a row group
    for data in (tmp_path / "t.parquet", tmp_path / "none.parquet", tmp_path / "t.csv", TABLE[:0], TABLE[:0].to_reader()):
        assert [part.sums(Count()).rows for part in open_source(data, ["age"]).parts()] == [0]  # type: ignore[attr-defined]
