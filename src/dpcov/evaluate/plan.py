"""How large will the error be? From public numbers, before any data are read or any budget is spent."""

from __future__ import annotations

from dataclasses import dataclass

from dpcov.errors import ParameterError, shown
from dpcov.kernel.budget import Budget
from dpcov.kernel.questions.moments import REPLACE, SecondMoment, check_neighbors
from dpcov.kernel.rows.grid import MAX_FEATURES, Grid
from dpcov.mechanisms.shared.additive import predicted_errors


@dataclass(frozen=True)
class Prediction:
    """What a mechanism's noise will do to the second moment: its `Release.expected_error`."""

    mechanism: str
    expected_error: float


def plan_covariance(n: int, d: int, budget: Budget, *, neighbors: str = REPLACE, center: bool = False) -> list[Prediction]:
    """Predict the r.m.s. Frobenius error of the raw second moment for rows of norm 1, the smallest first.

    These are the additive noises, on rows clipped at row_norm; ``mechanism="auto"`` usually clips further, which is not shown,
    unless rows are centred. Multiply by row_norm² for the data's units; post-processing makes the
    error smaller, most of all where it is large.

    Examples
    --------
    >>> from dpcov import PureDP
    >>> best = plan_covariance(48842, 108, PureDP(1))[0]
    >>> best.mechanism, round(best.expected_error, 4)
    ('wishart', 0.0328)
    """
    check_neighbors(neighbors)
    for name, value, largest in (("n", n, 2**62), ("d", d, MAX_FEATURES - center)):
        if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= largest:
            raise ParameterError(f"{name} must be an integer from 1 to {largest}, got {shown(value)}. Hint: it is public.")
    grid = Grid(1.0, center=center)
    errors = predicted_errors(SecondMoment(grid, grid.width(d)), budget, neighbors)
    if not errors:
        raise ParameterError(f"budget must be large enough for some mechanism, got {budget!r}. Hint: spend more.")
    return [Prediction(name, errors[name] / n) for name in sorted(errors, key=errors.__getitem__)]
