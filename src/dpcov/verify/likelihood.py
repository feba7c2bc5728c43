"""How much likelier an answer is from one data set than from its neighbour: the best score for telling them apart.

By the recorded laws, step by step of a run and its replay. Constants that are the same whatever was drawn are left out where
they are hard to come by (of drawn directions): a score need not be exact, it must only be large where the ratio is.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from dpcov.kernel.noise.choice import Exponential, SparseVector
from dpcov.kernel.noise.drawn import MatrixBingham
from dpcov.kernel.noise.laws import DiscreteGaussian, DiscreteLaplace, NoiseLaw
from dpcov.kernel.noise.matrix import FrobeniusNoise, WishartDifference
from dpcov.kernel.questions.choices import Choice, Search
from dpcov.kernel.questions.measure import Measure
from dpcov.linalg import unpack
from dpcov.verify.recording import Directed, Kept, Measured, Opened, Picked, Spanned, Valued

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

LEAST_LOG = -700.0
"""Of a probability: what is below e⁻⁷⁰⁰ is no number that could be divided by."""


def log_ratio(both: Iterable[tuple[Kept, Kept]]) -> float:
    """Return the log-ratio of the density of all answers at the first data set's sums to that at the second's."""
    found, law = 0.0, None
    for one, other in both:
        if isinstance(one, Opened):
            law = one.law
        elif isinstance(one, Measured) and isinstance(other, Measured):
            found += of_noise(one.question, one.law, one.answer - one.exact, one.answer - other.exact)
        elif isinstance(one, Valued) and isinstance(other, Valued):
            noise = (np.array([one.answer - kept.exact], dtype=np.float64) for kept in (one, other))
            found += _of_entries(law, *noise)
        elif isinstance(one, Picked) and isinstance(other, Picked):
            found += log_chance(one, one.counts) - log_chance(one, other.counts)
        elif isinstance(one, Directed) and isinstance(other, Directed):
            found += one.concentration * float(one.vector @ (one.matrix - other.matrix) @ one.vector)
        elif isinstance(one, Spanned) and isinstance(other, Spanned) and isinstance(one.law, MatrixBingham):
            moved = one.columns.T @ (one.matrix - other.matrix) @ one.columns
            found += float(one.law.concentration) * float(np.trace(moved))
    return found


def of_noise(question: Measure, law: NoiseLaw, one: Integers, other: Integers) -> float:
    """Return the log-ratio of the density of one noise to that of another."""
    first, second = one.astype(np.float64), other.astype(np.float64)
    if isinstance(law, DiscreteGaussian):
        parts = zip(question.parts, law.variances, strict=True)
        variances = np.concatenate([np.full(part.size, float(variance)) for part, (_, variance) in parts])
        return float(((second - first) * (second + first) / (2 * variances)).sum())
    if isinstance(law, WishartDifference):
        sizes = [float(np.abs(np.linalg.eigvalsh(unpack(noise, law.d))).sum()) / 2 for noise in (first, second)]
        return (sizes[1] - sizes[0]) / float(law.scale)
    if isinstance(law, FrobeniusNoise):
        sizes = [float(np.linalg.norm(unpack(noise, law.d))) for noise in (first, second)]
        return (sizes[1] - sizes[0]) / float(law.scale)
    return _of_entries(law, first, second)


def _of_entries(law: NoiseLaw | None, one: Floats, other: Floats) -> float:
    """Compare entries that all have the first variance, or the scale, of a law."""
    if isinstance(law, DiscreteGaussian):
        return float(((other - one) * (other + one)).sum() / (2 * float(law.variances[0][1])))
    assert isinstance(law, DiscreteLaplace)
    return float((np.abs(other) - np.abs(one)).sum() / float(law.scale))


def log_chance(picked: Picked, counts: Integers) -> float:
    """Return the log-probability of what was chosen or found, if these were the counts."""
    if isinstance(picked.law, Exponential):
        assert isinstance(picked.question, Choice)
        return _log_choice(picked.question, picked.law, picked.index, counts)
    assert isinstance(picked.question, Search)
    return _log_search(picked.question, picked.law, picked.index, counts)


def _log_choice(question: Choice, law: Exponential, index: int, counts: Integers) -> float:
    scores = question.scores(counts)
    exponents = float(law.rate) * (scores - scores.max()).astype(np.float64)
    weights = np.asarray(question.weights, dtype=np.float64)
    total = float((weights * np.exp(np.maximum(exponents, LEAST_LOG))).sum())
    return float(exponents[index] + np.log(weights[index]) - np.log(total))


def _log_search(question: Search, law: SparseVector, index: int, counts: Integers) -> float:
    """Add up over the threshold's noise, of which there is next to none beyond forty scales, in steps of a twentieth."""
    scale, query = float(law.threshold), float(law.query)
    noise = np.linspace(-40, 40, 1601) * scale
    needed = question.threshold + noise[:, None] - question.values(counts)[None, : index + 1]
    tail = np.exp(np.maximum(-np.abs(needed) / query, LEAST_LOG)) / 2
    above = np.where(needed > 0, tail, 1 - tail)
    chance = np.exp(-np.abs(noise) / scale) * np.prod(1 - above[:, :index], axis=1)
    if index < above.shape[1]:
        chance = chance * above[:, index]
    return float(np.log(max(chance.sum(), np.exp(LEAST_LOG))))
