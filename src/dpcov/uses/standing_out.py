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
directions count to first order: about a mean far longer than rows vary, drawn directions of centred rows let one release in ten
show a component that is not there. Where rounds mend each other's errors (`kapralov-talwar`), limits are somewhat too large.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from dpcov.kernel.noise.laws import Spread
from dpcov.kernel.noise.matrix import WishartDifference
from dpcov.kernel.rows.centring import CONSTANT, SCALE_SQUARED, mean_and_covariance
from dpcov.release.estimate import Along, InMatrix, NoisyDirections, NoisyMatrix
from dpcov.release.record import Release
from dpcov.spectra import edge, noise_limit
from dpcov.uses.noise_level import Eigenbasis
from dpcov.uses.raw import raw_moment
from dpcov.uses.tails import peaks, quantile

Floats = NDArray[np.float64]

BY_CHANCE = 0.002  # how often some number of pure noise stands out: about as often as an eigenvalue beyond `noise_limit`


def standing_out(release: Release, components: Floats) -> int | None:
    """Return how many of the first components, orthonormal rows in encoded coordinates, stand out of the noise.

    None where the release does not tell what noise alone would have answered.
    """
    found = release.estimate
    if found.seen is None and found.raw is None and (found.covariance is None or found.covariance.any()):
        return None
    with np.errstate(all="ignore"):  # extreme units and budgets overflow harmlessly inside
        answered, limits = _compared(release, components)
    clear = answered > limits
    return len(clear) if clear.all() else int(clear.argmin())


def noise_limits(release: Release, components: Floats) -> Floats:
    """Return the most that noise alone could have answered along each component, in encoded units; NaN where nobody knows."""
    found = release.estimate
    if found.seen is None and found.raw is None:
        return np.full(len(components), np.nan)
    with np.errstate(all="ignore"):
        limits = _compared(release, components)[1]
        in_coordinates = isinstance(found.seen, InMatrix) and found.components is None
        return np.asarray(limits * (1.0 if in_coordinates else release.clip_radius**2))


def _compared(release: Release, components: Floats) -> tuple[Floats, Floats]:
    """Return what was answered along each component, and the most that noise alone could have answered."""
    seen = release.estimate.seen
    if isinstance(seen, InMatrix):
        return _in_matrix(components @ seen.back, seen.matrix, seen.spread, seen.mean, seen.of_mean)
    if isinstance(seen, Along):
        return _along(release, components, seen)
    if release.estimate.raw is None:  # too few rows for the budget: nothing was asked
        return np.zeros(len(components)), np.zeros(len(components))
    raw = raw_moment(release)
    noise = Spread(raw.diagonal, raw.off, isinstance(raw.law, WishartDifference))
    return _in_matrix(components, raw.covariance, noise, raw.mean, math.sqrt(raw.along))


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


def _along(release: Release, components: Floats, seen: Along) -> tuple[Floats, Floats]:
    """Compare with the law of the numbers along the columns of a basis, and of the errors beside the diagonal."""
    basis, values, errors = _numbers(release, seen)
    lifted, found = components, release.estimate.noise
    if release.encoding.constant and isinstance(found, NoisyMatrix | NoisyDirections):
        mean = mean_and_covariance(found.estimate)[0]
        lifted = np.column_stack([components @ mean * (-math.sqrt(SCALE_SQUARED) / CONSTANT), components])
    parts, count = (lifted @ basis) ** 2, len(basis.T)
    variances, deviation = 2 * errors[:count, :count], seen.deviation
    np.fill_diagonal(variances, deviation**2)
    level = 1 - 2 * BY_CHANCE / count  # of the absolute value: only what is too large can stand out
    reach = float(quantile(np.array(peaks(seen.law, 1)[0]), level))
    return parts @ values, reach * np.sqrt(np.einsum("ij,ij->i", parts, parts @ variances))


def _numbers(release: Release, seen: Along) -> tuple[Floats, Floats, Floats]:
    """Return the basis, the numbers along it, and the variances beside the diagonal."""
    if seen.basis is None or seen.values is None:
        level = release.noise_level
        assert isinstance(level, Eigenbasis)  # drawn directions have one
        return level.basis, level.values, level.variances
    count = len(seen.basis.T)
    return seen.basis, seen.values, np.zeros((count, count)) if seen.errors is None else seen.errors
