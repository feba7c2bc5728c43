"""Every way in which rows can be held and read: one table of each. A new source or engine is a new line here.

All hold the same cells, so that every question must have the same integers, and every seeded release the same bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.dataset as pads
import pyarrow.parquet as pq
import scipy.sparse
from numpy.typing import NDArray
from pyarrow import fs

from dpcov.kernel.questions.measure import Summable
from dpcov.schema import Schema
from dpcov.sources.csv_text import Csv
from dpcov.sources.opening import open_source
from dpcov.sources.pool import Pool
from dpcov.sources.split import Here, Part, PartSums, SplitSource
from tests.engines.asked import questions
from tests.sources.mixed import CELLS, CONTAINERS, NUMBERS, SCHEMA, arrow, csv_text, shuffled

Make = Callable[[Path], Any]


def parquet_files(folder: Path, *, rows: int = 60, name: str = "part-{}.parquet") -> Path:
    """The table in several Parquet files of several row groups; columns in another order in every second one."""
    for start in range(0, 240, rows):
        part = arrow()[start : start + rows]
        place = folder / name.format(start)
        place.parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(shuffled(part) if start % (2 * rows) else part, place, row_group_size=17)
    return folder


def drifting(folder: Path) -> str:
    """Numbers of another type in each file, each of which holds them exactly."""
    for place, kind in enumerate((pa.int64(), pa.float64(), pa.decimal128(38, 0))):
        part = arrow()[80 * place : 80 * (place + 1)]
        part = part.set_column(1, "âge 🙂", part["âge 🙂"].cast(kind, safe=False))
        pq.write_table(part, folder / f"{place}.parquet")
    return f"{folder}/?.parquet"


def hive(folder: Path, name: str) -> Path:
    """A column that is in the names of folders only."""
    cells: list[Any] = CELLS[name]
    for place, value in enumerate(sorted(set(cells), key=str)):
        text = "__HIVE_DEFAULT_PARTITION__" if value is None else quote(str(value), safe="")
        (folder / f"{name}={text}").mkdir()
        rows = arrow().filter(pa.array([cell == value for cell in cells])).drop_columns([name])
        pq.write_table(rows, folder / f"{name}={text}" / f"{place}.parquet")
    return folder


def csv_files(folder: Path, separator: str = ",", encoding: str = "utf-8") -> str:
    """The table in several CSV files, each with a line of names."""
    for start in range(0, 240, 70):
        text = csv_text(separator, cells={name: cells[start : start + 70] for name, cells in CELLS.items()})
        (folder / f"t{start}.csv").write_bytes(text.encode(encoding))
    return f"{folder}/t*.csv"


def filtered(folder: Path) -> Any:
    """A dataset that has more rows, and a filter that leaves them out."""
    extra = arrow()[:50].set_column(7, "note", pa.array(["left out"] * 50))
    pq.write_table(pa.concat_tables([extra, arrow()]), folder / "more.parquet", row_group_size=40)
    note = pads.field("note")
    return pads.dataset(folder / "more.parquet").filter(note.is_null() | (note != "left out"))


def subtree(folder: Path) -> Any:
    parquet_files(folder)
    return pads.dataset("", format="parquet", filesystem=fs.SubTreeFileSystem(str(folder), fs.LocalFileSystem()))


MIXED: dict[str, Make] = {
    **CONTAINERS,
    "folder of parquet": parquet_files,
    "pattern of parquet": lambda folder: f"{parquet_files(folder)}/part-*.parquet",
    "pattern of folders": lambda folder: str(parquet_files(folder, name="a{}/part.parquet") / "a*" / "*.parquet"),
    "parquet of other types": drifting,
    "folders that name towns": lambda folder: hive(folder, "stadt"),
    "folders that name grades": lambda folder: hive(folder, "grade"),
    "folder of csv": lambda folder: Path(csv_files(folder)).parent,
    "pattern of csv": csv_files,
    "Csv of files": lambda folder: Csv(csv_files(folder, ";", "utf-16"), separator=";", encoding="utf-16"),
    "file URI": lambda folder: CONTAINERS["parquet"](folder).as_uri(),
    "file URI of a folder": lambda folder: parquet_files(folder).as_uri(),
    "dataset": lambda folder: pads.dataset(parquet_files(folder), format="parquet"),
    "dataset in memory": lambda _: pads.dataset(arrow()),
    "dataset with a filter": filtered,
    "dataset on a filesystem": subtree,
    "scanner, once": lambda folder: pads.dataset(parquet_files(folder)).scanner(),
    "polars, lazy": lambda _: pl.DataFrame(pl.from_arrow(arrow())).lazy(),
    "polars, scanned": lambda folder: pl.scan_parquet(CONTAINERS["parquet"](folder)),
}
"""What holds columns of every kind."""


def array() -> NDArray[np.float64]:
    """The columns of numbers."""
    return np.array([[np.nan if cell is None else float(cell) for cell in CELLS[name]] for name in NUMBERS]).T


def npy(folder: Path) -> Path:
    np.save(folder / "rows.npy", np.asfortranarray(array()))
    return folder / "rows.npy"


ARRAYS: dict[str, Make] = {
    "array": lambda _: array(),
    "array by columns": lambda _: np.asfortranarray(array()),
    "npy": npy,
    "npy URI": lambda folder: npy(folder).as_uri(),
    "memmap": lambda folder: np.load(npy(folder), mmap_mode="r"),
    "sparse rows": lambda _: scipy.sparse.csr_array(array()),
    "sparse columns": lambda _: scipy.sparse.csc_matrix(array()),
    "sparse entries": lambda _: scipy.sparse.coo_array(array()),
}
"""What holds numbers only, without names."""


class Lent:
    """An engine that is used again: closing one source must not end it."""

    def __init__(self, engine: Any) -> None:
        self._engine = engine

    def run(self, statistic: Summable, parts: Iterable[Part]) -> Iterator[PartSums]:
        found: Iterator[PartSums] = self._engine.run(statistic, parts)
        return found

    def close(self) -> None:
        pass


POOL = Pool(2)
ENGINES: dict[str, Any] = {"one core": None, "parts": Here(), "pool": Lent(POOL)}


def opened(engine: str, data: Any, schema: Schema | None, center: bool, names: list[str] | None = None) -> Any:
    """Return a source whose sums this engine makes."""
    source: Any = open_source(data, names, schema, center)
    return source if ENGINES[engine] is None else SplitSource(source, ENGINES[engine])


@cache
def expected(center: bool, schema: Schema | None = SCHEMA) -> list[tuple[Any, list[int]]]:
    """Return each question with the integers that all must have: those of a table in memory, read by this process."""
    source = open_source(arrow(), NUMBERS if schema is None else None, schema, center)
    return [(question, source.total(question).tolist()) for question in questions(source.d, center, schema)]


IN_A_POOL = (
    *("pandas objects", "pandas categories", "polars Enum", "arrow dictionaries", "arrow reader, once", "duckdb"),
    *("parquet of single rows", "parquet of dictionaries", "csv", "csv of Windows", "csv.bz2"),
)
"""The containers of tests/sources that are cut in different ways, or hold cells in different ways."""

PAIRS = [
    *((container, "pool") for container in MIXED if container in IN_A_POOL or container not in CONTAINERS),
    *((container, "one core") for container in MIXED if container not in CONTAINERS),  # those are in tests/sources
    *((container, "parts") for container in ("csv", "csv.gz", "folder of parquet", "dataset", "polars, lazy")),
]
"""What is tried of tables of every kind of column."""
