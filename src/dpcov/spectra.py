r"""Post-processing of a noisy second moment: better estimates from the same release, at no cost in privacy.

Every function here sees only noisy matrices and public numbers. `shrink` keeps the noisy eigenvectors and moves the eigenvalues
to where the law of the noise says the truth lies; docs/shrinkage.md derives it and compares it with the alternatives.

=================  ======================================================================================
code               mathematics
=================  ======================================================================================
``noisy``          :math:`w_j`, ascending eigenvalues of S + N, all divided by n
``variance``       :math:`v`, variance of an entry of N above the diagonal
``edge(...)``      where the spectrum of pure noise ends
``stieltjes``      :math:`g(w) = \frac1d \sum_j 1/(w - i\eta - w_j)`
``denoised``       :math:`\xi(w) = w - \Re R(g) - \frac{\Re g}{\Im g} \Im R(g)`, R the R-transform of N
``bulk``           eigenvalues below the edge, where noise and signal cannot be told apart one by one
=================  ======================================================================================
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from dpcov.kernel.noise.laws import Spread
from dpcov.linalg import from_spectrum, monotone, project_simplex

Matrix = NDArray[np.float64]
Floats = NDArray[np.float64]

WISHART_EDGE = 3.3302  # in units of q: K(z) = (1+z²)/(z(1−z²)) at its minimum, z² = √5 − 2
WISHART_POLE = 0.4859  # q·|Re g| at that edge: beyond it R would run into its pole
EVENNESS = 0.75  # excess of the bulk's variance, in its standard deviations, at which half of the trust goes to its shape
CAUTION = 1.2  # standard deviations: a bulk whose sum is below is taken for noise by `cautious_spectrum`
EDGE_MARGIN = 1.5  # times d^{−2/3}, the width of the fluctuations at the edge


def none(noisy: Matrix, bound: float, noise: Spread) -> Matrix:  # noqa: ARG001 - one signature for all
    """Return the raw noisy matrix: unbiased for the clipped rows, not always positive semidefinite."""
    return noisy


def clip(noisy: Matrix, bound: float, noise: Spread) -> Matrix:  # noqa: ARG001
    """Move each eigenvalue into [0, bound], as the papers do."""
    eigenvalues, vectors = np.linalg.eigh(noisy)
    return from_spectrum(np.clip(eigenvalues, 0.0, bound), vectors)


def project(noisy: Matrix, bound: float, noise: Spread) -> Matrix:  # noqa: ARG001
    """Return the nearest positive semidefinite matrix with trace at most ``bound``, in Frobenius norm.

    The truth lies in that convex set, so the projection is never farther from it than the noisy matrix.
    """
    eigenvalues, vectors = np.linalg.eigh(noisy)
    return from_spectrum(project_simplex(eigenvalues, bound), vectors)


def shrink(noisy: Matrix, bound: float, noise: Spread) -> Matrix:
    """Return the noisy eigenvectors with denoised eigenvalues: positive semidefinite, trace at most ``bound``."""
    eigenvalues, vectors = np.linalg.eigh(noisy)
    return from_spectrum(shrink_spectrum(eigenvalues, noise, bound), vectors)


def shrink_spectrum(noisy: Floats, noise: Spread, bound: float) -> Floats:
    """Denoise ascending eigenvalues; the result is ascending, nonnegative and sums to at most ``bound``."""
    size = bulk_size(noisy, noise)
    denoised = _denoised(noisy, noise)
    strength = _strength(noisy, noise)
    spikes = np.clip(monotone(noisy + strength * (denoised - noisy), increasing=True)[size:], 0.0, bound)
    room = max(bound - float(spikes.sum()), 0.0)
    bulk = (
        _bulk(noisy[:size], np.minimum(monotone(denoised, increasing=True)[:size], bound), noise, room) if size else noisy[:0]
    )
    return project_simplex(np.maximum(monotone(np.concatenate([bulk, spikes]), increasing=True), 0.0), bound)


def cautious_spectrum(noisy: Floats, noise: Spread, bound: float) -> Floats:
    """Denoise eigenvalues, and lower those below the edge further where their sum is hardly larger than its noise.

    Clipped rows leave little below the edge, and what looks like it would be stretched with the rest.
    """
    denoised = shrink_spectrum(noisy, noise, bound)
    bulk = noisy[: bulk_size(noisy, noise)]
    deviation = math.sqrt(noise.diagonal_variance * len(bulk))
    if deviation > 0:
        signal = float(bulk.sum()) / deviation
        denoised[: len(bulk)] *= max(0.0, 1 - (CAUTION / signal) ** 2) if signal > 0 else 0.0
    return denoised


def bulk_size(noisy: Floats, noise: Spread) -> int:
    """Count the eigenvalues that pure noise could have."""
    return int(np.searchsorted(noisy, noise_limit(len(noisy), noise), side="right"))


def noise_limit(d: int, noise: Spread) -> float:
    """Return what no eigenvalue of pure noise exceeds, but for one matrix in a few hundred."""
    return edge(d, noise) * (1 + EDGE_MARGIN * math.pow(d, -2 / 3))


def edge(d: int, noise: Spread) -> float:
    """Return where the spectrum of pure noise ends in large dimension: about the operator norm of the noise."""
    return (WISHART_EDGE / math.sqrt(2) if noise.wishart else 2.0) * math.sqrt(noise.off_diagonal_variance * (d + 1))


def _denoised(noisy: Floats, noise: Spread) -> Floats:
    """Apply the rotation-invariant estimator of Bun, Allez, Bouchaud and Potters (2016), smoothed over η."""
    d = len(noisy)
    deviation = math.sqrt(noise.off_diagonal_variance * (d + 1))
    if d == 1 or deviation == 0:
        return noisy
    smoothing = _smoothing(d, noise)
    stieltjes = (1 / (noisy[:, None] - 1j * smoothing - noisy[None, :])).mean(axis=1)
    if noise.wishart:
        q = deviation / math.sqrt(2)
        reach = WISHART_POLE / q
        stieltjes = np.clip(stieltjes.real, -reach, reach) + 1j * stieltjes.imag
        transform = 2 * q**2 * stieltjes / (1 - (q * stieltjes) ** 2)
    else:
        transform = deviation**2 * stieltjes
    return np.asarray(noisy - transform.real - stieltjes.real / stieltjes.imag * transform.imag)


def _smoothing(d: int, noise: Spread) -> float:
    return math.sqrt(noise.off_diagonal_variance * (d + 1) / d)


def _strength(noisy: Floats, noise: Spread) -> float:
    """Return how much of the correction to apply, in [0, 1], by Stein's unbiased estimate of the risk.

    For a correction h(w) of the eigenvalues and isometric Gaussian noise of diagonal variance σ² the risk of w − α·h is, up
    to a constant, α²Σh² − 2ασ²·div h with div h = Σ ∂hⱼ/∂wⱼ + Σ_{j<k} (hⱼ − hₖ)/(wⱼ − wₖ). In large dimension the best α comes
    out near 1; among a few well separated eigenvalues it comes out near 0, where the correction only adds variance. Below
    one third it counts as 0.
    """
    d = len(noisy)
    smoothing = _smoothing(d, noise)
    if d == 1 or smoothing == 0:
        return 1.0
    position = noisy / smoothing  # in these units σ² and η² are both of order 1
    gap = position[:, None] - position[None, :]
    squares = gap**2 + 1
    correction = (gap / squares).sum(axis=1)  # h, up to a factor
    slopes = float(((1 - gap**2) / squares**2).sum()) - d  # without j = k
    apart = gap != 0
    slopes += float(np.sum((correction[:, None] - correction[None, :])[apart] / gap[apart])) / 2
    energy = float(correction @ correction)
    return min(max(1.5 * slopes / energy - 0.5, 0.0), 1.0) if energy > 0 else 0.0


def _bulk(noisy: Floats, denoised: Floats, noise: Spread, room: float) -> Floats:
    """Share the bulk's trace: evenly where it looks like noise, by ``denoised`` where its variance says that there is more."""
    size = len(noisy)
    trace = _mean_within(float(noisy.sum()), math.sqrt(noise.diagonal_variance * size), room)
    shaped = _with_sum(denoised, trace)
    scale = 2 * noise.off_diagonal_variance * size
    if scale == 0:
        return shaped
    # Σ(w − w̄)² of pure noise has mean v(k² + k − 2) and standard deviation close to 2vk
    excess = float(np.sum((noisy - noisy.mean()) ** 2)) / scale - (size + 1 - 2 / size) / 2
    if excess <= 0:
        return np.full(size, trace / size)
    trust = excess / (excess + EVENNESS * max(1 - 2 / size, 0.0))
    return np.asarray((1 - trust) * trace / size + trust * shaped)


def _mean_within(observed: float, deviation: float, room: float) -> float:
    """Return the posterior mean of a number in [0, room] seen through normal noise, for a flat prior."""
    from scipy.special import erfcx

    if deviation <= 0 or room <= 0:
        return min(max(observed, 0.0), room)
    if observed > room / 2:  # by symmetry the observation is nearer to 0 than to room
        return room - _mean_within(room - observed, deviation, room)
    low, high = -observed / deviation, (room - observed) / deviation
    if low < -8:
        return observed  # and high > 8: nothing is cut off
    if high - low < 1e-4:
        return room / 2
    ratio = math.exp(-(high - low) * (high + low) / 2)  # φ(high)/φ(low)
    mills = [math.sqrt(math.pi / 2) * float(erfcx(x / math.sqrt(2))) for x in (low, high)]
    return min(max(observed + deviation * (1 - ratio) / (mills[0] - ratio * mills[1]), 0.0), room)


def _with_sum(values: Floats, total: float) -> Floats:
    """Return the nearest nonnegative vector that sums to ``total``; a common shift of all values changes nothing."""
    return project_simplex(values + (total + float(np.abs(values).sum())), total)


POSTPROCESS: dict[str, Callable[[Matrix, float, Spread], Matrix]] = {
    "none": none,
    "clip": clip,
    "project": project,
    "shrink": shrink,
}
