r"""Second moment plus the difference of two Wishart matrices: pure DP with error d^{3/2}.

With d+1 degrees of freedom the Wishart density on the cone of positive semidefinite matrices is ∝ exp(−c·tr A): the determinant
drops out. The difference of two such matrices has a log-density that is c-Lipschitz in the nuclear norm, and one row moves the
second moment by at most 2 in that norm. For d = 1 it is Laplace noise, written as exponential minus exponential.

Proof    docs/mechanisms/wishart.md
"""

from __future__ import annotations

from dpcov.kernel.budget import ApproxDP, Budget, PureDP
from dpcov.kernel.face import Face
from dpcov.kernel.questions.calibrated import WISHART as NOISE
from dpcov.mechanisms.base import Mechanism
from dpcov.mechanisms.shared.additive import ask_additive
from dpcov.mechanisms.shared.moment import from_noisy_moment


def ask(curator: Face, budget: Budget, *, clip: str | float = "none") -> None:
    """Release the second moment with a difference of two Wishart matrices.

    Parameters
    ----------
    clip : {"none", "private"} or float
        Where rows are clipped before the noise: at row_norm, at a radius found for a part of the budget, or at this one.

    Privacy
    -------
    ``budget`` (PureDP, or ApproxDP with δ unused): one second moment, and under add-remove, unless rows are
    centred, one count; a radius where it is private. The noise is rounded: docs/guarantee.md.

    Utility
    -------
    The raw error of n times the second moment has r.m.s. Frobenius norm (d+1)·√(2d)/ε, in units of row_norm²
    (add-remove: half).
    """
    ask_additive(curator, NOISE, budget, clip=clip)


WISHART = Mechanism(
    target="covariance",
    name="wishart",
    serves=(PureDP, ApproxDP),
    ask=ask,
    estimate=from_noisy_moment,
    postprocess=("shrink", "project", "clip", "none"),
    centring="homogeneous",
    groups=True,
)
