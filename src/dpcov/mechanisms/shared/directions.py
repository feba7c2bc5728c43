"""What the mechanisms share that draw directions: the budgets they take, n, and shares of what is left."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from dpcov.errors import ParameterError, shown
from dpcov.kernel.budget import ZCDP, ApproxDP, Budget, PureDP
from dpcov.kernel.face import Face
from dpcov.kernel.noise.drawn import Bingham
from dpcov.kernel.noise.laws import Spread
from dpcov.kernel.questions.derived import VALUE_BITS
from dpcov.kernel.questions.directions import Directions, directions_of
from dpcov.kernel.questions.spectral import Spectrum
from dpcov.kernel.rows.centring import with_public_corner
from dpcov.linalg import assembled, monotone, triangle_size
from dpcov.mechanisms.base import RAW
from dpcov.mechanisms.shared.moment import moments_of
from dpcov.mechanisms.shared.shares import STEPS, check_room, count_share
from dpcov.release.estimate import Along, Estimate, NoisyDirections, check_assembled
from dpcov.release.record import Option, Transcript
from dpcov.spectra import POSTPROCESS

Floats = NDArray[np.float64]


def pure_or_zcdp(budget: Budget) -> PureDP | ZCDP:
    """Return the budget as what directions are drawn at; (ε, δ) is served with δ unused."""
    return PureDP(budget.epsilon) if isinstance(budget, ApproxDP) else budget


def from_directions(transcript: Transcript, postprocess: str, *, constants: Option = "tight", **_options: Option) -> Estimate:
    """Put values on the directions, Σ valueᵢ·uᵢuᵢᵀ: those that were asked along them, or eigenvalues that were asked before."""
    drawn = transcript.take(Directions)
    question, concentrations = drawn.question, drawn.law
    assert isinstance(question, Directions)
    assert isinstance(concentrations, Bingham)
    if question.values is None:
        spectrum = transcript.take(Spectrum)
        told = spectrum.values if constants == "paper" else monotone(spectrum.values, increasing=False)
        law, values = spectrum.law, told[: question.count]
    else:
        law, values = drawn.laws[1], np.ldexp(question.told(drawn.integers).astype(np.float64), -VALUE_BITS)
    if question.orthogonal and postprocess != RAW:
        # A negative value of a subtracted direction corrects what was subtracted before: only the whole is clipped.
        values = np.clip(values, 0.0, transcript.n)
    if len(drawn.integers) < triangle_size(question.d):
        check_assembled(question.d)
    rows = directions_of(drawn)
    rows = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    whole = assembled(rows, values) / transcript.n
    whole = with_public_corner(whole) if transcript.encoding.constant else whole
    lifted = POSTPROCESS[postprocess](whole, 1.0, Spread(0.0, 0.0))
    radius = transcript.encoding.row_norm
    mean, covariance = moments_of(transcript, lifted, radius, postprocess)
    deviation = math.sqrt(law.spread().diagonal_variance) * 2.0**-VALUE_BITS / transcript.n
    drawn_with = tuple(float(concentration) for _, concentration in concentrations.concentrations)
    return Estimate(
        mean=mean,
        covariance=covariance,
        radius=radius,
        noise=NoisyDirections(drawn_with, deviation**2, lifted),
        seen=Along(law, deviation),
    )


def checked_rank(rank: object, d: int) -> int:
    """Return how many directions are wanted: 0 means all."""
    if isinstance(rank, bool) or not isinstance(rank, int) or not 0 <= rank <= d:
        raise ParameterError(
            f"rank must be an integer from 1 to {d}, or 0 for all, got {shown(rank)}. Hint: leave it out for all."
        )
    return rank or d


def reserve_count(curator: Face, budget: PureDP | ZCDP) -> PureDP | ZCDP:
    """Read the second moment, pay for n where it is private, and return what is left; shares may depend on answers."""
    share = count_share(budget, curator.d)
    left = budget.share(1 - share) if curator.hides_n else budget
    check_room(budget)
    curator.prefetch(curator.second_moment())
    if curator.hides_n:
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
