"""A curator with data and without noise: what a mechanism makes of the truth, or of noise that a test chooses."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from dpcov.kernel.answer import Answer
from dpcov.kernel.budget import Budget
from dpcov.kernel.curator import Curator
from dpcov.kernel.noise.choice import Exponential, SparseVector
from dpcov.kernel.noise.laws import NoiseLaw
from dpcov.kernel.questions.choices import Choice, Search
from dpcov.kernel.questions.measure import Measure, Question
from dpcov.kernel.questions.moments import SecondMoment
from dpcov.kernel.rows.annulus import Annulus
from dpcov.kernel.rows.grid import Grid
from dpcov.linalg import pack
from dpcov.sources.array import ArraySource
from dpcov.verify.testing import Noiseless, opened

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


class QuietSampler(Noiseless):
    """Answers exactly, but for ``noise`` in second moments; picks the best candidate; remembers what was asked."""

    def __init__(self, noise: Floats | None = None) -> None:
        self.asked: list[Question] = []
        self.laws: list[NoiseLaw] = []
        self._added = noise

    def noisy(self, question: Measure, law: NoiseLaw, exact: Integers) -> Integers:
        self._remember(question, law)
        if self._added is not None and type(question) is SecondMoment:
            exact = exact + np.rint(np.ldexp(pack(self._added), question.unit_bits)).astype(np.int64)
        return super().noisy(question, law, exact)

    def noisy_later(self, question: Measure, law: NoiseLaw) -> Callable[[int, int], int]:
        self._remember(question, law)
        return super().noisy_later(question, law)

    def choice(self, question: Choice, law: Exponential, counts: Integers) -> int:
        self._remember(question, law)
        return super().choice(question, law, counts)

    def search(self, question: Search, law: SparseVector, counts: Integers) -> int:
        self._remember(question, law)
        return super().search(question, law, counts)

    def _remember(self, question: Question, law: NoiseLaw) -> None:
        self.asked.append(question)
        self.laws.append(law)


def quiet_curator(
    rows: Floats,
    budget: Budget,
    *,
    neighbors: str = "replace",
    row_norm: float = 1.0,
    center: bool = False,
    noise: Floats | None = None,
    sampler: QuietSampler | None = None,
) -> Curator:
    """Return a curator of rows that answers without noise, or with that of a test."""
    quiet = QuietSampler(noise) if sampler is None else sampler
    return opened(ArraySource(rows), Grid(row_norm, center=center), budget, neighbors, sampler=quiet)


def radii(answer: Answer) -> tuple[float, ...]:
    """Return where the rows of an answer were clipped: at one radius, or between two."""
    rows = getattr(answer.question, "grid", None)
    if isinstance(rows, Annulus):
        return (rows.inner.row_norm, rows.outer.row_norm)
    assert isinstance(rows, Grid)
    return (rows.row_norm,)


def skewed(n: int, d: int, seed: int) -> Floats:
    """Return rows in the unit ball of a rotated, anisotropic law, an eighth of them long: no factor is symmetric."""
    draw = np.random.default_rng(seed)
    rotation = np.linalg.qr(draw.normal(size=(d, d)))[0]
    rows = (draw.normal(size=(n, d)) * 0.6 ** np.arange(d)) @ rotation.T
    rows[: n // 8] *= 3
    return np.asarray(rows / np.linalg.norm(rows, axis=1).max())
