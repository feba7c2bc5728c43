"""What an answer really cost between two neighbours: the bound of its proof at the actual difference of the exact sums."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from dpcov.kernel.budget import ZCDP, ApproxDP, Budget
from dpcov.kernel.calibrate import log_analytic_delta
from dpcov.kernel.noise.choice import Exponential, SparseVector
from dpcov.kernel.noise.laws import DiscreteGaussian, DiscreteLaplace, NoiseLaw
from dpcov.kernel.noise.matrix import FrobeniusNoise, WishartDifference
from dpcov.kernel.questions.choices import Choice, Search
from dpcov.kernel.questions.groups import GroupedMoment
from dpcov.kernel.questions.measure import Measure
from dpcov.linalg import unpack

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

FLOAT_SLACK = 1e-12


def allowed(charged: Budget) -> Fraction:
    """Return what a charge pays for, in its own notion."""
    return charged.rho if isinstance(charged, ZCDP) else charged.delta if isinstance(charged, ApproxDP) else charged.epsilon


def directions_cost(differences: list[Floats], concentrations: list[float], charged: Budget) -> float:
    """Add up the draws: a log-density that ranges over c·(λ_max − λ_min) of the difference is bounded-range by that."""
    ranges = []
    for difference, concentration in zip(differences, concentrations, strict=True):
        spread = np.linalg.eigvalsh(difference)
        ranges.append(concentration * float(max(spread[-1], 0.0) - min(spread[0], 0.0)) * (1 - FLOAT_SLACK))
    return math.fsum(r**2 / 8 for r in ranges) if isinstance(charged, ZCDP) else math.fsum(ranges)


def pick_cost(
    question: Choice | Search, law: Exponential | SparseVector, one: Integers, other: Integers, charged: Budget
) -> Fraction:
    """Price a choice by the range of the change of its scores, a search by the largest move of its queries.

    Queries that all move one way shift the threshold and the query that stops by at most that move; others, as those of people
    with several rows, as far as they differ: docs/mechanisms/people.md.
    """
    if isinstance(law, Exponential):
        assert isinstance(question, Choice)
        moved = question.scores(one) - question.scores(other)
        epsilon = law.rate * int(moved.max() - moved.min())
        return epsilon**2 / 8 if isinstance(charged, ZCDP) else epsilon
    assert isinstance(question, Search)
    moved = question.values(one) - question.values(other)
    largest = int(np.abs(moved).max())
    if np.all(moved >= 0) or np.all(moved <= 0):
        epsilon = largest / law.threshold + largest / law.query
    else:
        epsilon = max(_stop_cost(law, moved), _stop_cost(law, -moved))
    return epsilon**2 / 2 if isinstance(charged, ZCDP) else epsilon


def _stop_cost(law: SparseVector, moved: Integers) -> Fraction:
    """Return what the costliest place to stop costs: the threshold follows the queries before it, its own query the rest."""
    before = np.maximum.accumulate(np.concatenate([[0], moved]))
    behind = [*np.maximum(before[:-1] - moved, 0).tolist(), 0]
    moves = zip(before.tolist(), behind, strict=True)
    return max(Fraction(up) / law.threshold + Fraction(rest) / law.query for up, rest in moves)


def answer_cost(question: Measure, law: NoiseLaw, one: Integers, other: Integers, charged: Budget) -> Fraction | float:
    """Price the difference of two exact sums under the law of the noise."""
    gaps = [int(a) - int(b) for a, b in zip(one, other, strict=True)]
    if isinstance(law, DiscreteGaussian):
        parts = zip(question.parts, law.variances, strict=True)
        variances = [variance for part, (_, variance) in parts for _ in range(part.size)]
        rho = sum((gap**2 / (2 * variance) for gap, variance in zip(gaps, variances, strict=True)), start=Fraction(0))
        if not isinstance(charged, ApproxDP):
            return rho
        return math.exp(log_analytic_delta(math.sqrt(2 * rho), float(charged.epsilon))) if rho else 0.0
    if isinstance(law, DiscreteLaplace):
        if isinstance(charged, ZCDP):  # of each entry its own ε, and ε²/2 of that
            return sum((Fraction(gap) ** 2 for gap in gaps), start=Fraction(0)) / (2 * law.scale**2)
        return sum((abs(gap) for gap in gaps), start=0) / law.scale
    assert isinstance(law, WishartDifference | FrobeniusNoise)
    if isinstance(law, WishartDifference):
        packed = np.array(gaps, dtype=np.int64)
        blocks = question.blocks(packed) if isinstance(question, GroupedMoment) else packed[None]
        shift = sum(float(np.abs(np.linalg.eigvalsh(unpack(block, law.d))).sum()) for block in blocks) / 2
    else:
        difference = unpack(np.array(gaps, dtype=np.float64), law.d)
        shift = float(np.linalg.norm(difference))
    return shift / float(law.scale) * (1 - FLOAT_SLACK) + float(law.excess)  # never accuse because of a last digit
