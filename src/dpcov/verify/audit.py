"""Try to break it: treat the whole library as a black box and bound its ε from below.

`audit_covariance` releases many times from each of two neighbours and turns how well the releases can be told apart into a
lower bound on ε (Clopper and Pearson), to hold against the promise. `dpcov.replay.replay` is the exact counterpart.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpcov.api import covariance
from dpcov.errors import ParameterError
from dpcov.kernel.budget import ZCDP, Budget, PureDP
from dpcov.kernel.noise.laws import DiscreteGaussian, DiscreteLaplace
from dpcov.kernel.noise.matrix import FrobeniusNoise, WishartDifference
from dpcov.kernel.questions.moments import Count, SecondMoment
from dpcov.kernel.rows.grid import Grid
from dpcov.mechanisms.base import Named
from dpcov.mechanisms.covariance.gaussian import GAUSSIAN
from dpcov.mechanisms.covariance.wishart import WISHART

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


DISTANCES: dict[str, Callable[[Floats], float]] = {
    # the norm that each noise is calibrated to: differences of distances separate neighbours well
    DiscreteGaussian.law: lambda noise: float(np.sum(noise**2)),
    DiscreteLaplace.law: lambda noise: float(np.abs(np.triu(noise)).sum()),
    FrobeniusNoise.law: lambda noise: float(np.linalg.norm(noise)),
    WishartDifference.law: lambda noise: float(np.abs(np.linalg.eigvalsh(noise)).sum()),
}


def audit_covariance(
    first: NDArray[np.float64],
    second: NDArray[np.float64],
    budget: Budget,
    *,
    deltas: Sequence[float] = (1e-5, 1e-2, 0.1, 0.3),
    trials: int = 10_000,
    alpha: float = 1e-6,
    seed: int | None = None,
    mechanism: str | Named | None = None,
    **arguments: Any,
) -> list[Finding]:
    """Release ``trials`` times from each of two neighbours and bound ε from below at each δ.

    A correct library is accused at one δ with probability at most ``alpha``. The randomness is the operating system's, as in a
    release; a ``seed`` makes the audit repeatable, of seeded releases. The default mechanism is `wishart` under pure DP, else
    `gaussian`. ``arguments`` go to `dpcov.covariance`; ``row_norm`` is 1, so rows should have norm at most 1.

    Examples
    --------
    >>> import numpy as np, dpcov
    >>> rows, other = np.zeros((4, 2)), np.zeros((4, 2))
    >>> other[0, 0] = 1
    >>> found = audit_covariance(rows, other, dpcov.ZCDP(1), trials=50, seed=0)
    >>> any(finding.violated for finding in found)
    False
    """
    named = mechanism or (WISHART if isinstance(budget, PureDP) else GAUSSIAN)
    centres = [data.T @ data for data in (first, second)]

    def score(data: NDArray[np.float64], trial: int) -> float:
        drawn = None if seed is None else 2 * trials * seed + trial
        release = covariance(data, budget, seed=drawn, mechanism=named, postprocess="none", row_norm=1, **arguments)
        answer = release.find(SecondMoment)
        if answer is None:
            if any(not isinstance(other.question, Count) for other in release.answers):
                raise ParameterError(
                    "mechanism must ask for a second moment to be audited, got one that does not. Hint: dpcov.replay.replay."
                )
            return 0.0  # too few rows for the budget: nothing was learnt
        assert isinstance(answer.question, SecondMoment)
        assert isinstance(answer.question.grid, Grid)
        raw = answer.matrix * answer.question.grid.row_norm**2
        distance = DISTANCES[answer.law.law]
        return distance(raw - centres[1]) - distance(raw - centres[0])

    scores = [np.array([score(data, trial) for trial in range(k, 2 * trials, 2)]) for k, data in enumerate((first, second))]
    return [
        Finding(delta, promised_epsilon(budget, delta), epsilon_lower_bound(scores[0], scores[1], delta, alpha))
        for delta in deltas
    ]


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
