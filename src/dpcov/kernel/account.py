"""What was charged against one budget, and what was answered for it: kept apart from the data.

A charge is committed before the first random bit is drawn and is never taken back. What is kept are copies: whoever asked, or
holds an answer, holds budgets of its own, and nothing that is done to those changes what was spent.
"""

from __future__ import annotations

import threading
from collections.abc import Collection, Iterable
from fractions import Fraction
from typing import Protocol

from dpcov.errors import BudgetError, ParameterError
from dpcov.kernel.answer import Answer
from dpcov.kernel.budget import ApproxDP, Budget, copied, pays_for
from dpcov.kernel.held import Held
from dpcov.kernel.noise.laws import NoiseLaw, RoundedLaw

MOST_BITS = 2**19
"""Of the denominators of all charges and scales together: a hundred rounds of the longest budgets have 300 000."""

MOST_ANALYTIC = 100
"""Charges in (ε, δ), which are slow to check: a curator composes few of them."""

MOST_DIGITS = 10**1000
"""Numerators and denominators are below it: a file holds no longer ones."""


Ratio = tuple[int, int]
"""A number as numerator and denominator, in lowest terms: looked up much faster than a Fraction."""


def unwritten(numbers: Collection[Ratio], analytic: int, bits: int = 0) -> str:
    """Return what of these numbers, and of so many charges in (ε, δ), no file may have; nothing where it may have all.

    ``bits`` are those of the denominators of others, which are there already.
    """
    if bits + bits_of(numbers) > MOST_BITS:
        return "numbers in too many digits"
    if any(max(number) >= MOST_DIGITS for number in numbers):
        return "a number of more than 1000 digits"
    return "too many charges in (epsilon, delta)" if analytic > MOST_ANALYTIC else ""


def bits_of(numbers: Collection[Ratio]) -> int:
    """Return how long the denominators of numbers are together: so long may that of their sum be."""
    return sum(denominator.bit_length() for _, denominator in numbers)


def numbers_of(laws: Iterable[NoiseLaw], charges: Iterable[Budget]) -> set[Ratio]:
    """Return the exact numbers that a file holds of laws and charges."""
    amounts = {amount.as_integer_ratio() for charge in charges for amount in charge.amounts()}
    return amounts | {_ratio(text) for law in laws for text in law.to_json().values()}


def _ratio(text: str) -> Ratio:
    """Read what ``str`` writes of a Fraction."""
    numerator, _, denominator = text.partition("/")
    return int(numerator), int(denominator or 1)


class Purse(Protocol):
    """Where the whole budget of an account comes from, when somebody keeps count of many: a ledger."""

    @property
    def most_tail(self) -> Fraction | None:
        """How often noise that is drawn in floats may be off, in all; None where the budget's δ says it."""
        ...

    def take(self) -> None:
        """Spend the whole budget, durably; whoever has too little left refuses."""
        ...


class Account(Held):
    """One budget, its charges, and the record of answers; with a purse the budget is taken from there, once."""

    def __init__(self, budget: Budget, purse: Purse | None = None) -> None:
        self._budget, self._purse, self._taken = copied(budget), purse, False
        self._charged: list[Budget] = []
        self._answers: list[Answer] = []
        self._numbers: set[Ratio] = set()
        self._bits = 0
        self._closed = False
        self._lock = threading.Lock()

    @property
    def budget(self) -> Budget:
        """All that may be spent."""
        return copied(self._budget)

    @property
    def charged(self) -> list[Budget]:
        """Every charge so far, in order; for who keeps the account: a list of one's own, of the same charges."""
        return list(self._charged)

    @property
    def answers(self) -> tuple[Answer, ...]:
        """Every answer so far, in order."""
        return tuple(self._answers)

    def refuse_beyond(self, *budgets: Budget) -> None:
        """Refuse a question that does not fit into what is left, and any after the account was closed."""
        if self._closed:
            raise BudgetError(
                "a question must be asked before the release is made, got one afterwards. Hint: make a new release."
            )
        charges = [*self._charged, *budgets]
        if not pays_for(self._budget, charges):
            raise BudgetError(
                f"charges must fit into the budget {self._budget!r}, got {charges!r} in all. Hint: split or convert the budget."
            )

    def reserve(self, *numbers: Ratio, charges: Collection[Budget] = ()) -> None:
        """Make room in the file for exact numbers, or refuse them while nothing is spent: no one could read what they cost."""
        with self._lock:
            new = set(numbers) - self._numbers
            analytic = sum(isinstance(charge, ApproxDP) for charge in [*self._charged, *charges])
            if why := unwritten(new, analytic, self._bits):
                raise BudgetError(
                    f"charges and scales must fit into a file, got {why}. Hint: fewer questions, or shorter fractions."
                )
            self._numbers |= new
            self._bits += bits_of(new)

    def refuse_uncounted(self, law: NoiseLaw | None) -> None:
        """Refuse noise whose price no ledger can count: that of a Markov chain, or floats that are off too often."""
        if self._purse is None or law is None:
            return
        if law.numerics == "markov chain":
            raise ParameterError(
                "noise must have a proved price to be charged to a ledger, got a Markov chain, which has one in a limit. "
                "Hint: a mechanism that draws directions exactly, or none of the ledger."
            )
        laws = [law, *(other for answer in self._answers for other in answer.laws)]
        tail = sum((one.tail for one in laws if isinstance(one, RoundedLaw)), start=Fraction(0))
        most = self._purse.most_tail
        if most is not None and tail > most:
            raise BudgetError(
                "rounded noise must be off no more often than a ledger counts for it, got more. "
                "Hint: a smaller epsilon, or a mechanism whose noise is exact."
            )

    def commit(self) -> None:
        """Take the whole budget from the purse, once, before the first draw: whatever happens then, it is spent."""
        with self._lock:
            if self._purse is not None and not self._taken:
                self._purse.take()
                self._taken = True

    def charge(self, *budgets: Budget) -> None:
        """Commit what an answer costs."""
        with self._lock:  # two threads must not both find room for the same share
            self.refuse_beyond(*budgets)
            self._charged.extend(map(copied, budgets))

    def close(self) -> None:
        """Refuse all charges from now on: what was asked is what is released."""
        with self._lock:
            self._closed = True

    def record(self, answer: Answer) -> Answer:
        """Keep an answer for the transcript, and return it."""
        with self._lock:
            self._answers.append(answer)
        return answer
