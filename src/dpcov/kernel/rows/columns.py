"""The columns of a table, one by one: what questions about single columns, and private units, start from.

Such questions are given rows *by column*: one entry for each column of the schema, in order. A number is encoded about the
midpoint of its bounds, a category is its position among the levels; a missing cell, or one that is no level, is NaN.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np
from numpy.typing import NDArray

from dpcov.schema import Numeric, Schema

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Columns:
    """Where columns stand in such a row, and in one with an entry for each feature.

    Attributes
    ----------
    numeric : tuple of (int, float)
        For each column of numbers its place, and the encoded value of its upper bound; the lower one has minus that.
    levels : tuple of (int, int)
        For each column of categories its place, and how many levels there are.
    """

    numeric: tuple[tuple[int, float], ...]
    levels: tuple[tuple[int, int], ...]

    @classmethod
    def of(cls, schema: Schema) -> Self:
        """Return where a schema's columns stand."""
        numeric, levels = [], []
        for place, (column, _, scale) in enumerate(schema.encodings(True)):
            if isinstance(column, Numeric):
                numeric.append((place, column.reach(True) / scale))
            else:
                levels.append((place, len(column.levels)))
        return cls(tuple(numeric), tuple(levels))

    @cached_property
    def features(self) -> tuple[int, ...]:
        """The place of the first feature of each column, and at last how many features there are."""
        counts = dict(self.levels)
        widths = [counts.get(place, 1) for place in range(len(self.numeric) + len(self.levels))]
        return (0, *np.cumsum(widths).tolist())

    def own(self, place: int) -> slice:
        """Return the features of a column: one, or one for each level."""
        return slice(self.features[place], self.features[place + 1])

    @cached_property
    def places(self) -> NDArray[np.intp]:
        """The places of the columns of numbers."""
        return np.array([place for place, _ in self.numeric], dtype=np.intp)

    @cached_property
    def reaches(self) -> Floats:
        """The encoded values of their upper bounds."""
        return np.array([reach for _, reach in self.numeric], dtype=np.float64)

    def on_bounds(self, rows: Floats) -> Floats:
        """Return the cells of the columns of numbers, −1 and 1 at the bounds, NaN where one is missing: each by itself."""
        with np.errstate(all="ignore"):
            return np.asarray(np.clip(rows[:, self.places] / self.reaches, -1.0, 1.0))

    def positions(self, rows: Floats, column: int) -> NDArray[np.intp]:
        """Return which level each cell of a column of categories is; their number where it is none of them."""
        place, count = self.levels[column]
        with np.errstate(all="ignore"):
            cells = rows[:, place]
            known = (cells >= 0) & (cells < count)
            return np.where(known, cells, count).astype(np.intp)
