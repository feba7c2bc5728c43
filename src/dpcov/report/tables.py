"""Tables that commands write: CSV text as `dpcov release` reads it, and Parquet."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from dpcov.release.record import Release
from dpcov.schema.dates import FIRST, LAST
from dpcov.sources.dates import dates

if TYPE_CHECKING:
    from dpcov.uses.intervals import Interval
    from dpcov.uses.ridge import RidgeModel

Floats = NDArray[np.float64]

LINES = 2**14  # at a time
DIGITS = 12  # of a number in a CSV


def table_of(release: Release, rows: Any) -> Any:
    """Return rows as an Arrow table with the names of the release."""
    if not isinstance(rows, np.ndarray):
        return rows
    return pa.table({name: rows[:, j] for j, name in enumerate(release.feature_names)})


def predictions_table(model: RidgeModel, predictions: Floats, inside: Interval | None) -> Any:
    """Return predictions, and the ends of their intervals where there are some, as an Arrow table; those of dates as dates."""
    columns = [predictions, *([] if inside is None else [inside.lower, inside.upper])]
    return pa.table([_cells_of(column, model.dates) for column in columns], [model.target, "lower", "upper"][: len(columns)])


def _cells_of(numbers: Floats, kind: str | None) -> Any:
    """Return numbers as they are; days of dates as dates, of which a table holds those of the years 1 to 9999."""
    if kind is None:
        return pa.array(numbers)
    return dates(np.clip(np.nan_to_num(numbers), FIRST, LAST - 1), kind, mask=np.isnan(numbers))


def csv_text(table: Any) -> Iterator[str]:
    """Yield a CSV in pieces: quotes only where they are needed, numbers with twelve digits, true and false in small letters.

    The digits after them differ from one processor to the next, and tell nothing. Parquet files have all of them.
    """
    yield _lines([table.column_names])
    for batch in table.to_batches(LINES):
        columns = [_cells(column) for column in batch.columns]
        yield _lines(zip(*columns, strict=True))


def _cells(column: Any) -> list[Any]:
    cells: list[Any] = column.to_pylist()
    if pa.types.is_boolean(column.type):
        return [str(cell).lower() for cell in cells]
    if pa.types.is_floating(column.type):
        return [None if cell is None else f"{cell:.{DIGITS}g}" for cell in cells]
    return cells


def _lines(rows: Any) -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue()


def parquet_bytes(table: Any) -> bytes:
    """Return a Parquet file."""
    import pyarrow.parquet as pq

    target = io.BytesIO()
    pq.write_table(table, target)
    return target.getvalue()
