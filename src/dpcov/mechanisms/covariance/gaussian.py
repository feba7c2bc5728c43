r"""Second moment with isometric Gaussian noise.

Under the Frobenius inner product the diagonal entries and √2 times the upper entries are orthonormal coordinates, and
one row moves the matrix by at most Δ in that norm. So noise of variance σ² on the diagonal and σ²/2 above it is enough.

Paper    Dwork, Talwar, Thakurta, Zhang (STOC 2014); GaussCov of Dong, Liang, Yi (NeurIPS 2022).
Proof    docs/mechanisms/gaussian.md
Differs  half the variance above the diagonal (``constants="paper"`` restores the paper's i.i.d. triangle); discrete
         noise on integers; analytic calibration under (ε, δ); also for add-remove neighbours.
"""

from __future__ import annotations

from functools import partial

from dpcov.kernel.budget import Budget
from dpcov.kernel.curator import Curator
from dpcov.kernel.questions.calibrated import GAUSSIAN
from dpcov.mechanisms.shared.additive import papers_triangle, release_additive, wants_paper
from dpcov.release.record import Release


def gaussian(
    curator: Curator,
    budget: Budget,
    *,
    postprocess: str | None = None,
    clip: str | float = "none",
    constants: str = "tight",
) -> Release:
    """Release the second moment with Gaussian noise.

    Parameters
    ----------
    clip : {"none", "private"} or float
        Where rows are clipped before the noise: at row_norm, at a radius found for a part of the budget, or at this one.
    constants : {"tight", "paper"}
        "paper" gives every entry of the triangle the variance of the diagonal, as in Dong et al.

    Privacy
    -------
    ``budget`` (ZCDP or ApproxDP): one second moment, and under add-remove, unless rows are
    centred, one count; a radius where it is private.

    Utility
    -------
    The raw error of n times the second moment has r.m.s. Frobenius norm √(d(d+1)/2)·σ, σ² = 1/ρ in units of row_norm⁴
    (add-remove, or d = 1: 1/(2ρ)); "paper": d·σ.
    """
    at_least = partial(papers_triangle, curator) if wants_paper(constants) else None
    return release_additive(
        curator, GAUSSIAN, budget, postprocess=postprocess, clip=clip, at_least=at_least, constants=constants
    )
