"""Rows in memory, read once from another source: for many questions about public rows."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from dpcov.errors import ParameterError
from dpcov.kernel.questions.measure import Summable
from dpcov.kernel.questions.moments import EXACT
from dpcov.kernel.rows.aside import SHARE_BITS, Aside
from dpcov.schema import Schema
from dpcov.sources.base import Source, add_up

Rows = NDArray[np.float64]

SUMS = 32  # are kept: most questions are asked again and again


class KeptSource:
    """The encoded rows of another source, read once and completely; those of a table by column as well, by a second reading."""

    rereadable = ordered = True

    def __init__(self, source: Source) -> None:
        self.aside: Aside | None = getattr(source, "aside", None)
        keep = _Keep()
        source.total(keep)
        self._kept, self._cells = keep.blocks, list[Rows]()
        if source.schema is not None and source.rereadable:
            cells = _Keep(by_column=True)
            source.total(cells)
            self._cells = cells.blocks
        self._sums: dict[Summable, NDArray[np.int64]] = {}
        self.feature_names: tuple[str, ...] = source.feature_names
        self.schema: Schema | None = source.schema
        self._n = source.n

    @property
    def n(self) -> int:
        """The number of rows, or of people."""
        return self._n

    @property
    def weight(self) -> float:
        """How much all rows count together: n, unless people may count less than once."""
        if self.aside is None or not self.aside.partial:
            return float(self._n)
        return math.fsum(float(self.aside.apart(block).shares.sum()) for block in self._kept) / 2.0**SHARE_BITS

    @property
    def known_n(self) -> int:
        """The number of rows, or of people."""
        return self._n

    @property
    def d(self) -> int:
        """The number of columns."""
        return len(self.feature_names)

    def total(self, statistic: Summable) -> NDArray[np.int64]:
        """Add the statistic over the blocks, unless its sum is still known."""
        if getattr(statistic, "is_of_people", False):  # who were counted when the rows were read
            return np.array([self._n], dtype=np.int64)
        known = self._sums.pop(statistic, None)
        by_column = getattr(statistic, "by_column", False)
        if by_column and not self._cells:
            raise ParameterError(
                "data must be a table with a schema that can be read twice, got something else. Hint: write a stream to a file."
            )
        total = add_up(statistic, self._blocks(statistic.max_block, by_column)) if known is None else known
        self._sums[statistic] = total  # as the last; the first was not asked for the longest time
        if len(self._sums) > SUMS:
            del self._sums[next(iter(self._sums))]
        return total.copy()

    def _blocks(self, rows: int, by_column: bool) -> Iterator[Rows]:
        for block in self._cells if by_column else self._kept:
            for start in range(0, max(len(block), 1), rows):
                yield block[start : start + rows]


class _Keep:
    """A statistic that is all of the rows: its sum is nothing, and the blocks stay here."""

    name = "rows"
    max_block = EXACT
    shape = (1,)

    def __init__(self, *, by_column: bool = False) -> None:
        self.blocks: list[Rows] = []
        self.by_column = by_column

    def of(self, rows: Rows, *, scratch: bool = False) -> NDArray[np.int64]:
        """Keep a block; one that its source will overwrite, as rows by column may be, as a copy in the same layout."""
        self.blocks.append(rows.copy(order="K") if scratch or self.by_column else rows)
        return np.zeros(1, dtype=np.int64)

    def entries(self, total: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the sum, which is nothing."""
        return total
