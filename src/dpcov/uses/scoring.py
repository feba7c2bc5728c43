"""How good predictions are, on rows that have the target: the analyst's own rows, about which nothing is promised."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from dpcov.errors import ParameterError, SchemaError
from dpcov.schema import Categorical

if TYPE_CHECKING:
    from dpcov.release.record import Release
    from dpcov.uses.ridge import RidgeModel

Floats = NDArray[np.float64]

ROWS = 2**14  # at a time


@dataclass(frozen=True)
class Score:
    """The mean squared error, and the variance it is compared with, of the rows that have the target."""

    rows: int
    error: float
    variance: float

    @property
    def r2(self) -> float:
        """1 − error/variance: 1 is perfect, 0 as good as the mean of these rows; NaN where they do not vary."""
        return 1 - self.error / self.variance if self.variance > 0 else float("nan")


def score(release: Release, model: RidgeModel, predictions: Floats, data: str) -> Score:
    """Compare predictions with the target in a file, or refuse a file without it."""
    truth = true_values(release, model.target, data)
    known = np.isfinite(truth)
    if not known.any():
        raise ParameterError(f"new data must hold {model.target!r} for --score, got none in any row. Hint: leave --score out.")
    exact = truth[known]
    with np.errstate(all="ignore"):
        return Score(len(exact), float(np.mean((exact - predictions[known]) ** 2)), float(exact.var()))


def true_values(release: Release, target: str, data: str) -> Floats:
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
        raise SchemaError(f"new data must have the column {name!r} for --score, got none. Hint: leave --score out.")
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
