"""Two second moments of the same rows, read together: of rows clipped at τ, and of what that took from them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dpcov.kernel.questions.measure import Integers, Rows
from dpcov.kernel.questions.moments import SecondMoment, gram
from dpcov.kernel.rows.annulus import Annulus
from dpcov.kernel.rows.aside import Aside


@dataclass(frozen=True)
class ClippedPair:
    """For reading only: it has no sensitivity and is never answered."""

    annulus: Annulus
    d: int
    aside: Aside | None = None
    name = "clipped pair"

    @property
    def members(self) -> tuple[SecondMoment, SecondMoment]:
        """The two questions."""
        inner, beyond = (SecondMoment(rows, self.d, aside=self.aside) for rows in (self.annulus.inner, self.annulus))
        return inner, beyond

    @property
    def shape(self) -> tuple[int, ...]:
        """Two matrices."""
        return (2, self.d, self.d)

    @property
    def max_block(self) -> int:
        """That of either."""
        return self.members[0].max_block

    def of(self, rows: Rows, *, scratch: bool = False) -> Integers:
        """Return both moments of a block, from one rounding of its rows."""
        if self.aside is None:
            return np.stack([gram(z) for z in self.annulus.encode_both(rows, scratch=scratch)])
        features, shares = self.aside.apart(rows)
        clipped, beyond, places = self.annulus.encode_parts(features, scratch=scratch)
        inner = self.aside.scaled(clipped, shares, self.annulus.inner.reach)
        return np.stack([gram(inner), gram(self.aside.scaled(beyond, shares[places], self.annulus.reach))])

    def entries(self, total: Integers) -> Integers:
        """Return the sums as they are."""
        return total

    def split(self, total: Integers) -> list[Integers]:
        """Return the entries of each."""
        return [member.entries(part) for member, part in zip(self.members, total, strict=True)]
