"""A curator that can be watched: what its sums, its account and its sampler did, in which order, and what was charged."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from dpcov.kernel.account import Account, Purse
from dpcov.kernel.answer import Answer
from dpcov.kernel.bits import SeededBits
from dpcov.kernel.budget import Budget
from dpcov.kernel.curator import Curator
from dpcov.kernel.noise.choice import Exponential, SparseVector
from dpcov.kernel.noise.drawn import MatrixBingham, Uniform
from dpcov.kernel.noise.laws import NoiseLaw
from dpcov.kernel.noise.sampler import Decomposition, RandomSampler
from dpcov.kernel.public import Public
from dpcov.kernel.questions.choices import Choice, Search
from dpcov.kernel.questions.measure import Measure, Question
from dpcov.kernel.rows.encoding import Encoding
from dpcov.kernel.rows.grid import Grid
from dpcov.kernel.sums import ExactSums, Sums
from dpcov.sources.base import Source
from dpcov.verify.testing import encoding_of

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


class WatchedSums:
    """Exact sums that note when they are read; ``n`` is read, too."""

    def __init__(self, sums: Sums, done: list[str]) -> None:
        self._sums, self._done = sums, done

    @property
    def public(self) -> Public:
        return self._sums.public

    @property
    def n(self) -> int:
        self._done.append("n")
        return self._sums.n

    def read(self, question: Question) -> Integers:
        self._done.append("read")
        return self._sums.read(question)

    def prefetch(self, *questions: Question, derive: bool = True) -> None:
        self._done.append("read")
        self._sums.prefetch(*questions, derive=derive)

    def forget(self) -> None:
        self._sums.forget()


class WatchedAccount(Account):
    """An account that notes its charges."""

    def __init__(self, budget: Budget, done: list[str], purse: Purse | None = None) -> None:
        super().__init__(budget, purse)
        self._done = done

    def charge(self, *budgets: Budget) -> None:
        self._done.append("charge")
        super().charge(*budgets)

    def record(self, answer: Answer) -> Answer:
        self._done.append("record")
        return super().record(answer)


def note_draw(done: list[str]) -> None:
    assert "charge" in done, "nothing was charged before the draw"
    done.append("draw")


class WatchedSampler(RandomSampler):
    """A sampler that notes when it draws, after a charge only."""

    def __init__(self, seed: int, done: list[str]) -> None:
        super().__init__(SeededBits(seed))
        self._done = done

    def noisy(self, question: Measure, law: NoiseLaw, exact: Integers) -> Integers:
        note_draw(self._done)
        return super().noisy(question, law, exact)

    def noisy_later(self, question: Measure, law: NoiseLaw) -> Callable[[int, int], int]:
        note_draw(self._done)
        return super().noisy_later(question, law)

    def choice(self, question: Choice, law: Exponential, counts: Integers) -> int:
        note_draw(self._done)
        return super().choice(question, law, counts)

    def search(self, question: Search, law: SparseVector, counts: Integers) -> int:
        note_draw(self._done)
        return super().search(question, law, counts)

    def direction(self, matrix: Floats, concentration: float, guess: Floats, fixed: bool) -> Floats:
        note_draw(self._done)
        return super().direction(matrix, concentration, guess, fixed)

    def subspace(self, matrix: Floats, basis: Decomposition, k: int, law: MatrixBingham | Uniform) -> Floats:
        note_draw(self._done)
        return super().subspace(matrix, basis, k, law)


@dataclass
class Watched:
    """A curator, its account, and what was done: "read", "n", "charge", "draw", "record"."""

    curator: Curator
    account: WatchedAccount
    done: list[str] = field(default_factory=list)

    @property
    def untouched(self) -> bool:
        """Whether nothing was read, charged, drawn or answered."""
        return (self.done, self.account.charged, self.curator.answers) == ([], [], ())


def watched(source: Source, grid: Grid | Encoding, budget: Budget, neighbors: str = "replace", seed: int = 0) -> Watched:
    """Return a curator of a source's rows that can be watched."""
    done: list[str] = []
    account = WatchedAccount(budget, done)
    sums = WatchedSums(ExactSums(source, encoding_of(grid, source), neighbors), done)
    return Watched(Curator(sums, account, WatchedSampler(seed, done)), account, done)
