"""From the cells of a batch to what a schema's column makes of them: numbers, or positions among levels.

Every rule is about one row at a time: a derived number is made of the cells of its row, each clipped to its public bounds
before anything else is done to it, and is missing where one of them is.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpcov.schema import Categorical, Derived, Described, Numeric, Observed
from dpcov.schema.derived import Indicator, multiply
from dpcov.sources import cells, dates
from dpcov.sources.tables import Batch, Table

Floats = NDArray[np.float64]


def check_types(types: Mapping[str, Any], name: str, column: Described, *, texts: Collection[str], where: str) -> None:
    """Refuse a column whose cells, by the declared types of the table, cannot be what the schema says.

    ``texts`` are columns that a text was read for, of which nothing is declared; ``where`` names a file.
    """
    for table_name, described in column.cells(name):
        kind, parsed = types[table_name], table_name in texts
        if isinstance(described, Numeric) and described.dates is not None:
            dates.check_dated(table_name, kind, parsed=parsed, where=where)
        elif isinstance(described, Numeric):
            cells.check_numeric(table_name, kind, parsed=parsed, where=where)
        else:
            cells.check_categorical(table_name, kind, described, parsed=parsed, where=where)


def numbers(batch: Batch, name: str, column: Numeric, table: Table) -> Floats:
    """Return the numbers of a column, NaN where there is none; those of a derived one are within its bounds."""
    if isinstance(column, Derived):
        return multiply([_factor(batch.column(of), described, table) for of, described in column.cells(name)])
    ((of, described),) = column.cells(name)
    assert isinstance(described, Numeric)
    return values(batch.column(of), described, table)


def values(column: Any, described: Numeric, table: Table) -> Floats:
    """Return the cells of a column of the table as numbers, NaN where one holds none: dates in days."""
    return cells.values(column, table.decimal) if described.dates is None else dates.days(column)


def positions(batch: Batch, name: str, column: Categorical, table: Table) -> NDArray[np.intp]:
    """Return which level each cell is, −1 where none; of a flag, whether the cell of its column is there."""
    ((of, described),) = column.cells(name)
    if isinstance(described, Categorical):
        found = cells.positions(batch.column(of), described, trimmed=table.parsed, decimal=table.decimal)
        return (found >= 0).astype(np.intp) if isinstance(column, Observed) else found
    return np.isfinite(values(batch.column(of), described, table)).astype(np.intp)


def _factor(column: Any, described: Described, table: Table) -> Floats:
    """Return a factor of a product: a number within its bounds, transformed; or whether a cell is its level."""
    if isinstance(described, Numeric):
        return described.clipped(values(column, described, table))
    assert isinstance(described, Indicator)
    found = cells.positions(column, described, trimmed=table.parsed, decimal=table.decimal)
    return np.where(found < 0, np.nan, found == described.place)
