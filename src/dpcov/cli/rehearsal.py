"""A release without data: the real mechanism asks a curator that reads nothing, draws nothing and answers 0.

Calibration, charging and the record are the real ones, so what a mechanism would ask and pay is known beforehand.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import NoReturn

import numpy as np
from numpy.typing import NDArray

from dpcov.kernel.answer import Answer, Spend
from dpcov.kernel.bits import SeededBits
from dpcov.kernel.budget import ApproxDP, Budget, PureDP, compose
from dpcov.kernel.curator import Curator
from dpcov.kernel.drawing import Basis
from dpcov.kernel.noise.choice import Exponential, SparseVector
from dpcov.kernel.noise.drawn import MatrixBingham, Uniform
from dpcov.kernel.noise.laws import NoiseLaw
from dpcov.kernel.questions.bins import Rank
from dpcov.kernel.questions.calibrated import LAWS, noise_for
from dpcov.kernel.questions.choices import Bias, Quantile, Radius
from dpcov.kernel.questions.columns import columns_of
from dpcov.kernel.questions.measure import Measure, Statistic, Summable
from dpcov.kernel.questions.moments import SecondMoment
from dpcov.kernel.questions.overlap import Overlap
from dpcov.kernel.rows.grid import Grid, checked_row_norm
from dpcov.options import Option
from dpcov.release.record import Release
from dpcov.schema import Schema

MANY = 2**30


@dataclass(frozen=True)
class Shape:
    """What is public of a table: the source of a rehearsal."""

    feature_names: tuple[str, ...]
    schema: Schema | None = None
    known_n: int | None = None
    rereadable: bool = True
    ordered: bool = True

    @property
    def n(self) -> int:
        """The number of rows, or many where it is unknown: what is asked then no longer depends on it."""
        return MANY if self.known_n is None else self.known_n

    @property
    def d(self) -> int:
        """The number of features."""
        return len(self.feature_names)

    def total(self, statistic: Summable) -> NoReturn:
        """Fail: there is nothing to read."""
        raise AssertionError(f"a rehearsal must not read {statistic.name}")


class Rehearsal(Curator):
    """A curator that answers 0, and a radius just below row_norm."""

    removed: SecondMoment | None = None

    def hold(self, statistic: Statistic | None = None, *, derive: bool = True) -> None:  # noqa: ARG002
        """Read nothing."""
        self._check_rows()

    def ask_n(self, budget: Budget) -> None:
        """Pay for n, and go on as if there were many rows."""
        super().ask_n(budget)
        self._noisy_n = self._source.n

    def hold_both(self, inner: float, outer: float) -> tuple[SecondMoment, SecondMoment]:
        """Return the two statistics without reading."""
        moment, self.removed = self.clipped_pair(inner, outer).members
        return moment, self.removed

    def _choice(self, question: Quantile | Rank, counts: NDArray[np.int64], law: Exponential) -> int:  # noqa: ARG002
        return 1

    def _search(self, question: Radius | Bias, counts: NDArray[np.int64], law: SparseVector) -> int:  # noqa: ARG002
        return question.norms.last if isinstance(question, Radius) else 1

    def noisy(self, statistic: Measure, budget: Budget, *, noise: str, at_least: Fraction | None = None) -> Answer:
        """Calibrate, charge and record as the real curator does."""
        law = self._calibrate(statistic, budget, noise, at_least)
        self._check_rows()
        self._charge(budget)
        # Untouched zeros take no memory, however many there are.
        answer = Answer(
            statistic.name,
            np.zeros(sum(part.size for part in statistic.parts), np.int64),
            statistic.unit_bits,
            law,
            self._radii(statistic),
            self._frame(statistic),
            columns_of(statistic),
        )
        self._record(Spend(statistic.name, law.law, budget), answer)
        return answer

    def _read(self, statistic: Measure) -> NDArray[np.int64]:
        return np.zeros(sum(part.size for part in statistic.parts), dtype=np.int64)

    def _draw(self, statistic: Measure, law: NoiseLaw) -> NDArray[np.int64]:  # noqa: ARG002
        return np.zeros(sum(part.size for part in statistic.parts), dtype=np.int64)

    def _direction(
        self,
        matrix: NDArray[np.float64],
        concentration: float,  # noqa: ARG002
        guess: NDArray[np.float64],  # noqa: ARG002
        fixed: bool,  # noqa: ARG002
    ) -> NDArray[np.float64]:
        return np.asarray(np.eye(1, len(matrix))[0])

    def _subspace(
        self,
        matrix: NDArray[np.float64],
        basis: Basis,  # noqa: ARG002
        k: int,
        law: MatrixBingham | Uniform,  # noqa: ARG002
        sweeps: int,  # noqa: ARG002
    ) -> NDArray[np.float64]:
        return np.eye(len(matrix), k)


def rehearse(
    run: Callable[..., Release],
    shape: Shape,
    budget: Budget,
    *,
    row_norm: float = 1.0,
    neighbors: str = "replace",
    center: bool = False,
    postprocess: str | None = None,
    options: Mapping[str, Option] | None = None,
) -> Release:
    """Return what a mechanism would release of zeros; what it asks and pays is real, at a radius just below row_norm."""
    curator = Rehearsal(shape, Grid(checked_row_norm(row_norm), center=center), budget, neighbors, SeededBits(0))
    finish = {} if postprocess is None else {"postprocess": postprocess}
    planned = run(curator, budget, **finish, **(options or {}))
    if curator.removed is None or planned.answer(Overlap.name) is not None:
        return planned
    # The last question of `rescaled` is about an estimate, which zeros do not give: it costs what is left.
    rest = _remaining(budget, compose(*(spend.budget for spend in planned.spent)))
    asked = Spend(Overlap.name, LAWS[noise_for(rest)].law, rest)
    return replace(planned, spent=(*planned.spent, asked))


def _remaining(budget: Budget, charged: Budget) -> Budget:
    """Return what is left of a budget, in the notion in which it was charged."""
    if isinstance(budget, ApproxDP):
        budget = PureDP(budget.epsilon) if isinstance(charged, PureDP) else budget.to_zcdp()
    return type(budget)(*(a - b for a, b in zip(budget.amounts(), charged.amounts(), strict=True)))
