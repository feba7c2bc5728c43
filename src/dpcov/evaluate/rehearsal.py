"""A release without data: the real mechanism asks a curator whose sums are 0 and whose sampler draws nothing.

Calibration, charging and the record are the real ones, so what a mechanism would ask and pay is known beforehand.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NoReturn

import numpy as np
from numpy.typing import NDArray

from dpcov.kernel.account import Account
from dpcov.kernel.answer import Spend
from dpcov.kernel.budget import ApproxDP, Budget, PureDP, compose
from dpcov.kernel.curator import Curator
from dpcov.kernel.noise.choice import Exponential, SparseVector
from dpcov.kernel.noise.drawn import MatrixBingham, Uniform
from dpcov.kernel.noise.laws import NoiseLaw
from dpcov.kernel.noise.sampler import Decomposition
from dpcov.kernel.questions.calibrated import LAWS, noise_for
from dpcov.kernel.questions.choices import Choice, Radius, Search
from dpcov.kernel.questions.measure import Measure, Question, Summable
from dpcov.kernel.questions.moments import REPLACE, Count
from dpcov.kernel.sums import ExactSums
from dpcov.mechanisms import mechanism_of
from dpcov.mechanisms.running import released
from dpcov.release.record import Release
from dpcov.request import Request
from dpcov.schema import Schema
from dpcov.sources.base import Source

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

MANY = 2**30


@dataclass(frozen=True)
class Shape:
    """What is public of a table: a source that cannot be read."""

    feature_names: tuple[str, ...]
    schema: Schema | None = None
    known_n: int | None = None
    rereadable: bool = True
    ordered: bool = True

    @property
    def n(self) -> int:
        """The number of rows, or many where it is unknown: what is asked then no longer depends on it."""
        return MANY if self.known_n is None else self.known_n

    @property
    def d(self) -> int:
        """The number of features."""
        return len(self.feature_names)

    def total(self, statistic: Summable) -> NoReturn:
        """Fail: there is nothing to read."""
        raise AssertionError(f"a rehearsal must not read {statistic.name}")


@dataclass(frozen=True)
class Rehearsed:
    """What a mechanism would release of zeros, all that would be asked and paid, and n where it is public and known."""

    release: Release
    spent: tuple[Spend, ...]
    known_n: int | None


class _Zeros(ExactSums):
    """Sums that are all 0, but for the number of rows."""

    def read(self, question: Question) -> Integers:
        """Return zeros: untouched they take no memory, however many there are."""
        self.prefetch()
        return np.array([self.n]) if isinstance(question, Count) else np.zeros(question.exact_size, dtype=np.int64)

    def prefetch(self, *questions: Question, derive: bool = True) -> None:  # noqa: ARG002
        """Refuse a public number of rows that is none; read nothing."""
        super().prefetch(derive=False)


class _Still:
    """A sampler that adds nothing, chooses a radius just below row_norm, and draws the axes."""

    seeded = True

    def noisy(self, question: Measure, law: NoiseLaw, exact: Integers) -> Integers:  # noqa: ARG002
        """Return the zeros as they are, untouched."""
        return exact

    def noisy_later(self, question: Measure, law: NoiseLaw) -> Callable[[int, int], int]:  # noqa: ARG002
        """Return what answers each number as it is."""
        return lambda place, exact: exact  # noqa: ARG005

    def choice(self, question: Choice, law: Exponential, counts: Integers) -> int:  # noqa: ARG002
        """Choose the second candidate."""
        return min(1, question.candidates - 1)

    def search(self, question: Search, law: SparseVector, counts: Integers) -> int:  # noqa: ARG002
        """Find the largest radius, or the second query."""
        return question.norms.last if isinstance(question, Radius) else 1

    def direction(self, matrix: Floats, concentration: float, guess: Floats, fixed: bool) -> Floats:  # noqa: ARG002
        """Return the first axis."""
        return np.asarray(np.eye(1, len(matrix))[0])

    def subspace(self, matrix: Floats, basis: Decomposition, k: int, law: MatrixBingham | Uniform) -> Floats:  # noqa: ARG002
        """Return the first axes."""
        return np.eye(len(matrix), k)


def rehearse(request: Request, source: Source, budget: Budget, *, postprocess: str | None = None) -> Rehearsed:
    """Return what would be released of zeros; what is asked and paid is real, at a radius just below row_norm.

    Only names, the schema and n, where that is public and known, are taken from the source.
    """
    known_n = source.known_n if request.neighbors == REPLACE else None  # under add-remove n is private, also here
    shape = Shape(source.feature_names, source.schema, known_n)
    curator = Curator(_Zeros(shape, request.encoding(source), request.neighbors), Account(budget), _Still())
    planned = released(request.named, curator, budget, postprocess=postprocess, **request.settings(source))
    last, asked = mechanism_of(planned).last, planned.spent
    if last is None or planned.find(last) is not None or all(type(answer.question) is Count for answer in planned.answers):
        return Rehearsed(planned, asked, known_n)
    rest = _remaining(budget, compose(*(spend.budget for spend in asked)))
    added = () if rest is None else (Spend(last.name, LAWS[noise_for(rest)].law, rest),)
    return Rehearsed(planned, (*asked, *added), known_n)


def _remaining(budget: Budget, charged: Budget) -> Budget | None:
    """Return what is left of a budget, in the notion in which it was charged; None where that is nothing."""
    if isinstance(budget, ApproxDP) and not isinstance(charged, ApproxDP):
        budget = PureDP(budget.epsilon) if isinstance(charged, PureDP) else budget.to_zcdp()
    left = [a - b for a, b in zip(budget.amounts(), charged.amounts(), strict=True)]
    return type(budget)(*left) if min(left) > 0 else None
