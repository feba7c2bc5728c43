"""What a comparison found: a table of errors, for people, for files and for pictures."""

from __future__ import annotations

import csv
import io
import math
import os
from dataclasses import dataclass

from dpcov.errors import ParameterError, shown
from dpcov.kernel.budget import ZCDP, Budget, decimal_text
from dpcov.paths import checked_path, write_whole
from dpcov.results import Drawable

ZERO = "zero matrix"
USUAL_DELTA = 1e-6  # at which zCDP is compared with budgets of other notions, as statements do
CAUTION = "These are errors against the truth: they are NOT private. Compare on public or made-up rows only."


@dataclass(frozen=True)
class Cell:
    """One mechanism at one budget; all None where it does not serve the budget.

    Attributes
    ----------
    mechanism : str
        As it was asked for, with its options.
    budget : PureDP, ZCDP or ApproxDP
        What each run spent.
    ran : str
        What ran: of "auto" its choice.
    error, standard_error : float
        Mean over the runs, and its standard error.
    """

    mechanism: str
    budget: Budget
    ran: str | None = None
    error: float | None = None
    standard_error: float | None = None

    @property
    def text(self) -> str:
        """The error, and its standard error in percent."""
        if self.error is None or self.standard_error is None:
            return "-"
        percent = 100 * self.standard_error / self.error if self.error else 0.0
        short = f"{percent:.1g}" if 0.05 <= percent < 1 else f"{percent:.0f}"
        return f"{self.error:.3g} ±{short}%"

    def clearly_below(self, error: float) -> bool:
        """Whether the mean is below this error by more than two standard errors."""
        return self.error is not None and self.standard_error is not None and self.error + 2 * self.standard_error < error


@dataclass(frozen=True, repr=False)
class Comparison(Drawable):
    """Errors of mechanisms at budgets: Frobenius norms of estimate − truth, for encoded rows (of norm at most 1).

    They are **not private**: for public or made-up rows only. ``print(comparison)`` shows them as a table.

    Attributes
    ----------
    n, d : int
        Number of rows, or of people, and of features; with weights how much all count together.
    center, neighbors
        As in `covariance`.
    runs : int
        Releases per cell, with different seeds.
    zero : float
        The error of the zero matrix: what is achieved without spending anything.
    cells : tuple of Cell
        Mechanisms in the order in which they were given; for each its budgets.
    counted : {"rows", "people"}
        What n counts.
    """

    n: int
    d: int
    center: bool
    neighbors: str
    runs: int
    zero: float
    cells: tuple[Cell, ...]
    counted: str = "rows"

    @property
    def size(self) -> str:
        """How many rows, or people, there are, as tables and pictures say it."""
        return f"n = {self.n} people" if self.counted == "people" else f"n = {self.n}"

    @property
    def budgets(self) -> tuple[Budget, ...]:
        """The budgets, in the order in which they were given."""
        return tuple(dict.fromkeys(cell.budget for cell in self.cells))

    @property
    def target(self) -> str:
        """What the estimates are of."""
        return "covariance" if self.center else "second moment"

    def best(self, budget: Budget) -> Cell:
        """Return the cell with the smallest error at a budget; of equal ones the first."""
        cells = [cell for cell in self.cells if cell.budget == budget and cell.error is not None]
        if not cells:
            hint = "comparison.budgets lists the budgets; mechanism 'auto' takes any"
            raise ParameterError(
                f"budget must be one that was compared and that a mechanism takes, got {shown_budget(budget)}. Hint: {hint}."
            )
        return min(cells, key=_error)

    def ranked(self) -> dict[str, list[Cell]]:
        """Return the cells of each mechanism: first the one with the smallest error at the last budget."""
        rows: dict[str, list[Cell]] = {}
        for cell in self.cells:
            rows.setdefault(cell.mechanism, []).append(cell)
        return dict(sorted(rows.items(), key=lambda row: [_error(cell) for cell in reversed(row[1])]))

    def to_csv(self, path: str | os.PathLike[str]) -> None:
        """Write a line per cell; the file appears whole or not at all. Errors of cells that are empty are empty."""
        target, text = checked_path(path), io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(
            ["mechanism", "notion", "epsilon", "delta", "rho", "ran", "error", "standard_error", "zero", "runs", "n", "d"]
        )
        for cell in self.cells:
            amounts = [_amount(cell.budget, name) for name in ("epsilon", "delta", "rho")]
            measured = [cell.ran, cell.error, cell.standard_error]
            writer.writerow([cell.mechanism, cell.budget.notion, *amounts, *measured, self.zero, self.runs, self.n, self.d])
        write_whole(target, text.getvalue())

    def best_cells(self) -> dict[Budget, Cell]:
        """Return the best cell at each budget that some mechanism served."""
        served = {cell.budget for cell in self.cells if cell.error is not None}
        return {budget: self.best(budget) for budget in self.budgets if budget in served}

    @property
    def sufficient(self) -> Cell | None:
        """The best cell at the smallest budget that is worth spending; None where nothing clearly beats the zero matrix.

        Budgets of different notions are compared by their epsilon, zCDP by its epsilon at delta = 1e-6.
        """
        worth = [cell for cell in self.best_cells().values() if cell.clearly_below(self.zero)]
        return min(worth, key=lambda cell: _as_epsilon(cell.budget), default=None)

    def __repr__(self) -> str:
        return f"<Comparison of {len(self.ranked())} mechanisms at {len(self.budgets)} budgets: n={self.n}, d={self.d}>"

    def __str__(self) -> str:
        rows = [[name, *(self._marked(cell) for cell in cells)] for name, cells in self.ranked().items()]
        head = ["", *(budget_text(budget) for budget in self.budgets)]
        rows = [head, *rows, [ZERO, *[f"{self.zero:.3g}"] * len(self.budgets)]]
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        lines = ["  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)).rstrip() for row in rows]
        return "\n".join([f"Frobenius error of the {self.target}, {self.size}, d = {self.d}", *lines, CAUTION])

    def _marked(self, cell: Cell) -> str:
        return cell.text if cell.error is None or cell != self.best(cell.budget) else f"{cell.text} *"


def budget_text(budget: Budget) -> str:
    """Write a budget as the column of a table calls it."""
    return " with ".join(f"{name} {_amount(budget, name)}" for name in budget.names)


def shown_budget(budget: object) -> str:
    """Write what may or may not be a budget, for a message."""
    return repr(budget) if isinstance(budget, Budget) else shown(budget)


def _as_epsilon(budget: Budget) -> float:
    return budget.epsilon(USUAL_DELTA) if isinstance(budget, ZCDP) else float(budget.epsilon)


def _amount(budget: Budget, name: str) -> str:
    return decimal_text(getattr(budget, name)) if name in budget.names else ""


def _error(cell: Cell) -> float:
    return math.inf if cell.error is None else cell.error
