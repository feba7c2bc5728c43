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

import numpy as np
from numpy.typing import NDArray

from dpcov.errors import ParameterError, ReleaseError, check_choice, shown
from dpcov.kernel.answer import Answer
from dpcov.kernel.budget import ZCDP, ApproxDP, Budget, PureDP
from dpcov.kernel.face import Face
from dpcov.kernel.questions.basis import EigenvectorsOf
from dpcov.kernel.questions.calibrated import noise_for
from dpcov.kernel.questions.choices import Quantile
from dpcov.kernel.questions.moments import SecondMoment
from dpcov.kernel.questions.overlap import Overlap
from dpcov.kernel.rows.annulus import Annulus
from dpcov.linalg import from_spectrum
from dpcov.mechanisms.base import RAW, Mechanism
from dpcov.mechanisms.shared.clipping import FEW_RADII, chosen_radius, plan_radius, prefetch_norms
from dpcov.mechanisms.shared.matrix_noise import NUMERICS, SINGLE_REACH, best_noise, rows_to_clip
from dpcov.mechanisms.shared.moment import expected_error, radius_of, rows_longer, taken_moment
from dpcov.release.estimate import Estimate, NoisyMatrix, RawMatrix
from dpcov.release.record import Option, Transcript
from dpcov.spectra import cautious_spectrum

Floats = NDArray[np.float64]

MIN_SIGNAL_TO_NOISE = 2.2  # with fewer rows than so many standard deviations of the noise, zero is the better answer
MIN_TRACE = 0.5  # of the rows that should be outside: below it the noisy trace says that the chosen radius was unlucky


def ask(curator: Face, budget: Budget, *, robust: bool = False, numerics: str = "rounded") -> None:
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
    check_steering(robust, numerics)
    noise = best_noise(curator, budget, numerics)
    if noise is None:
        raise ParameterError(f"budget must be larger, got {budget!r}, too little for any noise. Hint: spend more.")
    whole, left, least = noise.budget, Fraction(1), MIN_SIGNAL_TO_NOISE * noise.deviation * math.sqrt(curator.d)
    prefetch_norms(curator)
    if curator.hides_n:
        share = noise.count_share()
        curator.ask_n(whole.share(share))
        left, least = left - share, max(least, 3 * noise.number(share))
    if curator.n < least:
        return
    plan = plan_radius(whole, min(rows_to_clip(noise, robust), curator.n / 2))
    if curator.d == 1:
        plan = replace(plan, every=FEW_RADII)
    chosen = plan.ask(curator, whole)
    inner = chosen_radius(chosen)
    outer = min(1.0, inner * noise.reach)
    left -= plan.share
    for_scale = noise.scale_share(outer / inner, left)
    if for_scale == 0:  # nothing lies between the radii, or one column, where a scale is all there is
        curator.noisy(curator.second_moment(outer), whole.share(left), noise=noise.kind)
        return
    moment, removed = curator.second_moment(inner), curator.beyond(inner, outer)
    curator.prefetch(moment, removed)
    answer = curator.noisy(moment, whole.share(left - for_scale), noise=noise.kind)
    eigenvalues = denoised(answer, curator.n, chosen)
    if eigenvalues[-1] > 0:
        weights = tuple((eigenvalues[::-1] / eigenvalues[-1]).tolist())  # as the basis has them: the largest first
        curator.noisy(Overlap(removed, EigenvectorsOf(answer), weights), whole.share(for_scale), noise=noise_for(whole))


def estimate(transcript: Transcript, postprocess: str, **_options: Option) -> Estimate:
    """Multiply the matrix of clipped rows, denoised unless it is wanted raw, by the scale that clipping took from it."""
    d, n = transcript.encoding.d, transcript.n
    if transcript.find(SecondMoment) is None:  # too few rows for the budget: nothing was asked
        hint = "there were too few rows for the budget, so nothing was asked; spend more"
        return Estimate(covariance=np.zeros((d, d)), radius=transcript.encoding.row_norm, without_raw=hint)
    moment, chosen, overlap = taken_moment(transcript), transcript.take(Quantile), transcript.find(Overlap)
    eigenvalues = denoised(moment, n, chosen)
    noisy, spread = moment.matrix / n, moment.spread.scaled(1 / n)
    raw = RawMatrix(moment)
    if overlap is not None and eigenvalues[-1] > 0:  # no mechanism asks for the scale of nothing; a file may
        raw = _scale(transcript, moment, overlap, eigenvalues)
    if postprocess == RAW:
        found = noisy * raw.scale
    else:
        nothing = eigenvalues[-1] <= 0
        found = np.zeros((d, d)) if nothing else from_spectrum(eigenvalues * raw.scale, moment.decomposition[1])
    radius = radius_of(moment)
    return Estimate(
        covariance=found * radius * radius,
        radius=radius,
        longer=rows_longer(transcript) if overlap is None else 0.0,
        raw=raw,
        noise=NoisyMatrix(noisy, spread, found, raw.scale),
        expected_error=expected_error(transcript, moment),
    )


def denoised(moment: Answer, n: int, chosen: Answer) -> Floats:
    """Return the denoised eigenvalues, ascending, of a noisy second moment of rows clipped as chosen.

    Each of the rows outside the radius adds 1 to the trace. Where the noisy trace is not even half of their number, the choice
    was unlucky: the radius is far too large and the matrix holds noise only.
    """
    assert isinstance(chosen.question, Quantile)
    d = len(moment.matrix)
    rows = chosen.question.rows / (SINGLE_REACH**2 if d == 1 else 1.0)
    if float(moment.values[:d].sum()) < MIN_TRACE * rows:
        return np.zeros(d)
    return cautious_spectrum(moment.decomposition[0] / n, moment.spread.scaled(1 / n), 1.0)


def _scale(transcript: Transcript, moment: Answer, overlap: Answer, eigenvalues: Floats) -> RawMatrix:
    """Return by how much what clipping took stretches the denoised matrix, and the relative deviation of that number."""
    assert isinstance(overlap.question, Overlap)
    between = overlap.question.moment.grid
    if not isinstance(between, Annulus) or between.inner.row_norm != radius_of(moment):
        raise ReleaseError(
            "release must hold a scale measured beyond its own radius, got another radius. Hint: another version?"
        )
    reach = (between.outer.row_norm / between.inner.row_norm) ** 2
    lost = min(max(float(overlap.values[0]) * reach / transcript.n, 0.0), reach - 1)
    along = float(eigenvalues[-1]) / float(eigenvalues @ eigenvalues)
    possible = (transcript.encoding.row_norm / radius_of(moment)) ** 2  # no row is longer than row_norm
    scale = min(1 + lost * along, possible / float(eigenvalues.sum()))  # least squares
    return RawMatrix(moment, scale, overlap.deviation * reach / transcript.n * along / scale, overlap)


def check_steering(robust: object, numerics: object) -> None:
    """Refuse values that the two options do not have."""
    check_choice("numerics", numerics, NUMERICS, "'exact' leaves out wishart and frobenius")
    if not isinstance(robust, bool):
        raise ParameterError(f"robust must be True or False, got {shown(robust)}. Hint: True clips less.")


RESCALED = Mechanism(
    target="covariance",
    name="rescaled",
    serves=(PureDP, ZCDP, ApproxDP),
    ask=ask,
    estimate=estimate,
    postprocess=("shrink", "none"),
    last=Overlap,
)
