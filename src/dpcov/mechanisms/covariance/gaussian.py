r"""Second moment with isometric Gaussian noise.

Under the Frobenius inner product the diagonal entries and √2 times the upper entries are orthonormal coordinates, and
one row moves the matrix by at most Δ in that norm. So noise of variance σ² on the diagonal and σ²/2 above it is enough.

Paper    Dwork, Talwar, Thakurta, Zhang (STOC 2014); GaussCov of Dong, Liang, Yi (NeurIPS 2022).
Proof    docs/mechanisms/gaussian.md
Differs  half the variance above the diagonal (``constants="paper"`` restores the i.i.d. triangle of Dong et al., whose text
         clips no eigenvalues; "program" clips them, too); discrete noise on integers; analytic calibration under (ε, δ); also
         for add-remove neighbours.
"""

from __future__ import annotations

from functools import partial

from dpcov.kernel.budget import ZCDP, ApproxDP, Budget
from dpcov.kernel.face import Face
from dpcov.kernel.questions.calibrated import GAUSSIAN as NOISE
from dpcov.mechanisms.base import Mechanism
from dpcov.mechanisms.shared.additive import WITH_PROGRAM, ask_additive, papers_triangle, printed_finish, wants_paper
from dpcov.mechanisms.shared.moment import from_noisy_moment
from dpcov.release.record import Transcript


def ask(curator: Face, budget: Budget, *, clip: str | float = "none", constants: str = "tight") -> None:
    """Release the second moment with Gaussian noise.

    Parameters
    ----------
    clip : {"none", "private"} or float
        Where rows are clipped before the noise: at row_norm, at a radius found for a part of the budget, or at this one.
    constants : {"tight", "paper", "program"}
        "paper" gives every entry of the triangle the variance of the diagonal, as in Dong et al.; their "program" clips
        eigenvalues afterwards.

    Privacy
    -------
    ``budget`` (ZCDP or ApproxDP): one second moment, and under add-remove, unless rows are
    centred, one count; a radius where it is private.

    Utility
    -------
    The raw error of n times the second moment has r.m.s. Frobenius norm √(d(d+1)/2)·σ, σ² = 1/ρ in units of row_norm⁴
    (add-remove, or d = 1: 1/(2ρ)); "paper": d·σ.
    """
    at_least = partial(papers_triangle, curator) if wants_paper(constants, WITH_PROGRAM) else None
    ask_additive(curator, NOISE, budget, clip=clip, at_least=at_least)


def usual_finish(transcript: Transcript) -> str:
    """Return how an estimate is finished: shrunk, but for the paper's."""
    return printed_finish(transcript, "shrink")


GAUSSIAN = Mechanism(
    target="covariance",
    name="gaussian",
    serves=(ZCDP, ApproxDP),
    ask=ask,
    estimate=from_noisy_moment,
    postprocess=("shrink", "project", "clip", "none"),
    finish=usual_finish,
    centring="homogeneous",
    groups=True,
)
