r"""Second moment from two answers: directions from a noisy matrix, and what lies along them asked apart.

The eigenvectors of a noisy matrix all come from one answer, where iterative methods pay for each. What lies along them is d
numbers instead of d(d+1)/2, with far less noise. It pays in high dimension: `gaussian` is better for few columns.

Paper    Dong, Liang, Yi (NeurIPS 2022), Algorithm 1, SeparateCov.
Proof    docs/mechanisms/separate.md
Differs  asks the diagonal of VᵀSV, the best values for these eigenvectors, not the eigenvalues of S; isometric Gaussian noise,
         or a difference of Wisharts under pure DP (``constants="paper"``: i.i.d. triangle, or Laplace, and eigenvalues, which
         nothing clips; "program": clipped).

==============  ==========================================================================
code            mathematics
==============  ==========================================================================
``matrix``      :math:`\tilde\Sigma_{Gau}`, at half of the budget
``basis``       :math:`\tilde P`, its eigenvectors, by `eigh`: an SVD would lose signs
``values``      :math:`\tilde\Lambda`, diag(P̃ᵀSP̃), or the eigenvalues of S
==============  ==========================================================================
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

import numpy as np

from dpcov.errors import ReleaseError
from dpcov.kernel.budget import ZCDP, ApproxDP, Budget, PureDP
from dpcov.kernel.face import Face
from dpcov.kernel.public import Facts
from dpcov.kernel.questions.along import Diagonal
from dpcov.kernel.questions.basis import EigenvectorsOf
from dpcov.kernel.questions.calibrated import GAUSSIAN, LAPLACE, WISHART, calibrated, noise_for
from dpcov.kernel.questions.spectral import Spectrum, Values
from dpcov.linalg import assembled, project_simplex
from dpcov.mechanisms.base import Least, Mechanism
from dpcov.mechanisms.shared.additive import (
    WITH_PROGRAM,
    AdditivePlan,
    least_additive,
    papers_triangle,
    printed_finish,
    wants_paper,
)
from dpcov.mechanisms.shared.clipping import checked_clip, chosen_radius, plan_radius, prefetch_norms, rows_outside
from dpcov.mechanisms.shared.moment import (
    expected_error,
    moments_of,
    noisy_matrix,
    radius_of,
    raw_error,
    rows_longer,
    taken_moment,
)
from dpcov.mechanisms.shared.shares import by_way_of_rho, count_share
from dpcov.release.estimate import Along, Estimate, NoisyMatrix
from dpcov.release.record import Option, Transcript

MATRIX_SHARE = Fraction(1, 2)


def ask(curator: Face, budget: Budget, *, clip: str | float = "none", constants: str = "tight") -> None:
    """Release the second moment as eigenvectors of a noisy matrix and values asked apart.

    Parameters
    ----------
    clip : {"none", "private"} or float
        Where rows are clipped before the noise: at row_norm, at a radius found for a part of the budget, or at this one.
    constants : {"tight", "paper", "program"}
        "paper" asks for the sorted eigenvalues, with the paper's noise; the "program" of its authors clips them afterwards.

    Privacy
    -------
    ``budget`` (ZCDP, PureDP, or ApproxDP by way of ρ): one second moment, its diagonal in a basis, and under add-remove one
    count; a radius where it is private.

    Utility
    -------
    Theorem 1 of the paper, under zCDP, replace and without clipping: `dpcov.bounds.separate_error`, with ``noise="isometric"``
    for the tight constants. No bound is given under pure DP.
    """
    paper = wants_paper(constants, WITH_PROGRAM)
    where = checked_clip(curator, clip)
    whole = by_way_of_rho(budget)
    radius, left = 1.0, whole
    if where == "private":
        plan = plan_radius(whole, rows_outside(unclipped_error(curator, whole), whole, curator))
        left = whole.share(1 - plan.share)
        prefetch_norms(curator)
        radius = chosen_radius(plan.ask(curator, whole))
    elif isinstance(where, float):
        radius = where / curator.grid.row_norm
    ask_separate(curator, left, radius, paper)


def estimate(transcript: Transcript, postprocess: str, **_options: Option) -> Estimate:
    """Put the values that were asked apart on the eigenvectors of the noisy matrix, in the order in which they were asked."""
    moment, apart = taken_moment(transcript), transcript.take(Diagonal, Spectrum)
    if apart.integers.shape != (len(moment.matrix),):
        raise ReleaseError("release must hold one value for each eigenvector, got more or fewer. Hint: another version?")
    values = apart.values / transcript.n
    if postprocess == "clip":
        values = np.clip(values, 0.0, 1.0)
    elif postprocess in ("project", "shrink"):
        values = project_simplex(values, 1.0)
    basis = moment.eigenvectors
    lifted = assembled(basis.T, values)
    noisy, spread = noisy_matrix(transcript, moment)
    mean, covariance = moments_of(transcript, lifted, radius_of(moment), postprocess)
    beside = np.full(basis.shape, spread.off_diagonal_variance)  # S + N is diagonal in its eigenbasis: S has −N beside that
    return Estimate(
        mean=mean,
        covariance=covariance,
        radius=radius_of(moment),
        longer=rows_longer(transcript),
        noise=NoisyMatrix(noisy, spread, lifted),
        seen=Along(apart.law, apart.deviation / transcript.n, basis, apart.values / transcript.n, beside),
        expected_error=expected_error(transcript, moment),
    )


def usual_finish(transcript: Transcript) -> str:
    """Return how values are finished: projected onto what they can be together, but for the paper's."""
    return printed_finish(transcript, "project")


def ask_separate(curator: Face, budget: PureDP | ZCDP, radius: float, paper: bool) -> None:
    """Ask for the noisy matrix, for the values, and for n where it is private, of rows clipped at ``radius``."""
    moment = curator.second_moment(radius)
    curator.prefetch(moment)
    for_matrix, for_values, for_count = _split(curator, budget)
    noise, at_least = matrix_noise(curator, for_matrix, paper)
    matrix = curator.noisy(moment, for_matrix, noise=noise, at_least=at_least)
    apart = Spectrum(moment, curator.d) if paper else Diagonal.of(moment, EigenvectorsOf(matrix))
    curator.noisy(apart, for_values, noise=noise_for(budget))
    if for_count is not None:
        curator.ask_n(for_count)


def least_separate(curator: Facts, budget: PureDP | ZCDP, paper: bool) -> Iterator[Least]:
    """Yield what is asked, where another mechanism may ask it, or not, by what was answered before."""
    for_matrix, for_values, for_count = _split(curator, budget)
    noise, at_least = matrix_noise(curator, for_matrix, paper)
    yield from least_additive(curator, AdditivePlan(noise, for_matrix, for_count), at_least)
    yield Least(Values(curator.second_moment(), curator.d), for_values, noise_for(budget))


def _split(curator: Facts, budget: PureDP | ZCDP) -> tuple[PureDP | ZCDP, PureDP | ZCDP, PureDP | ZCDP | None]:
    """Return what the matrix, the values, and n where it is private, may cost."""
    left, count = budget, None
    if curator.hides_n:
        share = count_share(budget, curator.d)
        left, count = budget.share(1 - share), budget.share(share)
    return left.share(MATRIX_SHARE), left.share(1 - MATRIX_SHARE), count


def matrix_noise(curator: Facts, budget: PureDP | ZCDP, paper: bool) -> tuple[str, Fraction | None]:
    """Return the kind of noise on the matrix, and the paper's least."""
    noise = GAUSSIAN if isinstance(budget, ZCDP) else LAPLACE if paper else WISHART
    return noise, papers_triangle(curator, AdditivePlan(noise, budget, None)) if paper else None


def unclipped_error(curator: Facts, budget: PureDP | ZCDP) -> float:
    """Return the r.m.s. Frobenius norm of tight noise on the second moment of rows of norm 1."""
    moment = curator.second_moment()
    law = calibrated(moment, budget, curator.neighbors, matrix_noise(curator, budget, paper=False)[0])
    return raw_error(law, moment.unit_bits, moment.d, moment.grid.center)


SEPARATE = Mechanism(
    target="covariance",
    name="separate",
    serves=(PureDP, ZCDP, ApproxDP),
    ask=ask,
    estimate=estimate,
    postprocess=("project", "clip", "none"),
    finish=usual_finish,
    centring="homogeneous",
)
