r"""What a release says of weights: which of them counts as 1, and how many rows that count alike the sample is worth.

With weights wᵢ in parts of the largest, Hájek's mean of a column has the variance Σ wᵢ²rᵢ²/T², T = Σ wᵢ. Where residuals do not
go with weights that is σ²/m, with the *effective size* m = T²/Q, Q = Σ wᵢ² (Kish 1965); at least T, as no weight is above 1.
Rows of a person count together, and Q is then no smaller than the sum over people: docs/mechanisms/people.md, part 7.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, cast

from dpcov.kernel.answer import Answer
from dpcov.kernel.questions.moments import SecondMoment
from dpcov.kernel.questions.weights import SquaredWeights, weighed_by
from dpcov.kernel.rows.grid import Grid
from dpcov.kernel.rows.standard import Standard

if TYPE_CHECKING:
    from dpcov.release.record import Release

CAUTION = 2.0  # standard errors by which Q may be larger than was answered: intervals must not be short by luck
RELATED = 1.5
"""Residuals may go with weights: intervals allow for squares that weigh half as much again. That is enough where weights grow
by 65 % with each deviation of a column, in either direction, and nearly where they grow by 120 %: docs/people.md."""


class Weighed:
    """Properties of a release whose rows may have weights: of any other they are those of rows that count alike."""

    @property
    def weight(self) -> str:
        """The column of weights; empty where all rows count alike."""
        aside = self._of.encoding.aside
        return "" if aside is None else aside.weight

    @property
    def max_weight(self) -> float | None:
        """The weight that counts as 1: the public bound, or what was found privately below it; None without weights."""
        aside, _ = weighed_by(self._of.encoding.aside, self._of.answers)
        return aside.largest if aside is not None and aside.weight else None

    @property
    def effective_n(self) -> float:
        """How many rows, or people, that count alike are as certain as these: (Σ w)²/Σ w² from noisy numbers, at least n.

        It is n where rows count alike, and where Σ w² was not asked for. Intervals are made with `independent_n`.
        """
        n, asked = self._of.n, self._squares
        return n if asked is None else n * n / min(max(float(asked.values[0]), asked.deviation), n)

    @property
    def independent_n(self) -> float:
        """How many independent rows, or people, intervals about the population take these for.

        It is n where rows count alike. With weights it lies between n, which is always enough, and `effective_n`, which is not
        where residuals are larger where weights are: it allows for noise and for squares that weigh half as much again.
        """
        n, asked = self._of.n, self._squares
        if asked is None:
            return n
        squares = max(float(asked.values[0]) + CAUTION * asked.deviation, asked.deviation)
        return n * n / min(RELATED * squares, n)

    @property
    def effective_n_error(self) -> float:
        """The standard error that noise gives to (Σ w)²/Σ w²; 0 where rows count alike, infinite where it was not asked for."""
        asked, n = self._squares, self._of.n
        if asked is None:
            return math.inf if self._of.encoding.partial else 0.0
        squares = max(float(asked.values[0]), asked.deviation)
        return n * n / squares * math.hypot(asked.deviation / squares, 2 * self._n_deviation / n)

    @property
    def _squares(self) -> Answer | None:
        return self._of.find(SquaredWeights) if self.weight else None

    @property
    def _n_deviation(self) -> float:
        """The standard deviation of the noise in n, which a count or the corner of a centred moment told."""
        told = [(answer, of_n) for answer in self._of.answers if (of_n := _weight_of_n(answer))]
        answer, of_n = min(told, key=lambda one: one[1] < 1)  # a count, where there is one
        groups = getattr(answer.question, "count", 1)  # whose numbers add up to n
        return answer.deviation * math.sqrt(groups) / of_n

    @property
    def _of(self) -> Release:
        return cast("Release", self)


def _weight_of_n(answer: Answer) -> float:
    """Return what n is multiplied by in the first number of an answer: 1 in a count, less in a corner, else 0."""
    question = answer.question
    grid = getattr(question, "grid", None)
    if isinstance(question, SecondMoment) and isinstance(grid, Standard):
        return (grid.corner / grid.row_norm) ** 2
    if not question.gives_n(answer.integers):
        return 0.0
    return (grid.constant / grid.one) ** 2 if isinstance(grid, Grid) else 1.0
