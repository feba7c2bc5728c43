"""A release without data: the real mechanism asks a curator that reads nothing, draws nothing and answers 0.

Calibration, charging and the record are the real ones, so what a mechanism would ask and pay is known beforehand.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import NoReturn

import numpy as np
from numpy.typing import NDArray

from dpcov.curator import Curator
from dpcov.privacy.bits import SeededBits
from dpcov.privacy.budget import Budget
from dpcov.privacy.noise import NoiseLaw
from dpcov.release import Answer, Option, Release, Spend
from dpcov.schema import Schema
from dpcov.statistics.grid import Grid
from dpcov.statistics.moments import Measure, Statistic


@dataclass(frozen=True)
class Shape:
    """What is public of a table: the source of a rehearsal."""

    feature_names: tuple[str, ...]
    schema: Schema | None = None
    known_n: int | None = None

    @property
    def n(self) -> int:
        """The number of rows, 1 where it is unknown: errors are then those of the sum."""
        return 1 if self.known_n is None else self.known_n

    @property
    def d(self) -> int:
        """The number of features."""
        return len(self.feature_names)

    def total(self, statistic: Statistic) -> NoReturn:
        """Fail: there is nothing to read."""
        raise AssertionError(f"a rehearsal must not read {statistic.name}")


class Rehearsal(Curator):
    """A curator that answers 0."""

    def noisy(self, statistic: Measure, budget: Budget, *, noise: str, at_least: Fraction | None = None) -> Answer:
        """Calibrate, charge and record as the real curator does."""
        law = self._calibrate(statistic, budget, noise, at_least)
        self._check_rows()
        self._charge(budget)
        # Untouched zeros take no memory, however many there are.
        answer = Answer(
            statistic.name, np.zeros(sum(part.size for part in statistic.parts), np.int64), statistic.unit_bits, law
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
    """Return what a mechanism would release of zeros: `spent`, `mechanism` and `expected_error` are the real ones."""
    curator = Rehearsal(shape, Grid(row_norm, center=center), budget, neighbors, SeededBits(0))
    return run(curator, budget, postprocess=postprocess, **(options or {}))
