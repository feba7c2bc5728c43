r"""Second moment with independent Laplace noise on the triangle.

One row moves the d(d+1)/2 entries by at most B(d) in total, so discrete Laplace noise of scale B(d)/ε is ε-DP. Its r.m.s. error
grows like d²/ε: `wishart` is better from d = 2 on, but this noise is exact where that one is rounded.

Paper    baseline L of Amin, Dick, Kulesza, Muñoz Medina, Vassilvitskii (2018, 2019).
Proof    docs/mechanisms/laplace.md
Differs  B(d) = 2 + √((d−1)(d−2)/2) against the papers' 2d (``constants="paper"``); discrete noise on integers.
"""

from __future__ import annotations

from fractions import Fraction

from dpcov.kernel.budget import ApproxDP, Budget, PureDP
from dpcov.kernel.face import Face
from dpcov.kernel.questions.calibrated import LAPLACE as NOISE
from dpcov.mechanisms.base import Mechanism
from dpcov.mechanisms.shared.additive import AdditivePlan, ask_additive, usual_finish, wants_paper
from dpcov.mechanisms.shared.moment import from_noisy_moment


def ask(curator: Face, budget: Budget, *, clip: str | float = "none", constants: str = "tight") -> None:
    """Release the second moment with Laplace noise.

    Parameters
    ----------
    clip : {"none", "private"} or float
        Where rows are clipped before the noise: at row_norm, at a radius found for a part of the budget, or at this one.
    constants : {"tight", "paper"}
        "paper" uses the papers' sensitivity 2d.

    Privacy
    -------
    ``budget`` (PureDP, or ApproxDP with δ unused): one second moment, and under add-remove, unless rows are
    centred, one count; a radius where it is private.

    Utility
    -------
    The raw error of n times the second moment has r.m.s. Frobenius norm √2·d·B(d)/ε, in units of row_norm².
    """

    def papers_noise(asked: AdditivePlan) -> Fraction:
        assert isinstance(asked.moment_budget, PureDP)
        return 2 * curator.d / asked.moment_budget.epsilon

    at_least = papers_noise if wants_paper(constants) else None
    ask_additive(curator, NOISE, budget, clip=clip, at_least=at_least)


LAPLACE = Mechanism(
    target="covariance",
    name="laplace",
    serves=(PureDP, ApproxDP),
    ask=ask,
    estimate=from_noisy_moment,
    postprocess=("shrink", "project", "clip", "none"),
    finish=usual_finish,
    centring="homogeneous",
    groups=True,
)
