r"""Second moment by iterative eigenvector sampling: private directions, one orthogonal to the other, and what lies along each.

A direction is drawn with density ∝ exp(c·uᵀSu) on the sphere of what is left; one row moves uᵀSu by at most 1. The values
uᵢᵀSuᵢ along all directions together move by no more than the trace can: 2.

Paper    Amin, Dick, Kulesza, Muñoz Medina, Vassilvitskii (2018, 2019), Algorithm 1 with AD and IT-U.
Proof    docs/mechanisms/eigenvectors.md
Differs  exponent ε/2 (add-remove: ε) against the papers' ε/4; values are asked along the sampled directions
         (``values="spectrum"`` asks the papers' eigenvalues first); eigenvalues are made to descend; the last direction is
         free; also under zCDP. ``constants="paper"`` is the printed algorithm, without any of this.

============  ========================================================================
code          mathematics
============  ========================================================================
``values``    :math:`\hat\lambda_i`, noisy :math:`u_i^T S u_i` or eigenvalues
``slack``     :math:`\tau`, how far a noisy value may be off, with probability 1 − beta
``weights``   :math:`\sqrt{\hat\lambda_i + \tau}`, shares of ε; zCDP: power ⅔, shares of ρ
============  ========================================================================
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from dpcov.errors import check_choice, check_real
from dpcov.kernel.budget import ZCDP, ApproxDP, Budget, PureDP
from dpcov.kernel.face import Face
from dpcov.kernel.questions.calibrated import noise_for
from dpcov.kernel.questions.directions import Directions
from dpcov.kernel.questions.moments import REPLACE
from dpcov.kernel.questions.spectral import Spectrum, Values
from dpcov.linalg import monotone
from dpcov.mechanisms.base import Mechanism
from dpcov.mechanisms.shared.additive import wants_paper
from dpcov.mechanisms.shared.directions import (
    checked_rank,
    from_directions,
    pure_or_zcdp,
    reserve_count,
    share_of_rest,
    weights_of,
)

VALUES_SHARE = {"basis": Fraction(1, 3), "spectrum": Fraction(1, 2)}  # the paper's half; a third measured best on four sets
ALLOCATIONS, TIMINGS = ("adaptive", "uniform"), ("batches", "fixed")


def ask(
    curator: Face,
    budget: Budget,
    *,
    allocation: str = "adaptive",
    values: str = "basis",
    rank: int = 0,
    beta: float = 0.05,
    constants: str = "tight",
    timing: str = "batches",
) -> None:
    """Release the second moment, or its best part of a given rank, as private directions and what lies along them.

    Parameters
    ----------
    allocation : {"adaptive", "uniform"}
        "adaptive" gives larger directions more of the budget, by what is already known of them; "uniform" is the papers' IT-U.
    values : {"basis", "spectrum"}
        "basis" asks how much lies along each drawn direction; "spectrum" asks for the eigenvalues first, as the papers do.
    rank : int
        How many directions; 0 means all.
    beta : float
        With this probability the slack of the adaptive rule is too small; it concerns utility only.
    constants : {"tight", "paper"}
        "paper" is the papers' algorithm: eigenvalues first, whatever ``values`` says, and used as they were answered; d draws
        that are paid for, with exponent ε/4.
    timing : {"batches", "fixed"}
        "fixed" evaluates the same number of proposals for each direction, whatever is accepted, at a price in time.

    Privacy
    -------
    ``budget`` (PureDP, ApproxDP with δ unused, or ZCDP): the directions, the values, and under add-remove one count. The
    directions are drawn in float64: docs/guarantee.md.

    Utility
    -------
    Theorem 2 and Corollary 1 of the paper: `dpcov.bounds`.
    """
    rule = "between 0 and 1, both excluded"
    beta = check_real("beta", beta, rule, math.ulp(0.0), 1 - 2.0**-53, "0.05 is the default")
    check_choice("allocation", allocation, ALLOCATIONS, "leave it out for 'adaptive'")
    check_choice("values", values, VALUES_SHARE, "leave it out for 'basis'")
    check_choice("timing", timing, TIMINGS, "leave it out for 'batches'")
    paper = wants_paper(constants)
    apart = paper or values == "spectrum"
    count, share = checked_rank(rank, curator.d), VALUES_SHARE["spectrum" if apart else "basis"]
    moment = curator.second_moment()
    along, spectrum = Values(moment, count), Spectrum(moment, curator.d)
    whole = reserve_count(curator, pure_or_zcdp(budget))
    value_budget, direction_budget = whole.share(share), whole.share(1 - share)
    slack = _slack(curator, value_budget, beta)
    eigenvalues: NDArray[np.float64] | None = None
    if apart:
        told = curator.noisy(spectrum, value_budget, noise=noise_for(whole)).values
        eigenvalues = np.clip(told if paper else monotone(told, increasing=False), 0.0, curator.n)
        question, paid = Directions(moment, count), None
    else:
        question, paid = Directions(moment, count, along), value_budget
    peel = curator.peel(question, direction_budget, paid, noise=noise_for(whole), fixed=timing == "fixed")
    free = 0 if paper else 1  # with all but one drawn, the last direction is determined; the papers pay for it all the same
    costly = min(count, max(curator.d - free, 1))
    drawn: list[float] = []
    for i in range(count):
        expected = _expected(drawn, curator.n, curator.d - i) if eigenvalues is None else eigenvalues[i:]
        weights = np.ones(costly) if allocation == "uniform" else weights_of(expected, slack, whole)
        part = share_of_rest(weights[: max(costly - i, 1)], peel.left)
        peel.direction(part, at_most=_paper_exponent(direction_budget, part) if paper else None)
        drawn.append(peel.value() if eigenvalues is None else peel.skip())
    peel.close()


def _slack(curator: Face, budget: Budget, beta: float) -> float:
    """Return τ of Corollary 1: noisy values are within it of the true ones with probability 1 − beta."""
    sensitivity = 2 if curator.neighbors == REPLACE else 1
    log = math.log(2 * curator.d) - math.log(beta)
    if isinstance(budget, PureDP):
        return float(sensitivity / budget.epsilon) * log
    assert isinstance(budget, ZCDP)
    return math.sqrt(sensitivity / (2 * float(budget.rho)) * 2 * log)


def _expected(drawn: list[float], n: int, left: int) -> NDArray[np.float64]:
    """Guess what lies along the directions to come: the next like the last, the others an even share of the rest.

    Nothing is known before the first: half of all. The rest is at most n minus what was found.
    """
    found = np.clip(drawn, 0.0, n)
    last = found[-1] if drawn else n / 2
    expected = np.full(left, min(max(n - found.sum(), 0.0), left * last) / left)
    expected[0] = last
    return expected


def _paper_exponent(budget: PureDP | ZCDP, share: Fraction) -> Fraction:
    """Return ε/4 of the papers, for the ε of this share; under zCDP ε²/8 = ρ."""
    if isinstance(budget, PureDP):
        return budget.epsilon * share / 4
    return Fraction(math.sqrt(8 * float(budget.rho * share)) / 4)


EIGENVECTORS = Mechanism(
    target="covariance",
    name="eigenvectors",
    serves=(PureDP, ZCDP, ApproxDP),
    ask=ask,
    estimate=from_directions,
    postprocess=("clip", "none"),
    centring="homogeneous",
)
