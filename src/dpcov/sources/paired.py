"""Differences of pairs of rows: the first and the second, the third and the fourth, and so on, divided by √2.

They have mean zero and the covariance of the rows, whatever the mean is. Replacing one row changes one pair only, as long as
the order of rows is part of the data: true of arrays, frames and files, not of what a query returns. Adding one row would pair
all later rows anew: refused.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from dpcov.errors import ParameterError
from dpcov.kernel.questions.measure import Integers, Rows, Summable
from dpcov.kernel.questions.moments import REPLACE, Count
from dpcov.schema import Schema
from dpcov.sources.base import Source

HALF = 1 / math.sqrt(2)


class PairedSource:
    """A source whose rows are the differences of pairs of another's rows; an odd row at the end is left out."""

    def __init__(self, source: Source, neighbors: str) -> None:
        if neighbors != REPLACE:
            raise ParameterError(
                "neighbors must be 'replace' for pairs, got 'add-remove'. Hint: one added row would change every pair."
            )
        if not source.ordered:
            raise ParameterError(
                "data must have rows in a fixed order for pairs, got a query or stream. Hint: pass an array, a frame or a file."
            )
        self._source = source

    @property
    def n(self) -> int:
        """The number of pairs."""
        return self._source.n // 2

    @property
    def known_n(self) -> int | None:
        """The number of pairs, where nothing need be read for it."""
        known = self._source.known_n
        return None if known is None else known // 2

    @property
    def d(self) -> int:
        """The number of columns."""
        return self._source.d

    @property
    def feature_names(self) -> tuple[str, ...]:
        """The names of the columns."""
        return self._source.feature_names

    @property
    def schema(self) -> Schema | None:
        """What the columns mean."""
        return self._source.schema

    @property
    def rereadable(self) -> bool:
        """Whether the rows can be read again."""
        return self._source.rereadable

    @property
    def ordered(self) -> bool:
        """Whether rows have an order: their pairs have."""
        return True

    def total(self, statistic: Summable) -> NDArray[np.int64]:
        """Return the sum of the statistic over all pairs."""
        if isinstance(statistic, Count):
            return np.array([self.n], dtype=np.int64)
        return self._source.total(_Paired(statistic))


class _Paired:
    """A statistic of pairs, given rows block by block, in order: a row without a partner waits for the next block."""

    def __init__(self, statistic: Summable) -> None:
        self._statistic = statistic
        self._waiting: list[Rows] = []
        self.name, self.max_block, self.shape = statistic.name, statistic.max_block, statistic.shape

    def of(self, rows: Rows, *, scratch: bool = False) -> Integers:  # noqa: ARG002 - the differences are new arrays
        """Return the sum over the pairs that this block completes."""
        total = [self._statistic.of(pairs, scratch=True) for pairs in self._pairs(rows)]
        return np.asarray(np.sum(total, axis=0, dtype=np.int64))

    def entries(self, total: Integers) -> Integers:
        """Return the entries of the statistic."""
        return self._statistic.entries(total)

    def _pairs(self, rows: Rows) -> Iterator[Rows]:
        start = 0
        yield np.empty((0, rows.shape[1]))  # a block may complete no pair
        with np.errstate(all="ignore"):
            if self._waiting and len(rows):
                yield (self._waiting.pop() - rows[:1]) * HALF
                start = 1
            end = start + (len(rows) - start) // 2 * 2
            yield (rows[start:end:2] - rows[start + 1 : end : 2]) * HALF
        if end < len(rows):
            self._waiting.append(rows[end:].copy())
