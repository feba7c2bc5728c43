r"""Second moment with isometric Gaussian noise.

Under the Frobenius inner product the diagonal entries and √2 times the upper entries are orthonormal coordinates, and
one row moves the matrix by at most Δ in that norm. So noise of variance σ² on the diagonal and σ²/2 above it is enough.

Paper    Dwork, Talwar, Thakurta, Zhang (STOC 2014); GaussCov of Dong, Liang, Yi (NeurIPS 2022).
Proof    docs/mechanisms/gaussian.md
Differs  half the variance above the diagonal (``constants="paper"`` restores the paper's i.i.d. triangle); discrete
         noise on integers; analytic calibration under (ε, δ); also for add-remove neighbours.
"""

from __future__ import annotations

from fractions import Fraction

from dpcov.curator import Curator
from dpcov.mechanisms.additive import Question, release_additive, wants_paper
from dpcov.privacy.budget import Budget
from dpcov.privacy.noise import DiscreteGaussian
from dpcov.release import Release
from dpcov.statistics.calibrated import GAUSSIAN
from dpcov.statistics.moments import REPLACE


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
    paper = wants_paper(constants)
    moment = curator.second_moment()

    def papers_noise(asked: Question) -> Fraction:
        law = asked.law(moment, curator.neighbors)
        assert isinstance(law, DiscreteGaussian)
        # σ² for the paper's Δ² = 2 (also at d = 1, where 1 would do), or 1 for add-remove, on every entry
        paper_sensitivity = (2 if curator.neighbors == REPLACE else 1) * Fraction(curator.grid.one) ** 4
        variance: Fraction = law.variances[0][1] * paper_sensitivity / moment.sensitivity_squared(curator.neighbors)
        return variance / Fraction(4**moment.unit_bits)

    at_least = papers_noise if paper else None
    return release_additive(
        curator, GAUSSIAN, budget, postprocess=postprocess, clip=clip, at_least=at_least, constants=constants
    )
