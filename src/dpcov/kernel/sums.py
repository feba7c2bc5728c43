"""The exact sums behind the curator's answers: reading, holding, and what must be true of the rows. It answers nothing."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpcov.errors import EngineError, ParameterError, shown
from dpcov.kernel.account import Account
from dpcov.kernel.blas import check_exact_blas
from dpcov.kernel.budget import ZCDP, Budget, PureDP
from dpcov.kernel.questions.bins import Bins, Rank
from dpcov.kernel.questions.clipped_pair import ClippedPair
from dpcov.kernel.questions.columns import Block, Squares
from dpcov.kernel.questions.measure import Measure, Statistic, Summable
from dpcov.kernel.questions.moments import MAX_ROWS, REPLACE, STATISTICS, SecondMoment, check_neighbors
from dpcov.kernel.questions.norms import Norms, Trace
from dpcov.kernel.questions.overlap import Overlap
from dpcov.kernel.questions.solution import Solution
from dpcov.kernel.questions.spectral import ANSWERED, Diagonal, Spectrum, check_measure
from dpcov.kernel.rows.annulus import Annulus, radii_of
from dpcov.kernel.rows.frame import Frame
from dpcov.kernel.rows.frames import FRAMED
from dpcov.kernel.rows.grid import Grid
from dpcov.sources.base import Source

Integers = NDArray[np.int64]

SUMMED = (*STATISTICS, Norms, Trace, Bins)
"""The statistics that are sums over rows, and proved."""


class Reader(Account):
    """A source, the public encoding of its rows, and exact sums that never leave."""

    def __init__(self, source: Source, grid: Grid, budget: Budget, neighbors: str) -> None:
        check_neighbors(neighbors)
        check_exact_blas()
        super().__init__(budget)
        self._source, self._grid, self._neighbors = source, grid, neighbors
        self._noisy_n: int | None = None
        self._held: dict[Statistic, Integers] = {}

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

    @property
    def knows_n(self) -> bool:
        """Whether nothing need be read for a public n: not so of CSV files and streams before their first reading."""
        return self.neighbors != REPLACE or self._source.known_n is not None

    @property
    def most_rows(self) -> int:
        """The most rows that there can be, as far as is public: n under replace where it is known, else 2³⁰."""
        n = self._source.known_n
        return MAX_ROWS if self.neighbors != REPLACE or n is None else n

    @property
    def described(self) -> bool:
        """Whether a schema says what the columns mean; values are then clipped to its bounds."""
        return self._source.schema is not None

    @property
    def rereadable(self) -> bool:
        """Whether the rows can be read more than once: true of all but some streams."""
        return self._source.rereadable

    def second_moment(self, radius: float = 1.0) -> SecondMoment:
        """Return the statistic Σ z zᵀ of the encoded rows, clipped at a part of row_norm: a question, not its answer."""
        return SecondMoment(self.grid if radius == 1.0 else self.grid.clipped(radius), self.d)

    def norms(self, per_octave: int, octaves: int) -> Norms:
        """Return the statistic of how many rows there are in each bin of the norm."""
        return Norms(self.grid, self.d, per_octave, octaves)

    def trace(self, radius: float = 1.0) -> Trace:
        """Return the statistic Σ ‖z‖² of the encoded rows, clipped at a part of row_norm."""
        return Trace(self.grid.clipped(radius), self.d)

    def hold(self, statistic: Statistic | None = None, *, derive: bool = True) -> None:
        """Read a statistic, the second moment by default, and keep it for several questions.

        Where it comes before the first charge, a failing read costs nothing, and a stream need be read only once. Numbers that
        are derived from sums need sums that have not wrapped; where none will be, ``derive=False`` says so.
        """
        wanted = self.second_moment() if statistic is None else statistic
        check_measure(wanted, self.second_moment(), SUMMED)
        self._check_rows()
        if wanted not in self._held:
            self._held[wanted] = self._total(wanted)
        if derive:
            self._refuse_wrapped()

    def forget(self) -> None:
        """Drop what is held: exact sums must not outlive the questions, nor a run that failed."""
        self._held.clear()

    def clipped_pair(self, inner: float, outer: float) -> ClippedPair:
        """Return the statistics of rows clipped at ``inner``, and of what that takes from those at ``outer``."""
        return ClippedPair(Annulus(self.grid.clipped(inner), self.grid.clipped(outer)), self.d)

    def hold_both(self, inner: float, outer: float) -> tuple[SecondMoment, SecondMoment]:
        """Read and keep both statistics of a clipped pair, in one go."""
        pair = self.clipped_pair(inner, outer)
        for member in pair.members:
            check_measure(member, self.second_moment(), SUMMED)
        self._held.update(zip(pair.members, pair.split(self._total(pair)), strict=True))
        self._refuse_wrapped()
        return pair.members

    def _check_choice(self, question: object, known: tuple[type, ...], budget: object) -> None:
        """Refuse a choice that is not proved, or not about counts of these rows."""
        counted: Any = getattr(question, "counted", None)
        if type(question) not in known or type(counted) is not (Bins if type(question) is Rank else Norms):
            raise ParameterError("question must be about the norms of this curator's rows, got another. Hint: curator.norms().")
        check_measure(counted, self.second_moment(), ANSWERED)
        if type(counted.grid) is Grid and counted.grid != self.grid:  # its record could not say of which rows
            raise ParameterError(
                "question must be about the norms of this curator's rows, got clipped ones. Hint: curator.norms()."
            )
        if type(budget) not in (PureDP, ZCDP):
            raise ParameterError(f"budget must be a PureDP or ZCDP, got {shown(budget)}. Hint: ApproxDP has an epsilon.")

    def _radii(self, statistic: Measure) -> tuple[float, ...]:
        """Return the radii that a record needs to say which rows a statistic is about."""
        grid = getattr(statistic, "grid", self.grid)
        return () if type(grid) in FRAMED else radii_of(grid, self.grid)

    def _frame(self, statistic: Measure) -> Frame | None:
        """Return the public coordinates that a statistic is about, where they are not the rows' own."""
        grid: Any = getattr(statistic, "grid", None)
        return grid.frame if type(grid) in FRAMED else None

    def _check_rows(self) -> None:
        """Refuse a public number of rows that has no second moment, or would not leave room for the noise."""
        n = self._source.known_n
        if self.neighbors == REPLACE and n is not None and not 1 <= n <= MAX_ROWS:
            raise ParameterError(f"data must have 1 to 2**30 rows, got {n}. Hint: an empty table has no second moment.")

    def _read(self, statistic: Measure) -> Integers:
        if isinstance(statistic, Solution) and (self.neighbors != REPLACE or statistic.rows != self._source.n):
            raise ParameterError("rows must be the public number of rows, got another. Hint: curator.n, under replace.")
        if isinstance(statistic, Spectrum | Diagonal | Overlap | Squares | Block | Solution):
            exact = statistic.of_moment(self._read_small(statistic.moment))
        else:
            assert isinstance(statistic, SUMMED)
            exact = self._held[statistic] if statistic in self._held else self._total(statistic)
        # Otherwise one draw of noise could be broadcast over many entries.
        if exact.shape != (sum(part.size for part in statistic.parts),) or exact.dtype != np.int64:
            raise EngineError("a source must return an int64 for each entry, and did not. Hint: this is a bug in the source.")
        return exact

    def _read_small(self, moment: SecondMoment) -> Integers:
        """Read a second moment whose sums have not wrapped: what is derived from it would not be private otherwise."""
        exact = self._read(moment)
        self._refuse_wrapped()
        return exact

    def _refuse_wrapped(self) -> None:
        if self._source.n > MAX_ROWS:
            raise ParameterError("data must have at most 2**30 rows for this mechanism, got more. Hint: mechanism='gaussian'.")

    def _total(self, statistic: Summable) -> Integers:
        exact = self._source.total(statistic)
        self._check_rows()  # of a stream only now
        return exact
