"""How large ε must be at the least: a bound from below by scores of two neighbours' releases, whatever made them."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpcov.kernel.budget import ZCDP, Budget, PureDP

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Finding:
    """At one δ: the ε that is promised, and the ε that the releases prove to be needed."""

    delta: float
    promised: float
    proved: float

    @property
    def violated(self) -> bool:
        """Whether the promise is refuted."""
        return self.proved > self.promised


def promised_epsilon(budget: Budget, delta: float) -> float:
    """Return the ε that a budget promises at this δ; infinite where it promises nothing."""
    if isinstance(budget, ZCDP):
        return budget.epsilon(delta)
    return float(budget.epsilon) if isinstance(budget, PureDP) or delta >= budget.delta else math.inf


def epsilon_lower_bound(first: Floats, second: Floats, delta: float, alpha: float) -> float:
    """Return an ε that (ε, δ)-DP needs, with confidence 1 − alpha, given scores of releases from two neighbours.

    An event {score ≥ t} or {score ≤ t} is picked on the even-numbered scores and judged on the odd-numbered ones, so
    the pick costs no confidence. The bound is log((p − δ)/q), p and q at the ends of their Clopper-Pearson intervals.
    """
    pick = [
        (bound, swap, sign, threshold)
        for swap in (False, True)
        for sign in (1.0, -1.0)
        for threshold in np.quantile(sign * np.concatenate([first[::2], second[::2]]), np.linspace(0.01, 0.999, 60))
        for bound in [_bound(first[::2], second[::2], swap, sign, threshold, delta, alpha)]
    ]
    _, swap, sign, threshold = max(pick, key=lambda candidate: candidate[0])
    return max(_bound(first[1::2], second[1::2], swap, sign, threshold, delta, alpha), 0.0)  # every release needs ε ≥ 0


def _bound(first: Floats, second: Floats, swap: bool, sign: float, threshold: float, delta: float, alpha: float) -> float:
    from scipy.special import betaincinv

    if swap:
        first, second = second, first
    hits, false_hits = int(np.sum(sign * first >= threshold)), int(np.sum(sign * second >= threshold))
    least = float(betaincinv(hits, len(first) - hits + 1, alpha / 2)) if hits else 0.0
    most = float(betaincinv(false_hits + 1, len(second) - false_hits, 1 - alpha / 2)) if false_hits < len(second) else 1.0
    return float(np.log((least - delta) / most)) if least > delta else 0.0
