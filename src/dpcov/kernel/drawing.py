"""What is drawn from the exact second moment, inside the curator: directions, one at a time, and subspaces.

The rules are those of `curator`: read, commit the charge, draw, record, answer.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import partial

import numpy as np
from numpy.typing import NDArray

from dpcov.errors import ParameterError, shown
from dpcov.kernel.answer import DIRECTION_BITS, Answer, Spend
from dpcov.kernel.bits import Bits
from dpcov.kernel.budget import ZCDP, ApproxDP, Budget, PureDP
from dpcov.kernel.calibrate import bingham_concentration
from dpcov.kernel.noise.drawn import MOST_SWEEPS, MatrixBingham, Uniform
from dpcov.kernel.noise.laws import NoiseLaw
from dpcov.kernel.noise.sphere import MAX_CONCENTRATION, bingham, decomposed, eigenvalues, float_below
from dpcov.kernel.noise.subspace import matrix_bingham, uniform_subspace
from dpcov.kernel.peel import Peel
from dpcov.kernel.questions.calibrated import calibrated, check_tail
from dpcov.kernel.questions.measure import Measure
from dpcov.kernel.questions.spectral import ANSWERED, PEELED, Values, check_measure, to_floats
from dpcov.kernel.rows.grid import Grid
from dpcov.kernel.sums import Reader
from dpcov.sources.base import Source

Floats = NDArray[np.float64]
Basis = tuple[Floats, Floats] | None

SUBSPACE = "subspace"


class Drawer(Reader):
    """A reader with randomness: it answers by drawing from the exact second moment.

    ``progress`` is called now and then with the part of a long draw that is done.
    """

    def __init__(
        self,
        source: Source,
        grid: Grid,
        budget: Budget,
        neighbors: str,
        bits: Bits,
        progress: Callable[[float | None], None] | None = None,
    ) -> None:
        super().__init__(source, grid, budget, neighbors)
        self._bits, self._progress = bits, progress
        self._peels: list[Peel] = []

    def peel(
        self, measure: Values, values: Budget | None, directions: PureDP | ZCDP, *, noise: str, fixed: bool = False
    ) -> Peel:
        """Open the second moment for directions, drawn one at a time, and their values; all of it is charged here.

        Privacy
        -------
        ``values`` for all values together and ``directions`` for all draws together: docs/mechanisms/eigenvectors.md.
        """
        check_measure(measure, self.second_moment(), PEELED)
        measure = measure.among(self.most_rows)
        if type(directions) not in (PureDP, ZCDP):
            raise ParameterError(
                f"directions must be a PureDP or ZCDP, got {shown(directions)}. Hint: ApproxDP has an epsilon."
            )
        law = None if values is None else self._calibrate(measure, values, noise, None, PEELED)
        if law is not None:
            measure.check_noise(law)
        charges = [directions] if values is None else [values, directions]
        self._refuse_beyond(*charges)
        self._check_rows()
        exact = to_floats(self._read_small(measure.moment), measure.moment)
        spectrum = eigenvalues(exact)
        self._charge(*charges)
        answer = partial(self._value, np.zeros(0, dtype=np.int64) if law is None else self._draw(measure, law))
        sample = partial(self._direction, fixed=fixed)
        self._peels.append(
            Peel(exact, spectrum, measure, law, answer, (values, directions), self.neighbors, sample, self._record)
        )
        return self._peels[-1]

    def subspace(self, k: int, budget: PureDP | ZCDP, *, sweeps: int, at_most: Fraction | None = None) -> Answer:
        """Draw k directions together, with density ∝ exp(c·tr VᵀSV), by a Markov chain of so many sweeps.

        ``at_most`` lowers the concentration c. Without sweeps the subspace is uniform, and says nothing of the rows.

        Privacy
        -------
        ``budget`` **in the limit of many sweeps only**: docs/mechanisms/ppca.md.
        """
        if type(sweeps) is not int or not 0 <= sweeps <= MOST_SWEEPS:
            raise ParameterError(f"sweeps must be an integer from 0 to 10**7, got {shown(sweeps)}. Hint: 20000 is usual.")
        least = 2 if sweeps else 1  # a single direction can be drawn exactly: `peel`
        if type(k) is not int or not least <= k < self.d:
            raise ParameterError(f"k must be an integer from {least} to {self.d - 1}, got {shown(k)}. Hint: peel() for one.")
        if type(budget) not in (PureDP, ZCDP):
            raise ParameterError(f"budget must be a PureDP or ZCDP, got {shown(budget)}. Hint: ApproxDP has an epsilon.")
        if at_most is not None and type(at_most) is not Fraction:
            raise ParameterError(f"at_most must be a Fraction, got {shown(at_most)}. Hint: exact numbers only.")
        concentration = min(bingham_concentration(budget, self.neighbors), MAX_CONCENTRATION)
        law = MatrixBingham(concentration if at_most is None else min(at_most, concentration)) if sweeps else Uniform()
        moment = self.second_moment()
        self._refuse_beyond(budget)
        self._check_rows()
        exact = to_floats(self._read_small(moment), moment)
        basis = decomposed(exact) if sweeps else None  # where it fails, nothing must have been charged
        self._charge(budget)
        rows = np.rint(np.ldexp(self._subspace(exact, basis, k, law, sweeps).T, DIRECTION_BITS)).astype(np.int64)
        answer = Answer(SUBSPACE, rows.reshape(-1), DIRECTION_BITS, law)
        self._record(Spend(SUBSPACE, law.law, budget), answer)
        return answer

    def forget(self) -> None:
        """Drop the exact matrices of peels, too."""
        super().forget()
        for peel in self._peels:
            peel.forget()
        self._peels.clear()

    def _calibrate(
        self, statistic: Measure, budget: Budget, noise: str, at_least: Fraction | None, known: tuple[type, ...] = ANSWERED
    ) -> NoiseLaw:
        """Set the law from public numbers."""
        check_measure(statistic, self.second_moment(), known)
        if at_least is not None and type(at_least) is not Fraction:
            raise ParameterError(f"at_least must be a Fraction, got {shown(at_least)}. Hint: exact numbers only.")
        law = calibrated(statistic, budget, self.neighbors, noise, at_least)
        if isinstance(self.budget, ApproxDP):
            check_tail([*(answer.noise for answer in self._answers), law], self.budget)
        return law

    def _draw(self, statistic: Measure, law: NoiseLaw) -> NDArray[np.int64]:
        return law.draw([part.size for part in statistic.parts], self._bits)

    def _direction(
        self, matrix: NDArray[np.float64], concentration: float, guess: NDArray[np.float64], fixed: bool
    ) -> NDArray[np.float64]:
        return bingham(matrix, concentration, guess, self._bits, fixed=fixed)

    def _value(self, noise: NDArray[np.int64], number: int, exact: int) -> int:
        return exact + int(noise[number])  # each number of noise is used once

    def _subspace(self, matrix: Floats, basis: Basis, k: int, law: MatrixBingham | Uniform, sweeps: int) -> Floats:
        """Return k orthonormal columns; ``basis`` has the eigenvalues and eigenvectors of the matrix."""
        if isinstance(law, Uniform) or basis is None:
            return uniform_subspace(len(matrix), k, self._bits)
        spectrum, vectors = basis
        state = matrix_bingham(spectrum, k, float_below(law.concentration), sweeps, self._bits, self._progress)
        return np.asarray(vectors @ state)
