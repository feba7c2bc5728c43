"""Rows in a NumPy array."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from dpcov.errors import ParameterError
from dpcov.sources.base import add_up, default_block_rows
from dpcov.statistics.grid import MAX_FEATURES
from dpcov.statistics.moments import Statistic

NUMERIC = "biuf"  # numpy's kinds: boolean, integer, unsigned, floating


class ArraySource:
    """A two-dimensional numeric array, read block by block and never written to."""

    def __init__(self, data: object, block_rows: int | None = None) -> None:
        self._array = _checked(data)
        self._block_rows = block_rows or default_block_rows(self._array.shape[1])

    @property
    def n(self) -> int:
        """The number of rows."""
        return len(self._array)

    @property
    def d(self) -> int:
        """The number of columns."""
        return int(self._array.shape[1])

    @property
    def feature_names(self) -> tuple[str, ...]:
        """Columns of an array have no names: they are x0, x1 and so on."""
        return tuple(f"x{j}" for j in range(self.d))

    def total(self, statistic: Statistic) -> NDArray[np.int64]:
        """Add the statistic over blocks of rows."""
        return add_up(statistic, self._blocks(min(self._block_rows, statistic.max_block)))

    def _blocks(self, rows: int) -> Iterator[NDArray[np.float64]]:
        for start in range(0, max(self.n, 1), rows):
            with np.errstate(all="ignore"):  # a long double beyond float64 becomes infinite, silently
                block = self._array[start : start + rows].astype(np.float64, order="C", copy=False)
            yield block


def _checked(data: object) -> NDArray[np.generic]:
    """Refuse what is not a plain numeric table; looks at type, shape and dtype, never at values."""
    rule = "data must be a two-dimensional numeric numpy array with a row per person"
    if not isinstance(data, np.ndarray) or isinstance(data, np.ma.MaskedArray):
        raise ParameterError(f"{rule}, got {type(data).__name__}. Hint: numpy.asarray(data, dtype=float).")
    if data.ndim != 2:
        raise ParameterError(f"{rule}, got {data.ndim} dimension(s). Hint: one column is data.reshape(-1, 1).")
    if data.dtype.kind not in NUMERIC:
        raise ParameterError(f"{rule}, got {data.dtype.type.__name__}. Hint: numpy.asarray(data, dtype=float).")
    if not 1 <= data.shape[1] <= MAX_FEATURES:
        raise ParameterError(f"{rule}, between 1 and 2**15 columns, got {data.shape[1]}. Hint: select columns first.")
    return np.asarray(data)
