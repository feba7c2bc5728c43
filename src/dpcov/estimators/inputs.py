"""What estimators share: one budget from their parameters, and data in the forms that scikit-learn's users bring."""

from __future__ import annotations

import inspect
import math
import os
from collections.abc import Callable, Mapping
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.utils.validation import validate_data

from dpcov.errors import ParameterError, shown
from dpcov.kernel.budget import ZCDP, ApproxDP, Budget, Exact, PureDP
from dpcov.schema import Schema
from dpcov.sources.array import checked_array
from dpcov.sources.on_device import is_on_device
from dpcov.sources.opening import is_elsewhere, is_in_database, is_unread_table, open_rows, open_table

NAMED = {"pandas", "polars", "duckdb", "pyarrow", "dask", "pyspark"}
"""Libraries whose tables tell the names of their columns without being opened."""


def read_budget(epsilon: Exact | None, delta: Exact | None, rho: Exact | None, estimator: str, bound: str) -> Budget:
    """Return the one budget that was given; the estimator's name and its public bound are for the hint."""
    if rho is not None and epsilon is None and delta is None:
        return ZCDP(rho)
    if epsilon is not None and rho is None:
        return PureDP(epsilon) if delta is None else ApproxDP(epsilon, delta)
    amounts = {"epsilon": epsilon, "delta": delta, "rho": rho}
    given = " and ".join(name for name, amount in amounts.items() if amount is not None) or "none of them"
    raise ParameterError(
        f"budget must be rho, or epsilon with or without delta, got {given}. Hint: write {estimator}(epsilon=1, {bound}=10)."
    )


def check_seed(seed: object) -> None:
    """Refuse what is no seed: generators too, from which noise could be predicted as well."""
    integer = isinstance(seed, int | np.integer) and not isinstance(seed, bool)
    if seed is not None and not (integer and seed >= 0):  # type: ignore[operator]
        raise ParameterError(
            f"random_state must be None or a nonnegative integer, got {shown(seed)}. Hint: only None makes a private release."
        )


def checked_options(options: object, release: Callable[..., Any]) -> dict[str, Any]:
    """Return the mechanism's options; a parameter of the estimator hidden among them would act unseen."""
    if options is None:
        return {}
    if not isinstance(options, Mapping) or not all(isinstance(name, str) for name in options):
        raise ParameterError(
            f"options must be a dictionary, got {shown(options)}. Hint: write options={{'constants': 'paper'}}."
        )
    for name in sorted(set(options) & set(inspect.signature(release).parameters)):
        raise ParameterError(f"options must be those of the mechanism, got {name!r}. Hint: give it to the estimator itself.")
    return dict(options)


def refuse_others(given: Mapping[str, object]) -> None:
    """Refuse what else `fit` is given: weights beside X would be told apart from the rows that they belong to."""
    for name in given:
        hint = "the estimator's weight= and max_weight= weigh rows by a column of X" if "weight" in name else "leave it out"
        raise ParameterError(f"fit must be given X and y alone, got {shown(name)}. Hint: {hint}.")


def refuse_merging(X: Any, y: Any = None) -> None:
    """Refuse cells that become floats on the way, where some of them say whose a row is: floats merge large numbers."""
    array = isinstance(X, np.ndarray)
    merged = array and y is not None and X.dtype.kind in "iu" and X.dtype.itemsize == 8
    if isinstance(X, list | tuple) or (array and X.dtype == object) or merged:
        raise ParameterError(
            f"X must be a frame, or an array of floats, where unit says whose a row is, got {type(X).__name__} of other cells. "
            f"Hint: pandas.DataFrame(X) keeps identifiers as they are."
        )


def is_table(data: Any) -> bool:
    """Whether the data bring the names and declared types of their columns along."""
    frame = hasattr(data, "iloc") and hasattr(data, "columns")  # pandas before 2.2 has no Arrow stream
    elsewhere = isinstance(data, str | os.PathLike) or is_unread_table(data) or is_elsewhere(data)
    return hasattr(data, "__arrow_c_stream__") or frame or elsewhere


class Watched:
    """A stream of an unknown kind that keeps the names it was opened with: it may not be possible to open it again."""

    def __init__(self, data: Any) -> None:
        self._data = data
        self.names: list[str] = []

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        import pyarrow as pa

        reader = pa.RecordBatchReader.from_stream(self._data)
        self.names = list(reader.schema.names)
        return reader.__arrow_c_stream__(requested_schema)


def watched(table: Any) -> Any:
    """Return a table whose column names can be told after it was read."""
    return Watched(table) if hasattr(table, "__arrow_c_stream__") and not _homes(table) & NAMED else table


def column_names(table: Any) -> list[Any]:
    """Return the names of the columns of a `watched` table that was read."""
    if isinstance(table, Watched):
        return table.names
    homes = _homes(table)
    if homes & {"pandas", "polars", "duckdb"} and not is_unread_table(table):
        return list(table.columns)  # opening would run a query again
    return list(table.schema.names if "pyarrow" in homes else open_table(table).names)


def _homes(table: Any) -> set[str]:
    """Return the libraries that a table's class and its parents come from."""
    return {kind.__module__.split(".")[0] for kind in type(table).__mro__}


def without_objects(X: Any) -> Any:
    """Turn Python objects into numbers cell by cell; NumPy would quote the first cell that is none.

    An array of objects has no declared type that could be refused, so a cell that is no number is missing, as in a CSV file.
    """
    if is_elsewhere(X):
        place = "in a database" if is_in_database(X) else "on a cluster"
        raise ParameterError(
            f"X must be rows that this process can read for this, got a {type(X).__name__} {place}. "
            f"Hint: a schema leaves rows there, and the target among the columns; new rows must come here."
        )
    if is_on_device(X):
        return open_rows(X)[:]
    if isinstance(X, list | tuple):
        X = np.array(X, dtype=object)
    elif hasattr(X, "__array__") and not isinstance(X, np.ndarray):
        from dpcov.sources.tables import reading

        with reading("pass a NumPy array"):
            X = np.asarray(X)
    if isinstance(X, np.ndarray) and X.dtype == object:
        numbers = (_number(cell) for cell in X.ravel())
        return np.fromiter(numbers, dtype=np.float64, count=X.size).reshape(X.shape)
    return X


def plain_rows(estimator: Any, X: Any, **settings: Any) -> Any:
    """Return rows as scikit-learn checks their shape and their columns; of another shape it would print them."""
    array = without_objects(X)
    plain = isinstance(array, np.ndarray) or issparse(array)
    if not plain or array.ndim != 2:
        raise ParameterError(
            f"X must be two-dimensional, a row per person, got {type(X).__name__}. "
            f"Hint: Reshape your data: X.reshape(1, -1) is a single row."
        )
    if array.dtype.kind == "c":  # scikit-learn's message would hold the rows
        raise ParameterError(f"X must be real, got {array.dtype}. Hint: Complex data not supported; use two columns.")
    return validate_data(estimator, array, dtype=None, ensure_all_finite=False, **settings)


def _number(cell: object) -> float:
    if isinstance(cell, np.complexfloating) or not isinstance(cell, int | float | Fraction | Decimal | np.number | np.bool_):
        return math.nan
    try:
        return float(cell)
    except (OverflowError, ValueError, TypeError):  # beyond float64, a decimal's signalling NaN, a time span
        return math.nan


def with_target(X: Any, y: Any, target: str, schema: Schema) -> Any:
    """Return a table, or an array, with the target as its last column, before any transform; no value is looked at."""
    import pyarrow as pa

    from dpcov.sources.tables import reading

    name, *others = schema.table_columns([target])
    if others:
        raise ParameterError(
            f"y must be left out where the target is a product, got one for {target!r}. Hint: X has both columns."
        )
    if isinstance(X, str | os.PathLike):
        raise ParameterError("y must be left out where X is a file, got one. Hint: the file holds the target.")
    if is_elsewhere(X):
        place = "in a database" if is_in_database(X) else "on a cluster"
        raise ParameterError(f"y must be left out where X is {place}, got one. Hint: X holds the target, as a column.")
    rows = without_objects(X) if not is_table(X) else X
    if issparse(rows) or issparse(y):
        raise ParameterError("X and y must be dense beside a schema, got a sparse matrix. Hint: X.toarray().")
    if not hasattr(rows, "__len__") or not hasattr(y, "__len__") or len(rows) != len(y):
        raise ParameterError("y must have one cell for each row of X, got more or fewer. Hint: give one target per person.")
    if not is_table(X):
        if schema.array_columns()[-1] != name or np.ndim(rows) != 2:
            raise ParameterError(
                "target must be the last column of the schema where X is an array, got another. Hint: use a frame."
            )
        with np.errstate(all="ignore"):
            return np.column_stack([checked_array(rows), np.asarray(without_objects(y)).reshape(len(rows))])
    if name in column_names(X):
        raise ParameterError(f"X must not have the column {name!r} beside y, got one. Hint: leave y out, or drop that column.")
    if hasattr(X, "iloc"):
        return X.assign(**{name: getattr(y, "array", y)})
    with reading():
        table = pa.table(X)
        return table.append_column(name, y if isinstance(y, pa.Array | pa.ChunkedArray) else pa.array(y))
