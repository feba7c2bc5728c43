"""From whatever a user calls data to a source: by type, name and shape, never by value."""

from __future__ import annotations

import numbers
import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from dpcov.errors import ParameterError, SchemaError, shown
from dpcov.kernel.rows.grid import MAX_FEATURES
from dpcov.schema import Schema
from dpcov.sources.array import ArraySource, checked_array
from dpcov.sources.base import Source

if TYPE_CHECKING:
    from dpcov.sources.base import Progress

Columns = Sequence[str | int] | None


def open_source(
    data: Any, columns: Columns = None, schema: Schema | None = None, center: bool = False, progress: Progress | None = None
) -> Source:
    """Return a source for an array, a frame, anything with ``__arrow_c_stream__``, or a path; no row is read."""
    if columns is not None and (isinstance(columns, str | bytes) or not isinstance(columns, Sequence) or not columns):
        raise ParameterError(f"columns must be a list of names or positions, got {shown(columns)}. Hint: columns=['age'].")
    if isinstance(data, np.ndarray) and schema is None:
        source = ArraySource(data, columns=columns, progress=progress)
        if source.d > MAX_FEATURES - center:
            raise ParameterError(f"data must have fewer than 2**15 columns when centred, got {source.d}. Hint: select columns.")
        return source
    from dpcov.sources.arrow import ArrowSource

    table = _table(data, schema)
    return ArrowSource(table, _names(columns, table.names), schema, center, progress)


def open_table(data: Any, *, names_matter: bool = True, schema: Schema | None = None) -> Any:
    """Return the table behind a path or a frame, for its names, where they matter, and types; an array has the schema's."""
    table = _table(data, schema)
    if names_matter and table.parsed:
        table.check_names()
    return table


def _table(data: Any, schema: Schema | None) -> Any:
    if isinstance(data, np.ndarray) and schema is not None:
        from dpcov.sources.tables import ArrayTable

        array, names = checked_array(data), schema.array_columns()
        if len(names) != array.shape[1]:
            raise SchemaError(
                f"schema must describe each column of an array, in order, got {len(names)} descriptions "
                f"for {array.shape[1]} columns. Hint: use dpcov.Ignored() for columns to leave out."
            )
        return ArrayTable(array, names)
    if isinstance(data, str | os.PathLike):
        from dpcov.sources.files import open_file

        return open_file(data)
    if any(kind.__module__.split(".")[0] == "pandas" and kind.__name__ == "DataFrame" for kind in type(data).__mro__):
        from dpcov.sources.tables import PandasTable

        return PandasTable(data)
    if hasattr(data, "__arrow_c_stream__") and type(data).__name__ not in ("Series", "ChunkedArray"):  # one column each
        from dpcov.sources.tables import StreamTable

        return StreamTable(data)
    hint = "numpy.asarray(data, dtype=float), or collect a lazy frame"
    raise ParameterError(
        f"data must be a two-dimensional numeric numpy array, a frame or a path to a .parquet or .csv file, "
        f"got {type(data).__name__}. Hint: {hint}."
    )


def _names(columns: Columns, names: Sequence[str]) -> list[str] | None:
    """Turn positions into names."""
    if columns is None:
        return None
    chosen = []
    for column in columns:
        if isinstance(column, numbers.Integral) and not isinstance(column, bool):
            if not 0 <= column < len(names):
                raise ParameterError(f"columns must be positions from 0 to {len(names) - 1}, got {column}. Hint: count from 0.")
            chosen.append(names[int(column)])
        elif isinstance(column, str):
            chosen.append(column)
        else:
            raise ParameterError(f"columns must be names or positions, got {shown(column)}. Hint: columns=['age'].")
    return chosen
