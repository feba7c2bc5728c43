"""From whatever a user calls data to a source: by type, name and shape, never by value."""

from __future__ import annotations

import numbers
import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from dpcov.errors import ParameterError, SchemaError, shown
from dpcov.kernel.rows.aside import Aside
from dpcov.kernel.rows.grid import MAX_FEATURES
from dpcov.schema import Schema
from dpcov.sources.array import ArraySource, check_shape, checked_rows
from dpcov.sources.base import Source
from dpcov.sources.by import By
from dpcov.sources.on_device import OnDevice, is_on_device, is_tensor
from dpcov.sources.on_spark import OnSpark
from dpcov.sources.sparse import SparseRows, is_sparse

if TYPE_CHECKING:
    from dpcov.sources.base import Progress

Columns = Sequence[str | int] | None


def open_source(
    data: Any,
    columns: Columns = None,
    schema: Schema | None = None,
    center: bool = False,
    progress: Progress | None = None,
    aside: Aside | None = None,
    by: By | None = None,
) -> Source:
    """Return a source for an array, a frame, anything with ``__arrow_c_stream__``, or a path; no row is read.

    ``by`` is the column of groups: its source tells questions that are about groups in which one each row is.
    """
    if columns is not None and (isinstance(columns, str | bytes) or not isinstance(columns, Sequence) or not columns):
        raise ParameterError(f"columns must be a list of names or positions, got {shown(columns)}. Hint: columns=['age'].")
    if is_printed(data):
        from dpcov.sources.sql.printed import OneReading

        return OneReading(data, columns, schema, center, aside, by)  # type: ignore[arg-type]  # it refuses positions
    if is_in_database(data):
        return _database_source(data, columns, schema, center, progress, aside, by)
    rows = open_rows(data)
    if by is not None:
        return grouped_source(data, rows, columns, schema, center, progress, by, aside)
    if rows is not None and schema is None:
        source = _array_source(data, rows, columns, progress, aside)
        if source.d > MAX_FEATURES - center:
            raise ParameterError(f"data must have fewer than 2**15 columns when centred, got {source.d}. Hint: select columns.")
        return source
    from dpcov.sources.arrow import ArrowSource

    if is_on_device(data):
        assert schema is not None
        from dpcov.sources.torch import DeviceTable

        names = _array_names(checked_rows(rows).shape[1], schema)
        return DeviceTable(rows, names, _names(columns, names, schema), schema, center, progress, aside)
    table = _table(data, schema)
    if not is_on_cluster(data):
        return ArrowSource(table, _names(columns, table.names, schema), schema, center, progress, aside)
    return _on_cluster(ArrowSource(table, _names(columns, table.names, schema), schema, center, aside=aside), progress)


def _on_cluster(source: Any, progress: Progress | None) -> Source:
    from dpcov.sources.cluster import Cluster
    from dpcov.sources.split import SplitSource

    return SplitSource(source, Cluster(), progress)


def grouped_source(
    data: Any,
    rows: Any,
    columns: Columns,
    schema: Schema | None,
    center: bool,
    progress: Progress | None,
    by: By,
    aside: Aside | None,
) -> Source:
    """Return a source that tells in which group each row is: of a table with named columns, as an array is one, too."""
    from dpcov.sources.arrow import ArrowSource
    from dpcov.sources.tables import ArrayTable

    if rows is None or schema is not None:
        table = _table(data, by.described)
    else:
        array = checked_rows(rows)
        table = ArrayTable(array, [f"x{j}" for j in range(array.shape[1])])
    chosen = _features(columns, table.names, schema, by)
    if is_on_device(data):
        from dpcov.sources.torch import DeviceTable

        return DeviceTable(checked_rows(rows), table.names, chosen, schema, center, progress, aside, by)  # type: ignore[arg-type]
    if is_on_cluster(data):
        return _on_cluster(ArrowSource(table, chosen, schema, center, aside=aside, by=by), progress)
    return ArrowSource(table, chosen, schema, center, progress, aside, by)


def _database_source(
    data: Any,
    columns: Columns,
    schema: Schema | None,
    center: bool,
    progress: Progress | None,
    aside: Aside | None,
    by: By | None,
) -> Source:
    """Return a source whose rows stay in a database."""
    from dpcov.sources.arrow import ArrowSource
    from dpcov.sources.split import SplitSource
    from dpcov.sources.sql.database import Database, SqlTable

    table = SqlTable(data)
    source = ArrowSource(table, _features(columns, table.names, schema, by), schema, center, aside=aside, by=by)
    return SplitSource(source, Database(aside), progress)


def _array_source(data: Any, rows: Any, columns: Columns, progress: Progress | None, aside: Aside | None) -> ArraySource:
    if not is_on_device(data):
        return ArraySource(rows, columns=columns, progress=progress, aside=aside)
    from dpcov.sources.torch import DeviceArray

    return DeviceArray(rows, columns, progress, aside)


def open_table(data: Any, *, names_matter: bool = True, schema: Schema | None = None) -> Any:
    """Return the table behind a path or a frame, for its names, where they matter, and types; an array has the schema's."""
    table = _table(data, schema)
    if names_matter and table.parsed:
        table.check_names()
    return table


def open_rows(data: Any) -> Any:
    """Return the rows of an array, a tensor, a sparse matrix or a path to a .npy file; None where data are something else."""
    if is_on_device(data):
        from dpcov.sources.torch import device_rows

        return device_rows(data, open_rows(data.data) if isinstance(data, OnDevice) and not is_tensor(data.data) else None)
    if isinstance(data, np.ndarray):
        return data
    if is_sparse(data):
        return SparseRows(data)
    if is_npy(data):
        from dpcov.sources.mapped import MappedRows

        return MappedRows(data)
    return None


def _table(data: Any, schema: Schema | None) -> Any:
    rows = open_rows(data)
    if rows is not None and schema is not None:
        from dpcov.sources.tables import ArrayTable

        array = checked_rows(rows)
        return ArrayTable(array, _array_names(array.shape[1], schema))
    if is_on_cluster(data):
        return _cluster_table(data, schema)
    if is_in_database(data):
        from dpcov.sources.sql.database import SqlTable

        return SqlTable(data)
    if isinstance(data, str | os.PathLike):
        from dpcov.sources.files import open_file

        return open_file(data)
    if _is(data, "pyarrow", "Dataset"):
        from dpcov.sources.dataset import DatasetTable

        return DatasetTable(data)
    if _is(data, "polars", "LazyFrame"):
        from dpcov.sources.lazy import LazyTable

        return LazyTable(data)
    if _is(data, "pandas", "DataFrame"):
        from dpcov.sources.tables import PandasTable

        return PandasTable(data)
    if _is(data, "pyarrow", "Scanner"):
        from dpcov.sources.tables import StreamTable

        return StreamTable(data.to_reader())
    if hasattr(data, "__arrow_c_stream__") and type(data).__name__ not in ("Series", "ChunkedArray"):  # one column each
        from dpcov.sources.tables import StreamTable

        return StreamTable(data)
    raise ParameterError(
        f"data must be a two-dimensional numeric array, a frame, a dataset or a path to a file or folder, "
        f"got {type(data).__name__}. Hint: numpy.asarray(data, dtype=float)."
    )


def is_on_cluster(data: object) -> bool:
    """Whether data are a frame of Dask or Spark, an array of Dask, or files for Spark: their rows stay where they are."""
    frame = _is(data, "dask", "DataFrame") or _is(data, "dask", "Array") or _is(data, "pyspark", "DataFrame")
    return frame or isinstance(data, OnSpark)


def is_in_database(data: object) -> bool:
    """Whether data are a query of `dpcov.sql`: its rows stay where they are."""
    return type(data).__name__ == "Query" and type(data).__module__ == "dpcov.sources.sql.database"


def is_printed(data: object) -> bool:
    """Whether data are a query of `dpcov.sql_text`, which somebody else runs."""
    return type(data).__name__ == "PrintedSql" and type(data).__module__ == "dpcov.sources.sql.printed"


def is_elsewhere(data: object) -> bool:
    """Whether rows stay where they are: on a cluster, or in a database."""
    return is_on_cluster(data) or is_in_database(data)


def _cluster_table(data: Any, schema: Schema | None) -> Any:
    if isinstance(data, OnSpark):
        from dpcov.sources.spark import SparkFiles

        return SparkFiles(data)
    if _is(data, "pyspark", "DataFrame"):
        from dpcov.sources.spark import SparkFrame

        return SparkFrame(data)
    from dpcov.sources.dask import DaskArray, DaskFrame

    if _is(data, "dask", "DataFrame"):
        return DaskFrame(data)
    check_shape(data)
    return DaskArray(data, _array_names(data.shape[1], schema))


def _array_names(width: int, schema: Schema | None) -> list[str]:
    """Return what the columns of an array are called: as the schema says, in order."""
    if schema is None:
        return [f"x{j}" for j in range(width)]
    names = schema.array_columns()
    if len(names) != width:
        raise SchemaError(
            f"schema must describe each column of an array, in order, got {len(names)} descriptions "
            f"for {width} columns. Hint: use dpcov.Ignored() for columns to leave out."
        )
    return names


def is_npy(data: object) -> bool:
    """Whether data are a path to a .npy file."""
    return isinstance(data, str | os.PathLike) and str(os.fspath(data)).lower().endswith(".npy")


def is_unread_table(data: object) -> bool:
    """Whether data are a table of named columns that is no stream: a lazy frame or a dataset."""
    return _is(data, "polars", "LazyFrame") or _is(data, "pyarrow", "Dataset")


def _is(data: object, package: str, name: str) -> bool:
    """Whether data are of a class of another package, which need not be imported for that."""
    return any(kind.__module__.split(".")[0] == package and kind.__name__ == name for kind in type(data).__mro__)


def _features(columns: Columns, names: Sequence[str], schema: Schema | None, by: By | None) -> list[str] | None:
    """Return the names of the columns that are features, and refuse the one of groups among them."""
    chosen = _names(columns, names, schema)
    if by is not None and chosen is not None and by.name in chosen:
        raise ParameterError(f"columns must not hold the column of groups, got {shown(by.name)}. Hint: leave it out there.")
    return chosen


def _names(columns: Columns, names: Sequence[str], schema: Schema | None) -> list[str] | None:
    """Turn positions into names; no message has such a name, as the first line of a file may be a person's row."""
    if columns is None:
        return None
    chosen = []
    for column in columns:
        if isinstance(column, numbers.Integral) and not isinstance(column, bool):
            if not 0 <= column < len(names):
                raise ParameterError(f"columns must be positions from 0 to {len(names) - 1}, got {column}. Hint: count from 0.")
            if schema is not None and names[int(column)] not in schema.used:
                raise SchemaError(
                    f"columns must have bounds or levels in the schema, got position {column}. Hint: describe it there."
                )
            chosen.append(names[int(column)])
        elif isinstance(column, str):
            chosen.append(column)
        else:
            raise ParameterError(f"columns must be names or positions, got {shown(column)}. Hint: columns=['age'].")
    return chosen
