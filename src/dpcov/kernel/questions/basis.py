"""Public orthonormal bases to ask along: given, or found in an earlier answer, which a file then names."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dpcov.errors import ParameterError, shown
from dpcov.kernel.answer import Answer
from dpcov.kernel.questions.columns import Block
from dpcov.kernel.questions.derived import checked_basis
from dpcov.kernel.questions.directions import Directions, Subspace, directions_of
from dpcov.kernel.questions.moments import SecondMoment
from dpcov.linalg import orthonormal_rows
from dpcov.strict_json import Fields, each, refuse

if TYPE_CHECKING:
    from dpcov.kernel.questions.filing import Reading, Writing

Floats = NDArray[np.float64]


class Basis(ABC):
    """Orthonormal columns in d coordinates; ``count`` of them."""

    d: int
    count: int
    answer: Answer | None = None
    """The answer that it was found in."""

    @cached_property
    def columns(self) -> Floats:
        """The columns, d by count, checked to be orthonormal: a longer basis would move more."""
        return checked_basis(self._computed(), self.d, self.count)

    @abstractmethod
    def _computed(self) -> Floats:
        """Return the columns, not yet checked."""

    @abstractmethod
    def to_json(self, writing: Writing) -> dict[str, Any]:
        """Return what a file stores of it."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Basis) and np.array_equal(self.columns, other.columns)

    def __hash__(self) -> int:
        return hash((self.d, self.count))


@dataclass(frozen=True, eq=False)
class GivenBasis(Basis):
    """Columns that are public numbers of their own."""

    given: Floats

    def __post_init__(self) -> None:
        _ = self.columns  # refused here, rather than when it is asked along

    @property
    def d(self) -> int:  # type: ignore[override]
        """The coordinates of rows."""
        return self._shape[0]

    @property
    def count(self) -> int:  # type: ignore[override]
        """How many there are."""
        return self._shape[1]

    @property
    def _shape(self) -> tuple[int, int]:
        rows, columns = self.given.shape if type(self.given) is np.ndarray and self.given.ndim == 2 else (0, 0)
        return rows, columns

    def _computed(self) -> Floats:
        return self.given

    def to_json(self, writing: Writing) -> dict[str, Any]:  # noqa: ARG002
        """Store the numbers."""
        return {"columns": self.columns.tolist()}


@dataclass(frozen=True, eq=False)
class EigenvectorsOf(Basis):
    """The eigenvectors of a noisy second moment, the largest eigenvalue first; of a block: 0 in the columns it is not about.

    ``first`` are as many as are wanted; 0: all.
    """

    answer: Answer
    first: int = 0

    def __post_init__(self) -> None:
        size = self._moment.d
        if type(self.first) is not int or not 0 <= self.first <= size:
            raise ParameterError(
                f"first must be an integer from 0 to {size}, got {shown(self.first)}. Hint: 0 takes all eigenvectors."
            )

    @property
    def _moment(self) -> SecondMoment:
        if not isinstance(self.answer.question, SecondMoment):
            raise ParameterError(
                "eigenvectors must be those of a noisy second moment, got an answer to another question. Hint: use GivenBasis."
            )
        return self.answer.question

    @property
    def d(self) -> int:  # type: ignore[override]
        """The coordinates of rows."""
        return self._moment.whole if isinstance(self._moment, Block) else self._moment.d

    @property
    def count(self) -> int:  # type: ignore[override]
        """How many there are."""
        return self.first or self._moment.d

    def _computed(self) -> Floats:
        vectors = self.answer.eigenvectors[:, : self.count]
        if not isinstance(self._moment, Block):
            return np.ascontiguousarray(vectors)
        columns = np.zeros((self.d, self.count))
        columns[list(self._moment.columns)] = vectors
        return columns

    def to_json(self, writing: Writing) -> dict[str, Any]:
        """Store whose they are."""
        return {"eigenvectors of": writing.place(self.answer), "first": self.first}


@dataclass(frozen=True, eq=False)
class DirectionsOf(Basis):
    """The directions, or the subspace, that were drawn: made orthonormal again after rounding."""

    answer: Answer

    def __post_init__(self) -> None:
        if not isinstance(self.answer.question, Directions | Subspace):
            raise ParameterError(
                "directions must have been drawn privately, got an answer to another question. Hint: use GivenBasis."
            )

    @property
    def d(self) -> int:  # type: ignore[override]
        """The coordinates of rows."""
        return int(self._question.d)

    @property
    def count(self) -> int:  # type: ignore[override]
        """How many there are."""
        return int(self._question.count)

    @property
    def _question(self) -> Directions | Subspace:
        assert isinstance(self.answer.question, Directions | Subspace)
        return self.answer.question

    def _computed(self) -> Floats:
        return np.ascontiguousarray(orthonormal_rows(directions_of(self.answer)).T)

    def to_json(self, writing: Writing) -> dict[str, Any]:
        """Store whose they are."""
        return {"directions of": writing.place(self.answer)}


BASES = (GivenBasis, EigenvectorsOf, DirectionsOf)


def read_basis(record: dict[str, Any], reading: Reading) -> Basis:
    """Return the basis of a record."""
    fields = Fields(record, "basis")
    basis: Basis
    if "eigenvectors of" in record:
        basis = EigenvectorsOf(reading.answer(fields.take("eigenvectors of", int)), fields.take("first", int))
    elif "directions of" in record:
        basis = DirectionsOf(reading.answer(fields.take("directions of", int)))
    else:
        rows = [each(row, float, "a basis") for row in each(fields.take("columns", list), list, "a basis")]
        if len(rows) != reading.encoding.width or len({len(row) for row in rows}) != 1 or len(rows[0]) > len(rows):
            refuse("well formed: a basis has a row for each coordinate", "more or fewer rows")
        basis = GivenBasis(np.array(rows, dtype=np.float64))
    fields.end()
    return basis
