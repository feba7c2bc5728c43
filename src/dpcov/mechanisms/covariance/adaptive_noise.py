"""How much error each noise would cause at a radius: what `adaptive` weighs clipping against, from public numbers alone."""

from __future__ import annotations

import math
from dataclasses import dataclass

from dpcov.bounds import eta, nu, omega
from dpcov.kernel.budget import ZCDP, PureDP
from dpcov.kernel.public import Facts
from dpcov.kernel.questions.calibrated import calibrated, noise_for
from dpcov.kernel.questions.spectral import Values
from dpcov.mechanisms.covariance.separate import MATRIX_SHARE, matrix_noise
from dpcov.mechanisms.shared.additive import papers_triangle, plan_additive
from dpcov.mechanisms.shared.moment import raw_error
from dpcov.spectra import edge

EASED, EASED_PURE = 6.0, 14.0
"""For ``constants="program"``. Theorem 1 is far from tight: the authors' program divides its first term by 6, and by 14 under
pure DP; else their figures would show `gaussian` up to a thousand columns."""


@dataclass(frozen=True)
class Noises:
    """Norms of the noise in n times the second moment of rows of norm 1.

    ``whole``: Frobenius, of a noisy matrix; ``operator``: of the noisy matrix of `separate`; ``values``: of what it asks apart.
    ``eased``: what the first term of Theorem 1 is divided by.
    """

    whole: float
    operator: float
    values: float
    eased: float = 1.0

    def additive(self, tau: float) -> float:
        """Return the error of a noisy matrix of rows clipped at τ: it grows with τ²."""
        return tau**2 * self.whole

    def separate(self, trace: float, tau: float) -> float:
        """Return a bound for `separate` on rows clipped at τ (Theorem 1): 2√(trace·τ²‖N‖) + τ²‖values‖.

        Eigenvectors of S + N instead of S cost 2√(tr S·‖N‖) in Frobenius norm; the noise shrinks with τ, the trace need not.
        """
        return 2 * tau * math.sqrt(trace * self.operator) / self.eased + tau**2 * self.values


def noises_of(curator: Facts, budget: PureDP | ZCDP, beta: float, constants: str) -> Noises:
    """Return the norms at this budget: the paper's bounds that hold with probability 1 − beta, or root mean squares."""
    d, paper = curator.d, constants != "tight"
    if paper and isinstance(budget, ZCDP):
        unit = 1 / math.sqrt(budget.rho)
        half = unit * math.sqrt(2)  # at half of the budget
        return Noises(
            unit * omega(d, beta), half * nu(d, beta / 2), half * eta(d, beta / 2), EASED if constants == "program" else 1.0
        )
    if constants == "program" and isinstance(budget, PureDP):
        return _of_the_program(d, float(budget.epsilon), beta)
    moment = curator.second_moment()
    asked = plan_additive(matrix_noise(curator, budget, paper)[0], budget, moment, curator.neighbors)
    law = calibrated(
        moment,
        asked.moment_budget,
        curator.neighbors,
        asked.noise,
        papers_triangle(curator, asked) if paper else None,
    )
    half_budget = budget.share(MATRIX_SHARE)
    noise, at_least = matrix_noise(curator, half_budget, paper)
    spread = calibrated(moment, half_budget, curator.neighbors, noise, at_least).spread().scaled(2.0**-moment.unit_bits)
    along = Values(moment, d, rows=curator.most_rows)
    values = calibrated(along, budget.share(1 - MATRIX_SHARE), curator.neighbors, noise_for(budget))
    deviation = math.sqrt(values.spread().diagonal_variance) * 2.0**-along.unit_bits
    whole = raw_error(law, moment.unit_bits, moment.d, moment.grid.center)
    return Noises(whole, edge(d, spread), math.sqrt(d) * deviation)


def _of_the_program(d: int, epsilon: float, beta: float) -> Noises:
    """Return the tail bounds that the authors' program has for Laplace noise; as it stands it forgets 1/ε in the first."""
    tail, scale, largest = math.log(4 / beta), math.sqrt(2) * d / epsilon, _orlicz(d * (d + 1) / 2)
    theta = min((math.log(d) / d) ** 0.3, 0.5)
    operator = (1 + theta) * (2 * math.sqrt(d) + 6 * math.log(d) / math.sqrt(math.log1p(theta))) if d > 1 else 2.0
    operator += math.sqrt(2) * tail * largest
    values = 1.5 * math.sqrt(d) + tail * _orlicz(d)
    whole = 1.5 * d + math.log(2 / beta) * largest
    return Noises(scale * whole, 2 * scale * operator, 4 / epsilon * values, EASED_PURE)


def _orlicz(count: float) -> float:
    """Return 2·max((√2 + 1)/(√2 − 1), 2·log₂ count): for the largest of so many Laplace numbers (Sambale 2020)."""
    return 2 * max((math.sqrt(2) + 1) / (math.sqrt(2) - 1), 2 * math.log2(count))
