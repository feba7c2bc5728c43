"""Sparse matrices of scipy: a few rows at a time become dense."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def is_sparse(data: object) -> bool:
    """Whether data are a sparse matrix or array of scipy, without importing it."""
    return any(kind.__module__.startswith("scipy.sparse") for kind in type(data).__mro__) and hasattr(data, "tocsr")


class SparseRows:
    """The rows of a sparse matrix; entries that are not stored are 0, and such as are stored twice add up, as in scipy."""

    def __init__(self, data: Any) -> None:
        self._rows = data.tocsr() if len(data.shape) == 2 else data  # else refused, by its shape
        self.shape: tuple[int, ...] = data.shape
        self.dtype: np.dtype[Any] = data.dtype

    def __len__(self) -> int:
        return int(self.shape[0])

    def __getitem__(self, rows: slice) -> NDArray[np.generic]:
        return np.asarray(self._rows[rows].toarray())

    def part(self, start: int, rows: int) -> SparseRows:
        """Return some of the rows."""
        return SparseRows(self._rows[start : start + rows])
