"""For tests of mechanisms, here and elsewhere: predictable bits, and a curator that says what it is told.

Nothing made with these is private.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NoReturn

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpcov.kernel.bits import SeededBits
from dpcov.kernel.budget import Budget
from dpcov.kernel.curator import Curator
from dpcov.kernel.drawing import Basis
from dpcov.kernel.noise.choice import Exponential, SparseVector
from dpcov.kernel.noise.drawn import MatrixBingham, Uniform
from dpcov.kernel.noise.laws import NoiseLaw
from dpcov.kernel.questions.bins import Rank
from dpcov.kernel.questions.choices import Bias, Quantile, Radius
from dpcov.kernel.questions.measure import Measure, Statistic, Summable
from dpcov.kernel.questions.moments import REPLACE, SecondMoment
from dpcov.kernel.rows.grid import Grid
from dpcov.linalg import pack
from dpcov.schema import Schema

__all__ = ["NoSource", "ScriptedCurator", "SeededBits"]


@dataclass(frozen=True)
class NoSource:
    """A source that has a shape and fails the test when it is read."""

    n: int
    d: int
    schema: Schema | None = None
    rereadable: bool = True
    ordered: bool = True

    @property
    def known_n(self) -> int:
        """The number of rows."""
        return self.n

    @property
    def feature_names(self) -> tuple[str, ...]:
        """Names as an array's."""
        return tuple(f"x{j}" for j in range(self.d))

    def total(self, statistic: Summable) -> NoReturn:
        """Fail: whoever calls this read the data."""
        raise AssertionError(f"the data were read for {statistic.name}")


class ScriptedCurator(Curator):
    """A curator without data that returns chosen answers, in order, rounded to the grid.

    Calibration, charging and the record are the real ones, so a test sees what a mechanism asks for, what it pays and
    what it makes of the answers.

    Parameters
    ----------
    answers : iterable of array-like
        One per question, in units of the encoded rows: a number for a count, a symmetric matrix for a second moment, the counts
        of the bins where a radius is chosen.

    Examples
    --------
    >>> from dpcov import ZCDP
    >>> from dpcov.mechanisms import MECHANISMS
    >>> curator = ScriptedCurator([[[8.0, 0.0], [0.0, -2.0]]], n=10, d=2, budget=ZCDP(1))
    >>> release = MECHANISMS["covariance"]["gaussian"](curator, ZCDP(1), postprocess="project")
    >>> release.second_moment.round(3).tolist()
    [[0.8, 0.0], [0.0, 0.0]]
    """

    def __init__(
        self,
        answers: Iterable[ArrayLike],
        *,
        n: int,
        d: int,
        budget: Budget,
        neighbors: str = REPLACE,
        row_norm: float = 1.0,
        center: bool = False,
    ) -> None:
        super().__init__(NoSource(n, d), Grid(row_norm, center=center), budget, neighbors, SeededBits(0))
        self._script = iter(answers)

    def hold(self, statistic: Statistic | None = None, *, derive: bool = True) -> None:
        """Do nothing: the script gives each question its own answer."""

    def hold_both(self, inner: float, outer: float) -> tuple[SecondMoment, SecondMoment]:
        """Return the two statistics without reading."""
        return self.clipped_pair(inner, outer).members

    def _read(self, statistic: Measure) -> NDArray[np.int64]:
        answer = np.asarray(next(self._script), dtype=np.float64)
        entries = pack(answer) if answer.ndim == 2 else answer.reshape(-1)
        return np.rint(np.ldexp(entries, statistic.unit_bits)).astype(np.int64)

    def _choice(self, question: Quantile | Rank, counts: NDArray[np.int64], law: Exponential) -> int:  # noqa: ARG002
        """Return the best radius."""
        return int(np.argmax(question.scores(counts)))

    def _search(self, question: Radius | Bias, counts: NDArray[np.int64], law: SparseVector) -> int:  # noqa: ARG002
        """Return the first query that reaches its threshold."""
        above = np.flatnonzero(question.values(counts) >= question.threshold)
        return int(above[0]) if len(above) else len(question.values(counts))

    def _draw(self, statistic: Measure, law: NoiseLaw) -> NDArray[np.int64]:  # noqa: ARG002
        return np.zeros(sum(part.size for part in statistic.parts), dtype=np.int64)

    def _direction(
        self,
        matrix: NDArray[np.float64],
        concentration: float,  # noqa: ARG002
        guess: NDArray[np.float64],  # noqa: ARG002
        fixed: bool,  # noqa: ARG002
    ) -> NDArray[np.float64]:
        """Return the leading eigenvector: what a draw without noise would give."""
        return np.asarray(np.linalg.eigh(matrix)[1][:, -1])

    def _subspace(
        self,
        matrix: NDArray[np.float64],
        basis: Basis,  # noqa: ARG002
        k: int,
        law: MatrixBingham | Uniform,  # noqa: ARG002
        sweeps: int,  # noqa: ARG002
    ) -> NDArray[np.float64]:
        """Return the leading eigenvectors."""
        return np.asarray(np.linalg.eigh(matrix)[1][:, -k:][:, ::-1])
