"""The only door: the one object that holds data and noise together.

Each primitive does the same five things in the same order, and nothing else touches rows:
read the exact sum, commit the charge, draw the noise, record one line, answer. (`peel` charges all at once, answers piece by
piece, and records when it is closed.)

A charge is committed before the first random bit is drawn and is never taken back; a read that fails costs nothing.
Privacy of any use of a curator is adaptive composition of what it charged: docs/guarantee.md.
"""

from __future__ import annotations

from fractions import Fraction
from functools import partial

import numpy as np
from numpy.typing import NDArray

from dpcov._version import __version__
from dpcov.account import Account
from dpcov.errors import EngineError, ParameterError, shown
from dpcov.peeling import Peel
from dpcov.privacy.bits import Bits
from dpcov.privacy.budget import ZCDP, ApproxDP, Budget, PureDP
from dpcov.privacy.noise import NoiseLaw
from dpcov.privacy.sphere import bingham, eigenvalues
from dpcov.release import Answer, Option, Release, Spend
from dpcov.sources.base import Source
from dpcov.statistics.calibrated import calibrated, check_tail, noise_for
from dpcov.statistics.grid import Grid
from dpcov.statistics.moments import (
    MAX_ROWS,
    REPLACE,
    STATISTICS,
    Count,
    Measure,
    SecondMoment,
    check_exact_blas,
    check_neighbors,
    corner_count,
)
from dpcov.statistics.spectral import ANSWERED, PEELED, Diagonal, Spectrum, Values, check_measure, to_floats


class Curator(Account):
    """Answers questions about the rows of a source, each with noise and at a price.

    Parameters
    ----------
    source : Source
        The rows. Nothing but this object reads them.
    grid : Grid
        The public encoding of rows as integers.
    budget : PureDP, ZCDP or ApproxDP
        All that may ever be spent here.
    neighbors : {"replace", "add-remove"}
        Which data sets must look alike.
    bits : Bits
        Randomness.
    """

    def __init__(self, source: Source, grid: Grid, budget: Budget, neighbors: str, bits: Bits) -> None:
        check_neighbors(neighbors)
        check_exact_blas()
        super().__init__(budget)
        self._source, self._grid, self._neighbors, self._bits = source, grid, neighbors, bits
        self._noisy_n: int | None = None
        self._held: dict[SecondMoment, NDArray[np.int64]] = {}
        self._peels: list[Peel] = []

    @property
    def grid(self) -> Grid:
        """The public encoding."""
        return self._grid

    @property
    def neighbors(self) -> str:
        """Which data sets must look alike."""
        return self._neighbors

    @property
    def d(self) -> int:
        """The number of coordinates of an encoded row, always public: one more than columns where rows are centred."""
        return self.grid.width(self._source.d)

    @property
    def n(self) -> int:
        """The number of rows: public under replace, the answer to `ask_n` or `take_n` under add-remove."""
        if self.neighbors == REPLACE:
            return self._source.n
        if self._noisy_n is None:
            raise ParameterError("n must be asked for under add-remove, got no ask_n(budget) yet. Hint: split the budget.")
        return self._noisy_n

    def second_moment(self) -> SecondMoment:
        """Return the statistic Σ z zᵀ of the encoded rows: a question, not its answer."""
        return SecondMoment(self.grid, self.d)

    def ask_n(self, budget: Budget) -> None:
        """Ask once for the private number of rows (add-remove); `n` is then the answer, at least 1."""
        if self._noisy_n is not None:
            raise ParameterError("n must be asked for once, got a second ask_n. Hint: use curator.n.")
        answer = self.noisy(Count(), budget, noise=noise_for(budget))
        self._noisy_n = max(1, int(answer.integers[0]))

    def take_n(self, moment: Answer) -> None:
        """Take the private number of rows, at least 1, from a centred second moment: its corner is n·a². Costs nothing more."""
        if not self.grid.center or moment.statistic != SecondMoment.name or not any(moment is a for a in self._answers):
            raise ParameterError("moment must be this curator's answer about centred rows, got another. Hint: ask_n(budget).")
        self._noisy_n = corner_count(int(moment.integers[0]), self.grid)

    def noisy(self, statistic: Measure, budget: Budget, *, noise: str, at_least: Fraction | None = None) -> Answer:
        """Answer a statistic with noise.

        Parameters
        ----------
        statistic : Measure
            A sum over rows, or numbers derived from one; it brings its own sensitivity.
        budget : PureDP, ZCDP or ApproxDP
            What this answer costs.
        noise : {"gaussian", "laplace", "wishart", "frobenius"}
            Its kind; it must serve the budget's notion.
        at_least : Fraction, optional
            A least variance (gaussian) or scale (the others), in the units of rows of norm 1. Papers' looser constants enter
            here: they can add noise and never remove any.

        Privacy
        -------
        ``budget``, for the curator's neighbours: the noise's page in docs/mechanisms/.
        """
        law = self._calibrate(statistic, budget, noise, at_least)
        self._refuse_beyond(budget)
        self._check_rows()
        exact = self._read(statistic)
        self._charge(budget)
        drawn = self._draw(statistic, law)
        answer = Answer(statistic.name, law.settle(exact + drawn), statistic.unit_bits, law)
        self._record(Spend(statistic.name, law.law, budget), answer)
        return answer

    def hold(self) -> None:
        """Read the second moment and keep it, before anything is charged: a stream can be read once, for several questions."""
        self._held[self.second_moment()] = self._read_small(self.second_moment())

    def spectrum(self, budget: Budget, *, noise: str) -> Answer:
        """Answer the eigenvalues of the second moment, descending: docs/mechanisms/eigenvectors.md."""
        return self.noisy(Spectrum(self.second_moment(), self.d), budget, noise=noise)

    def diagonal(self, basis: NDArray[np.float64], budget: Budget, *, noise: str) -> Answer:
        """Answer bᵀSb for each column b of a public orthonormal basis: docs/mechanisms/eigenvectors.md."""
        return self.noisy(Diagonal(self.second_moment(), basis.shape[-1], basis), budget, noise=noise)

    def peel(
        self, measure: Values, values: Budget | None, directions: PureDP | ZCDP, *, noise: str, fixed: bool = False
    ) -> Peel:
        """Open the second moment for directions, drawn one at a time, and their values; all of it is charged here.

        Privacy
        -------
        ``values`` for all values together and ``directions`` for all draws together: docs/mechanisms/eigenvectors.md.
        """
        check_measure(measure, self.second_moment(), PEELED)
        if type(directions) not in (PureDP, ZCDP):
            raise ParameterError(
                f"directions must be a PureDP or ZCDP, got {shown(directions)}. Hint: ApproxDP has an epsilon."
            )
        law = None if values is None else self._calibrate(measure, values, noise, None, PEELED)
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

    def release(self, kind: str, mechanism: str, *, postprocess: str, **options: Option) -> Release:
        """Put everything answered so far into one record."""
        if not all(peel.closed for peel in self._peels):
            raise ParameterError("peels must be closed before the release, got an open one. Hint: peel.close().")
        return Release(
            kind=kind,
            privacy=self.budget,
            neighbors=self.neighbors,
            n=self.n,
            feature_names=self._source.feature_names,
            row_norm=self.grid.row_norm,
            grid_bits=self.grid.bits,
            center=self.grid.center,
            schema=self._source.schema,
            mechanism=mechanism,
            requested=mechanism,
            options=options,
            postprocess=postprocess,
            answers=tuple(self._answers),
            spent=self.spent,
            seeded=self._bits.seeded,
            dpcov_version=__version__,
        )

    def _calibrate(
        self, statistic: Measure, budget: Budget, noise: str, at_least: Fraction | None, known: tuple[type, ...] = ANSWERED
    ) -> NoiseLaw:
        """Set the law from public numbers."""
        check_measure(statistic, self.second_moment(), known)
        if not isinstance(at_least, Fraction | None):
            raise ParameterError(f"at_least must be a Fraction, got {shown(at_least)}. Hint: exact numbers only.")
        law = calibrated(statistic, budget, self.neighbors, noise, at_least)
        if isinstance(self.budget, ApproxDP):
            check_tail(law, self.budget)
        return law

    def _check_rows(self) -> None:
        """Refuse a public number of rows that has no second moment, or would not leave room for the noise."""
        n = self._source.known_n
        if self.neighbors == REPLACE and n is not None and not 1 <= n <= MAX_ROWS:
            raise ParameterError(f"data must have 1 to 2**30 rows, got {n}. Hint: an empty table has no second moment.")

    def _read(self, statistic: Measure) -> NDArray[np.int64]:
        if isinstance(statistic, Spectrum | Diagonal):
            return statistic.of_moment(self._read_small(statistic.moment))
        assert isinstance(statistic, STATISTICS)
        exact = self._source.total(statistic)
        self._check_rows()  # of a stream only now
        # Otherwise one draw of noise could be broadcast over many entries.
        if exact.shape != (sum(part.size for part in statistic.parts),) or exact.dtype != np.int64:
            raise EngineError("a source must return an int64 for each entry, and did not. Hint: this is a bug in the source.")
        return exact

    def _read_small(self, moment: SecondMoment) -> NDArray[np.int64]:
        """Read a second moment whose sums have not wrapped: what is derived from it would not be private otherwise."""
        exact = self._held[moment] if moment in self._held else self._read(moment)
        if self._source.n > MAX_ROWS:
            raise ParameterError("data must have at most 2**30 rows for directions, got more. Hint: mechanism='gaussian'.")
        return exact

    def _draw(self, statistic: Measure, law: NoiseLaw) -> NDArray[np.int64]:
        return law.draw([part.size for part in statistic.parts], self._bits)

    def _direction(
        self, matrix: NDArray[np.float64], concentration: float, guess: NDArray[np.float64], fixed: bool
    ) -> NDArray[np.float64]:
        return bingham(matrix, concentration, guess, self._bits, fixed=fixed)

    def _value(self, noise: NDArray[np.int64], number: int, exact: int) -> int:
        return exact + int(noise[number])  # each number of noise is used once
