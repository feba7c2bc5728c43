"""The only door: the one object that holds data and noise together.

Each primitive does the same five things in the same order, and nothing else touches rows:
read the exact sum, commit the charge, draw the noise, record one line, answer.

A charge is committed before the first random bit is drawn and is never taken back; a read that fails costs nothing.
Privacy of any use of a curator is adaptive composition of the lines of `Curator.spent`: docs/guarantee.md.
"""

from __future__ import annotations

import threading
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from dpcov._version import __version__
from dpcov.errors import BudgetError, EngineError, ParameterError, shown
from dpcov.privacy.bits import Bits
from dpcov.privacy.budget import ApproxDP, Budget, PureDP, pays_for
from dpcov.privacy.noise import NoiseLaw
from dpcov.release import Answer, Option, Release, Spend
from dpcov.sources.base import Source
from dpcov.statistics.calibrated import GAUSSIAN, LAPLACE, calibrated, check_tail
from dpcov.statistics.grid import Grid
from dpcov.statistics.moments import (
    MAX_ROWS,
    REPLACE,
    STATISTICS,
    Count,
    SecondMoment,
    Statistic,
    check_exact_blas,
    check_neighbors,
    corner_count,
)


class Curator:
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
        Where randomness comes from.
    """

    def __init__(self, source: Source, grid: Grid, budget: Budget, neighbors: str, bits: Bits) -> None:
        check_neighbors(neighbors)
        check_exact_blas()
        self._source, self._bits = source, bits
        self._grid, self._budget, self._neighbors = grid, budget, neighbors
        self._charged: list[Budget] = []
        self._spent: list[Spend] = []
        self._answers: list[Answer] = []
        self._noisy_n: int | None = None
        self._lock = threading.Lock()

    @property
    def grid(self) -> Grid:
        """The public encoding."""
        return self._grid

    @property
    def budget(self) -> Budget:
        """All that may be spent."""
        return self._budget

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

    @property
    def spent(self) -> tuple[Spend, ...]:
        """Every question answered so far, in order."""
        return tuple(self._spent)

    def second_moment(self) -> SecondMoment:
        """Return the statistic Σ z zᵀ of the encoded rows: a question, not its answer."""
        return SecondMoment(self.grid, self.d)

    def ask_n(self, budget: Budget) -> None:
        """Ask once for the private number of rows (add-remove); `n` is then the answer, at least 1."""
        if self._noisy_n is not None:
            raise ParameterError("n must be asked for once, got a second ask_n. Hint: use curator.n.")
        answer = self.noisy(Count(), budget, noise=LAPLACE if isinstance(budget, PureDP) else GAUSSIAN)
        self._noisy_n = max(1, int(answer.integers[0]))

    def take_n(self, moment: Answer) -> None:
        """Take the private number of rows, at least 1, from a centred second moment: its corner is n·a². Costs nothing more."""
        ours = moment.statistic == SecondMoment.name and any(moment is answer for answer in self._answers)
        if not self.grid.center or not ours:
            raise ParameterError("moment must be this curator's answer about centred rows, got another. Hint: ask_n(budget).")
        self._noisy_n = corner_count(int(moment.integers[0]), self.grid)

    def noisy(self, statistic: Statistic, budget: Budget, *, noise: str, at_least: Fraction | None = None) -> Answer:
        """Answer a statistic with noise.

        Parameters
        ----------
        statistic : Statistic
            A sum over rows; it brings its own sensitivity.
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

    def release(self, kind: str, mechanism: str, *, postprocess: str, **options: Option) -> Release:
        """Put everything answered so far into one record."""
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

    def _calibrate(self, statistic: Statistic, budget: Budget, noise: str, at_least: Fraction | None) -> NoiseLaw:
        """Set the law from public numbers."""
        fits = getattr(statistic, "d", self.d) == self.d and getattr(statistic, "grid", self.grid) == self.grid
        if type(statistic) not in STATISTICS or not fits:
            raise ParameterError("statistic must be one of this curator's rows, got another. Hint: curator.second_moment().")
        if not isinstance(at_least, Fraction | None):
            raise ParameterError(f"at_least must be a Fraction, got {shown(at_least)}. Hint: exact numbers only.")
        law = calibrated(statistic, budget, self.neighbors, noise, at_least)
        if isinstance(self.budget, ApproxDP):
            check_tail(law, self.budget)
        return law

    def _refuse_beyond(self, budget: Budget) -> None:
        """Refuse a question that does not fit into what is left."""
        charges = [*self._charged, budget]
        if not pays_for(self.budget, charges):
            raise BudgetError(
                f"budget must fit into {self.budget!r}, got {charges!r} in all. Hint: split or convert the budget."
            )

    def _check_rows(self) -> None:
        """Refuse a public number of rows that has no second moment, or would not leave room for the noise."""
        n = self._source.known_n
        if self.neighbors == REPLACE and n is not None and not 1 <= n <= MAX_ROWS:
            raise ParameterError(f"data must have 1 to 2**30 rows, got {n}. Hint: an empty table has no second moment.")

    def _charge(self, budget: Budget) -> None:
        with self._lock:  # two threads must not both find room for the same share
            self._refuse_beyond(budget)
            self._charged.append(budget)

    def _record(self, spend: Spend, answer: Answer) -> None:
        with self._lock:
            self._spent.append(spend)
            self._answers.append(answer)

    def _read(self, statistic: Statistic) -> NDArray[np.int64]:
        exact = self._source.total(statistic)
        self._check_rows()  # of a stream only now
        # Otherwise one draw of noise could be broadcast over many entries.
        if exact.shape != (sum(part.size for part in statistic.parts),) or exact.dtype != np.int64:
            raise EngineError("a source must return an int64 for each entry, and did not. Hint: this is a bug in the source.")
        return exact

    def _draw(self, statistic: Statistic, law: NoiseLaw) -> NDArray[np.int64]:
        return law.draw([part.size for part in statistic.parts], self._bits)
