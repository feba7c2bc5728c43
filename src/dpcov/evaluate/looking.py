"""Look at a table before spending on it: exact counts of cells that will not count as they stand. NOT private."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from dpcov.errors import ParameterError, shown
from dpcov.schema import Categorical, Numeric, Schema
from dpcov.sources.opening import open_table

ROWS = 2**14  # at a time
WARNING = (
    "NOT PRIVATE: these are exact counts of people's cells, for the custodian's eyes only. Publish none of them, "
    "and choose no bound or level by them: use them to find a wrong file, unit or spelling."
)


@dataclass(frozen=True)
class ColumnLook:
    """How many cells of a column are missing, are there and are no number or no level, or lie outside the bounds."""

    missing: int
    unmatched: int
    clipped: int


@dataclass(frozen=True)
class Look:
    """What `look` found: exact numbers, which are NOT private.

    Attributes
    ----------
    rows : int
        The number of rows.
    columns : dict
        For each column of the table that the schema uses ``missing``, ``unmatched`` and ``clipped``.
    """

    rows: int
    columns: dict[str, ColumnLook]

    def __repr__(self) -> str:
        return f"<Look at {len(self.columns)} columns: exact counts, NOT private>"

    def to_dict(self) -> dict[str, Any]:
        """Return all of it as plain values, with the warning."""
        counts = {name: vars(found).copy() for name, found in self.columns.items()}
        return {"private": False, "warning": WARNING, "rows": self.rows, "columns": counts}


def look(data: object, schema: Schema) -> Look:
    """Count the cells that will not count as they stand. The counts are exact, and NOT private: for the custodian's eyes only.

    It reads all rows, spends nothing and protects nobody. Publish none of it, and choose no bound or level by it: that would
    leak what no noise repairs. It is there to find a wrong file, unit, spelling or decimal sign before a budget is spent on it.

    Parameters
    ----------
    data : array, frame, path or anything with ``__arrow_c_stream__``
        As in `dpcov.covariance`.
    schema : Schema
        What its columns should hold.

    Returns
    -------
    Look
        For each used column the number of cells that are missing; that are there and are no number, or no level; and that
        lie outside the bounds and will be clipped.

    Examples
    --------
    >>> import numpy as np, dpcov
    >>> found = dpcov.look(np.array([[1.0], [np.nan], [7.0]]), dpcov.Schema({"x": dpcov.Numeric(0, 5)}))
    >>> found.columns["x"]
    ColumnLook(missing=1, unmatched=0, clipped=1)
    """
    if not isinstance(schema, Schema):
        raise ParameterError(f"schema must be a Schema, got {shown(schema)}. Hint: dpcov.Schema.read('schema.toml').")
    from dpcov.sources.arrow import ArrowSource

    table = open_table(data, names_matter=False, schema=schema)
    ArrowSource(table, None, schema)  # refuses what does not fit, and reads nothing
    read = schema.cells()
    counts = {name: np.zeros(3, dtype=np.int64) for name in read}
    rows = 0
    for batch, _ in table.batches(list(read), ROWS):
        rows += len(batch)
        for name, column in read.items():
            counts[name] += _counted(batch.column(name), column, table)
    return Look(rows, {name: ColumnLook(*map(int, found)) for name, found in counts.items()})


def _counted(column: Any, described: Numeric | Categorical, table: Any) -> tuple[int, int, int]:
    """Return how many cells are missing, unmatched and clipped."""
    from dpcov.sources import cells
    from dpcov.sources.described import values as described_values

    missing = cells.missing(column)
    if isinstance(described, Categorical):
        known = cells.positions(column, described, trimmed=table.parsed, decimal=table.decimal) >= 0
        return int(missing.sum()), int((~known & ~missing).sum()), 0
    values = described_values(column, described, table)
    number = np.isfinite(values)
    with np.errstate(all="ignore"):
        outside = number & ((values < described.lower) | (values > described.upper))
    return int(missing.sum()), int((~number & ~missing).sum()), int(outside.sum())
