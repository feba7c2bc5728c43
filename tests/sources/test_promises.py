"""What a table's source promises beyond its sums: a row is a row, a stream is read once, and nothing quotes a cell."""

from __future__ import annotations

import traceback
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import dpcov
from dpcov.errors import EngineError, ParameterError, SchemaError
from dpcov.kernel.bits import SeededBits
from dpcov.kernel.questions.columns import Squares
from dpcov.kernel.rows.grid import Grid
from dpcov.sources.array import ArraySource
from dpcov.verify.testing import opened

ONE = dpcov.ZCDP(1)
AGE = dpcov.Schema({"a": dpcov.Numeric(0, 10)})


def written(folder: Path, text: str, name: str = "table.csv") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8", newline="")
    return path


@pytest.mark.parametrize("cell", ["42", "", " ", '""', "NA", "1e400"])
def test_a_cell_cannot_delete_its_row(tmp_path: Path, cell: str) -> None:
    """Writers leave an empty line for a missing value in a file of one column."""
    path = written(tmp_path, f"income\n10\n{cell}\n30\n")
    assert dpcov.covariance(path, ONE, row_norm=50, columns=["income"]).n == 3


def test_blank_lines_of_wider_files_are_no_rows(tmp_path: Path) -> None:
    assert dpcov.covariance(written(tmp_path, "a,b\n1,2\n\n3,4\n\n"), ONE, row_norm=9, columns=["a", "b"]).n == 2


@pytest.mark.parametrize("neighbors", ["replace", "add-remove"])
def test_a_stream_that_was_read_is_not_an_empty_table(neighbors: str) -> None:
    reader = pa.table({"a": np.full(1000, 9.0)}).to_reader()
    options: dict[str, Any] = {"schema": AGE, "neighbors": neighbors, "center": True}
    assert dpcov.covariance(reader, ONE, **options).mean == pytest.approx(9, abs=0.5)
    with pytest.raises(EngineError, match="fresh stream, got one that was already read"):
        dpcov.covariance(reader, ONE, **options)


def test_levels_with_blanks_match_trimmed_cells(tmp_path: Path) -> None:
    path = written(tmp_path, "a\n x\nx \ny\n")
    schema = dpcov.Schema({"a": dpcov.Categorical([" x", "y"])})
    release = dpcov.covariance(path, dpcov.ZCDP("1e9"), schema=schema, center=True, postprocess="none", allow_weak=True)
    assert release.mean == pytest.approx([2 / 3, 1 / 3], abs=0.01)
    with pytest.raises(SchemaError, match="differ by more than blanks"):
        dpcov.covariance(path, ONE, schema=dpcov.Schema({"a": dpcov.Categorical(["x", "x "])}))


@pytest.mark.parametrize("text", ["a,note\n1,x,alice\n", "a,note\nalice\n"])
def test_a_broken_line_is_quoted_nowhere(tmp_path: Path, text: str) -> None:
    """Not in the message, nor in what Python keeps behind it for a traceback or a debugger."""
    with pytest.raises(EngineError) as caught:
        dpcov.covariance(written(tmp_path, text), ONE, schema=AGE)
    assert caught.value.__context__ is None
    assert caught.value.__cause__ is None
    assert "alice" not in "".join(traceback.format_exception(caught.value))


def test_a_first_row_taken_for_names_is_not_quoted(tmp_path: Path) -> None:
    with pytest.raises(SchemaError) as caught:
        dpcov.covariance(written(tmp_path, "Smith,Smith\nDoe,Roe\n"), ONE, row_norm=1)
    assert "Smith" not in str(caught.value)
    with pytest.raises(ParameterError) as refused:
        dpcov.covariance(written(tmp_path, "424242,3\n5,6\n"), ONE, row_norm=1)
    assert "424242" not in str(refused.value)


@pytest.mark.parametrize(("name", "line"), [("a.csv", "a;b"), ("a.csv", "a\tb"), ("a.csv", "a|b"), ("a.tsv", "a;b")])
def test_another_separator_is_not_one_long_name(tmp_path: Path, name: str, line: str) -> None:
    with pytest.raises(ParameterError, match=r"must have (commas|tabs) between columns"):
        dpcov.covariance(written(tmp_path, f"{line}\n1;2\n", name), ONE, row_norm=1)


def test_an_empty_file_says_so(tmp_path: Path) -> None:
    with pytest.raises(EngineError, match="which is empty"):
        dpcov.covariance(written(tmp_path, ""), ONE, row_norm=1)


def test_an_index_column_without_a_name_does_not_matter_to_a_schema(tmp_path: Path) -> None:
    pd.DataFrame({"a": [5.0, 7.0]}).to_csv(tmp_path / "table.csv")
    assert dpcov.covariance(tmp_path / "table.csv", ONE, schema=AGE).n == 2


@pytest.mark.parametrize("kind", ["array", "frame"])
def test_progress_tells_whole_percents_once(kind: str) -> None:
    """An exact fraction of a first block of known size would be an exact number of rows."""
    rows = np.ones((600_011, 1))
    told: list[float | None] = []
    data = rows if kind == "array" else pd.DataFrame({"a": rows[:, 0]})
    dpcov.covariance(data, ONE, row_norm=1, mechanism="gaussian", progress=told.append)
    assert told[-1] == 1.0
    assert len(told) == len(set(told)) <= 101
    assert all(fraction is not None and 100 * fraction == pytest.approx(round(100 * fraction)) for fraction in told)


def test_n_is_taken_from_a_centred_second_moment_only() -> None:
    source = ArraySource(np.full((1000, 2), 0.3))
    curator = opened(source, Grid(1.0, center=True), ONE, "add-remove", SeededBits(0))
    curator.noisy(Squares(curator.public.second_moment()), ONE.share("0.1"), noise="gaussian")
    with pytest.raises(ParameterError, match="n must be asked for"):
        _ = curator.n
    curator.noisy(curator.public.second_moment(), ONE.share("0.5"), noise="gaussian")
    assert abs(curator.n - 1000) < 50
    plain = opened(source, Grid(1.0), ONE, "add-remove", SeededBits(0))
    plain.noisy(plain.public.second_moment(), ONE.share("0.5"), noise="gaussian")
    with pytest.raises(ParameterError, match="n must be asked for"):
        _ = plain.n


def test_a_count_goes_before_a_corner() -> None:
    """Both tell n; a count does so with less noise, whichever was asked first."""
    source = ArraySource(np.full((1000, 2), 0.3))
    curator = opened(source, Grid(1.0, center=True), ONE, "add-remove", SeededBits(0))
    corner = curator.noisy(curator.public.second_moment(), ONE.share("0.001"), noise="gaussian")
    assert curator.n == corner.question.gives_n(corner.integers) != 1000
    curator.ask_n(ONE.share("0.9"))
    assert abs(curator.n - 1000) <= 5


def test_a_broken_dictionary_raises_nothing() -> None:
    broken = pa.DictionaryArray.from_arrays(pa.array([0, 7], pa.int8()), pa.array(["x", "y"]), safe=False)
    schema = dpcov.Schema({"a": dpcov.Categorical(["x", "y"])})
    assert dpcov.covariance(pa.table({"a": broken}), ONE, schema=schema).n == 2


@pytest.mark.parametrize("row_norm", [1e-150, 1e150])
def test_estimates_in_extreme_units_are_silent(row_norm: float) -> None:
    for options in ({}, {"center": True}, {"center": True, "postprocess": "none"}):
        with np.errstate(all="raise"):
            release = dpcov.covariance(np.ones((3, 2)), dpcov.ZCDP("1e-12"), row_norm=row_norm, **options)
            assert release.second_moment.shape == (2, 2)


@pytest.mark.parametrize("data", [[[1.0, 2.0]], np.ma.masked_array([[1.0, 2.0]], mask=[[True, False]])], ids=["list", "mask"])
def test_what_is_no_plain_array_is_refused(data: Any) -> None:
    """A mask would be lost without a word, and masked numbers are whatever stood there."""
    with pytest.raises(
        ParameterError, match=r"two-dimensional numeric numpy array with a row per person, got (list|MaskedArray)"
    ):
        ArraySource(data)
