"""A curator with data and without noise: what a mechanism makes of the truth, or of noise that a test chooses."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dpcov.kernel.bits import SeededBits
from dpcov.kernel.budget import Budget
from dpcov.kernel.curator import Curator
from dpcov.kernel.noise.choice import Exponential, SparseVector
from dpcov.kernel.noise.laws import NoiseLaw
from dpcov.kernel.questions.bins import Rank
from dpcov.kernel.questions.choices import Bias, Quantile, Radius
from dpcov.kernel.questions.measure import Measure
from dpcov.kernel.rows.grid import Grid
from dpcov.linalg import pack
from dpcov.sources.array import ArraySource

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


class QuietCurator(Curator):
    """Answers exactly, but for ``noise`` in its second moments; picks the best radius; remembers what was asked."""

    def __init__(
        self,
        rows: Floats,
        budget: Budget,
        *,
        neighbors: str = "replace",
        row_norm: float = 1.0,
        center: bool = False,
        noise: Floats | None = None,
    ) -> None:
        super().__init__(ArraySource(rows), Grid(row_norm, center=center), budget, neighbors, SeededBits(0))
        self.asked: list[Measure | Quantile | Rank | Radius | Bias] = []
        self.laws: list[NoiseLaw] = []
        self._added = noise

    def _draw(self, statistic: Measure, law: NoiseLaw) -> Integers:
        self.asked.append(statistic)
        self.laws.append(law)
        if self._added is not None and statistic.name == "second moment":
            return np.rint(np.ldexp(pack(self._added), statistic.unit_bits)).astype(np.int64)
        return np.zeros(sum(part.size for part in statistic.parts), dtype=np.int64)

    def _choice(self, question: Quantile | Rank, counts: Integers, law: Exponential) -> int:
        self.asked.append(question)
        self.laws.append(law)
        return int(np.argmax(question.scores(counts)))

    def _search(self, question: Radius | Bias, counts: Integers, law: SparseVector) -> int:
        self.asked.append(question)
        self.laws.append(law)
        above = np.flatnonzero(question.values(counts) >= question.threshold)
        return int(above[0]) if len(above) else len(question.values(counts))


def skewed(n: int, d: int, seed: int) -> Floats:
    """Return rows in the unit ball of a rotated, anisotropic law, an eighth of them long: no factor is symmetric."""
    draw = np.random.default_rng(seed)
    rotation = np.linalg.qr(draw.normal(size=(d, d)))[0]
    rows = (draw.normal(size=(n, d)) * 0.6 ** np.arange(d)) @ rotation.T
    rows[: n // 8] *= 3
    return np.asarray(rows / np.linalg.norm(rows, axis=1).max())
