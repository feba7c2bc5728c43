"""One question of every kind, about every kind of rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from dpcov.kernel.questions.bins import Bins
from dpcov.kernel.questions.clipped_pair import ClippedPair
from dpcov.kernel.questions.moments import Count, SecondMoment, Sum
from dpcov.kernel.questions.norms import Norms, Trace
from dpcov.kernel.questions.table import Histograms, LevelCounts
from dpcov.kernel.questions.together import Together
from dpcov.kernel.rows.annulus import Annulus
from dpcov.kernel.rows.columns import Columns
from dpcov.kernel.rows.frames import Ball, Box, Ellipsoid
from dpcov.kernel.rows.grid import Grid
from dpcov.kernel.rows.standard import LevelUnits, NumericUnits, Standard, Units
from dpcov.schema import Schema


def questions(d: int, center: bool, schema: Schema | None) -> list[Any]:
    """Return the questions about rows of d features; with a schema they have length 1 at most, else about 50."""
    length = 1.0 if schema is not None else 50.0
    grid = Grid(length, center=center)
    wide = grid.width(d)
    asked: list[Any] = [Count(), Sum(grid, wide), SecondMoment(grid, wide), Trace(grid, wide), Norms(grid, wide, 4, 6)]
    asked.append(Together((Norms(grid, wide, 2, 3), SecondMoment(grid.clipped(0.3), wide), Count())))
    if not center:
        asked += _local(d, length)
    elif schema is not None:
        asked += _by_column(Columns.of(schema))
    return asked


def _local(d: int, length: float) -> list[Any]:
    """Return questions about rows as seen from elsewhere, and about what clipping takes from them."""
    annulus = Annulus(Grid(0.4 * length), Grid(length))
    centre = tuple((np.linspace(-0.2, 0.3, d) * length).tolist())
    ball, box = Ball(centre, 0.7 * length), Box(centre, (0.5 * length,) * d)
    whitener = (np.eye(d) + 0.1 * np.tri(d)) * 2 / length
    ellipsoid = Ellipsoid(centre, whitener)
    asked: list[Any] = [SecondMoment(annulus, d), ClippedPair(annulus, d), Bins(box, d, 9), Sum(box, d), Norms(ball, d, 3, 5)]
    asked += [kind(shape, d) for kind in (Sum, SecondMoment, Trace) for shape in (ball, ellipsoid)]
    return asked


def _by_column(columns: Columns) -> list[Any]:
    """Return questions about single columns, and about rows in private units."""
    numbers = tuple(NumericUnits(-0.2, 0.2, 0.05, 0.1) for _ in columns.numeric)
    levels = tuple(
        LevelUnits(tuple(range(count)), (1.0 / (count + 1),) * (count + 1), (0.5,) * (count + 1)) for _, count in columns.levels
    )
    rows = Standard(Units(columns, numbers, levels), 1.0, 4.0)
    return [Histograms(columns, 6), LevelCounts(columns), SecondMoment(rows, rows.width), Norms(rows, rows.width, 4, 4)]
