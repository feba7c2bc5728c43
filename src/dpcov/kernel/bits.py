"""Random bits: the operating system's for releases, seeded ones for tests and papers.

`SystemBits` keeps no state: no buffer that a forked child or a second thread could hand out again.
"""

from __future__ import annotations

import os
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from dpcov.errors import ParameterError, shown


class Bits(Protocol):
    """Independent uniform 64-bit words."""

    @property
    def seeded(self) -> bool:
        """Whether the words can be predicted; the release then says that it is not private."""
        ...

    def words(self, count: int) -> NDArray[np.uint64]:
        """Return ``count`` fresh words."""
        ...


class SystemBits:
    """The operating system's generator, asked anew for each word."""

    seeded = False

    def words(self, count: int) -> NDArray[np.uint64]:
        """Return ``count`` fresh words from the operating system."""
        return np.frombuffer(os.urandom(8 * count), dtype=np.uint64)


class SeededBits:
    """Reproducible words (PCG64): for tests and papers. What is released with them is not private."""

    seeded = True

    def __init__(self, seed: int) -> None:
        if isinstance(seed, bool) or not isinstance(seed, int | np.integer) or seed < 0:
            raise ParameterError(
                f"seed must be a nonnegative integer, got {shown(seed)}. Hint: leave it out for a private release."
            )
        self._generator = np.random.PCG64(int(seed))

    def words(self, count: int) -> NDArray[np.uint64]:
        """Return the next ``count`` words of the stream (the generator holds a lock for threads)."""
        return self._generator.random_raw(count)
