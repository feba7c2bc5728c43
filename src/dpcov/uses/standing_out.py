r"""How many components stand out of the noise: along how many of the first the exact matrix can be told from 0.

What was answered along a component u is compared with what noise alone could have answered there, by what was asked:

- *A noisy matrix*, or a block of one: uᵀ(S + N)u against the edge of the spectrum of N, since u was looked for in S + N.
- *Numbers along directions*, drawn or found before: their own law. With E the errors in the basis of the directions, the one
  along u has the variance Σᵢₖ E(Eᵢₖ²)·uᵢ²uₖ², off the diagonal twice; the edge does not come in, as u knows nothing of them.
- *Rows in public coordinates* with unwhitener B: the noise is BNBᵀ, so the first, for Bᵀu.

A covariance about a noisy mean m + δ has the noise N − mδᵀ − δmᵀ, to first order: where the last two are large they move the
edge. For directions of lifted rows (a, b·x) what counts is z = (−(b/a)·m·u, u) in place of u: see `noise_level`. Errors of the
directions themselves come in there alone: zᵀSz is what z has of all of them, and the first, near (a, b·m), is large.

Not counted: clipping, rows that are a sample, and the noise of a count or scale, which moves all values alike. Errors of drawn
directions count to first order: about a mean far longer than rows vary, `eigenvectors` of centred rows lets one release in ten
show a component that is not there. For `kapralov-talwar`, whose rounds mend each other's errors, limits are somewhat too large.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from dpcov.estimate import APART, VALUES, eigenbasis, noisy_moment
from dpcov.estimate_framed import frame_of, framed_second_moment, given_back, is_framed, last_answer, noise_deviation
from dpcov.kernel.answer import Answer
from dpcov.kernel.noise.laws import Spread
from dpcov.kernel.noise.matrix import WishartDifference
from dpcov.kernel.rows.centring import CONSTANT, SCALE_SQUARED, mean_and_covariance
from dpcov.linalg import orthonormal_rows
from dpcov.release.record import Release
from dpcov.spectra import edge, noise_limit
from dpcov.uses.noise_level import Eigenbasis
from dpcov.uses.raw import raw_moment
from dpcov.uses.tails import peaks, quantile

Floats = NDArray[np.float64]

BY_CHANCE = 0.002  # how often some number of pure noise stands out: about as often as an eigenvalue beyond `noise_limit`


def standing_out(release: Release, components: Floats) -> int:
    """Return how many of the first components, orthonormal rows in encoded coordinates, stand out of the noise."""
    with np.errstate(all="ignore"):  # extreme units and budgets overflow harmlessly inside
        answered, limits = _compared(release, components)
    clear = answered > limits
    return len(clear) if clear.all() else int(clear.argmin())


def _compared(release: Release, components: Floats) -> tuple[Floats, Floats]:
    """Return what was answered along each component, and the most that noise alone could have answered."""
    if is_framed(release):
        return _in_public_coordinates(release, components)
    block, asked = release.answer("block"), release.answer("explained")
    if block is not None:
        noisy, noise = noisy_moment(block, len(block.columns), release.n)
        return _in_matrix(components[:, list(block.columns)], noisy, noise)
    if asked is not None:
        drawn = release.answer("directions") or release.answer("subspace")
        assert drawn is not None
        basis = orthonormal_rows(drawn.values.reshape(-1, release.d)).T
        return _along(release, components, basis, asked.values[:-1] / release.n, np.zeros((release.d,) * 2), asked)
    moment, numbers = release.answer("second moment"), next((a for a in release.answers if a.statistic in APART + VALUES), None)
    if numbers is not None and moment is not None:
        width = release.d + release.center
        noise = noisy_moment(moment, width, release.n)[1]  # S + N is diagonal in its eigenbasis: S has −N beside the diagonal
        errors = np.full((width, width), noise.off_diagonal_variance)
        return _along(release, components, eigenbasis(moment, width), numbers.values / release.n, errors, numbers)
    if numbers is not None:
        level = release.noise_level
        assert isinstance(level, Eigenbasis)
        return _along(release, components, level.basis, level.values, level.variances, numbers)
    if moment is None:  # too few rows for the budget: nothing was asked
        return np.zeros(len(components)), np.zeros(len(components))
    raw = raw_moment(release)
    noise = Spread(raw.diagonal, raw.off, isinstance(raw.law, WishartDifference))
    return _in_matrix(components, raw.covariance, noise, raw.mean, math.sqrt(raw.along))


def _in_public_coordinates(release: Release, components: Floats) -> tuple[Floats, Floats]:
    answer = last_answer(release, "second moment")
    mean, covariance = framed_second_moment(release)
    deviation = noise_deviation(answer, release.n) * given_back(release, answer)
    of_mean = noise_deviation(last_answer(release, "sum"), release.n) if release.center else 0.0
    covariance = covariance - of_mean**2 * np.eye(release.d)  # what takes the bias of mmᵀ off would be noise along some of them
    return _in_matrix(
        components @ frame_of(answer).unwhitener, covariance, Spread(deviation**2, deviation**2 / 2), mean, of_mean
    )


def _in_matrix(
    rows: Floats, covariance: Floats, noise: Spread, mean: Floats | None = None, of_mean: float = 0.0
) -> tuple[Floats, Floats]:
    """Compare with the edge; ``of_mean`` is the standard deviation of the noise on an entry of the mean."""
    d = len(covariance)
    limit, half = noise_limit(d, noise), edge(d, noise) / 2
    if mean is not None and half > 0:
        # mδᵀ + δmᵀ has the eigenvalue ‖m‖·‖δ‖ − m·δ; beyond half of the edge it leaves the bulk (Baik, Ben Arous, Péché 2005)
        beyond = max(float(np.linalg.norm(mean)) * of_mean * math.sqrt(d) / half, 1.0)
        limit *= (beyond + 1 / beyond) / 2
    return np.einsum("ij,ij->i", rows, rows @ covariance), limit * (rows**2).sum(axis=1)


def _along(
    release: Release, components: Floats, basis: Floats, values: Floats, errors: Floats, numbers: Answer
) -> tuple[Floats, Floats]:
    """Compare with the law of ``numbers`` along the columns of a basis, and of ``errors``, variances, beside the diagonal."""
    lifted = components
    if release.center:
        mean = mean_and_covariance(release.encoded_estimate)[0]
        lifted = np.column_stack([components @ mean * (-math.sqrt(SCALE_SQUARED) / CONSTANT), components])
    parts, count = (lifted @ basis) ** 2, len(basis.T)
    variances, deviation = 2 * errors[:count, :count], noise_deviation(numbers, release.n)
    np.fill_diagonal(variances, deviation**2)
    level = 1 - 2 * BY_CHANCE / count  # of the absolute value: only what is too large can stand out
    reach = float(quantile(np.array(peaks(numbers.noise, 1)[0]), level))
    return parts @ values, reach * np.sqrt(np.einsum("ij,ij->i", parts, parts @ variances))
