"""Try to break it: price any mechanism exactly on neighbours that are searched for, and bound its ε from below.

`audit_mechanism` does all of it, for any mechanism. `audit_covariance` treats the whole library as a black box: it releases
many times from each of two neighbours and turns how well the releases can be told apart into a lower bound on ε (Clopper and
Pearson), to hold against the promise. `dpcov.replay.replay` is the exact counterpart, for one pair.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpcov.api import covariance
from dpcov.errors import ParameterError
from dpcov.kernel.budget import Budget, PureDP
from dpcov.kernel.noise.laws import DiscreteGaussian, DiscreteLaplace
from dpcov.kernel.noise.matrix import FrobeniusNoise, WishartDifference
from dpcov.kernel.questions.moments import Count, SecondMoment
from dpcov.kernel.rows.grid import Grid
from dpcov.mechanisms.base import Named
from dpcov.mechanisms.covariance.gaussian import GAUSSIAN
from dpcov.mechanisms.covariance.wishart import WISHART
from dpcov.verify.lower_bound import Finding, epsilon_lower_bound, promised_epsilon
from dpcov.verify.mechanism_audit import Audit, Worst, audit_mechanism

__all__ = [
    "Audit",
    "Finding",
    "Worst",
    "audit_covariance",
    "audit_mechanism",
    "epsilon_lower_bound",
    "promised_epsilon",
]

Floats = NDArray[np.float64]


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
