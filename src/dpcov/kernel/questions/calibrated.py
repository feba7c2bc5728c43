"""From a statistic and a budget to the law of its noise: where sensitivity meets calibration.

Everything here is a function of public numbers. A paper's looser constants enter as ``at_least`` and can only add noise.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

from dpcov.errors import ParameterError
from dpcov.kernel.budget import ZCDP, ApproxDP, Budget, PureDP
from dpcov.kernel.calibrate import analytic_gaussian_sigma, concentrated_laplace_scale, gaussian_variance, laplace_scale
from dpcov.kernel.noise.discrete import MIN_SCALE, MIN_VARIANCE
from dpcov.kernel.noise.laws import DiscreteGaussian, DiscreteLaplace, NoiseLaw, RoundedLaw
from dpcov.kernel.noise.matrix import FrobeniusNoise, WishartDifference, calibrate_frobenius, calibrate_wishart, covers
from dpcov.kernel.questions.groups import GroupedMoment
from dpcov.kernel.questions.measure import Measure
from dpcov.kernel.questions.moments import SecondMoment
from dpcov.linalg import sqrt_up

GAUSSIAN, LAPLACE, WISHART, FROBENIUS = "gaussian", "laplace", "wishart", "frobenius"

LAWS: dict[str, type[NoiseLaw]] = {
    GAUSSIAN: DiscreteGaussian,
    LAPLACE: DiscreteLaplace,
    WISHART: WishartDifference,
    FROBENIUS: FrobeniusNoise,
}
"""The law of each kind of noise; a file knows the law and finds the kind."""

KIND_OF_NOISE = {kind.law: noise for noise, kind in LAWS.items()}

OTHER_DIGITS = Fraction(10**12 - 1, 10**12)
"""Of a variance in (ε, δ), which is found with logarithms: another machine's may end in other digits.

σ has 10⁻¹¹ more than is needed (`calibrate.SIGMA_SLACK`), a variance 2·10⁻¹¹: a twentieth of that may be missing.
"""

DISCRETE_GAP = 0.021
"""Total variation between a discrete and a rounded continuous Gaussian is at most this over σ², σ ≥ 1000 grid steps."""


def calibrated(statistic: Measure, budget: Budget, neighbors: str, noise: str, at_least: Fraction | None = None) -> NoiseLaw:
    """Return the law that makes the statistic private at this price.

    ``at_least`` is a least variance (gaussian) or a least scale (the others), in the units of rows of norm 1.
    """
    if statistic.sensitivity_squared(neighbors) == 0:
        raise ParameterError(
            f"statistic must be private, got {statistic.name}, which is public under replace. Hint: read curator.n."
        )
    floor = at_least or Fraction(0)
    step = 2**statistic.unit_bits
    if noise == GAUSSIAN and isinstance(budget, ZCDP | ApproxDP):
        least = max(floor * step**2, MIN_VARIANCE)
        sensitivity_squared = Fraction(statistic.sensitivity_squared(neighbors))
        if isinstance(budget, ZCDP):
            variance = gaussian_variance(sensitivity_squared, budget)
        else:
            if not is_analytic(statistic, budget, neighbors):
                raise ParameterError(
                    f"delta must exceed a hundred times the gap between discrete and continuous noise, got {budget!r}. "
                    f"Hint: convert the budget with to_zcdp()."
                )
            variance = sensitivity_squared * _analytic_multiplier(statistic, sensitivity_squared, budget) ** 2
        return DiscreteGaussian(tuple((part.name, max(variance / part.weight, least)) for part in statistic.parts))
    if noise == LAPLACE and isinstance(budget, PureDP | ZCDP):
        if isinstance(budget, PureDP):
            scale = laplace_scale(statistic.sensitivity_l1(neighbors), budget)
        else:  # entries that the squared distance counts more than once move by less than it says
            scale = concentrated_laplace_scale(Fraction(statistic.sensitivity_squared(neighbors)), budget)
        return DiscreteLaplace(max(scale, floor * step, MIN_SCALE))
    if noise == WISHART and isinstance(budget, PureDP) and isinstance(statistic, SecondMoment):
        return calibrate_wishart(statistic.d, statistic.sensitivity_nuclear(neighbors), budget.epsilon, floor * step)
    if noise == WISHART and isinstance(budget, PureDP) and isinstance(statistic, GroupedMoment):
        blocks, moved = statistic.count, statistic.moved(neighbors)
        return calibrate_wishart(
            statistic.d, statistic.sensitivity_nuclear(neighbors), budget.epsilon, floor * step, blocks, moved
        )
    if noise == FROBENIUS and isinstance(budget, PureDP) and isinstance(statistic, SecondMoment):
        distance = _rounded_sensitivity(FrobeniusNoise, statistic, neighbors)
        return calibrate_frobenius(statistic.d, distance, budget.epsilon, floor * step)
    raise ParameterError(
        f"noise must serve the statistic and the budget, got {noise!r} for a {statistic.name} and {budget!r}. "
        f"Hint: gaussian serves ZCDP and ApproxDP; laplace serves PureDP and ZCDP; wishart and frobenius serve PureDP."
    )


def is_enough(law: NoiseLaw, statistic: Measure, budget: Budget, neighbors: str) -> bool:
    """Whether a law has as much noise as makes the statistic private at this price: exactly, where the price is exact."""
    least = calibrated(statistic, budget, neighbors, KIND_OF_NOISE[law.law])
    if isinstance(law, WishartDifference) and isinstance(statistic, GroupedMoment):
        assert isinstance(budget, PureDP)
        nuclear = Fraction(statistic.sensitivity_nuclear(neighbors))
        alike = (law.d, law.blocks) == (statistic.d, statistic.count)
        return alike and covers(law, nuclear, budget.epsilon, statistic.moved(neighbors))
    if isinstance(law, WishartDifference | FrobeniusNoise):
        assert isinstance(statistic, SecondMoment)
        assert isinstance(budget, PureDP)
        distance = _rounded_sensitivity(type(law), statistic, neighbors)
        alone = not isinstance(law, WishartDifference) or law.blocks == 1
        return alone and law.d == statistic.d and covers(law, distance, budget.epsilon)
    if isinstance(budget, ApproxDP) and isinstance(least, DiscreteGaussian):
        least = DiscreteGaussian(tuple((part, max(size * OTHER_DIGITS, MIN_VARIANCE)) for part, size in least.variances))
    return law.is_at_least(least)


def _rounded_sensitivity(kind: type[NoiseLaw], statistic: SecondMoment, neighbors: str) -> Fraction:
    """Return how far a second moment moves in the norm of a rounded law."""
    if kind is WishartDifference:
        return Fraction(statistic.sensitivity_nuclear(neighbors))
    return sqrt_up(Fraction(statistic.sensitivity_squared(neighbors)))


def noise_for(budget: Budget) -> str:
    """Return the exact noise of a notion."""
    return LAPLACE if isinstance(budget, PureDP) else GAUSSIAN


def check_tail(laws: Sequence[NoiseLaw], promise: ApproxDP) -> None:
    """Refuse rounded noise, of all answers together, whose tails do not fit into δ: they count (1 + e^ε) times.

    docs/guarantee.md, "Rounded noise".
    """
    tail = sum((law.tail for law in laws if isinstance(law, RoundedLaw)), start=Fraction(0))
    if tail and (promise.epsilon > 700 or (1 + math.exp(promise.epsilon)) * tail > promise.delta):
        raise ParameterError(
            f"delta must exceed the tail of rounded noise, got {promise!r}. Hint: use mechanism='laplace', which is exact."
        )


def is_analytic(statistic: Measure, budget: ApproxDP, neighbors: str) -> bool:
    """Whether discrete Gaussian noise is close enough to continuous for analytic calibration; else go through `to_zcdp`."""
    sensitivity_squared = Fraction(statistic.sensitivity_squared(neighbors))
    multiplier = analytic_gaussian_sigma(1.0, budget)
    smallest = multiplier * math.sqrt(float(sensitivity_squared) / max(part.weight for part in statistic.parts))
    return _gap(statistic, sensitivity_squared, budget, multiplier) <= float(budget.delta) / 100 and smallest >= 1000


def _gap(statistic: Measure, sensitivity_squared: Fraction, budget: ApproxDP, multiplier: float) -> float:
    """Bound the δ between discrete and continuous noise: (1 + e^ε)·0.021·Σ 1/σᵢ², docs/mechanisms/gaussian.md."""
    inverse_variances = sum(part.weight * part.size for part in statistic.parts) / (multiplier**2 * float(sensitivity_squared))
    return (1 + math.exp(min(float(budget.epsilon), 700.0))) * DISCRETE_GAP * inverse_variances


def _analytic_multiplier(statistic: Measure, sensitivity_squared: Fraction, budget: ApproxDP) -> Fraction:
    """Return σ/Δ for discrete Gaussians under (ε, δ): docs/mechanisms/gaussian.md, "Under (ε, δ)".

    Balle and Wang's σ is for the continuous Gaussian; δ is lowered by what the discrete one can differ from it.
    """
    gap = _gap(statistic, sensitivity_squared, budget, analytic_gaussian_sigma(1.0, budget))
    lowered = ApproxDP(budget.epsilon, budget.delta - Fraction(gap * 1.01))
    return Fraction(analytic_gaussian_sigma(1.0, lowered))
