"""The public groups into which rows fall: what one matrix for each of them is about.

A source gives such questions one more entry at the end of each row: the position of the row's group among the public levels. A
row whose group is none of them, or missing, has NaN there. It is in no group: it is counted nowhere, and nothing tells of it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpcov.errors import ParameterError, shown

LEAST_GROUPS, MOST_GROUPS = 2, 2**12

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Groups:
    """A column of the table, and those of its values that are groups, as text: both are public.

    Attributes
    ----------
    by : str
        The column.
    levels : tuple of str
        The groups, in the order of their positions.
    """

    by: str
    levels: tuple[str, ...]

    def __post_init__(self) -> None:
        known = type(self.by) is str and type(self.levels) is tuple and all(type(level) is str for level in self.levels)
        if not known or len(set(self.levels)) < len(self.levels):
            raise ParameterError("groups must be a column and different levels as text, got something else. Hint: by='region'.")
        check_count(len(self.levels))

    @property
    def count(self) -> int:
        """How many groups there are."""
        return len(self.levels)


def check_count(count: object) -> None:
    """Refuse a number of groups for which nothing is proved, or no file would hold the matrices."""
    if type(count) is not int or not LEAST_GROUPS <= count <= MOST_GROUPS:
        raise ParameterError(f"groups must be from 2 to 4096, got {shown(count)}. Hint: one group needs no by=.")


def members(positions: Floats, count: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return the places of the rows that are in a group, those of one group together, and where each group begins.

    There is one more beginning than groups: the end of the last. Rows of no group are left out.
    """
    with np.errstate(all="ignore"):
        known = (positions >= 0) & (positions < count)  # False for NaN
        group = np.where(known, positions, count).astype(np.int16)  # sorted by radix: time does not tell values
    order = np.argsort(group, kind="stable")
    begins = np.searchsorted(group[order], np.arange(count + 1, dtype=np.int16))
    return order, begins
