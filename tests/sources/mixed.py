"""One table of every kind of column, in every container that can hold it."""

from __future__ import annotations

import bz2
import csv
import gzip
import io
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from dpcov.kernel.questions.moments import SecondMoment
from dpcov.kernel.rows.grid import Grid
from dpcov.schema import Categorical, Ignored, Numeric, Schema
from dpcov.sources.opening import open_source

SCHEMA = Schema(
    {
        "height": Numeric(-2.5, 7.25, weight=2),
        "âge 🙂": Numeric(0, 120),
        "member": Numeric(0, 1, weight=0.5),
        "größe": Numeric(-100, 900.5),
        "stadt": Categorical(["Zürich", "東京", "São Paulo", 'a "b", c'], weight=0.75),
        "grade": Categorical([3, 1, 2.5]),
        "smoker": Categorical([False, True]),
        "note": Ignored(),
    }
)
NUMBERS = ["height", "âge 🙂", "member", "größe", "grade"]
"""The columns that an array can hold."""

NASTY = (None, float("nan"), float("inf"), -float("inf"), 1e308, -1e308, 5e-324, -0.0, 7.25, -2.5)
CITIES = ("Zürich", "東京", "São Paulo", 'a "b", c', "Paris", "zürich", "", None)


def columns(n: int = 240, seed: int = 71) -> dict[str, list[Any]]:
    """Plain Python cells, None where one is missing."""
    draw = np.random.default_rng(seed)

    def pick(choices: tuple[Any, ...]) -> list[Any]:
        return [choices[place] for place in draw.integers(0, len(choices), n)]

    nasty, ordinary = pick(NASTY), draw.normal(2, 3, n).tolist()
    return {
        "height": [cell if rare else value for cell, value, rare in zip(nasty, ordinary, draw.random(n) < 0.2, strict=True)],
        "âge 🙂": pick((*range(-3, 140, 7), 2**62, None)),
        "member": pick((True, False, None)),
        "größe": [None if cell is None else Decimal(cell).scaleb(-2) for cell in pick((*range(-99999, 99999, 317), None))],
        "stadt": pick(CITIES),
        "grade": pick((1.0, 2.5, 3.0, 7.0, 2.4999999999999996, None)),
        "smoker": pick((True, False, None)),
        "note": pick(("SECRET", None)),
    }


CELLS = columns()
TYPES = [
    pa.float64(),
    pa.int64(),
    pa.bool_(),
    pa.decimal128(9, 2),
    pa.string(),
    pa.float64(),
    pa.bool_(),
    pa.string(),
]


def arrow(cells: dict[str, list[Any]] = CELLS) -> Any:
    """The table as Arrow holds it."""
    return pa.table({name: pa.array(cells[name], kind) for name, kind in zip(cells, TYPES, strict=True)})


def dictionaries(table: Any) -> Any:
    """The same cells with levels stored once, in a dictionary that also has entries nobody uses and a null."""
    for name in ("stadt", "grade", "smoker"):
        stored = table[name].combine_chunks().dictionary_encode()
        entries = pa.concat_arrays([stored.dictionary, pa.array([None], stored.dictionary.type)])
        indices = pa.array([len(entries) - 1 if i is None else i for i in stored.indices.to_pylist()], pa.int16())
        place = table.schema.get_field_index(name)
        table = table.set_column(place, name, pa.DictionaryArray.from_arrays(indices, entries))
    return table


def text_dictionaries() -> Any:
    """What a Parquet file can hold of them."""
    table = arrow()
    return table.set_column(table.schema.get_field_index("stadt"), "stadt", table["stadt"].dictionary_encode())


def frame(**kinds: Any) -> Any:
    """A pandas frame: numbers as float64, everything else as Python objects, but for the dtypes given."""
    data = {name: pd.Series(cells, dtype=object) for name, cells in CELLS.items()}
    plain = {"height": "float64", "âge 🙂": "float64", "member": "boolean", "größe": "float64", "grade": "float64"}
    return pd.DataFrame({name: series.astype((plain | kinds).get(name, object)) for name, series in data.items()})


def csv_text(separator: str = ",", end: str = "\n", cells: dict[str, list[Any]] = CELLS) -> str:
    """Numbers as Python writes them, truth values as 1 and 0 where a number is meant."""

    def written(name: str, cell: Any) -> str:
        return "" if cell is None else str(int(cell)) if name == "member" else str(cell)

    file = io.StringIO(newline="")
    writer = csv.writer(file, delimiter=separator, lineterminator=end)
    writer.writerow(cells)
    writer.writerows(
        [written(name, cell) for name, cell in zip(cells, row, strict=True)] for row in zip(*cells.values(), strict=True)
    )
    return file.getvalue()


def written(folder: Path, name: str, content: bytes) -> Path:
    path = folder / name
    path.write_bytes(content)
    return path


def parquet(folder: Path, table: Any, **options: Any) -> Path:
    pq.write_table(table, folder / "table.parquet", **options)
    return folder / "table.parquet"


def shuffled(table: Any) -> Any:
    """Other columns around and between, in another order."""
    extra = pa.array([[1]] * len(table))
    return table.select(table.column_names[::-1]).add_column(2, "a.b", extra).append_column("größe.x", extra)


CONTAINERS: dict[str, Callable[[Path], Any]] = {
    "pandas objects": lambda _: frame(),
    "pandas str": lambda _: frame(stadt="str", smoker="boolean", grade="Float64", **{"âge 🙂": "Int64"}),
    "pandas python strings": lambda _: frame(stadt=pd.StringDtype("python"), smoker=pd.StringDtype("python")),
    "pandas categories": lambda _: frame(stadt="category", grade="category", smoker="category"),
    "pandas on arrow": lambda _: arrow().to_pandas(types_mapper=pd.ArrowDtype),
    "polars": lambda _: pl.from_arrow(arrow()),
    "polars Categorical": lambda _: pl.DataFrame(pl.from_arrow(arrow())).with_columns(pl.col("stadt").cast(pl.Categorical)),
    "polars Enum": lambda _: pl.DataFrame(pl.from_arrow(arrow())).with_columns(
        pl.col("stadt").cast(pl.Enum([city for city in CITIES if city is not None]))
    ),
    "arrow table": lambda _: arrow(),
    "arrow batches of all sizes": lambda _: pa.concat_tables(
        [arrow()[:0], arrow()[:1], arrow()[:0], arrow()[1:100], arrow()[100:]]
    ),
    "arrow dictionaries": lambda _: dictionaries(arrow()),
    "arrow large types": lambda _: arrow().cast(
        pa.schema(
            {
                name: pa.large_string() if kind == pa.string() else kind
                for name, kind in zip(CELLS, arrow().schema.types, strict=True)
            }
        )
    ),
    "arrow reader, once": lambda _: arrow().to_reader(max_chunksize=17),
    "duckdb": lambda _: duckdb.connect().from_arrow(arrow()),
    "parquet": lambda folder: parquet(folder, arrow()),
    "parquet of single rows": lambda folder: parquet(folder, arrow(), row_group_size=1),
    "parquet without dictionaries": lambda folder: parquet(folder, arrow(), row_group_size=7, use_dictionary=False),
    "parquet of dictionaries": lambda folder: parquet(folder, text_dictionaries(), row_group_size=100),
    "parquet in another order": lambda folder: parquet(folder, shuffled(arrow())),
    "csv": lambda folder: written(folder, "t.csv", csv_text().encode()),
    "csv of Windows": lambda folder: written(folder, "T.CSV", b"\xef\xbb\xbf" + csv_text(end="\r\n").encode()),
    "csv.gz": lambda folder: str(written(folder, "t.csv.gz", gzip.compress(csv_text().encode()))),
    "csv.bz2": lambda folder: written(folder, "t.csv.bz2", bz2.compress(csv_text().encode())),
    "tsv": lambda folder: written(folder, "t.tsv", csv_text("\t").encode()),
}


def total(data: Any, center: bool, schema: Schema | None = SCHEMA, names: list[str] | None = None) -> list[int]:
    """The exact second moment, as the curator would read it."""
    source = open_source(data, names, schema, center)
    grid = Grid(1.0, center=center)
    entries: list[int] = source.total(SecondMoment(grid, grid.width(source.d))).tolist()
    return entries


def encoded(center: bool, cells: dict[str, list[Any]] = CELLS) -> NDArray[np.float64]:
    """The rows as the documentation describes them, cell by cell in plain Python."""
    features = []
    for name, (column, offset, scale) in zip(SCHEMA.used, SCHEMA.encodings(center), strict=True):
        if isinstance(column, Numeric):
            numbers = [float("nan") if cell is None else float(cell) for cell in cells[name]]
            filled = [x if np.isfinite(x) else column.midpoint for x in numbers]
            features.append([(min(max(x, column.lower), column.upper) - offset) / scale for x in filled])
        else:
            features += [[float(cell is not None and cell == level) / scale for cell in cells[name]] for level in column.levels]
    return np.array(features).T
