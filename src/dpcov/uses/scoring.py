"""How good predictions are, on rows that have the target: the analyst's own rows, about which nothing is promised."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dpcov.errors import ParameterError, SchemaError
from dpcov.results import Result
from dpcov.schema import Categorical

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


def score(release: Release, target: str, predictions: Floats, data: Any) -> Score:
    """Compare predictions with the target in a table, or refuse one without it: see `RidgeModel.score`."""
    truth = true_values(release, target, data)
    known = np.isfinite(truth)
    if not known.any():
        raise ParameterError(
            f"new data must hold {target!r} to be scored, got no value in any row. Hint: predictions need no target."
        )
    exact = truth[known]
    with np.errstate(all="ignore"):
        error = float(np.mean((exact - predictions[known]) ** 2))
        return Score(target, len(exact), len(truth) - len(exact), error, float(exact.var()))


def true_values(release: Release, target: str, data: Any) -> Floats:
    """Return the target of each row, in the user's units; NaN where it is missing. A level counts 0 or 1."""
    from dpcov.sources import cells
    from dpcov.sources.opening import open_table
    from dpcov.uses.prediction import KnownLevels
    from dpcov.uses.selection import column_of_feature

    schema, columns = release.schema, column_of_feature(release.schema, release.feature_names)
    place = release.feature_names.index(target)
    name = columns[place]
    column = None if schema is None else schema.used[name]
    table = open_table(data)
    if name not in table.names:
        raise SchemaError(
            f"new data must have the column {name!r} to be scored, got no such column. Hint: predictions need no target."
        )
    kind = table.types[table.names.index(name)]
    if not isinstance(column, Categorical):
        cells.check_numeric(name, kind, parsed=table.parsed)
        return np.concatenate([[], *(cells.values(batch.column(0)) for batch, _ in table.batches([name], ROWS))])
    cells.check_categorical(name, kind, column, parsed=table.parsed)
    level = place - columns.index(name)
    found = []
    for batch, _ in KnownLevels(table, {name: column}).batches([name], ROWS):
        places = cells.positions(batch.column(0), column, trimmed=table.parsed)
        found.append(np.where(places < 0, np.nan, places == level))
    return np.concatenate([[], *found])
