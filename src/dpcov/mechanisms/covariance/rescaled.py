r"""Second moment of rows clipped hard, where noise is small, denoised, and stretched by one private number.

What clipping takes away is mostly scale: the clipped rows point the same way. So rows are clipped far below the longest, at a
radius with a public number of rows outside; the noisy matrix of clipped rows is denoised; and one number, how much of what
was taken lies along the estimate, gives the scale back. The radius is a quantile of the norms, for a loose row_norm as well.

Proof    docs/mechanisms/rescaled.md, with the derivation of the shares and figures for the constants

==============  ================================================================================================
code            mathematics
==============  ================================================================================================
``error``       :math:`c_0`, r.m.s. norm of the noise at radius 1 for the whole budget
``rows``        :math:`M`, how many rows are to lie outside the radius
``inner``       :math:`\tau`, the private radius; clipped rows make :math:`S_\tau`
``outer``       :math:`u`, what lies beyond is lost; rows between make :math:`E = S_u - S_\tau`
``overlap``     :math:`p = \langle E, \hat S\rangle/\lambda_{max}(\hat S)`; the estimate is Ŝ·(1 + p·λ_max/‖Ŝ‖²)
==============  ================================================================================================
"""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

from dpcov.errors import ParameterError, check_choice, shown
from dpcov.estimate import denoised
from dpcov.kernel.budget import Budget, PureDP
from dpcov.kernel.curator import Curator
from dpcov.kernel.questions.calibrated import noise_for
from dpcov.kernel.questions.moments import REPLACE
from dpcov.kernel.questions.overlap import Overlap
from dpcov.mechanisms.shared.clipping import FEW_RADII, hold_norms, plan_radius, radius_of
from dpcov.mechanisms.shared.matrix_noise import MatrixNoise, best_noise
from dpcov.options import OPTIONS
from dpcov.release.record import Release
from dpcov.release_clipped import POSTPROCESSES

HOPE = 2.2  # with fewer rows than so many standard deviations of the noise, zero is the better answer


def rescaled(
    curator: Curator,
    budget: Budget,
    *,
    postprocess: str | None = None,
    robust: bool = False,
    numerics: str = "rounded",
) -> Release:
    """Release the second moment of rows clipped hard, with the scale bought back.

    Parameters
    ----------
    robust : bool
        True clips less: for data where few long rows point elsewhere than the others.
    numerics : {"rounded", "exact"}
        "exact" leaves out noise that is rounded (docs/guarantee.md): at a price in error under pure DP.

    Privacy
    -------
    ``budget`` (PureDP, ZCDP, or ApproxDP as the better of the two): a choice of radius, one second moment, one number, and
    under add-remove one count. With too few rows for the budget nothing, or only the count, is asked, and the estimate is 0.

    Utility
    -------
    No bound is proved; figures are in docs/mechanisms/rescaled.md.
    """
    chosen = "shrink" if postprocess is None else postprocess
    check_choice("postprocess", chosen, POSTPROCESSES["rescaled"], "its scale belongs to the denoised matrix; leave it out")
    check_steering(robust, numerics)
    if curator.grid.center:
        raise ParameterError("center must be False for mechanism 'rescaled', got True. Hint: mechanism='auto' serves it.")
    noise = best_noise(curator, budget, numerics)
    if noise is None:
        raise ParameterError(f"budget must be large enough for some noise, got {budget!r}. Hint: spend more.")
    return release_rescaled(curator, noise, postprocess=chosen, robust=robust, numerics=numerics)


def check_steering(robust: object, numerics: object) -> None:
    """Refuse values that the two options do not have."""
    check_choice("numerics", numerics, OPTIONS["numerics"], "'exact' leaves out wishart and frobenius")
    if not isinstance(robust, bool):
        raise ParameterError(f"robust must be True or False, got {shown(robust)}. Hint: True clips less.")


def release_rescaled(curator: Curator, noise: MatrixNoise, *, postprocess: str, robust: bool, numerics: str) -> Release:
    """Ask with this noise, and release."""
    _ask(curator, noise, robust)
    return curator.release("covariance", "rescaled", postprocess=postprocess, robust=robust, numerics=numerics)


def _ask(curator: Curator, noise: MatrixNoise, robust: bool) -> None:
    whole, left, least = noise.budget, Fraction(1), HOPE * noise.deviation * math.sqrt(curator.d)
    hold_norms(curator)
    if curator.neighbors != REPLACE:
        share = noise.count_share()
        curator.ask_n(whole.share(share))
        left, least = left - share, max(least, 3 * noise.number(share))
    if curator.n < least:
        return
    plan = plan_radius(whole, min(rows_outside(noise, robust), curator.n / 2))
    if curator.d == 1:
        plan = replace(plan, every=FEW_RADII)
    chosen = plan.ask(curator, whole)
    inner = radius_of(chosen)
    outer = min(1.0, inner * noise.reach)
    left -= plan.share
    for_scale = noise.scale_share(outer / inner, left)
    if for_scale == 0:  # nothing lies between the radii, or one column, where a scale is all there is
        curator.noisy(curator.second_moment(outer), whole.share(left), noise=noise.kind)
        return
    moment, removed = curator.hold_both(inner, outer)
    answer = curator.noisy(moment, whole.share(left - for_scale), noise=noise.kind)
    eigenvalues, vectors = denoised(answer, curator.d, curator.n, chosen)
    if eigenvalues[-1] > 0:
        overlap = Overlap(removed, vectors, eigenvalues / eigenvalues[-1])
        curator.noisy(overlap, whole.share(for_scale), noise=noise_for(whole))


def rows_outside(noise: MatrixNoise, robust: bool) -> float:
    """Return M: some multiple of the noise's norm, but no fewer than the choice of a radius can tell from none."""
    if isinstance(noise.budget, PureDP):
        unit = (1.0 if noise.neighbors == REPLACE else 0.75) / float(noise.budget.epsilon)
        few, many, robust_few = (200 if noise.d == 1 else 100) * unit, 400 * unit, 125 * unit
    else:
        unit = 1 / math.sqrt(noise.budget.rho)
        few, many, robust_few = 30 * unit, 55 * unit, 25 * unit
    usual = max(4 * noise.error, min(max(10 * noise.error, few), many))
    return min(usual, max(noise.error, robust_few)) if robust and noise.d > 1 else usual
