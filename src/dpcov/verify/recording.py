"""Samplers that keep what a real one forgets, and that give the same answers again about a neighbour: for `replay`."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from dpcov.errors import DpcovError
from dpcov.kernel.noise.choice import Exponential, SparseVector
from dpcov.kernel.noise.drawn import MatrixBingham, Uniform
from dpcov.kernel.noise.laws import NoiseLaw
from dpcov.kernel.noise.sampler import Decomposition, Sampler
from dpcov.kernel.questions.choices import Choice, Search
from dpcov.kernel.questions.measure import Measure

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


class PrivacyViolationError(DpcovError):
    """A mechanism behaved in a way that its promise excludes."""


@dataclass(frozen=True, eq=False)
class Measured:
    """Exact numbers, and what was answered with noise."""

    question: Measure
    law: NoiseLaw
    exact: Integers
    answer: Integers


@dataclass(frozen=True, eq=False)
class Opened:
    """Numbers that will become known one after the other, and the law of their noise: the values of a peel."""

    question: Measure
    law: NoiseLaw


@dataclass(frozen=True, eq=False)
class Valued:
    """One of these numbers, and its answer."""

    exact: int
    answer: int


@dataclass(frozen=True, eq=False)
class Picked:
    """A choice or search, and the counts that it was made from."""

    question: Choice | Search
    law: Exponential | SparseVector
    counts: Integers
    index: int


@dataclass(frozen=True, eq=False)
class Directed:
    """A direction, and the matrix that it was drawn from."""

    matrix: Floats
    concentration: float
    vector: Floats


@dataclass(frozen=True, eq=False)
class Spanned:
    """A subspace, and the matrix that it was drawn from."""

    matrix: Floats
    law: MatrixBingham | Uniform
    columns: Floats


Kept = Measured | Opened | Valued | Picked | Directed | Spanned
OneKind = TypeVar("OneKind", Measured, Opened, Valued, Picked, Directed, Spanned)


class RecordingSampler:
    """A sampler that keeps all that another one is given, and answers, as ``steps`` in order."""

    def __init__(self, inner: Sampler) -> None:
        self._inner = inner
        self.steps: list[Kept] = []

    @property
    def seeded(self) -> bool:
        """Whether the noise can be predicted."""
        return self._inner.seeded

    def noisy(self, question: Measure, law: NoiseLaw, exact: Integers) -> Integers:
        """Keep the exact numbers and the answer."""
        return self._keep(Measured(question, law, exact, self._inner.noisy(question, law, exact))).answer

    def noisy_later(self, question: Measure, law: NoiseLaw) -> Callable[[int, int], int]:
        """Keep the question now, and each number when it is answered."""
        answer = self._inner.noisy_later(question, law)
        self._keep(Opened(question, law))
        return lambda place, exact: self._keep(Valued(exact, answer(place, exact))).answer

    def choice(self, question: Choice, law: Exponential, counts: Integers) -> int:
        """Keep the counts and the choice."""
        return self._keep(Picked(question, law, counts, self._inner.choice(question, law, counts))).index

    def search(self, question: Search, law: SparseVector, counts: Integers) -> int:
        """Keep the counts and what was found."""
        return self._keep(Picked(question, law, counts, self._inner.search(question, law, counts))).index

    def direction(self, matrix: Floats, concentration: float, guess: Floats, fixed: bool) -> Floats:
        """Keep the matrix and the direction."""
        vector = self._inner.direction(matrix, concentration, guess, fixed)
        return self._keep(Directed(matrix, concentration, vector)).vector

    def subspace(self, matrix: Floats, basis: Decomposition, k: int, law: MatrixBingham | Uniform) -> Floats:
        """Keep the matrix and the subspace."""
        return self._keep(Spanned(matrix, law, self._inner.subspace(matrix, basis, k, law))).columns

    def _keep(self, step: OneKind) -> OneKind:
        self.steps.append(step)
        return step


class ReplayingSampler:
    """A sampler for the neighbour: it insists on what was asked before, in the same order, and answers the same.

    Its noise is just what makes the answers those of the recording; ``seeded`` is what the recording's was.
    """

    def __init__(self, steps: Iterable[Kept], seeded: bool = False) -> None:
        self._steps, self.seeded = iter(steps), seeded

    def noisy(self, question: Measure, law: NoiseLaw, exact: Integers) -> Integers:
        """Answer as recorded, to the same question with the same law."""
        before = self._next(Measured, f"one: {question.name}")
        _insist(before.question == question and before.law == law, f"one: {question.name}")
        _insist(before.exact.shape == exact.shape, f"number of entries: {question.name}")
        return before.answer.copy()

    def noisy_later(self, question: Measure, law: NoiseLaw) -> Callable[[int, int], int]:
        """Answer each number as recorded."""
        before = self._next(Opened, f"one: {question.name}")
        _insist(before.question == question and before.law == law, f"one: {question.name}")
        return lambda place, exact: self._next(Valued, "value").answer  # noqa: ARG005

    def choice(self, question: Choice, law: Exponential, counts: Integers) -> int:  # noqa: ARG002
        """Choose as recorded."""
        return self._pick(question, law)

    def search(self, question: Search, law: SparseVector, counts: Integers) -> int:  # noqa: ARG002
        """Find what was found before."""
        return self._pick(question, law)

    def direction(self, matrix: Floats, concentration: float, guess: Floats, fixed: bool) -> Floats:  # noqa: ARG002
        """Return the recorded direction."""
        before = self._next(Directed, "direction")
        _insist(before.concentration == concentration and before.matrix.shape == matrix.shape, "direction")
        return before.vector.copy()

    def subspace(self, matrix: Floats, basis: Decomposition, k: int, law: MatrixBingham | Uniform) -> Floats:  # noqa: ARG002
        """Return the recorded subspace."""
        before = self._next(Spanned, "subspace")
        _insist(before.law == law and before.columns.shape == (len(matrix), k), "subspace")
        return before.columns.copy()

    def _pick(self, question: Choice | Search, law: Exponential | SparseVector) -> int:
        before = self._next(Picked, "choice")
        _insist(before.question == question and before.law == law, "choice")
        return before.index

    def _next(self, kind: type[OneKind], asked: str) -> OneKind:
        before: Any = next(self._steps, None)
        _insist(type(before) is kind, asked)
        return before  # type: ignore[no-any-return]


def _insist(same: bool, asked: str) -> None:
    """Refuse what was not asked before: another question, or one more."""
    if not same:
        raise PrivacyViolationError(f"the same answers must lead to the same questions, got another {asked}")
