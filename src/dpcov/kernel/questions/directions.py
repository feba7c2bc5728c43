r"""Questions whose answers are drawn from the exact second moment: directions one after the other, and subspaces.

A direction u is drawn with density ∝ exp(c·uᵀSu) on the sphere of what is left; one row moves uᵀSu by at most R². With
*projected* directions each is orthogonal to those before, and the values uᵢᵀSuᵢ are a diagonal of S; with *subtracted* ones the
private rank-one matrix is taken off S, and each value is a question of its own. Proofs: docs/mechanisms/eigenvectors.md,
docs/mechanisms/kapralov-talwar.md, docs/mechanisms/ppca.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from dpcov.kernel.questions.measure import Integers, Question
from dpcov.kernel.questions.moments import SecondMoment
from dpcov.kernel.questions.spectral import Quotients, Values
from dpcov.kernel.rows.grid import Grid
from dpcov.strict_json import refuse

if TYPE_CHECKING:
    from dpcov.kernel.answer import Answer
    from dpcov.kernel.public import Public
    from dpcov.kernel.questions.filing import Reading, Writing
    from dpcov.strict_json import Fields

Floats = NDArray[np.float64]

DIRECTION_BITS = 18  # directions are released as multiples of 2⁻¹⁸
VALUED: dict[str, type[Values]] = {"": Values, "projected": Values, "subtracted": Quotients}


@dataclass(frozen=True)
class Drawn(Question):
    """``count`` unit vectors that are drawn from one second moment."""

    moment: SecondMoment
    count: int
    shapes: ClassVar[tuple[type, ...]] = (Grid,)
    serves_people: ClassVar[bool] = True

    @property
    def d(self) -> int:
        """The coordinates of a row."""
        return self.moment.d

    @property
    def grid(self) -> Any:
        """The encoding of rows."""
        return self.moment.grid

    @property
    def size(self) -> int:
        """The coordinates of all vectors."""
        return self.count * self.d

    @property
    def exact_size(self) -> int:
        """The entries of the second moment."""
        return self.moment.size

    @property
    def orthogonal(self) -> bool:
        """Whether the vectors are orthogonal."""
        return True

    def fits(self, public: Public) -> bool:
        """Whether it is about such rows, and there are no more directions than coordinates."""
        whole = type(self.moment) is SecondMoment and type(self.count) is int
        return whole and super().fits(public) and 1 <= self.count <= public.d

    def admits(self, integers: Integers) -> bool:
        """Whether these are unit vectors, but for rounding."""
        if not super().admits(integers):
            return False
        rows, slack = self.directions(integers), 2.0**-DIRECTION_BITS * self.d
        if not np.all(np.abs(np.linalg.norm(rows, axis=1) - 1) <= slack):
            return False
        return not self.orthogonal or bool(np.abs(rows @ rows.T - np.eye(self.count)).max() <= slack)

    def directions(self, integers: Integers) -> Floats:
        """Return the vectors, in rows, as an answer has them."""
        return np.ldexp(integers[: self.count * self.d].astype(np.float64), -DIRECTION_BITS).reshape(self.count, self.d)


@dataclass(frozen=True)
class Directions(Drawn):
    """Directions drawn one after the other; and where ``values`` is given, what lies along each, with noise."""

    values: Values | None = None
    name = "directions"

    @property
    def names(self) -> tuple[str, ...]:
        """The directions, and their values where they are asked for."""
        return (self.name,) if self.values is None else (self.name, self.values.name)

    @property
    def size(self) -> int:
        """The coordinates of all directions, then their values."""
        return self.count * self.d + (0 if self.values is None else self.count)

    @property
    def orthogonal(self) -> bool:
        """Whether directions are projected out, not subtracted."""
        return not isinstance(self.values, Quotients)

    @property
    def drawn(self) -> int:
        """How many directions are drawn: with all but one known, the last is determined."""
        return min(self.count, self.d - 1) if self.orthogonal or self.d == 1 else self.count

    def fits(self, public: Public) -> bool:
        """Whether values, too, are those of this second moment."""
        own = self.values is None or (
            type(self.values) in VALUED.values()
            and (self.values.moment, self.values.count) == (self.moment, self.count)
            and self.values.fits(public)
        )
        return own and super().fits(public)

    def told(self, integers: Integers) -> Integers:
        """Return the values along the directions, in their own steps."""
        return integers[self.count * self.d :]

    def to_json(self, writing: Writing) -> dict[str, Any]:
        """Store the rows, how many directions, and what is asked along them."""
        valued = "" if self.values is None else "projected" if self.orthogonal else "subtracted"
        rows = 0 if self.values is None else self.values.rows
        return {**self.moment.to_json(writing), "count": self.count, "valued": valued, "at most": rows}

    @classmethod
    def from_json(cls, fields: Fields, reading: Reading) -> Self:
        """Read what `to_json` wrote."""
        moment, count = SecondMoment.from_json(fields, reading), fields.take("count", int)
        valued, rows = fields.choice("valued", VALUED), fields.take("at most", int)
        if not valued and rows:
            refuse("consistent", "directions that note a number of rows without need")
        return cls(moment, count, VALUED[valued](moment, count, rows=rows) if valued else None)


@dataclass(frozen=True)
class Subspace(Drawn):
    """``count`` directions drawn together, with density ∝ exp(c·tr VᵀSV)."""

    name = "subspace"

    def fits(self, public: Public) -> bool:
        """Whether there are fewer directions than coordinates."""
        return super().fits(public) and self.count < public.d

    def to_json(self, writing: Writing) -> dict[str, Any]:
        """Store the rows and how many directions."""
        return {**self.moment.to_json(writing), "count": self.count}

    @classmethod
    def from_json(cls, fields: Fields, reading: Reading) -> Self:
        """Read what `to_json` wrote."""
        return cls(SecondMoment.from_json(fields, reading), fields.take("count", int))


def directions_of(answer: Answer) -> Floats:
    """Return the vectors that were drawn, in rows, as they were rounded."""
    assert isinstance(answer.question, Drawn)
    return answer.question.directions(answer.integers)
