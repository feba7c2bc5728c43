"""For tests of mechanisms, here and elsewhere: predictable bits, sums that say what they are told, and a sampler without noise.

A curator is composed of sums, an account and a sampler: `scripted` and `opened` put one together. Nothing made with these is
private, but what `opened` draws with the operating system's bits.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import NoReturn

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpcov.kernel.account import Account
from dpcov.kernel.bits import Bits, SeededBits, SystemBits
from dpcov.kernel.budget import Budget
from dpcov.kernel.curator import Curator
from dpcov.kernel.noise.choice import Exponential, SparseVector
from dpcov.kernel.noise.drawn import MatrixBingham, Uniform
from dpcov.kernel.noise.laws import NoiseLaw
from dpcov.kernel.noise.sampler import Decomposition, RandomSampler, Sampler
from dpcov.kernel.public import Public
from dpcov.kernel.questions.choices import Choice, Search
from dpcov.kernel.questions.directions import Drawn
from dpcov.kernel.questions.measure import Measure, Question, Summable
from dpcov.kernel.questions.moments import REPLACE, check_neighbors
from dpcov.kernel.rows.encoding import Encoding
from dpcov.kernel.rows.grid import Grid
from dpcov.kernel.sums import ExactSums
from dpcov.linalg import pack
from dpcov.schema import Schema
from dpcov.sources.base import Source

__all__ = ["NoSource", "Noiseless", "ScriptedSums", "SeededBits", "encoding_of", "opened", "scripted"]

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


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


class ScriptedSums:
    """Sums without data: they are what the script says, one after the other, rounded to the question's grid.

    Parameters
    ----------
    answers : iterable of array-like
        One per question, in units of the encoded rows: a number for a count, a symmetric matrix for a second moment and for
        what is drawn from one, the counts of the bins where a radius or a quantile is chosen.
    public : Public
        What is known of the rows.
    n : int
        How many there are.
    """

    def __init__(self, answers: Iterable[ArrayLike], public: Public, n: int) -> None:
        self._script, self._public, self._n = iter(answers), public, n

    @property
    def public(self) -> Public:
        """What is known of the rows before anything is asked."""
        return self._public

    @property
    def n(self) -> int:
        """The number of rows."""
        return self._n

    def read(self, question: Question) -> Integers:
        """Return the next number, vector or packed matrix of the script."""
        answer = np.asarray(next(self._script), dtype=np.float64)
        entries = pack(answer) if answer.ndim == 2 else answer.reshape(-1)
        measured = question.moment if isinstance(question, Drawn) else question
        unit_bits = measured.unit_bits if isinstance(measured, Measure) else measured.person_bits  # choices are of counts
        return np.rint(np.ldexp(entries, unit_bits)).astype(np.int64)

    def prefetch(self, *questions: Question, derive: bool = True) -> None:
        """Do nothing: the script gives each question its own answer."""

    def forget(self) -> None:
        """Do nothing: there is nothing to hide."""


class Noiseless:
    """A sampler that adds nothing, and draws and chooses what is best: the limit of a large budget."""

    seeded = True

    def noisy(self, question: Measure, law: NoiseLaw, exact: Integers) -> Integers:  # noqa: ARG002
        """Answer the exact numbers, on the public lattice of the law where it has one."""
        return law.settle(exact)

    def noisy_later(self, question: Measure, law: NoiseLaw) -> Callable[[int, int], int]:  # noqa: ARG002
        """Return what answers each number as it is."""
        return lambda place, exact: exact  # noqa: ARG005

    def choice(self, question: Choice, law: Exponential, counts: Integers) -> int:  # noqa: ARG002
        """Choose the candidate with the best score, the first of several."""
        return int(np.argmax(question.scores(counts)))

    def search(self, question: Search, law: SparseVector, counts: Integers) -> int:  # noqa: ARG002
        """Return the first query that reaches its threshold; where none does, their number."""
        queries = question.values(counts)
        above = np.flatnonzero(queries >= question.threshold)
        return int(above[0]) if len(above) else len(queries)

    def direction(self, matrix: Floats, concentration: float, guess: Floats, fixed: bool) -> Floats:  # noqa: ARG002
        """Return the leading eigenvector."""
        return np.asarray(np.linalg.eigh(matrix)[1][:, -1])

    def subspace(self, matrix: Floats, basis: Decomposition, k: int, law: MatrixBingham | Uniform) -> Floats:  # noqa: ARG002
        """Return the leading eigenvectors, the largest eigenvalue first."""
        return np.asarray(np.linalg.eigh(matrix)[1][:, -k:][:, ::-1])


def scripted(
    answers: Iterable[ArrayLike],
    *,
    n: int,
    d: int,
    budget: Budget,
    neighbors: str = REPLACE,
    row_norm: float = 1.0,
    center: bool = False,
    schema: Schema | None = None,
    sampler: Sampler | None = None,
) -> Curator:
    """Return a curator without data that gives chosen answers, in order: see `ScriptedSums`.

    Calibration, charging and the record are the real ones, so a test sees what a mechanism asks for, what it pays and what it
    makes of the answers. ``sampler`` is `Noiseless` by default.

    Examples
    --------
    >>> from dpcov import ZCDP
    >>> from dpcov.mechanisms import MECHANISMS
    >>> from dpcov.mechanisms.running import released
    >>> curator = scripted([[[8.0, 0.0], [0.0, -2.0]]], n=10, d=2, budget=ZCDP(1))
    >>> release = released(MECHANISMS["covariance"]["gaussian"], curator, ZCDP(1), postprocess="project")
    >>> release.second_moment.round(3).tolist()
    [[0.8, 0.0], [0.0, 0.0]]
    """
    check_neighbors(neighbors)
    encoding = encoding_of(Grid(row_norm, center=center), NoSource(n, d, schema))
    public = Public(encoding, neighbors, n if neighbors == REPLACE else None)
    return Curator(ScriptedSums(answers, public, n), Account(budget), Noiseless() if sampler is None else sampler)


def opened(
    source: Source,
    rows: Grid | Encoding,
    budget: Budget,
    neighbors: str = REPLACE,
    bits: Bits | None = None,
    progress: Callable[[float | None], None] | None = None,
    sampler: Sampler | None = None,
) -> Curator:
    """Return a curator of a source's rows, on a grid or in an encoding; by default with the operating system's randomness."""
    drawing = RandomSampler(SystemBits() if bits is None else bits, progress) if sampler is None else sampler
    return Curator(ExactSums(source, encoding_of(rows, source), neighbors), Account(budget), drawing)


def encoding_of(rows: Grid | Encoding, source: Source) -> Encoding:
    """Return the encoding of a source's rows on a grid; a schema's columns are about their midpoints where rows are centred."""
    if isinstance(rows, Encoding):
        return rows
    names, schema = source.feature_names, source.schema
    aside = getattr(source, "aside", None)
    return Encoding(names, rows.row_norm, rows.bits, constant=rows.center, midpoints=rows.center, schema=schema, aside=aside)
