r"""Second moment from two answers: directions from a noisy matrix, and what lies along them asked apart.

The eigenvectors of a noisy matrix all come from one answer, where iterative methods pay for each. What lies along them is d
numbers instead of d(d+1)/2, with far less noise. It pays in high dimension: `gaussian` is better for few columns.

Paper    Dong, Liang, Yi (NeurIPS 2022), Algorithm 1, SeparateCov.
Proof    docs/mechanisms/separate.md
Differs  asks the diagonal of VᵀSV, the best values for these eigenvectors, not the eigenvalues of S; isometric Gaussian noise,
         or a difference of Wisharts under pure DP (``constants="paper"``: i.i.d. triangle, or Laplace, and eigenvalues).

==============  ==========================================================================
code            mathematics
==============  ==========================================================================
``matrix``      :math:`\tilde\Sigma_{Gau}`, at half of the budget
``basis``       :math:`\tilde P`, its eigenvectors, by `eigh`: an SVD would lose signs
``values``      :math:`\tilde\Lambda`, diag(P̃ᵀSP̃), or the eigenvalues of S
==============  ==========================================================================
"""

from __future__ import annotations

from fractions import Fraction

from dpcov.errors import check_choice
from dpcov.estimate import eigenbasis, raw_error
from dpcov.kernel.budget import ZCDP, Budget, PureDP
from dpcov.kernel.curator import Curator
from dpcov.kernel.questions.calibrated import GAUSSIAN, LAPLACE, WISHART, calibrated, noise_for
from dpcov.kernel.questions.moments import REPLACE
from dpcov.kernel.questions.spectral import Values
from dpcov.mechanisms.shared.additive import Question, check_affordable, papers_triangle, wants_paper
from dpcov.mechanisms.shared.clipping import checked_clip, hold_norms, plan_radius, radius_of, rows_outside
from dpcov.mechanisms.shared.shares import by_way_of_rho, count_share
from dpcov.release.record import Release
from dpcov.release_clipped import POSTPROCESSES

MATRIX_SHARE = Fraction(1, 2)


def separate(
    curator: Curator,
    budget: Budget,
    *,
    postprocess: str | None = None,
    clip: str | float = "none",
    constants: str = "tight",
) -> Release:
    """Release the second moment as eigenvectors of a noisy matrix and values asked apart.

    Parameters
    ----------
    clip : {"none", "private"} or float
        Where rows are clipped before the noise: at row_norm, at a radius found for a part of the budget, or at this one.
    constants : {"tight", "paper"}
        "paper" asks for the sorted eigenvalues, with the paper's noise.

    Privacy
    -------
    ``budget`` (ZCDP, PureDP, or ApproxDP by way of ρ): one second moment, its diagonal in a basis, and under add-remove one
    count; a radius where it is private.

    Utility
    -------
    Theorem 1 of the paper, under zCDP, replace and without clipping: `dpcov.bounds.separate_error`, with ``noise="isometric"``
    for the tight constants. No bound is given under pure DP.
    """
    paper = wants_paper(constants)
    chosen = checked_postprocess(postprocess, paper)
    where = checked_clip(curator, clip)
    whole = by_way_of_rho(budget)
    radius, left = 1.0, whole
    if where == "private":
        plan = plan_radius(whole, rows_outside(unclipped_error(curator, whole), whole, curator))
        left = whole.share(1 - plan.share)
    check_separate(curator, left, budget, paper)
    if where == "private":
        hold_norms(curator)
        radius = radius_of(plan.ask(curator, whole))
    elif isinstance(where, float):
        radius = where / curator.grid.row_norm
    ask_separate(curator, left, radius, paper)
    return curator.release("covariance", "separate", postprocess=chosen, clip=where, constants=constants)


def ask_separate(curator: Curator, budget: PureDP | ZCDP, radius: float, paper: bool) -> None:
    """Ask for the noisy matrix, for the values, and for n where it is private, of rows clipped at ``radius``."""
    moment = curator.second_moment(radius)
    curator.hold(moment)
    for_matrix, for_values, for_count = _split(curator, budget)
    noise, at_least = matrix_noise(curator, for_matrix, paper)
    matrix = curator.noisy(moment, for_matrix, noise=noise, at_least=at_least)
    if paper:
        curator.spectrum(for_values, noise=noise_for(budget), radius=radius)
    else:
        curator.diagonal(eigenbasis(matrix, curator.d), for_values, noise=noise_for(budget), radius=radius)
    if for_count is not None:
        curator.ask_n(for_count)


def check_separate(curator: Curator, budget: PureDP | ZCDP, promise: Budget, paper: bool) -> None:
    """Refuse a budget that is too small for some question, before anything is spent."""
    for_matrix, for_values, for_count = _split(curator, budget)
    noise, at_least = matrix_noise(curator, for_matrix, paper)
    check_affordable(curator, Question(noise, for_matrix, for_count), promise, at_least)
    calibrated(Values(curator.second_moment(), curator.d), for_values, curator.neighbors, noise_for(budget))


def _split(curator: Curator, budget: PureDP | ZCDP) -> tuple[PureDP | ZCDP, PureDP | ZCDP, PureDP | ZCDP | None]:
    """Return what the matrix, the values, and n where it is private, may cost."""
    left, count = budget, None
    if curator.neighbors != REPLACE:
        share = count_share(budget, curator.d)
        left, count = budget.share(1 - share), budget.share(share)
    return left.share(MATRIX_SHARE), left.share(1 - MATRIX_SHARE), count


def matrix_noise(curator: Curator, budget: PureDP | ZCDP, paper: bool) -> tuple[str, Fraction | None]:
    """Return the kind of noise on the matrix, and the paper's least."""
    noise = GAUSSIAN if isinstance(budget, ZCDP) else LAPLACE if paper else WISHART
    return noise, papers_triangle(curator, Question(noise, budget, None)) if paper else None


def unclipped_error(curator: Curator, budget: PureDP | ZCDP) -> float:
    """Return the r.m.s. Frobenius norm of tight noise on the second moment of rows of norm 1."""
    moment = curator.second_moment()
    law = calibrated(moment, budget, curator.neighbors, matrix_noise(curator, budget, paper=False)[0])
    return raw_error(law, moment.unit_bits, moment.d, moment.grid.center)


def checked_postprocess(postprocess: str | None, paper: bool) -> str:
    """Return how the values are finished: projected onto what they can be together, or clipped as in the papers."""
    chosen = ("clip" if paper else "project") if postprocess is None else postprocess
    check_choice(
        "postprocess", chosen, POSTPROCESSES["separate"], "values asked apart are not shrunk; leave it out for the default"
    )
    return chosen
