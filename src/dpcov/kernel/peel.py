"""Directions drawn one at a time from the exact second moment, which never leaves: what `Curator.peel` returns.

Everything was charged before the first draw. Each draw takes its share of the directions' budget; shares beyond the whole are
refused. After a draw the matrix is *projected* onto what is orthogonal to it (a Householder reflection, one row and column
less), or, for the baseline of Kapralov and Talwar, the private rank-one matrix is *subtracted*.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable
from fractions import Fraction
from functools import wraps
from typing import Any, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from dpcov.errors import BudgetError, ParameterError
from dpcov.kernel.account import Account, Ratio
from dpcov.kernel.answer import Answer
from dpcov.kernel.budget import ZCDP, Budget, PureDP, exact_fraction
from dpcov.kernel.calibrate import bingham_concentration
from dpcov.kernel.held import Held
from dpcov.kernel.noise.drawn import Bingham
from dpcov.kernel.noise.laws import NoiseLaw
from dpcov.kernel.noise.sphere import MAX_CONCENTRATION, float_below, peeled_guess
from dpcov.kernel.questions.derived import VALUE_BITS
from dpcov.kernel.questions.directions import DIRECTION_BITS, Directions
from dpcov.kernel.questions.spectral import to_steps

Floats = NDArray[np.float64]
Draw = Callable[[Floats, float, Floats], Floats]

Method = TypeVar("Method", bound=Callable[..., Any])


def _forgotten(*_: object) -> Any:
    raise ParameterError("peel must still be open, got a closed one. Hint: draw directions before the release is made.")


def _one_at_a_time(method: Method) -> Method:
    """Let no two threads spend the same share, or value the same direction."""

    @wraps(method)
    def locked(self: Peel, *arguments: Any, **named: Any) -> Any:
        with self._lock:
            return method(self, *arguments, **named)

    return cast(Method, locked)


class Peel(Held):
    """The exact matrix, what was drawn from it, and what may still be drawn."""

    def __init__(
        self,
        question: Directions,
        matrix: Floats,
        spectrum: Floats,
        charges: tuple[PureDP | ZCDP, *tuple[Budget, ...]],
        value_law: NoiseLaw | None,
        neighbors: str,
        draw: Draw,
        answer: Callable[[int, int], int],
        account: Account,
    ) -> None:
        self._question, self._matrix, self._neighbors = question, matrix, neighbors
        self._charges, self._value_law = charges, value_law
        self._draw, self._answer = draw, answer
        self._record: Callable[[Answer], Answer] = account.record
        self._reserve: Callable[[Ratio], None] = account.reserve
        self._guess = spectrum  # exact before the first draw, guessed after it
        self._left = Fraction(1)
        self._concentrations: list[Fraction] = []
        self._vectors: list[Floats] = []
        self._reflectors: list[Floats] = []
        self._values: list[int] = []
        self._taken, self._closed = 0, False
        self._lock = threading.Lock()

    @property
    def closed(self) -> bool:
        """Whether everything drawn is on record."""
        return self._closed

    @property
    def left(self) -> Fraction:
        """The share of the directions' budget that is left."""
        return self._left

    @_one_at_a_time
    def direction(self, share: Fraction, *, at_most: Fraction | None = None) -> None:
        """Draw the next direction at this share of the budget; where only one is left, it is determined and free.

        ``at_most`` lowers the concentration: a paper's constants can add noise and never remove any.
        """
        if self._closed or self._taken < len(self._vectors) or len(self._vectors) == self._question.count:
            raise ParameterError(
                "direction() must be called once for each direction, followed by value() or skip(), got a call out of turn. "
                "Hint: call value() before the next direction()."
            )
        if len(self._matrix) == 1:
            self._vectors.append(np.ones(1))
            return
        if type(share) is not Fraction or not 0 < share <= self._left:
            raise BudgetError(
                f"share must be above 0 and at most {self._left}, which is left, got {share}. Hint: shares add up to 1."
            )
        bound = MAX_CONCENTRATION if at_most is None else exact_fraction("at_most", at_most)
        concentration = bingham_concentration(self._charges[0].share(share), self._neighbors)
        concentration = min(concentration, MAX_CONCENTRATION, bound)
        if concentration <= 0:
            raise ParameterError("at_most must be above 0, got 0 or less. Hint: leave it out for the least noise.")
        self._reserve(concentration.as_integer_ratio())
        self._left -= share
        self._concentrations.append(concentration)
        self._vectors.append(self._draw(self._matrix, float_below(concentration), self._guess))

    @_one_at_a_time
    def value(self) -> float:
        """Answer uᵀCu for the direction drawn last, with noise that was paid for at the start; then take it out of C."""
        vector = self._untaken()
        if self._value_law is None:
            raise ParameterError("values must be paid for in advance, got no budget for them. Hint: peel(..., values=budget).")
        exact = int(to_steps(np.array([vector @ self._matrix @ vector]))[0])
        number, self._taken = self._taken, self._taken + 1  # before the answer: an interrupt must not allow a second one
        self._values.append(self._answer(number, exact))
        return self._take_out(vector, float(np.ldexp(self._values[-1], -VALUE_BITS)))

    @_one_at_a_time
    def skip(self) -> float:
        """Project the direction drawn last out of C without asking for its value."""
        if not self._question.orthogonal:
            raise ParameterError("every direction must get a value before it is subtracted, got skip(). Hint: call value().")
        vector, self._taken = self._untaken(), self._taken + 1
        return self._take_out(vector, math.nan)

    def _untaken(self) -> Floats:
        """Return the direction drawn last; each is valued once, or its value would be answered twice for one price."""
        if self._closed or self._taken == len(self._vectors):
            raise ParameterError("a direction must be drawn before each value, got none. Hint: call direction() first.")
        return self._vectors[-1]

    def _take_out(self, vector: Floats, value: float) -> float:
        if not self._question.orthogonal:
            self._matrix = self._matrix - value * np.outer(vector, vector)
            self._guess = np.sort(np.append(self._guess[1:], self._guess[0] - value))[::-1]
        elif len(vector) > 1:
            reflector = reflector_of(vector)
            self._reflectors.append(reflector)
            self._matrix = _projected(self._matrix, reflector)
            self._guess = peeled_guess(self._guess, float(self._concentrations[-1]), self._matrix)
        return value

    @_one_at_a_time
    def close(self) -> Answer:
        """Record what was drawn, once, and return it: the directions, a row each, on their grid, and then the values."""
        if self._closed:
            raise ParameterError("peel must still be open, got a closed one. Hint: call close() once, at the end.")
        if self._taken != self._question.count or len(self._values) != (0 if self._value_law is None else self._taken):
            raise ParameterError(
                "all directions must be drawn, with the values that were paid for, got fewer. Hint: draw them before close()."
            )
        self._closed = True
        rows = self._directions() if self._question.orthogonal else np.array(self._vectors)
        on_grid = np.rint(np.ldexp(rows, DIRECTION_BITS)).astype(np.int64).reshape(-1)
        law = Bingham(tuple((str(i + 1), c) for i, c in enumerate(self._concentrations)))
        laws = (law,) if self._value_law is None else (law, self._value_law)
        told = np.array(self._values, dtype=np.int64)
        answer = self._record(Answer(self._question, laws, self._charges, np.concatenate([on_grid, told])))
        self.forget()
        return answer

    def forget(self) -> None:
        """Drop the matrix, which must not outlive the draws, and what leads to the curator: a cycle that is freed late."""
        self._closed = True
        self._matrix = self._guess = np.zeros(0)
        self._answer = self._draw = self._record = self._reserve = _forgotten

    def _directions(self) -> Floats:
        """Undo the reflections, the last first: rows are directions in the coordinates of the data."""
        rows = np.zeros((0, len(self._matrix)))
        if len(self._vectors) > len(self._reflectors):
            rows = self._vectors[-1][None, :]
        for reflector, vector in zip(self._reflectors[::-1], self._vectors[: len(self._reflectors)][::-1], strict=True):
            lifted = np.zeros((len(rows) + 1, len(vector)))
            lifted[1:, 1:] = rows
            lifted[1:] -= np.outer(2 * (lifted[1:] @ reflector), reflector)
            lifted[0] = vector
            rows = lifted
        return rows


def reflector_of(vector: Floats) -> Floats:
    """Return the unit vector v for which I − 2vvᵀ maps ``vector`` onto a multiple of the first axis, without cancellation."""
    reflector = vector.copy()
    reflector[0] += 1.0 if vector[0] >= 0 else -1.0
    return np.asarray(reflector / np.linalg.norm(reflector))


def _projected(matrix: Floats, reflector: Floats) -> Floats:
    """Return (HCH) without its first row and column, H = I − 2vvᵀ: C on what is orthogonal to the direction."""
    image = matrix @ reflector
    half = 2 * (image - (reflector @ image) * reflector)
    tail, half_tail = reflector[1:], half[1:]
    return np.asarray(matrix[1:, 1:] - np.outer(tail, half_tail) - np.outer(half_tail, tail))
