"""The second moment of rows of norm 1 at most: what numbers along directions are derived from."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dpcov.kernel.questions.moments import SecondMoment
from dpcov.kernel.rows.grid import Grid

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
GRID = Grid(1.0)


def moment(d: int) -> SecondMoment:
    """Return the question."""
    return SecondMoment(GRID, d)


def total(rows: Floats) -> Integers:
    """Return its exact answer, entry by entry."""
    statistic = moment(rows.shape[1])
    return statistic.entries(statistic.of(rows))
