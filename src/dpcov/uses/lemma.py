r"""How far the coefficients of a model can be from those of the exact matrix: Lemma 1 of Amin et al. (2019), sharpened.

Let N = C + E be the raw noisy covariance, w = (C_xx + α)⁻¹ C_xy what the exact one would give, and ŵ any coefficients, those
of a denoised matrix for one. With u = (−ŵ, 1), over features and target,

.. math:: (C_{xx} + α)(w - ŵ) = [N u]_x - αŵ - [E u]_x

so that ‖w − ŵ‖ ≤ (‖[Nu]_x − αŵ‖ + ‖E‖·‖u‖)/(λ_min(C_xx) + α), and λ_min(C_xx) ≥ λ_min(N_xx) − ‖E‖. Where ŵ solves the raw
system the first term is 0. The lemma has ‖E‖_{2,1} + ‖E‖·‖ŵ‖ for ‖E‖·‖u‖, and leaves λ_min(C_xx) to the reader.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from dpcov.kernel.answer import Answer
from dpcov.kernel.noise.laws import DiscreteLaplace
from dpcov.uses.intervals import checked_level
from dpcov.uses.regression import Regression

Floats = NDArray[np.float64]


def coefficient_bound(found: Regression, alpha: float, coefficients: Floats, level: float) -> float:
    """Return a bound on the norm of the error of encoded coefficients, made of those of coordinates, at this level."""
    level = checked_level(level)
    if len(coefficients) == 0:
        return 0.0  # constant features have no coefficients
    with np.errstate(all="ignore"):
        raw, penalty = found.raw, alpha / found.radius / found.radius
        noisy = raw.covariance
        system = noisy[:-1, :-1]
        residual = noisy[:-1, -1] - system @ coefficients - penalty * coefficients
        error = raw.norms(level)[0]
        least = max(float(np.linalg.eigvalsh(system)[0]) - error, 0.0) + penalty
        most = float(np.linalg.norm(residual)) + error * math.hypot(1.0, float(np.linalg.norm(coefficients)))
        return found.stretch * most / least if least > 0 and math.isfinite(most) else math.inf


def released_bound(answer: Answer, level: float) -> float:
    """Return what the norm of the noise on released coefficients exceeds with probability 1 − level at most."""
    from scipy.special import chdtri, gammaincinv

    level, size = checked_level(level), len(answer.integers)
    if isinstance(answer.law, DiscreteLaplace):  # ‖·‖₂ ≤ ‖·‖₁, a sum of exponentials
        return float(gammaincinv(size, level)) * float(answer.law.scale) * 2.0**-answer.unit_bits
    return answer.deviation * math.sqrt(float(chdtri(size, 1 - level)))
