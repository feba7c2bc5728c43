"""Replay over two arrays: what each answer cost, of what was allowed."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpcov.kernel.budget import Budget
from dpcov.kernel.rows.grid import Grid
from dpcov.mechanisms.base import Named
from dpcov.sources.array import ArraySource
from dpcov.verify.replay import Step, replay

Floats = NDArray[np.float64]
UNIT = Grid(1.0)


def steps(
    mechanism: Named, budget: Budget, first: Floats, second: Floats, neighbors: str, grid: Grid = UNIT, **options: Any
) -> list[Step]:
    """Replay a mechanism on two arrays."""
    sources = ArraySource(first), ArraySource(second)
    return replay(mechanism, *sources, grid=grid, budget=budget, neighbors=neighbors, **options)


def share(step: Step) -> float:
    """Return what was used of the allowance."""
    return float(step.cost) / float(step.allowed)
