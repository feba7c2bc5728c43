r"""Second moment with independent Laplace noise on the triangle.

One row moves the d(d+1)/2 entries by at most B(d) in total, so discrete Laplace noise of scale B(d)/ε is ε-DP. Its r.m.s. error
grows like d²/ε: `wishart` is better from d = 2 on, but this noise is exact where that one is rounded.

Paper    baseline L of Amin, Dick, Kulesza, Muñoz Medina, Vassilvitskii (2018, 2019).
Proof    docs/mechanisms/laplace.md
Differs  B(d) = 2 + √((d−1)(d−2)/2) against the papers' 2d (``constants="paper"``); discrete noise on integers.
"""

from __future__ import annotations

from fractions import Fraction

from dpcov.kernel.budget import Budget, PureDP
from dpcov.kernel.curator import Curator
from dpcov.kernel.questions.calibrated import LAPLACE
from dpcov.mechanisms.shared.additive import Question, release_additive, wants_paper
from dpcov.release.record import Release


def laplace(
    curator: Curator,
    budget: Budget,
    *,
    postprocess: str | None = None,
    clip: str | float = "none",
    constants: str = "tight",
) -> Release:
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

    def papers_noise(asked: Question) -> Fraction:
        assert isinstance(asked.moment_budget, PureDP)
        return 2 * curator.d / asked.moment_budget.epsilon

    at_least = papers_noise if wants_paper(constants) else None
    return release_additive(
        curator, LAPLACE, budget, postprocess=postprocess, clip=clip, at_least=at_least, constants=constants
    )
