"""Whether this machine multiplies integers exactly: the exact sums rest on it."""

from __future__ import annotations

from functools import cache

import numpy as np

from dpcov.errors import EngineError


@cache
def check_exact_blas() -> None:
    """Check once per process that this machine's BLAS multiplies integers up to 2⁵³ exactly, small and large."""
    for rows, columns in ((64, 1), (64, 33), (16, 1100)):
        row, column = np.indices((rows, columns))
        integers = (row * 7919 + column * 104729) % 2**24 - 2**23
        integers[:, 0] = 2**23 - 1  # 64·(2²³ − 1)² is just below 2⁵²
        floats = integers.astype(np.float64)
        corner = slice(0, 40)  # int64 products are slow, and every block of the kernel is the same
        exact = integers.T[corner] @ integers[:, -40:]
        if not np.array_equal((floats.T @ floats)[corner, -40:].astype(np.int64), exact):
            raise EngineError("numpy's BLAS must be exact on integers below 2**53, and is not. Hint: install another numpy.")
