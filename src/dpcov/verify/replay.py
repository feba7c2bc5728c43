"""Exact audit: run a mechanism, replay its answers on a neighbour, and price every answer.

It needs no statistics. It records a run on one data set, replays the same noisy answers on a neighbour, insists on the same
questions and on the same file, and computes what each answer really cost from the two exact sums and the law of the noise.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from dpcov.kernel.answer import Answer
from dpcov.kernel.bits import Bits, SystemBits
from dpcov.kernel.budget import Budget, pays_for
from dpcov.kernel.noise.drawn import Bingham, MatrixBingham
from dpcov.kernel.noise.sampler import RandomSampler
from dpcov.kernel.questions.choices import Indexed
from dpcov.kernel.questions.directions import Directions, Subspace
from dpcov.kernel.questions.moments import REPLACE
from dpcov.kernel.rows.encoding import Encoding
from dpcov.kernel.rows.grid import Grid
from dpcov.mechanisms.base import Named
from dpcov.mechanisms.running import released
from dpcov.release.file import text_of
from dpcov.release.record import Release
from dpcov.sources.base import Source
from dpcov.sources.opening import open_source
from dpcov.verify.cost import allowed, answer_cost, directions_cost, pick_cost
from dpcov.verify.recording import (
    Directed,
    Kept,
    Measured,
    Picked,
    PrivacyViolationError,
    RecordingSampler,
    ReplayingSampler,
    Spanned,
    Valued,
)
from dpcov.verify.testing import opened

__all__ = ["PrivacyViolationError", "Rerun", "Step", "replay", "rerun"]


@dataclass(frozen=True)
class Step:
    """One question, what was charged for it, and what it cost for this pair of neighbours.

    Cost and allowance are in the notion of the charge: ρ, or ε, or for (ε, δ) the δ at that ε. Exact fractions where the law is
    exact.
    """

    asked: str
    charged: Budget
    cost: Fraction | float
    allowed: Fraction | float


@dataclass(frozen=True, eq=False)
class Rerun:
    """A run, and its replay on a neighbour: the release, the price of each answer, and what the samplers kept of both."""

    release: Release
    steps: tuple[Step, ...]
    both: tuple[tuple[Kept, Kept], ...]


def replay(
    mechanism: Named,
    first: Source | NDArray[Any],
    second: Source | NDArray[Any],
    *,
    grid: Grid | Encoding,
    budget: Budget,
    neighbors: str = REPLACE,
    **options: Any,
) -> list[Step]:
    """Run a mechanism on one source, replay its answers on a neighbour, and price every answer exactly.

    ``first`` and ``second`` are sources, or arrays.

    The cost is the bound of the mechanism's proof at the actual difference of the two exact sums: `dpcov.verify.cost`.
    Directions that are valued give two steps, one for each charge. ``options`` are those of the mechanism, and ``postprocess``.

    Raises
    ------
    PrivacyViolationError
        The mechanism asked something else, released something else, or raised an error for one of the two, although it saw
        the same answers: it must have looked at the data. Or something was drawn that no answer was charged for.

    Examples
    --------
    >>> import dpcov
    >>> from dpcov.kernel.rows.grid import Grid
    >>> rows, other = np.zeros((4, 2)), np.zeros((4, 2))
    >>> other[0, 0] = 1
    >>> gaussian = dpcov.MECHANISMS["covariance"]["gaussian"]
    >>> [step] = replay(gaussian, rows, other, grid=Grid(1.0), budget=dpcov.ZCDP(1))
    >>> step.cost <= step.allowed
    True
    """
    return list(rerun(mechanism, first, second, grid, budget, neighbors, options, SystemBits()).steps)


def rerun(
    mechanism: Named,
    first: Source | NDArray[Any],
    second: Source | NDArray[Any],
    grid: Grid | Encoding,
    budget: Budget,
    neighbors: str,
    options: Mapping[str, Any],
    bits: Bits,
) -> Rerun:
    """Run and replay as `replay` does, with these random bits, and return all that is known of both runs."""
    one, other = (_opened(rows, grid) for rows in (first, second))
    recording = RecordingSampler(RandomSampler(bits))
    error: Exception | None = None
    try:
        release = released(mechanism, opened(one, grid, budget, neighbors, sampler=recording), budget, **options)
    except Exception as raised:  # whatever the mechanism of a stranger raises
        error = raised
    replaying = RecordingSampler(ReplayingSampler(recording.steps, bits.seeded))
    try:
        again = released(mechanism, opened(other, grid, budget, neighbors, sampler=replaying), budget, **options)
    except PrivacyViolationError:
        raise
    except Exception as raised:
        if error is not None and type(raised) is type(error):
            raise error from None
        raise PrivacyViolationError("the same answers must lead to a release of both, got an error for one of them") from None
    if error is not None:
        raise PrivacyViolationError("the same answers must lead to a release of both, got an error for one of them") from None
    if len(recording.steps) != len(replaying.steps) or release.spent != again.spent:
        raise PrivacyViolationError("the same answers must lead to the same questions, got fewer")
    if text_of(release) != text_of(again):
        raise PrivacyViolationError("the same answers must make the same file, got another one")
    pairs = _Pairs(recording.steps, replaying.steps)
    steps = tuple(step for answer in release.answers for step in pairs.priced(answer))
    if pairs.left():
        raise PrivacyViolationError("all that is drawn must be in the release and charged, got a draw that is not")
    if steps and not pays_for(budget, [step.charged for step in steps]):
        raise PrivacyViolationError("answers must cost no more than the budget together, got more")
    return Rerun(release, steps, tuple(zip(recording.steps, replaying.steps, strict=True)))


def _opened(rows: Source | NDArray[Any], grid: Grid | Encoding) -> Source:
    """Return a source of the rows of an array, which the schema of an encoding describes; others are sources."""
    if not isinstance(rows, np.ndarray):
        return rows
    return open_source(rows, None, *((grid.schema, grid.midpoints) if isinstance(grid, Encoding) else (None, grid.center)))


OneKind = TypeVar("OneKind", Directed, Measured, Picked, Spanned, Valued)


class _Pairs:
    """What was recorded of both runs, step by step, in the order of each kind: directions are answered when all are drawn."""

    def __init__(self, one: list[Kept], other: list[Kept]) -> None:
        kinds: tuple[type[Any], ...] = (Directed, Measured, Picked, Spanned, Valued)
        self._of: dict[type, Iterator[tuple[Any, Any]]] = {kind: iter(_both(one, other, kind)) for kind in kinds}

    def priced(self, answer: Answer) -> list[Step]:
        """Return what an answer cost, for each of its charges."""
        each = zip(answer.spent, self._costs(answer), strict=True)
        return [Step(spend.asked, spend.budget, cost, allowed(spend.budget)) for spend, cost in each]

    def left(self) -> bool:
        """Whether something was drawn that is in no answer."""
        return any(next(pairs, None) is not None for pairs in self._of.values())

    def _costs(self, answer: Answer) -> list[Fraction | float]:
        question, charge = answer.question, answer.charges[0]
        if isinstance(question, Directions):
            assert isinstance(answer.law, Bingham)
            drawn = [self._next(Directed) for _ in answer.law.concentrations]
            moved = [one.matrix - other.matrix for one, other in drawn]
            along = directions_cost(moved, [one.concentration for one, _ in drawn], charge)
            return [along] if question.values is None else [along, self._value_cost(question, answer)]
        if isinstance(question, Subspace):
            one, other = self._next(Spanned)  # a trace over a subspace ranges no further than over its directions
            concentration = float(one.law.concentration) if isinstance(one.law, MatrixBingham) else 0.0
            return [directions_cost([one.matrix - other.matrix], [concentration], charge)]
        if isinstance(question, Indexed):
            pick, same = self._next(Picked)
            return [pick_cost(pick.question, pick.law, pick.counts, same.counts, charge)]
        asked, again = self._next(Measured)
        return [answer_cost(asked.question, asked.law, asked.exact, again.exact, charge)]

    def _value_cost(self, question: Directions, answer: Answer) -> Fraction | float:
        """Price the values along the drawn directions as one answer."""
        assert question.values is not None
        valued = [self._next(Valued) for _ in question.told(answer.integers)]
        one, other = (np.array([pair[which].exact for pair in valued], dtype=np.int64) for which in (0, 1))
        return answer_cost(question.values, answer.laws[1], one, other, answer.charges[1])

    def _next(self, kind: type[OneKind]) -> tuple[OneKind, OneKind]:
        return next(self._of[kind])


def _both(one: list[Kept], other: list[Kept], kind: type) -> list[tuple[Kept, Kept]]:
    """Return the steps of a kind in both runs, side by side."""
    first, second = ([step for step in steps if isinstance(step, kind)] for steps in (one, other))
    return list(zip(first, second, strict=True))
