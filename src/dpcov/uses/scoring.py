"""How good predictions are, on rows that have the target: the analyst's own rows, about which nothing is promised."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dpcov.errors import ParameterError, SchemaError, printable
from dpcov.results import Result
from dpcov.schema import Categorical, Numeric
from dpcov.uses.arrays import as_wide

if TYPE_CHECKING:
    from dpcov.release.record import Release

Floats = NDArray[np.float64]

ROWS = 2**14  # at a time


@dataclass(frozen=True)
class Score(Result):
    """How good predictions are.

    Attributes
    ----------
    target : str
        What was predicted.
    rows, left_out : int
        How many rows had the target, and how many had not.
    error : float
        The mean squared error.
    variance : float
        Of the target in these rows, which the error is compared with.
    """

    target: str
    rows: int
    left_out: int
    error: float
    variance: float

    @property
    def r2(self) -> float:
        """1 − error/variance: 1 is perfect, 0 as good as the mean of these rows; NaN where they do not vary."""
        return 1 - self.error / self.variance if self.variance > 0 else float("nan")

    def __repr__(self) -> str:
        return f"<Score of {printable(self.target)} on {self.rows} rows: r2={self.r2:.3g}, error={self.error:.3g}>"


def score(release: Release, target: str, predictions: Floats, data: Any) -> Score:
    """Compare predictions with the target in a table, or refuse one without it: see `RidgeModel.score`."""
    truth = true_values(release, target, data)
    told = as_wide("predictions", predictions, truth.shape)
    known = np.isfinite(truth)
    if not known.any():
        raise ParameterError(
            f"new data must hold {target!r} to be scored, got no value in any row. Hint: predictions need no target."
        )
    exact = truth[known]
    with np.errstate(all="ignore"):
        error = float(np.mean((exact - told[known]) ** 2))
        return Score(target, len(exact), len(truth) - len(exact), error, float(exact.var()))


def true_values(release: Release, target: str, data: Any) -> Floats:
    """Return the target of each row, in the user's units; NaN where it is missing. A level counts 0 or 1."""
    from dpcov.sources import cells
    from dpcov.sources.described import check_types, numbers, positions
    from dpcov.sources.opening import open_table
    from dpcov.uses.prediction import KnownLevels
    from dpcov.uses.selection import column_of_feature

    schema, columns = release.schema, column_of_feature(release.schema, release.feature_names)
    place = release.feature_names.index(target)
    name = columns[place]
    table = open_table(data)
    if schema is None:
        _check_names([name], table.names)
        cells.check_numeric(name, table.types[table.names.index(name)], parsed=table.parsed)
        return np.concatenate([[], *(cells.values(b.column(0), table.decimal) for b, _ in table.batches([name], ROWS))])
    column, read = schema.used[name], schema.table_columns([name])
    _check_names(read, table.names)
    texts = table.names if table.parsed else getattr(table, "written", ())
    check_types(dict(zip(table.names, table.types, strict=True)), name, column, texts=texts, where="")
    levels = {of: described for of, described in column.cells(name) if isinstance(described, Categorical)}
    batches = (batch for batch, _ in KnownLevels(table, levels).batches(read, ROWS))
    if isinstance(column, Numeric):
        return np.concatenate([[], *(numbers(batch, name, column, table) for batch in batches)])
    level = place - columns.index(name)
    found = (positions(batch, name, column, table) for batch in batches)
    return np.concatenate([[], *(np.where(places < 0, np.nan, places == level) for places in found)])


def _check_names(read: Sequence[str], names: Sequence[str]) -> None:
    """Refuse new data that lack a column of the target."""
    for name in read:
        if name not in names:
            raise SchemaError(
                f"new data must have the column {name!r} to be scored, got no such column. Hint: predictions need no target."
            )
