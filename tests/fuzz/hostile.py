"""Data and arguments that somebody hands over in malice, or by mistake; every table holds cells that no message may quote."""

from __future__ import annotations

import datetime
import warnings
from collections.abc import Callable, Iterator
from decimal import Decimal
from fractions import Fraction
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
from scipy import sparse

WORD, NUMBER = "QZXJ", 424242
"""A cell of text, and what every number in a cell begins with: neither may stand in an error, a warning or a line of a log."""


class RaisesError(Exception):
    """What another library raises, with a cell in it."""


class Stream:
    """A table whose stream fails, and says why."""

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        raise RaisesError(f"cell {WORD} in row {NUMBER}")


class Array:
    """What NumPy may ask for its numbers."""

    def __array__(self, dtype: object = None, copy: object = None) -> object:
        raise RaisesError(f"cell {WORD} in row {NUMBER}")


class Frame(pd.DataFrame):  # type: ignore[misc]
    """A frame that is one by its name only."""


class Unwilling:
    """An object that answers nothing: neither what it is called, nor whether it is true, equal or long."""

    def _refuse(self, *_: object) -> Any:
        raise RaisesError(f"cell {WORD} in row {NUMBER}")

    __repr__ = __str__ = __bool__ = __len__ = __eq__ = __hash__ = __float__ = __int__ = __index__ = __iter__ = _refuse


def numbers(n: int = 60, d: int = 4) -> Any:
    """Return rows of which some are as they should be."""
    rows = np.random.default_rng([n, d]).normal(size=(n, d)) * 0.3
    rows[::7, 0] = NUMBER + 0.125
    rows[3::11, -1] = np.nan
    return rows


def wild() -> Any:
    rows = numbers()
    rows[1], rows[2], rows[5], rows[6] = np.inf, -np.inf, 1.7e308, 5e-324
    return rows


def deprecated() -> Any:
    """Return a matrix as NumPy had them; it warns of them."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return np.matrix(np.nan_to_num(numbers()))


def text_frame() -> pd.DataFrame:
    return pd.DataFrame(
        {"age": [NUMBER, 20, None, 41] * 15, "job": ["clerk", WORD, None, ""] * 15, "name": [f"{WORD} {i}" for i in range(60)]}
    )


def failing_reader() -> Any:
    def batches() -> Iterator[Any]:
        yield pa.record_batch({"age": [NUMBER, 2], "job": ["clerk", WORD]})
        raise RaisesError(f"cell {WORD} in row {NUMBER}")

    return pa.RecordBatchReader.from_batches(pa.schema({"age": pa.int64(), "job": pa.string()}), batches())


ARRAYS: tuple[Callable[[], Any], ...] = (
    numbers,
    numbers,
    numbers,
    wild,
    lambda: numbers(1, 3),
    lambda: numbers(3, 1),
    lambda: numbers(200, 2),
    lambda: np.zeros((50, 3)),
    lambda: np.full((50, 3), np.nan),
    lambda: numbers().astype(np.float32),
    lambda: numbers().astype(np.longdouble),
    lambda: np.asfortranarray(numbers())[::-2, ::-1],
    lambda: np.full((40, 3), NUMBER),
    lambda: np.full((40, 3), 2**63 - 1),
    lambda: numbers() > 0,
    lambda: sparse.csr_matrix(np.nan_to_num(numbers())),
)
OF_NO_USE: tuple[Callable[[], Any], ...] = (
    lambda: numbers()[:0],
    lambda: np.empty((0, 0)),
    lambda: np.empty((5, 0)),
    lambda: numbers()[:, 0],
    lambda: numbers()[None],
    lambda: numbers().astype(object),
    lambda: np.array([[WORD, str(NUMBER)]] * 9),
    lambda: np.array([[WORD, NUMBER]] * 9, dtype=object),
    lambda: np.full((9, 2), NUMBER + 1j),
    lambda: np.full((9, 2), "2020-01-01", "datetime64[D]"),
    lambda: np.ma.masked_invalid(numbers()),
    lambda: deprecated(),
    lambda: np.zeros(5, dtype=[("a", float), ("b", int)]),
    lambda: numbers().tolist(),
    lambda: tuple(map(tuple, numbers().tolist())),
    lambda: {"age": [NUMBER], "job": [WORD]},
    lambda: (row for row in numbers().tolist()),
    lambda: pa.array([NUMBER, 1]),
    lambda: pd.Series([NUMBER, 1]),
    lambda: pl.Series([NUMBER, 1]),
    lambda: pa.chunked_array([[NUMBER, 1]]),
    lambda: pa.table({"age": pa.array([[NUMBER]]), "job": pa.array([{"a": WORD}])}),
    lambda: pd.DataFrame([[NUMBER, WORD]] * 9, columns=["age", "age"]),
    lambda: pd.DataFrame([[NUMBER, 1.5]] * 9, columns=pd.MultiIndex.from_tuples([("a", 1), ("b", 2)])),
    lambda: pd.DataFrame([[NUMBER, 1.5]] * 9, columns=[1, None]),
    lambda: pd.DataFrame({"age": pd.array([NUMBER + 1j] * 9), "job": [WORD] * 9}),
    lambda: Frame(numbers(), columns=list("abcd")),
    lambda: pa.table({"age": [], "job": []}),
    failing_reader,
    Stream,
    Array,
    Unwilling,
    lambda: None,
    lambda: NUMBER,
    lambda: 0,
    lambda: b"data",
    lambda: object(),
)
FRAMES: tuple[Callable[[], Any], ...] = (
    text_frame,
    text_frame,
    lambda: pa.Table.from_pandas(text_frame()),
    lambda: pa.Table.from_pandas(text_frame()).to_reader(7),
    lambda: pl.from_pandas(text_frame()),
    lambda: pl.from_pandas(text_frame()).lazy(),
    lambda: text_frame().astype({"job": "category"}).set_index("name"),
    lambda: pd.DataFrame({"age": [Decimal(NUMBER), Decimal("NaN"), 1.5, WORD] * 9, "job": ["clerk", 1, b"nurse", None] * 9}),
    lambda: pd.DataFrame(numbers(), columns=["age", "b", "c", "d"]),
    lambda: pa.table(
        {
            "age": pa.array([NUMBER, None, 3], pa.int8() if False else pa.int64()),
            "job": pa.array([WORD, "clerk", None]).dictionary_encode(),
        }
    ),
    lambda: pa.table({"age": pa.array([1, 2], pa.timestamp("us")), "job": pa.array([1, 2], pa.date32())}),
    lambda: pa.table({"age": pa.array([Decimal("424242.125"), None], pa.decimal128(20, 5)), "job": pa.array([True, None])}),
)
FILES: dict[str, bytes] = {
    "people.csv": b"age,job,name\n"
    + b"".join(b"%d,%s,QZXJ\n" % (20 + i % 50, (b"clerk", b"QZXJ", b"nurse", b"")[i % 4]) for i in range(80)),
    "ragged.csv": b"age,job\n1,QZXJ\n2,QZXJ,424242\n",
    "unnamed.csv": b"424242,QZXJ\n1,2\n",
    "quote.csv": b'age,job\n1,"QZXJ\n2,3\n',
    "bytes.csv": bytes(range(256)) * 4,
    "empty.csv": b"",
    "broken.parquet": b"PAR1QZXJ424242PAR1",
    "broken.npy": b"\x93NUMPY\x01\x00QZXJ424242",
    "broken.xlsx": b"PK\x03\x04QZXJ424242",
    "table.tsv": b"age\tjob\n424242\tQZXJ\n",
    "people.toml": b'[columns]\nage = { lower = 0, upper = 100 }\njob = { levels = ["clerk", "nurse"] }\n',
    "broken.toml": b"[columns\nage = \x00\xff",
    "policy.toml": b"epsilon = 3\n",
    "words.txt": b"QZXJ 424242\n",
}


def write_files(folder: Path) -> None:
    """Write all of them, and a Parquet file and an array."""
    for name, content in FILES.items():
        (folder / name).write_bytes(content)
    pq.write_table(pa.Table.from_pandas(text_frame()), folder / "people.parquet")
    np.save(folder / "rows.npy", numbers())
    (folder / "folder").mkdir(exist_ok=True)


def given(*values: Any) -> Iterator[Callable[[], Any]]:
    """Yield what hands over each of these values."""
    for value in values:
        yield partial(same, value)


def same(value: Any) -> Any:
    """Return the value itself."""
    return value


ARGUMENTS: tuple[Callable[[], Any], ...] = (
    *given(None, True, False, 0, -1, 1, 2, 3, 10**6 + 1, 2**63, 2**70, 10**400, -(10**400)),
    *given(0.0, -0.0, 0.5, 1.0, 1.5, 1e-320, 1e-9, 1e308, -1e308, float("nan"), float("inf"), -float("inf")),
    *given("", "x", "auto", "none", "1", "1/3", "1e400", "nan", "\x00", "\ud800", "\x1b[31m", "a" * 5000, "é"),
    *given(b"x", Fraction(1, 3), Decimal("0.5"), Decimal("NaN"), Decimal("Infinity"), Decimal("1e999999"), 1j),
    *given((), (1,), ("a", "b"), frozenset(), range(3), ..., int, len, np.nan),
    *given(np.float64(0.5), np.float32("nan"), np.int64(3), np.bool_(True), np.str_("x"), np.datetime64("NaT")),
    *given(datetime.date(2020, 1, 1), datetime.timedelta(1), Path("nowhere"), Path("\x00")),
    *(
        list,
        dict,
        set,
        object,
        lambda: [1],
        lambda: ["age"],
        lambda: [None],
        lambda: ["x", "x"],
        lambda: {"a": 1},
        lambda: [[]],
    ),
    *(
        lambda: np.array(0.5),
        lambda: np.array([0.1, 0.2]),
        lambda: np.eye(4),
        lambda: np.full((4, 4), np.nan),
        lambda: np.array([]),
    ),
    *(
        numbers,
        text_frame,
        lambda: text_frame()["age"],
        lambda: pa.array([NUMBER]),
        lambda: [[NUMBER, WORD]],
        lambda: {"a": [NUMBER]},
    ),
    *(Unwilling, Array, Stream, lambda: iter([NUMBER]), lambda: lambda *_: 1 / 0),
)
"""In the place of any argument; made anew each time."""


@cache
def everything() -> tuple[Callable[[], Any], ...]:
    """Return all data, as likely as not of use."""
    return (*ARRAYS, *ARRAYS, *FRAMES, *FRAMES, *OF_NO_USE)
