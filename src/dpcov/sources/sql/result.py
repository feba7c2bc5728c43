"""What a statement returned, and what is made of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpcov.errors import EngineError

Integers = NDArray[np.int64]

BROKEN = "database must return the sums that it was asked for, and did not. Hint: try again; look at its log."


@dataclass(frozen=True)
class Found:
    """What a statement returned: exact integers of any size, also those of each group, and undecided rows."""

    rows: int
    sums: list[int]
    counts: list[dict[int, int]] = field(default_factory=list)
    undecided: list[list[list[float]]] = field(default_factory=list)
    groups: dict[int, Found] = field(default_factory=dict)


Reading = Callable[[Found], Integers]


def found_in(records: Iterable[Sequence[Any]], sums: int, sizes: Sequence[int], undecided: int, groups: int | None) -> Found:
    """Return what records say: a key, a number of rows, sums, and entries of undecided rows; refuse what cannot be that.

    Keys of counts come first, as many as their sizes; then those of groups, where sums are of each group.
    """
    starts = np.cumsum([0, *sizes]).tolist()
    rows, whole = 0, [0] * sums
    of_groups: dict[int, Found] = {}
    counts: list[dict[int, int]] = [{} for _ in sizes]
    unsure: list[list[list[float]]] = [[] for _ in range(undecided)]
    try:
        for key, count, listed, entries in records:
            if key is None:
                rows, whole = int(count), [int(one) for one in listed][:sums]
            elif key < 0:
                unsure[-1 - key].append([float(entry) for entry in entries])
            elif key < starts[-1]:
                place = int(np.searchsorted(starts, key, side="right")) - 1
                counts[place][int(key) - starts[place]] = int(count)
            else:
                of_groups[range(groups or 0)[int(key) - starts[-1]]] = Found(int(count), [int(one) for one in listed][:sums])
    except (TypeError, ValueError, IndexError):
        raise EngineError(BROKEN) from None
    if any(len(some) != sums for some in (whole, *(one.sums for one in of_groups.values()))):
        raise EngineError(BROKEN)
    if of_groups:
        all_groups = together(of_groups.values())
        rows, whole = all_groups.rows, all_groups.sums
    return Found(rows, whole, counts, unsure, of_groups)


def together(parts: Iterable[Found]) -> Found:
    """Return the sums over all groups."""
    found = list(parts)
    return Found(sum(one.rows for one in found), [sum(sums) for sums in zip(*(one.sums for one in found), strict=True)])


def filled(counts: dict[int, int], size: int) -> Integers:
    """Return the counts of keys below a size, 0 where there was none."""
    found = np.zeros(size, dtype=np.int64)
    for key, count in counts.items():
        if key < size:
            found[key] = count
    return found


def wrapped(integers: Iterable[int]) -> Integers:
    """Return integers of any size modulo 2⁶⁴, as every source adds them."""
    return np.array([(one + 2**63) % 2**64 - 2**63 for one in integers], dtype=np.int64)
