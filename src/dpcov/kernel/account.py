"""What was charged against one budget, and what was answered for it: kept apart from the data.

A charge is committed before the first random bit is drawn and is never taken back. What is kept are copies: whoever asked, or
holds an answer, holds budgets of its own, and nothing that is done to those changes what was spent.
"""

from __future__ import annotations

import threading

from dpcov.errors import BudgetError
from dpcov.kernel.answer import Answer
from dpcov.kernel.budget import Budget, copied, pays_for


class Account:
    """One budget, its charges, and the record of answers."""

    def __init__(self, budget: Budget) -> None:
        self._budget = copied(budget)
        self._charged: list[Budget] = []
        self._answers: list[Answer] = []
        self._closed = False
        self._lock = threading.Lock()

    @property
    def budget(self) -> Budget:
        """All that may be spent."""
        return copied(self._budget)

    @property
    def answers(self) -> tuple[Answer, ...]:
        """Every answer so far, in order."""
        return tuple(self._answers)

    def refuse_beyond(self, *budgets: Budget) -> None:
        """Refuse a question that does not fit into what is left, and any after the account was closed."""
        if self._closed:
            raise BudgetError("a question must be asked before the release is made, got one after it. Hint: release again.")
        charges = [*self._charged, *budgets]
        if not pays_for(self._budget, charges):
            raise BudgetError(
                f"budget must fit into {self._budget!r}, got {charges!r} in all. Hint: split or convert the budget."
            )

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
