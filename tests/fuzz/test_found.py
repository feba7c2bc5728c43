"""What fuzzing found, each by itself."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

import dpcov
from dpcov.errors import DpcovError, EngineError, ParameterError, ReleaseError, SchemaError
from dpcov.release.file import parse
from dpcov.schema import codebook
from tests.fuzz.hostile import NUMBER, WORD, Array, text_frame
from tests.helpers.small import SCHEMA

ROWS = np.random.default_rng(77).normal(size=(300, 3)) * 0.3
ONE = dpcov.ZCDP(1)
TWO: Any = np.array([True, False])
TABLE = pd.DataFrame({"age": [1, 2]})
TEXT = pd.DataFrame(ROWS, columns=["x0", "x1", "x2"])
LIBRARY: Any = dpcov
TABLES: Any = SCHEMA
"""Without types, which would refuse much of what is refused here."""


@pytest.fixture(scope="module")
def release() -> dpcov.Release:
    return dpcov.covariance(ROWS, dpcov.ZCDP(2), row_norm=1, center=True, seed=1)


def alone(error: BaseException) -> bool:
    """Whether Python keeps nothing behind an error."""
    return error.__context__ is None and error.__cause__ is None


@pytest.mark.parametrize(
    ("name", "content", "read"),
    [
        ("text.json", b'{"name": "QZXJ"}\n{"name": "QZXJ"}\n', dpcov.load),
        ("bytes.json", b'{"name": "QZXJ\xff"}', dpcov.load),
        ("bytes.toml", b'name = "QZXJ\xff"', dpcov.Schema.read),
        ("bytes.csv", b"name\nQZXJ\xff\n", codebook.read),
        ("bytes.toml", b'name = "QZXJ\xff"', dpcov.Policy.read),
    ],
    ids=["lines of JSON", "bytes", "schema", "codebook", "policy"],
)
def test_a_file_that_is_something_else_is_not_kept_behind_the_error(
    name: str, content: bytes, read: Callable[[Path], object], tmp_path: Path
) -> None:
    """It may be the data, and Python's own errors hold all of it: the bytes that are no text, the text that is no JSON."""
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(DpcovError) as caught:
        read(path)
    assert alone(caught.value)
    assert WORD not in str(caught.value)


def test_keys_of_a_schema_do_not_reach_the_screen_as_they_are() -> None:
    with pytest.raises(SchemaError, match="must have lower and upper") as caught:
        dpcov.schema.file.parse('[columns]\na = { lower = 0, "\\u001b[31m" = 1 }\n')
    assert str(caught.value).isprintable()


class TestEstimators:
    """New rows are as private as they are: no error prints them."""

    @pytest.fixture(params=["transform", "predict"])
    def used(self, request: pytest.FixtureRequest) -> Callable[[Any], object]:
        if request.param == "transform":
            return dpcov.PrivatePCA(1, epsilon=5, row_norm=1, random_state=1).fit(ROWS).transform
        return dpcov.PrivateRidge(epsilon=5, row_norm=1, target_bound=1, random_state=1).fit(ROWS, ROWS[:, 0]).predict

    @pytest.mark.parametrize(
        "rows", [np.full(3, float(NUMBER)), [float(NUMBER)] * 3, np.full((1, 1, 3), NUMBER), float(NUMBER)]
    )
    def test_rows_of_another_shape_are_not_printed(self, rows: Any, used: Callable[[Any], object]) -> None:
        with pytest.raises(ParameterError, match=r"X must be two-dimensional.*Reshape your data") as caught:
            used(rows)
        assert str(NUMBER) not in str(caught.value)

    def test_complex_rows_are_not_printed(self, used: Callable[[Any], object]) -> None:
        with pytest.raises(ParameterError, match="X must be real") as caught:
            used(np.full((2, 3), NUMBER + 1j))
        assert str(NUMBER) not in str(caught.value)

    @pytest.mark.parametrize("method", ["fit", "transform"])
    def test_what_stands_for_an_array_and_fails_is_not_quoted(self, method: str) -> None:
        estimator = dpcov.PrivatePCA(1, epsilon=5, row_norm=1, random_state=1).fit(ROWS)
        with pytest.raises(EngineError, match="pass a NumPy array") as caught:
            getattr(estimator, method)(Array())
        assert alone(caught.value)
        assert WORD not in str(caught.value)

    def test_a_relation_that_is_an_array(self) -> None:
        with pytest.raises(ParameterError, match="neighbors must be one of"):
            dpcov.PrivateMean(epsilon=1, radius=1, neighbors=TWO).fit(ROWS)


REFUSED: dict[str, tuple[str, Callable[[Any], object]]] = {
    "missing": ("missing must be 'flag'", lambda _: LIBRARY.Numeric(0, 1, nullable=True, missing=TABLE)),
    "compose": ("budgets must be", lambda _: LIBRARY.compose(1, 2)),
    "compose complex": ("budgets must be", lambda _: LIBRARY.compose(1j)),
    "progress": ("progress must be a function", lambda _: LIBRARY.covariance(ROWS, ONE, row_norm=1, progress=[1])),
    "progress of a table": (
        "progress must be a function",
        lambda _: LIBRARY.covariance(text_frame(), ONE, schema=SCHEMA, progress=0.5),
    ),
    "progress of a comparison": (
        "progress must be a function",
        lambda _: LIBRARY.compare(ROWS, ONE, row_norm=1, progress=TWO),
    ),
    "center of a comparison": (
        "center must be True or False",
        lambda _: LIBRARY.compare(ROWS, ONE, row_norm=1, center=np.array([])),
    ),
    "mechanisms of a plan": (
        "mechanism must be a name",
        lambda _: LIBRARY.plan("covariance", ONE, n=10, d=3, mechanism=timedelta(1)),
    ),
    "columns of a plan": (
        "columns must be a list",
        lambda _: LIBRARY.plan_table(SCHEMA, ONE, n=1000, columns=Fraction(1, 3)),
    ),
    "exact sums": ("path must be text or a Path", lambda _: LIBRARY.sql_text("SELECT 1", exact_sums=1.5)),
    "bounds": ("low must be a number", lambda release: release.interval().entries.within({}, 1)),
    "bounds of another shape": ("high must be a number", lambda release: release.interval().entries.within(0, ROWS)),
    "bounds that fail": ("high must be a number", lambda release: release.interval().entries.within(0, Array())),
    "a truth": ("truth must be a number", lambda release: release.interval().entries.contains(["x"])),
    "clear": ("clear must be True or False", lambda release: release.describe().pairs(clear=TABLE)),
    "centring": (
        "centring must be text",
        lambda _: LIBRARY.covariance(ROWS, ONE, upper=4.0, mechanism="coinpress", center=True, centring=TWO),
    ),
    "mechanisms of a file": ("mechanisms must be a list", lambda _: parse("{}", np.array(1))),
    "new rows that fail": ("rows must be an array", lambda release: release.pca(1).transform(Array())),
    "a period beyond floats": ("publish_every must be", lambda _: LIBRARY.Publication("12:00", every=10**400)),
    "sparse rows beside a target": (
        "X and y must be dense",
        lambda _: LIBRARY.PrivateRidge(epsilon=1, schema=SCHEMA).fit(sparse.csr_matrix(ROWS), ROWS[:, 0]),
    ),
    "selected columns": ("columns must be a list", lambda _: TABLES.select(0.5)),
    "offsets": ("center must be True or False", lambda _: TABLES.offsets(TABLE)),
    "rows beyond number": ("m must be an integer from 1 to", lambda release: release.sample(2**70)),
    "predictions": (
        "predictions must be a number, or numbers of shape",
        lambda release: release.ridge(0).score(TEXT, predictions=frozenset()),
    ),
    "too few predictions": (
        "predictions must be a number, or numbers of shape",
        lambda release: release.ridge(0).score(TEXT, predictions=np.zeros(2)),
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_an_argument_of_another_type_is_refused(name: str, release: dpcov.Release) -> None:
    message, call = REFUSED[name]
    with pytest.raises((ParameterError, ReleaseError), match=message) as caught:
        call(release)
    assert alone(caught.value) or caught.value.__suppress_context__


def test_a_fraction_is_a_number() -> None:
    assert LIBRARY.plan_pca(3, Fraction(1, 3), 1) == dpcov.plan_pca(3, 1 / 3, 1)


@pytest.mark.parametrize("call", [dpcov.covariance, dpcov.compare])
def test_a_position_does_not_tell_the_first_line_of_a_file(call: Callable[..., object], tmp_path: Path) -> None:
    """Of a file without names that is a person's row; with a schema its names are not looked at otherwise."""
    path = tmp_path / "table.csv"
    path.write_text(f"{NUMBER},{WORD}\n1,2\n", encoding="utf-8")
    for position in (0, 1):
        with pytest.raises(SchemaError, match=f"got position {position}") as caught:
            call(path, ONE, schema=SCHEMA, columns=[position])
        assert WORD not in str(caught.value)
        assert str(NUMBER) not in str(caught.value)


def test_a_ledger_has_no_data_set_that_is_no_text(tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match="data set must be one of"):
        dpcov.Ledger.create(tmp_path / "budget.db").dataset("\ud800")


def test_a_ledger_has_fewer_entries(tmp_path: Path) -> None:
    ledger = dpcov.Ledger.create(tmp_path / "budget.db")
    with pytest.raises(ParameterError, match="last must be an integer from 1 to"):
        ledger.history(last=2**70)


@pytest.mark.parametrize("strange", [np.zeros(3), np.zeros(0), [], {}, set(), {"a": 1}], ids=repr)
def test_what_is_no_column_no_group_and_no_flag_is_refused_in_words(strange: object, release: dpcov.Release) -> None:
    """Arrays are neither true nor false, and lists are no keys."""
    for said in ({"weight": strange}, {"unit": strange}, {"weight": strange, "max_weight": 1}, {"max_weight": strange}):
        with pytest.raises(DpcovError):
            dpcov.covariance(ROWS, dpcov.ZCDP(2), row_norm=1, **said)  # type: ignore[arg-type]
    with pytest.raises(DpcovError):
        release.about(strange)  # type: ignore[arg-type]
    with pytest.raises(DpcovError):
        dpcov.Numeric(0, 1).offset(strange)  # type: ignore[arg-type]
    with pytest.raises(DpcovError):
        release.about("nowhere")
