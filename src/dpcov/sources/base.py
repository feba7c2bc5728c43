"""The one interface of a source, and the loop that every source shares."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from dpcov.kernel.questions.measure import Summable
from dpcov.schema import Schema

BLOCK_ELEMENTS, BLOCK_ROWS = 2**19, 2048
"""A block has about 4 MB of float64, which stays in cache, but enough rows that a product of blocks outweighs their sum."""


class Portion(float):
    """The part of the rows that is read, in whole percents.

    ``rows`` are about as many as were read: two digits, rounded down, and 0 below ten thousand.
    """

    rows: int

    def __new__(cls, percent: int, rows: int) -> Self:
        """Round what was read."""
        made = super().__new__(cls, percent / 100)
        made.rows = rows - rows % 10 ** (len(str(rows)) - 2) if rows >= LEAST_ROWS else 0
        return made


LEAST_ROWS = 10_000  # are told: two digits of fewer would nearly be their exact number

Progress = Callable[[Portion | None], None]
"""Called with the part read so far, or None where it is unknown.

It is for the custodian's own screen: like the running time, it tells roughly how many rows there are.
"""


def in_percent(progress: Callable[[Any], None] | None) -> Callable[[float | None, int], None]:
    """Pass on whole percents, each once: the exact fraction of a first block would give away an exact number of rows."""
    last: int | None = -1

    def tell(fraction: float | None, rows: int) -> None:
        nonlocal last
        percent = None if fraction is None else min(int(100 * fraction), 100)
        if progress is not None and percent != last:
            last = percent
            progress(None if percent is None else Portion(percent, rows))

    return tell


class Source(Protocol):
    """Rows, wherever they are."""

    @property
    def n(self) -> int:
        """The number of rows, or people; a stream is read for it, unless it was read before. Private under add-remove."""
        ...

    @property
    def known_n(self) -> int | None:
        """The number of rows where nothing need be read for it."""
        ...

    @property
    def d(self) -> int:
        """The number of columns, a categorical one counted once per level."""
        ...

    @property
    def feature_names(self) -> tuple[str, ...]:
        """The names of these columns."""
        ...

    @property
    def schema(self) -> Schema | None:
        """What the columns mean; None: plain numbers."""
        ...

    @property
    def rereadable(self) -> bool:
        """Whether the rows can be read again: not so of some streams."""
        ...

    @property
    def ordered(self) -> bool:
        """Whether the order of rows is part of the data: not so of queries and other streams."""
        ...

    def total(self, statistic: Summable) -> NDArray[np.int64]:
        """Return the sum of the statistic over all rows."""
        ...


def default_block_rows(d: int) -> int:
    """Return how many rows of d columns to read at a time."""
    return max(BLOCK_ELEMENTS // d, BLOCK_ROWS)


def add_up(statistic: Summable, blocks: Iterable[NDArray[np.float64]], *, scratch: bool = False) -> NDArray[np.int64]:
    """Add a statistic over blocks, in int64 modulo 2⁶⁴; ``scratch`` blocks are the source's own and may be overwritten.

    Wrapping around is what keeps a private number of rows from being visible: sum plus noise modulo 2⁶⁴ is a
    function of sum plus noise. Below 2³⁰ rows (at 16 bits) nothing wraps.
    """
    blocks = iter(blocks)
    total = statistic.of(next(blocks), scratch=scratch)
    add_to = getattr(statistic, "add_to", None)  # of sums that are far larger than a block
    for block in blocks:
        if add_to is not None:
            add_to(total, block)
        else:
            total += statistic.of(block, scratch=scratch)
    return statistic.entries(total)
