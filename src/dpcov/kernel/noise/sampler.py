"""Where exact numbers and noise meet, and nowhere else: how the one is turned into what may leave.

Each method takes exact numbers and a law and returns what is answered. Whatever stands in for a sampler, in tests and
rehearsals, has the same methods.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from dpcov.kernel.bits import Bits
from dpcov.kernel.noise.choice import MANY, Exponential, SparseVector, choose, choose_among_many, first_above
from dpcov.kernel.noise.drawn import MatrixBingham, Uniform
from dpcov.kernel.noise.laws import NoiseLaw
from dpcov.kernel.noise.sphere import bingham, float_below
from dpcov.kernel.noise.subspace import matrix_bingham, uniform_subspace
from dpcov.kernel.questions.choices import Choice, Search
from dpcov.kernel.questions.measure import Measure

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Decomposition = tuple[Floats, Floats] | None
"""Eigenvalues and eigenvectors of a matrix, where a draw needs them."""


class Sampler(Protocol):
    """What draws; ``seeded`` where the noise can be predicted."""

    @property
    def seeded(self) -> bool:
        """Whether the noise can be predicted: not private."""
        ...

    def noisy(self, question: Measure, law: NoiseLaw, exact: Integers) -> Integers:
        """Answer exact numbers with noise."""
        ...

    def noisy_later(self, question: Measure, law: NoiseLaw) -> Callable[[int, int], int]:
        """Draw the noise for numbers that become known one after the other; return what answers a number by its place."""
        ...

    def choice(self, question: Choice, law: Exponential, counts: Integers) -> int:
        """Choose a candidate by the exponential mechanism."""
        ...

    def search(self, question: Search, law: SparseVector, counts: Integers) -> int:
        """Search for the first query above its threshold."""
        ...

    def direction(self, matrix: Floats, concentration: float, guess: Floats, fixed: bool) -> Floats:
        """Draw a direction with density ∝ exp(concentration·uᵀCu)."""
        ...

    def subspace(self, matrix: Floats, basis: Decomposition, k: int, law: MatrixBingham | Uniform) -> Floats:
        """Draw k orthonormal columns; ``basis`` decomposes the matrix."""
        ...


class RandomSampler:
    """The sampler of a release, with its randomness; ``progress`` is called now and then with the part of a long draw done."""

    def __init__(self, bits: Bits, progress: Callable[[float | None], None] | None = None) -> None:
        self._bits, self._progress = bits, progress

    @property
    def seeded(self) -> bool:
        """Whether the noise can be predicted: not private."""
        return self._bits.seeded

    def noisy(self, question: Measure, law: NoiseLaw, exact: Integers) -> Integers:
        """Add noise in integers, and round the sum where the law says so."""
        return law.settle(exact + self._draw(question, law))

    def noisy_later(self, question: Measure, law: NoiseLaw) -> Callable[[int, int], int]:
        """Draw all noise at once; each number of it is used once."""
        noise = self._draw(question, law)
        return lambda place, exact: exact + int(noise[place])

    def choice(self, question: Choice, law: Exponential, counts: Integers) -> int:
        """Choose by score and public weight."""
        scores = question.scores(counts)
        if len(scores) > MANY and question.all_alike:
            return choose_among_many(scores, law.rate, self._bits)
        return choose(scores, question.weights, law.rate, self._bits)

    def search(self, question: Search, law: SparseVector, counts: Integers) -> int:
        """Search with noise on threshold and queries."""
        return first_above(question.values(counts), question.threshold, law, self._bits)

    def direction(self, matrix: Floats, concentration: float, guess: Floats, fixed: bool) -> Floats:
        """Draw exactly, for real numbers."""
        return bingham(matrix, concentration, guess, self._bits, fixed=fixed)

    def subspace(self, matrix: Floats, basis: Decomposition, k: int, law: MatrixBingham | Uniform) -> Floats:
        """Run a Markov chain, or draw uniformly."""
        if isinstance(law, Uniform):
            return uniform_subspace(len(matrix), k, self._bits)
        assert basis is not None, "a chain needs it"
        spectrum, vectors = basis
        state = matrix_bingham(spectrum, k, float_below(law.concentration), law.sweeps, self._bits, self._progress)
        return np.asarray(vectors @ state)

    def _draw(self, question: Measure, law: NoiseLaw) -> Integers:
        return law.draw([part.size for part in question.parts], self._bits)
