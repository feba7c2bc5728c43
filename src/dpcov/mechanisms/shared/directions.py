"""What the mechanisms share that draw directions: the budgets they take, n, and shares of what is left."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from dpcov.errors import ParameterError, check_choice, shown
from dpcov.kernel.budget import ZCDP, ApproxDP, Budget, PureDP
from dpcov.kernel.curator import Curator
from dpcov.kernel.questions.calibrated import calibrated, noise_for
from dpcov.kernel.questions.moments import REPLACE
from dpcov.kernel.questions.spectral import Values
from dpcov.mechanisms.shared.shares import STEPS, check_room, count_share

Floats = NDArray[np.float64]

POSTPROCESSES = ("clip", "none")


def served(name: str, budget: Budget, notions: tuple[type, ...]) -> PureDP | ZCDP:
    """Return the budget as what directions are drawn at; (ε, δ) is served with δ unused."""
    if isinstance(budget, ApproxDP):
        return PureDP(budget.epsilon)
    if isinstance(budget, notions) and isinstance(budget, PureDP | ZCDP):
        return budget
    names = " or ".join([notion.__name__ for notion in notions] + ["ApproxDP"])
    raise ParameterError(f"budget of mechanism {name!r} must be {names}, got {budget!r}. Hint: mechanism='auto' fits all.")


def checked_postprocess(postprocess: str | None) -> str:
    """Return how the assembled matrix is finished; its values are clipped unless they are wanted raw."""
    chosen = "clip" if postprocess is None else postprocess
    check_choice("postprocess", chosen, POSTPROCESSES, "directions come with values of their own; leave it out for 'clip'")
    return chosen


def checked_rank(rank: object, d: int) -> int:
    """Return how many directions are wanted: 0 means all."""
    if isinstance(rank, bool) or not isinstance(rank, int) or not 0 <= rank <= d:
        raise ParameterError(
            f"rank must be an integer from 1 to {d}, or 0 for all, got {shown(rank)}. Hint: leave it out for all."
        )
    return rank or d


def without_count(curator: Curator, budget: PureDP | ZCDP, measure: Values, value_share: Fraction) -> PureDP | ZCDP:
    """Pay for n where it is private, and return what is left; a budget too small for the values is refused first."""
    share = count_share(budget, curator.d)
    left = budget if curator.neighbors == REPLACE else budget.share(1 - share)
    measure.check_noise(calibrated(measure, left.share(value_share), curator.neighbors, noise_for(budget)))
    check_room(budget)
    curator.hold()
    if curator.neighbors != REPLACE:
        curator.ask_n(budget.share(share))
    return left


def share_of_rest(weights: Floats, left: Fraction) -> Fraction:
    """Return the first weight's part of ``left``, all of it for the last one."""
    if len(weights) == 1:
        return left
    part = min(max(float(weights[0] / weights.sum()), 1e-6), 1.0)
    share = max(Fraction(math.floor(left * STEPS * Fraction(part)), STEPS), Fraction(1, STEPS))
    return min(share, left - Fraction(len(weights) - 1, STEPS))  # a step remains for each of the others


def weights_of(values: Floats, slack: float, budget: Budget) -> Floats:
    """Return what each direction's share is proportional to: √(λ+τ) of ε, or (λ+τ)^⅔ of ρ, which is ε ∝ (λ+τ)^⅓."""
    power = 1 / 2 if isinstance(budget, PureDP) else 2 / 3
    return np.asarray((np.maximum(values, 0.0) + slack) ** power)
