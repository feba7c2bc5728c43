"""What left the curator: a question, its noisy answer, the law of the noise in it, and what was paid for it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from dpcov.kernel.budget import Budget
from dpcov.kernel.noise.laws import NoiseLaw, Spread
from dpcov.kernel.questions.measure import Measure, Question
from dpcov.linalg import unpack

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Spend:
    """One thing that was asked of the data, its noise, and what it cost.

    Attributes
    ----------
    asked, noise : str
        The names of the question, and of the law of the noise.
    budget : PureDP, ZCDP or ApproxDP
        What it cost.
    """

    asked: str
    noise: str
    budget: Budget


@dataclass(frozen=True, eq=False)
class Answer:
    """A question with its noisy answer, in integers.

    ``laws`` and ``charges`` have one entry each, but for directions that were drawn with values along them: two, as the price
    of the values rests on the directions being orthonormal.

    Attributes
    ----------
    question : Question
        What was asked, with every public number: its ``name``, its ``grid`` (the rows that it is about, and how they are
        clipped), its sensitivities. docs/how-it-works.md lists them.
    laws : tuple of NoiseLaw
        The laws of the noise.
    charges : tuple of budgets
        What was paid, one for each law.
    integers : array
        The noisy integers; of a choice the index of a candidate, whose meaning the question tells.

    Examples
    --------
    >>> import numpy as np, dpcov
    >>> from dpcov.kernel.questions.moments import SecondMoment
    >>> rows = np.full((10_000, 2), 0.5)
    >>> release = dpcov.covariance(rows, dpcov.ZCDP(0.5), row_norm=1, mechanism="gaussian", seed=0)
    >>> answer = release.take(SecondMoment)
    >>> (answer.matrix / release.n).round(2).tolist(), answer.charges
    ([[0.25, 0.25], [0.25, 0.25]], (ZCDP(rho=0.5),))
    """

    question: Question
    laws: tuple[NoiseLaw, ...]
    charges: tuple[Budget, ...]
    integers: NDArray[np.int64]

    def __post_init__(self) -> None:
        self.integers.flags.writeable = False

    @property
    def law(self) -> NoiseLaw:
        """The law of the noise; of directions with values: that of the directions."""
        return self.laws[0]

    @property
    def spent(self) -> tuple[Spend, ...]:
        """What was paid for, one by one."""
        each = zip(self.question.names, self.laws, self.charges, strict=True)
        return tuple(Spend(name, law.law, charge) for name, law, charge in each)

    @property
    def unit_bits(self) -> int:
        """One step of the integers is 2⁻ᵘⁿⁱᵗ⁻ᵇⁱᵗˢ."""
        return self.question.unit_bits if isinstance(self.question, Measure) else 0

    @property
    def values(self) -> Floats:
        """The answer in units of the largest row that it is about."""
        return np.ldexp(self.integers.astype(np.float64), -self.unit_bits)

    @property
    def spread(self) -> Spread:
        """How large the noise is, in the units of `values`."""
        return self.law.spread().scaled(2.0**-self.unit_bits)

    @property
    def deviation(self) -> float:
        """The standard deviation of the noise of one number, or of one diagonal entry, in the units of `values`."""
        return float(np.sqrt(self.law.spread().diagonal_variance)) * 2.0**-self.unit_bits

    @cached_property
    def matrix(self) -> Floats:
        """A noisy second moment as a symmetric matrix, in the units of `values`."""
        matrix = unpack(self.values, int(getattr(self.question, "d", 0)))
        matrix.flags.writeable = False
        return matrix

    @cached_property
    def decomposition(self) -> tuple[Floats, Floats]:
        """The eigenvalues of `matrix`, ascending, and its eigenvectors as columns: decomposed once, for all who ask."""
        values, vectors = np.linalg.eigh(self.matrix)
        values.flags.writeable = vectors.flags.writeable = False
        return values, vectors

    @property
    def eigenvectors(self) -> Floats:
        """The eigenvectors of `matrix` as columns, the largest eigenvalue first."""
        return np.ascontiguousarray(self.decomposition[1][:, ::-1])


def n_of(answers: Sequence[Answer]) -> int | None:
    """Return the private number of rows that answers tell: a count's, else a second moment's corner's; None: none does."""
    told = [(answer.question.name != "count", n) for answer in answers if (n := answer.question.gives_n(answer.integers))]
    return min(told, key=lambda one: one[0])[1] if told else None
