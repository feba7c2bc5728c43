"""A curator without rows, of which a mechanism asks what it would ask of any: its sums are 0, and its sampler draws nothing.

Calibration, charging and the record are the real ones, so what a mechanism would ask and pay is known beforehand. A rehearsal
equals the run up to the first branch on an answer; no row and no randomness is touched. Before anything is spent, each run is
rehearsed: a budget that is too small for some question is refused while it is still whole.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpcov.errors import BudgetError, DpcovError
from dpcov.kernel.account import Account
from dpcov.kernel.budget import ApproxDP, Budget, PureDP, copied, totals
from dpcov.kernel.curator import Curator
from dpcov.kernel.face import Face
from dpcov.kernel.noise.choice import Exponential, SparseVector
from dpcov.kernel.noise.drawn import MatrixBingham, Uniform
from dpcov.kernel.noise.laws import NoiseLaw
from dpcov.kernel.public import Public
from dpcov.kernel.questions.calibrated import calibrated, check_tail
from dpcov.kernel.questions.choices import Choice, Radius, Search
from dpcov.kernel.questions.measure import Measure, Question
from dpcov.kernel.questions.moments import REPLACE, Count
from dpcov.mechanisms.base import Mechanism
from dpcov.mechanisms.shared.weights import after_weights

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


@dataclass(frozen=True)
class Zeros:
    """Sums that are all 0, but for the number of rows."""

    public: Public

    @property
    def n(self) -> int:
        """The number of rows where it is public and known, else so many that what is asked no longer depends on it."""
        return self.public.encoding.most_rows if self.public.known_n is None else self.public.known_n

    def read(self, question: Question) -> Integers:
        """Return zeros: untouched they take no memory, however many there are."""
        self.prefetch()
        if isinstance(question, Count):
            return np.array([self.n << question.unit_bits])
        return np.zeros(question.exact_size, dtype=np.int64)

    def prefetch(self, *questions: Question, derive: bool = True) -> None:  # noqa: ARG002
        """Refuse a public number of rows that is none; read nothing."""
        self.public.encoding.check_n(self.n)

    def forget(self) -> None:
        """Do nothing: there is nothing to hide."""


class Still:
    """A sampler that adds nothing, chooses a radius just below row_norm, and draws the axes.

    ``after`` is called before each answer: after its charge.
    """

    seeded = True

    def __init__(self, after: Callable[[], None] = lambda: None) -> None:
        self._after = after

    def noisy(self, question: Measure, law: NoiseLaw, exact: Integers) -> Integers:  # noqa: ARG002
        """Return the zeros as they are, untouched."""
        self._after()
        return exact

    def noisy_later(self, question: Measure, law: NoiseLaw) -> Callable[[int, int], int]:  # noqa: ARG002
        """Return what answers each number as it is."""
        self._after()
        return lambda place, exact: exact  # noqa: ARG005

    def choice(self, question: Choice, law: Exponential, counts: Integers) -> int:  # noqa: ARG002
        """Choose the second candidate."""
        self._after()
        return min(1, question.candidates - 1)

    def search(self, question: Search, law: SparseVector, counts: Integers) -> int:  # noqa: ARG002
        """Find the largest radius, or the second query."""
        self._after()
        return question.norms.last if isinstance(question, Radius) else 1

    def direction(self, matrix: Floats, concentration: float, guess: Floats, fixed: bool) -> Floats:  # noqa: ARG002
        """Return the first axis."""
        self._after()
        return np.asarray(np.eye(1, len(matrix))[0])

    def subspace(self, matrix: Floats, basis: object, k: int, law: MatrixBingham | Uniform) -> Floats:  # noqa: ARG002
        """Return the first axes."""
        self._after()
        return np.eye(len(matrix), k)


class _AllSpent(BaseException):  # no error: a mechanism that catches those must not catch it
    """The rehearsal has spent all of its budget: what this library's own mechanisms do then cannot be refused."""


def rehearsed(mechanism: Mechanism, curator: Curator, budget: Budget, options: Mapping[str, Any]) -> None:
    """Refuse what would be refused in the middle of a run, when a part of the budget is gone.

    That is found by a rehearsal, without rows. What depends on answers, and need not be as rehearsed, a mechanism has declared
    at its least share. A number of rows that is public, but not known before a first reading, may change the shares: then there
    is a second rehearsal, after that reading and before anything is charged.
    """
    check = partial(_check, mechanism, budget=copied(budget), whole=curator.budget, options=_own(options))
    check(curator.public)
    if not curator.public.knows_n:
        curator.when_n_is_known(check)


def _check(mechanism: Mechanism, public: Public, *, budget: Budget, whole: Budget, options: Mapping[str, Any]) -> None:
    try:
        hash(key := tuple((name, type(value), value) for name, value in options.items()))  # True is 1, and no number
    except TypeError:  # an array among them
        _rehearse(mechanism, public, budget, whole, options)
    else:
        _rehearse_once(mechanism, public, budget, whole, key)


@lru_cache(maxsize=64)  # it would take a quarter of a small release's time, and says the same of the same public numbers
def _rehearse_once(
    mechanism: Mechanism, public: Public, budget: Budget, whole: Budget, options: tuple[tuple[str, type, Any], ...]
) -> None:
    _rehearse(mechanism, public, budget, whole, {name: value for name, _, value in options})


def _rehearse(mechanism: Mechanism, public: Public, budget: Budget, whole: Budget, options: Mapping[str, Any]) -> None:
    from dpcov.mechanisms import is_own

    account = Account(whole)
    still = Still(partial(_stop_at_the_end, account)) if is_own(mechanism) else Still()  # a stranger's may ask for more
    curator = Curator(Zeros(with_rows(public)), account, still)
    left = after_weights(Face(curator), budget, mechanism.serves)
    try:
        with np.errstate(all="ignore"):
            mechanism.ask(Face(curator), copied(left), **_own(options))  # a stranger's may do anything to them
    except _AllSpent:
        pass
    except BudgetError:
        raise
    except DpcovError:
        if not _all_spent(account):
            raise
    except Exception:
        return
    else:
        _ = curator.n  # as after a run
        curator.close()
    for least in () if mechanism.least is None else mechanism.least(public.apart(), copied(left), **_own(options)):
        law = calibrated(least.question, least.budget, public.neighbors, least.noise, least.at_least)
        if isinstance(budget, ApproxDP):
            check_tail([law], budget)


def _stop_at_the_end(account: Account) -> None:
    """End the rehearsal where all is spent: draws that are paid for can be long."""
    if _all_spent(account):
        raise _AllSpent


def _all_spent(account: Account) -> bool:
    return bool(account.charged) and min(_left(account.budget, account.charged)) <= 0


def _own(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the same options, with lists that nobody else holds: who takes numbers out of them leaves none for the run."""
    return {name: deepcopy(value) if type(value) is list else value for name, value in options.items()}


def with_rows(public: Public) -> Public:
    """Return public facts with many rows, where their number is public and not known before reading."""
    unknown = public.neighbors == REPLACE and public.known_n is None
    return replace(public, known_n=public.encoding.most_rows) if unknown else public


def remaining(budget: Budget, charged: Sequence[Budget]) -> Budget | None:
    """Return what is left of a budget, in the notion in which it was charged; None where that is nothing."""
    left = _left(budget, charged)
    return type(charged[0])(*left) if min(left) > 0 else None


def _left(budget: Budget, charged: Sequence[Budget]) -> list[Fraction]:
    """Return the amounts that are left: no budget, since a sum of charges may have more digits than one may."""
    if isinstance(budget, ApproxDP) and not isinstance(charged[0], ApproxDP):
        budget = PureDP(budget.epsilon) if isinstance(charged[0], PureDP) else budget.to_zcdp()
    return [a - b for a, b in zip(budget.amounts(), totals(charged), strict=True)]
