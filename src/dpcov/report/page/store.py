"""Arrays of a page as one block of text: bytes of the same rank together, compressed, in base64."""

from __future__ import annotations

import base64
import zlib
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]

LEAST, MOST = 1e-9, 1e3  # standard errors that a large matrix is shown with
STEPS = 65_533  # of the logarithm between them: three ten-thousandths each; then infinite, and not known
UNKNOWN, INFINITE = 65_535, 65_534
SHARES = 32_767  # steps from 0 to 1 of the correlations of a large matrix


class Store:
    """Arrays by name, in the order in which they were put in."""

    def __init__(self) -> None:
        self._index: dict[str, list[Any]] = {}
        self._bytes: list[bytes] = []
        self._at = 0

    def put(self, name: str, array: ArrayLike, dtype: str = "<f8") -> None:
        """Keep an array, as floats of eight bytes or as integers of two or one."""
        own = np.ascontiguousarray(array, dtype=dtype).ravel()
        ranked = own.view(np.uint8).reshape(-1, own.itemsize).T.tobytes()
        self._index[name] = [dtype[1:], self._at, own.size]
        self._bytes.append(ranked)
        self._at += len(ranked)

    def put_upper(self, name: str, matrix: Floats) -> None:
        """Keep a symmetric matrix by its upper triangle, row after row."""
        self.put(name, matrix[np.triu_indices(len(matrix))])

    def put_shares(self, name: str, matrix: Floats) -> None:
        """Keep numbers between −1 and 1 of the upper triangle in two bytes each."""
        self.put(name, np.rint(np.clip(matrix[np.triu_indices(len(matrix))], -1, 1) * SHARES), "<i2")

    def put_errors(self, name: str, matrix: Floats) -> None:
        """Keep standard errors of the upper triangle in two bytes each, by their logarithms."""
        errors = matrix[np.triu_indices(len(matrix))]
        known = np.clip(np.where(np.isfinite(errors), errors, LEAST), LEAST, MOST)
        codes = np.rint(np.log(known / LEAST) / np.log(MOST / LEAST) * STEPS)
        codes = np.where(np.isnan(errors), UNKNOWN, np.where(np.isinf(errors), INFINITE, codes))
        self.put(name, codes, "<u2")

    def record(self) -> dict[str, Any]:
        """Return the block and where each array is in it."""
        packed = zlib.compress(b"".join(self._bytes), 6)
        return {"arrays": self._index, "block": base64.b64encode(packed).decode("ascii")}
