"""The exact sums behind the curator's answers: reading, keeping, and what must be true of the rows. It answers nobody else."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from dpcov.errors import EngineError, ParameterError
from dpcov.kernel.held import Held
from dpcov.kernel.public import Public
from dpcov.kernel.questions.asked import SUMMED
from dpcov.kernel.questions.choices import Indexed, Search
from dpcov.kernel.questions.clipped_pair import ClippedPair
from dpcov.kernel.questions.columns import Block
from dpcov.kernel.questions.derived import OfMoment
from dpcov.kernel.questions.directions import Drawn
from dpcov.kernel.questions.measure import Question, Summable
from dpcov.kernel.questions.moments import REPLACE, Count, SecondMoment, check_neighbors
from dpcov.kernel.questions.table import ColumnMoments
from dpcov.kernel.questions.together import Together
from dpcov.kernel.rows.annulus import Annulus
from dpcov.kernel.rows.encoding import Encoding

if TYPE_CHECKING:
    from dpcov.sources.base import Source

Integers = NDArray[np.int64]


class Sums(Protocol):
    """Exact integers for every question."""

    @property
    def public(self) -> Public:
        """What is known of the rows before anything is asked."""
        ...

    @property
    def n(self) -> int:
        """The exact number of rows; a stream is read for it."""
        ...

    def read(self, question: Question) -> Integers:
        """Return what noise is added to, or a choice or a draw is made from."""
        ...

    def prefetch(self, *questions: Question, derive: bool = True) -> None:
        """Read what will be asked, before the first charge where that is possible."""
        ...

    def forget(self) -> None:
        """Drop what is kept, and the rows: neither may outlive the questions, or a run that failed."""
        ...


class ExactSums(Held):
    """A source, the public encoding of its rows, and exact sums that never leave."""

    def __init__(self, source: Source, encoding: Encoding, neighbors: str) -> None:
        check_neighbors(neighbors)
        check_exact_blas()
        if encoding.feature_names != source.feature_names:  # the sensitivities of counts depend on how many there are
            raise ParameterError(
                "encoding must have the columns of the source, got other columns. Hint: take source.feature_names."
            )
        if encoding.groups != getattr(source, "groups", None):  # what stands last in a row would be taken for its group
            raise ParameterError("encoding must have the groups of the source, got others. Hint: take source.groups.")
        if encoding.aside != getattr(source, "aside", None):  # else questions would take a feature for what a row counts
            raise ParameterError("encoding must have the unit of the source, got another. Hint: take source.aside.")
        self._open: Source | None = source
        self._neighbors = neighbors
        self._public = Public(encoding, neighbors, None, source.rereadable)
        self._kept: dict[Question, Integers] = {}

    @property
    def public(self) -> Public:
        """What is known of the rows before anything is asked; of a stream under replace, n after its first reading."""
        known = None if self._open is None or self._neighbors != REPLACE else self._open.known_n
        if self._public.known_n is None and known is not None:
            self._public = replace(self._public, known_n=known)
        return self._public

    @property
    def n(self) -> int:
        """The exact number of rows; a stream is read for it."""
        known = self.public.known_n
        return self._source.n if known is None else known

    def read(self, question: Question) -> Integers:
        """Return the exact integers of a question; of choices and draws, what they are made from."""
        self._check_rows()
        if isinstance(question, Indexed):
            counts = self.read(question.counted)
            if isinstance(question, Search):  # its queries multiply counts, and no noise hides where a product has wrapped
                self._refuse_wrapped()
            return counts
        if isinstance(question, Drawn):
            return self._read_small(question.moment)
        if isinstance(question, OfMoment | Block):
            exact = question.of_moment(self._read_small(question.moment))
        elif isinstance(question, ColumnMoments):
            exact = question.of_counts(self.read(question.histograms))
        else:
            exact = self._kept[question] if question in self._kept else self._sum(question)
        # Otherwise one draw of noise could be broadcast over many entries.
        if exact.shape != (question.size,) or exact.dtype != np.int64:
            raise EngineError("a source must return an int64 for each entry, and did not. Hint: report this bug of the source.")
        return exact

    def prefetch(self, *questions: Question, derive: bool = True) -> None:
        """Read sums and keep them for several questions; a second moment and what clipping took from it in one go.

        Where it comes before the first charge, a failing read costs nothing, and a stream need be read only once. Numbers that
        are derived from sums need sums that have not wrapped; where none will be, ``derive=False`` says so.
        """
        self._check_rows()
        pair = _pair_of(questions)
        if pair is not None:
            self._kept.update(zip(pair.members, pair.split(self._total(pair)), strict=True))
        for given in dict.fromkeys(map(_given, questions)):
            alike = dict.fromkeys(question for question in questions if _given(question) == given)
            new = tuple(question for question in alike if question not in self._kept)
            if len(new) == 1:
                self._kept[new[0]] = self._sum(new[0])
            elif new:
                together = Together(new)
                self._kept.update(zip(new, together.split(self._total(together)), strict=True))
        if derive:
            self._refuse_wrapped()

    def forget(self) -> None:
        """Drop what is kept, and the source; what was public, n under replace as well, stays known."""
        _ = self.public
        self._open = None
        self._kept.clear()

    @property
    def _source(self) -> Source:
        """The rows, while questions may be asked."""
        if self._open is None:
            raise ParameterError("curator must be open, got one whose release is already made. Hint: make a new release.")
        return self._open

    def _check_rows(self) -> None:
        """Refuse a public number of rows that has no second moment, or would not leave room for the noise."""
        n = self._source.known_n
        if self._neighbors == REPLACE and n is not None:
            self._public.encoding.check_n(n)

    def _read_small(self, moment: SecondMoment) -> Integers:
        """Read a second moment whose sums have not wrapped: what is derived from it would not be private otherwise."""
        exact = self.read(moment)
        self._refuse_wrapped()
        return exact

    def _refuse_wrapped(self) -> None:
        encoding = self._public.encoding
        if self._source.n > encoding.most_rows:
            raise ParameterError(
                f"data must have at most {encoding.room} rows for this mechanism, got more. Hint: use mechanism='gaussian'."
            )

    def _sum(self, question: Any) -> Integers:
        if type(question) not in SUMMED:  # the curator has looked; a wrong sum would be exact, and without a proof
            raise ParameterError(
                "question must be a sum over rows with a proof, got something else. Hint: ask for curator.second_moment()."
            )
        return self._total(question)

    def _total(self, question: Summable) -> Integers:
        exact = self._source.total(question)
        self._check_rows()  # of a stream only now
        return exact


def _given(question: Question) -> tuple[bool, bool, bool]:
    """Return how a question is given rows. A count of people is read alone: blocks of rows do not tell it, a source does."""
    return question.by_column, question.by_group, isinstance(question, Count) and question.is_of_people


def _pair_of(questions: tuple[Question, ...]) -> ClippedPair | None:
    """Return the second moment of clipped rows and of what that took from them as one question, where they are these."""
    if len(questions) != 2 or not all(type(question) is SecondMoment for question in questions):
        return None
    inner, beyond = questions
    assert isinstance(inner, SecondMoment)
    assert isinstance(beyond, SecondMoment)
    grid = beyond.grid
    return (
        ClippedPair(grid, beyond.d, beyond.aside)
        if isinstance(grid, Annulus) and grid.inner == inner.grid and inner.d == beyond.d
        else None
    )


@cache
def check_exact_blas() -> None:
    """Check once per process that this machine's BLAS multiplies integers up to 2⁵³ exactly, small and large."""
    for rows, columns in ((64, 1), (64, 33), (16, 1100)):
        row, column = np.indices((rows, columns))
        integers = (row * 7919 + column * 104729) % 2**24 - 2**23
        integers[:, 0] = 2**23 - 1  # 64·(2²³ − 1)² is just below 2⁵²
        floats = integers.astype(np.float64)
        corner = slice(0, 40)  # int64 products are slow, and every block of the kernel is the same
        exact = integers.T[corner] @ integers[:, -40:]
        if not np.array_equal((floats.T @ floats)[corner, -40:].astype(np.int64), exact):
            raise EngineError("numpy's BLAS must be exact on integers below 2**53, and is not. Hint: install another numpy.")
