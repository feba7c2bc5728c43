"""Curators that keep what a real one forgets, and that give the same answers again about a neighbour: for `replay`."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpcov.errors import DpcovError
from dpcov.kernel.curator import Curator
from dpcov.kernel.drawing import Basis, Floats
from dpcov.kernel.noise.choice import Exponential, SparseVector
from dpcov.kernel.noise.drawn import MatrixBingham, Uniform
from dpcov.kernel.noise.laws import NoiseLaw
from dpcov.kernel.questions.bins import Rank
from dpcov.kernel.questions.choices import Bias, Quantile, Radius
from dpcov.kernel.questions.measure import Measure
from dpcov.kernel.questions.spectral import PEELED


class PrivacyViolationError(DpcovError):
    """A mechanism behaved in a way that its promise excludes."""


@dataclass(frozen=True)
class Measured:
    """An answer with noise: the exact sum, and what was added."""

    statistic: Measure
    law: NoiseLaw
    exact: NDArray[np.int64]
    noise: NDArray[np.int64]


@dataclass(frozen=True)
class Drawn:
    """A direction or subspace, and the matrix that it was drawn from."""

    matrix: NDArray[np.float64]
    concentration: float
    vector: NDArray[np.float64]


@dataclass(frozen=True)
class Picked:
    """A choice or search, and the counts that it was made from."""

    question: Quantile | Rank | Radius | Bias
    law: Exponential | SparseVector
    counts: NDArray[np.int64]
    index: int


class RecordingCurator(Curator):
    """A curator that keeps what a real one forgets."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.measured: list[Measured] = []
        self.drawn: list[Drawn] = []
        self.values: list[tuple[int, int]] = []
        self.peeled: list[tuple[Measure, NoiseLaw]] = []
        self.picked: list[Picked] = []
        self.spanned: list[Drawn] = []
        self._exact: NDArray[np.int64] = np.zeros(0, dtype=np.int64)

    def _read(self, statistic: Measure) -> NDArray[np.int64]:
        self._exact = super()._read(statistic)
        return self._exact

    def _draw(self, statistic: Measure, law: NoiseLaw) -> NDArray[np.int64]:
        if type(statistic) in PEELED:  # its numbers become known one by one, in `_value`
            self.peeled.append((statistic, law))
            return super()._draw(statistic, law)
        noise = self._noise(statistic, law)
        self.measured.append(Measured(statistic, law, self._exact, noise))
        return noise

    def _direction(
        self, matrix: NDArray[np.float64], concentration: float, guess: NDArray[np.float64], fixed: bool
    ) -> NDArray[np.float64]:
        vector = self._picked(matrix, concentration, guess, fixed)
        self.drawn.append(Drawn(matrix, concentration, vector))
        return vector

    def _picked(
        self, matrix: NDArray[np.float64], concentration: float, guess: NDArray[np.float64], fixed: bool
    ) -> NDArray[np.float64]:
        return super()._direction(matrix, concentration, guess, fixed)

    def _value(self, noise: NDArray[np.int64], number: int, exact: int) -> int:
        self.values.append((exact, super()._value(noise, number, exact)))
        return self.values[-1][1]

    def _noise(self, statistic: Measure, law: NoiseLaw) -> NDArray[np.int64]:
        return super()._draw(statistic, law)

    def _subspace(self, matrix: Floats, basis: Basis, k: int, law: MatrixBingham | Uniform, sweeps: int) -> Floats:
        self.spanned.append(Drawn(matrix, _concentration(law), self._spanned(matrix, basis, k, law, sweeps)))
        return self.spanned[-1].vector

    def _spanned(self, matrix: Floats, basis: Basis, k: int, law: MatrixBingham | Uniform, sweeps: int) -> Floats:
        return super()._subspace(matrix, basis, k, law, sweeps)

    def _choice(self, question: Quantile | Rank, counts: NDArray[np.int64], law: Exponential) -> int:
        return self._pick(Picked(question, law, counts, super()._choice(question, counts, law)))

    def _search(self, question: Radius | Bias, counts: NDArray[np.int64], law: SparseVector) -> int:
        return self._pick(Picked(question, law, counts, super()._search(question, counts, law)))

    def _pick(self, picked: Picked) -> int:
        self.picked.append(picked)
        return picked.index


class ReplayingCurator(RecordingCurator):
    """A curator on the neighbour whose noise is just what makes its answers those of the recording."""

    def __init__(self, recording: RecordingCurator, *arguments: Any) -> None:
        super().__init__(*arguments)
        self._script = iter(recording.measured)
        self._directions = iter(recording.drawn)
        self._numbers = iter(recording.values)
        self._picks = iter(recording.picked)
        self._subspaces = iter(recording.spanned)

    def _noise(self, statistic: Measure, law: NoiseLaw) -> NDArray[np.int64]:
        original = next(self._script, None)
        if original is None or (original.statistic, original.law) != (statistic, law):
            raise PrivacyViolationError(f"the same answers must lead to the same questions, got another one: {statistic.name}")
        return original.exact + original.noise - self._exact

    def _pick(self, picked: Picked) -> int:
        original = next(self._picks, None)
        if original is None or (original.question, original.law) != (picked.question, picked.law):
            raise PrivacyViolationError("the same answers must lead to the same questions, got another choice")
        return super()._pick(replace(picked, index=original.index))

    def _picked(
        self,
        matrix: NDArray[np.float64],
        concentration: float,
        guess: NDArray[np.float64],  # noqa: ARG002
        fixed: bool,  # noqa: ARG002
    ) -> NDArray[np.float64]:
        original = next(self._directions, None)
        if original is None or original.concentration != concentration or original.matrix.shape != matrix.shape:
            raise PrivacyViolationError("the same answers must lead to the same questions, got another direction")
        return original.vector

    def _spanned(
        self,
        matrix: NDArray[np.float64],
        basis: Basis,  # noqa: ARG002
        k: int,
        law: MatrixBingham | Uniform,
        sweeps: int,  # noqa: ARG002
    ) -> NDArray[np.float64]:
        original = next(self._subspaces, None)
        shape = (len(matrix), k)
        if original is None or (original.concentration, original.vector.shape) != (_concentration(law), shape):
            raise PrivacyViolationError("the same answers must lead to the same questions, got another subspace")
        return original.vector

    def _value(self, noise: NDArray[np.int64], number: int, exact: int) -> int:  # noqa: ARG002
        original = next(self._numbers, None)
        if original is None:
            raise PrivacyViolationError("the same answers must lead to the same questions, got another value")
        self.values.append((exact, original[1]))
        return self.values[-1][1]


def _concentration(law: MatrixBingham | Uniform) -> float:
    return float(law.concentration) if isinstance(law, MatrixBingham) else 0.0
