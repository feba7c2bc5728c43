"""A release without data: the real mechanism asks a curator whose sums are 0 and whose sampler draws nothing.

Calibration, charging and the record are the real ones, so what a mechanism would ask and pay is known beforehand.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NoReturn

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
from dpcov.kernel.public import Public
from dpcov.kernel.questions.calibrated import LAWS, noise_for
from dpcov.kernel.questions.choices import Choice, Indexed, Radius, Search
from dpcov.kernel.questions.directions import Drawn
from dpcov.kernel.questions.measure import Measure, Question, Summable
from dpcov.kernel.questions.moments import Count
from dpcov.kernel.questions.overlap import Overlap
from dpcov.kernel.rows.annulus import Annulus
from dpcov.kernel.rows.encoding import Encoding
from dpcov.kernel.rows.grid import checked_row_norm
from dpcov.kernel.sums import ExactSums
from dpcov.mechanisms.base import Named
from dpcov.mechanisms.running import released
from dpcov.release.record import Release
from dpcov.schema import Schema

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

MANY = 2**30


@dataclass(frozen=True)
class Shape:
    """What is public of a table: a source that cannot be read. ``midpoints`` and ``pairs`` are as in `Encoding`."""

    feature_names: tuple[str, ...]
    schema: Schema | None = None
    known_n: int | None = None
    midpoints: bool = False
    pairs: bool = False
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
    """What a mechanism would release of zeros, and all that would be asked and paid: one question may be about an estimate."""

    release: Release
    spent: tuple[Spend, ...]


class _Zeros:
    """Sums that are all 0, but for the number of rows."""

    def __init__(self, shape: Shape, encoding: Encoding, neighbors: str) -> None:
        self._facts = ExactSums(shape, encoding, neighbors)
        self.beyond: set[Annulus] = set()
        """What clipping would take from rows: read ahead, and not asked about yet."""

    @property
    def public(self) -> Public:
        """What is known of the rows."""
        return self._facts.public

    @property
    def n(self) -> int:
        """The number of rows, or many."""
        return self._facts.n

    def read(self, question: Question) -> Integers:
        """Return zeros: untouched they take no memory, however many there are."""
        self.prefetch()
        self.beyond.discard(getattr(question, "grid", None))
        if isinstance(question, Count):
            return np.array([self.n], dtype=np.int64)
        exact = (
            question.counted if isinstance(question, Indexed) else question.moment if isinstance(question, Drawn) else question
        )
        return np.zeros(exact.size, dtype=np.int64)

    def prefetch(self, *questions: Question, derive: bool = True) -> None:  # noqa: ARG002
        """Refuse a public number of rows that is none; read nothing."""
        self._facts.prefetch(derive=False)
        grids = [getattr(question, "grid", None) for question in questions]
        self.beyond.update(grid for grid in grids if isinstance(grid, Annulus))

    def forget(self) -> None:
        """Do nothing: there is nothing to hide."""


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


def rehearse(
    named: Named,
    shape: Shape,
    budget: Budget,
    *,
    row_norm: float = 1.0,
    neighbors: str = "replace",
    center: bool = False,
    postprocess: str | None = None,
    options: Mapping[str, Any] | None = None,
) -> Rehearsed:
    """Return what a mechanism would release of zeros; what it asks and pays is real, at a radius just below row_norm."""
    encoding = Encoding(
        feature_names=shape.feature_names,
        row_norm=checked_row_norm(row_norm),
        constant=center,
        midpoints=shape.midpoints,
        pairs=shape.pairs,
        schema=shape.schema,
    )
    zeros = _Zeros(shape, encoding, neighbors)
    planned = released(named, Curator(zeros, Account(budget), _Still()), budget, postprocess=postprocess, **(options or {}))
    if not zeros.beyond:
        return Rehearsed(planned, planned.spent)
    # What clipping takes from rows is read ahead for a question about an estimate, which zeros do not give: it costs the rest.
    rest = _remaining(budget, compose(*(spend.budget for spend in planned.spent)))
    return Rehearsed(planned, (*planned.spent, Spend(Overlap.name, LAWS[noise_for(rest)].law, rest)))


def _remaining(budget: Budget, charged: Budget) -> Budget:
    """Return what is left of a budget, in the notion in which it was charged."""
    if isinstance(budget, ApproxDP):
        budget = PureDP(budget.epsilon) if isinstance(charged, PureDP) else budget.to_zcdp()
    return type(budget)(*(a - b for a, b in zip(budget.amounts(), charged.amounts(), strict=True)))
