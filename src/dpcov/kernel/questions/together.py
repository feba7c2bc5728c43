"""Several sums over rows, read in one pass."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from dpcov.kernel.questions.measure import Integers, Rows


@dataclass(frozen=True)
class Together:
    """For reading only: it has no sensitivity and is never answered. Members are given rows alike."""

    members: tuple[Any, ...]
    name = "several"

    @property
    def by_column(self) -> bool:
        """Whether rows are given by column."""
        return any(member.by_column for member in self.members)

    @property
    def by_group(self) -> bool:
        """Whether rows are given with the position of their group."""
        return any(member.by_group for member in self.members)

    @property
    def shape(self) -> tuple[int, ...]:
        """One after the other."""
        return (sum(int(np.prod(member.shape)) for member in self.members),)

    @property
    def max_block(self) -> int:
        """The least of them."""
        return min(int(member.max_block) for member in self.members)

    def of(self, rows: Rows, *, scratch: bool = False) -> Integers:  # noqa: ARG002 - each must see the block as it is
        """Return the sums over a block, one after the other."""
        return np.concatenate([np.ravel(member.of(rows)) for member in self.members])

    def add_to(self, total: Integers, rows: Rows) -> None:
        """Add each to its part of the total, in place where it can."""
        for member, part in zip(self.members, self._split(total), strict=True):
            if hasattr(member, "add_to"):
                member.add_to(part.reshape(member.shape), rows)  # a view: what is added to it is added to the total
            else:
                part += np.ravel(member.of(rows))

    def entries(self, total: Integers) -> Integers:
        """Return the sums as they are."""
        return total

    def split(self, total: Integers) -> list[Integers]:
        """Return the entries of each."""
        pairs = zip(self.members, self._split(total), strict=True)
        return [np.asarray(member.entries(part.reshape(member.shape))) for member, part in pairs]

    def _split(self, total: Integers) -> list[Integers]:
        return np.split(total, np.cumsum([int(np.prod(member.shape)) for member in self.members])[:-1])
