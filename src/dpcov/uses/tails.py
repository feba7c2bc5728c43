"""Tails of the noise: how far a noisy number is from the exact one, as often as is asked.

Every law of noise here is a mixture of normal ones: an entry is √(2W)·Z with W ~ Gamma(k).

================================  ====================================================================
noise                             k
================================  ====================================================================
Laplace                           1
difference of Wisharts            (d + 1)/2 on the diagonal, d + 1 above it: a difference of two Gammas
Frobenius, D = d(d + 1)/2         (D + 1)/2, along *every* direction
Gaussian                          infinite
sum over m groups                 m times that of each
================================  ====================================================================

The excess kurtosis is 3/k. Sums of entries are taken to be of this family, with their own variance and kurtosis: for sums of
equal independent entries they are. ``peaked`` stands for 1/k throughout.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from dpcov.kernel.noise.laws import DiscreteLaplace, NoiseLaw
from dpcov.kernel.noise.matrix import FrobeniusNoise, WishartDifference
from dpcov.linalg import triangle_size
from dpcov.release.groups import Together
from dpcov.spectra import WISHART_EDGE

Floats = NDArray[np.float64]

NODES = 600  # of the trapezoidal rule in log w: errors below 1e-10, relatively, for tails down to 1e-16
TRUNCATED = 1e-25  # of the mass of W on either side
FEW = 4  # so many quantiles are computed one by one; more are interpolated between nodes in 1/k, to four digits


def peaks(law: NoiseLaw, width: int) -> tuple[float, float]:
    """Return 1/k of an entry on the diagonal, and above it."""
    if isinstance(law, Together):
        on, above = peaks(law.of, width)
        return on / law.count, above / law.count
    if isinstance(law, DiscreteLaplace):
        return 1.0, 1.0
    if isinstance(law, WishartDifference):
        return 2 / (width + 1), 1 / (width + 1)
    if isinstance(law, FrobeniusNoise):
        return (2 / (triangle_size(width) + 1),) * 2
    return 0.0, 0.0


def widest(law: NoiseLaw) -> float:
    """Return where the spectrum of a noise matrix ends, in √d standard deviations of an entry above the diagonal, at most."""
    one = law.of if isinstance(law, Together) else law  # sums end nearer to the semicircle
    return WISHART_EDGE / math.sqrt(2) if isinstance(one, WishartDifference) else 2.0


def quantile(peaked: Floats, level: float) -> Floats:
    """Return what the absolute value of a number with variance 1 and this 1/k stays below with probability ``level``."""
    peaked = np.clip(np.nan_to_num(peaked, nan=1.0), 0.0, 1.0)  # the longest tail, where variances beyond floats tell none
    found, places = np.unique(peaked, return_inverse=True)
    if len(found) <= FEW:
        return np.asarray(np.array([_quantile(float(value), level) for value in found])[places.reshape(peaked.shape)])
    return np.asarray(np.interp(peaked, *_nodes(level)))


@lru_cache(maxsize=8)
def _nodes(level: float) -> tuple[Floats, Floats]:
    nodes = np.linspace(0.0, 1.0, 65)
    return nodes, np.array([_quantile(float(node), level) for node in nodes])


@lru_cache(maxsize=256)
def _quantile(peaked: float, level: float) -> float:
    r"""Solve P(|√(2W)·Z| ≤ t·√(2k)) = level, W ~ Gamma(k), by the trapezoidal rule in log w, which is all but exact here."""
    from scipy.optimize import brentq
    from scipy.special import erf, erfc, gammainccinv, gammaincinv, gammaln, ndtri

    if peaked < 1e-9:
        return float(-ndtri((1 - level) / 2))
    k = 1 / peaked
    log_w = np.linspace(math.log(max(gammaincinv(k, TRUNCATED), 1e-300)), math.log(gammainccinv(k, TRUNCATED)), NODES)
    w = np.exp(log_w)
    weights = np.exp(k * log_w - w - gammaln(k))
    weights /= weights.sum()
    far = level > 0.5  # the smaller of the two probabilities has all its digits

    def excess(t: float) -> float:
        reach = t * math.sqrt(2 * k) / (2 * np.sqrt(w))
        return float(weights @ erfc(reach)) - (1 - level) if far else level - float(weights @ erf(reach))

    return float(brentq(excess, 0.0, 60.0, xtol=1e-14))
