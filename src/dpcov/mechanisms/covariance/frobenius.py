r"""Second moment with noise of density ∝ exp(−ε‖N‖_F/Δ_F): the exponential mechanism with the Frobenius distance.

The density changes by at most the factor exp(ε) when the matrix moves by Δ_F, which is all that one row can do. The error
grows like d²/ε; under replace it is the smallest for d ≤ 3.

Paper    baseline of Amin, Dick, Kulesza, Muñoz Medina (2018).
Proof    docs/mechanisms/frobenius.md
Differs  the density is that of a distance to the truth, so its normalising constant is the same for all data and the
         exponential mechanism's usual factor 1/2 is not needed (``constants="paper"`` keeps it).
"""

from __future__ import annotations

from fractions import Fraction

from dpcov.kernel.budget import ApproxDP, Budget, PureDP
from dpcov.kernel.face import Face
from dpcov.kernel.questions.calibrated import FROBENIUS as NOISE
from dpcov.kernel.questions.moments import REPLACE
from dpcov.linalg import sqrt_up
from dpcov.mechanisms.base import Mechanism
from dpcov.mechanisms.shared.additive import AdditivePlan, ask_additive, usual_finish, wants_paper
from dpcov.mechanisms.shared.moment import from_noisy_moment


def ask(curator: Face, budget: Budget, *, clip: str | float = "none", constants: str = "tight") -> None:
    """Release the second moment with noise that is uniform in direction.

    Parameters
    ----------
    clip : {"none", "private"} or float
        Where rows are clipped before the noise: at row_norm, at a radius found for a part of the budget, or at this one.
    constants : {"tight", "paper"}
        "paper" uses the exponential mechanism's general exponent ε/(2Δ_F).

    Privacy
    -------
    ``budget`` (PureDP, or ApproxDP with δ unused): one second moment, and under add-remove, unless rows are
    centred, one count; a radius where it is private. The noise is rounded: docs/guarantee.md.

    Utility
    -------
    With D = d(d+1)/2 the raw error of n times the second moment has r.m.s. Frobenius norm √(2D(D+1))/ε, in units of row_norm²
    (add-remove: √(D(D+1))/ε).
    """

    def papers_noise(asked: AdditivePlan) -> Fraction:
        assert isinstance(asked.moment_budget, PureDP)
        sensitivity = sqrt_up(Fraction(2)) if curator.neighbors == REPLACE else Fraction(1)
        return 2 * sensitivity / asked.moment_budget.epsilon

    at_least = papers_noise if wants_paper(constants) else None
    ask_additive(curator, NOISE, budget, clip=clip, at_least=at_least)


FROBENIUS = Mechanism(
    target="covariance",
    name="frobenius",
    serves=(PureDP, ApproxDP),
    ask=ask,
    estimate=from_noisy_moment,
    postprocess=("shrink", "project", "clip", "none"),
    finish=usual_finish,
    centring="homogeneous",
)
