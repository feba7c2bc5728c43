"""Where a CSV file may be cut: between two records, as the reader sees them, without parsing it.

A line break inside quotes belongs to a cell. In a file as it should be, a quote opens a cell or stands in an open one, doubled
or at its end; whether a byte is inside quotes is then told by the number of quotes before it, odd or even. That each quote is
where it should be is checked, on the fly. After the first one that is not, nothing is cut any more: the rest is one piece, and
the reader itself decides what its records are. So a cut is always one that the reader would make.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np
from numpy.typing import NDArray

Bytes = NDArray[np.uint8]

QUOTE, LINE_FEED, RETURN = b'"\n\r'


def cuts(chunks: Iterable[bytes], separator: str) -> Iterator[int]:
    """Yield positions just behind a line feed that ends a record: the last such one in each chunk that has any."""
    between = np.array([LINE_FEED, RETURN, ord(separator)], dtype=np.uint8)
    start, inside, before = 0, False, LINE_FEED  # what comes before the first byte is no cell
    first: int | None = None  # where the first record begins: the names are never cut off
    for chunk in chunks:
        found = np.frombuffer(chunk, dtype=np.uint8)
        quotes = np.flatnonzero(found == QUOTE)
        opens = (np.arange(len(quotes)) + inside) % 2 == 0
        # The quote that ends a cell is looked at together with the byte behind it: at the end of a chunk, with the next chunk.
        left = np.concatenate([[before], found[:-1]]).astype(np.uint8)[quotes] if len(quotes) else found[:0]
        behind = np.isin(left, between) | (left == QUOTE)
        if not behind[opens].all() or not _closed_well(found, before, inside, quotes, opens, between):
            return
        lines = np.flatnonzero(found == LINE_FEED)
        outside = lines[(np.searchsorted(quotes, lines) + inside) % 2 == 0]
        if first is None and (chunk := chunk.lstrip(b"\r\n")):
            first = start + len(found) - len(chunk)
        if len(outside) and first is not None and start + int(outside[-1]) > first:
            yield start + int(outside[-1]) + 1
        start += len(found)
        inside = bool((len(quotes) + inside) % 2)
        before = int(found[-1])


def _closed_well(
    found: Bytes, before: int, inside: bool, quotes: NDArray[np.intp], opens: NDArray[np.bool_], between: Bytes
) -> bool:
    """Whether a cell ends or another quote follows behind each quote in an open cell."""
    closing = quotes[~opens]
    known = closing[closing + 1 < len(found)]
    right = found[known + 1]
    first = found[:1] if before == QUOTE and not inside else found[:0]  # behind the last byte of the chunk before
    return bool((np.isin(right, between) | (right == QUOTE)).all() and (np.isin(first, between) | (first == QUOTE)).all())
