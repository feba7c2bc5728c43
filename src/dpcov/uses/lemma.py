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
from dpcov.release.record import Release
from dpcov.uses.intervals import checked_level
from dpcov.uses.private_units import unit_system
from dpcov.uses.raw import RawMoment, raw_moment
from dpcov.uses.solving import solved
from dpcov.uses.unit_intervals import unit_raw

Floats = NDArray[np.float64]


def coefficient_bound(
    release: Release, place: int, places: tuple[int, ...], alpha: float, coefficients: Floats, level: float
) -> float:
    """Return a bound on the Euclidean norm of the error of encoded coefficients that holds with probability ``level``."""
    level = checked_level(level)
    if release.estimate.coefficients is not None:
        return _noise_of_coefficients(release.estimate.coefficients.answer, level)
    if release.estimate.units is not None:
        found = unit_system(release.estimate.units, place, places)
        covariance, own = found.covariance, found.own
        if own == 0:
            return 0.0  # constant features have no coefficients
        along = solved(covariance[:own, :own], covariance[:own, own], alpha)
        stretch = found.size * float(np.linalg.norm(found.forward, 2))
        return stretch * _bound(unit_raw(release.estimate.units, found), alpha, along, level)
    penalty = alpha / release.clip_radius / release.clip_radius
    return _bound(raw_moment(release).of([*places, place]), penalty, coefficients, level)


def _bound(raw: RawMoment, penalty: float, coefficients: Floats, level: float) -> float:
    """Return the bound for coefficients of a raw matrix, whose last column is the target's."""
    with np.errstate(all="ignore"):
        noisy = raw.covariance
        system = noisy[:-1, :-1]
        residual = noisy[:-1, -1] - system @ coefficients - penalty * coefficients
        error = raw.norms(level)[0]
        least = max(float(np.linalg.eigvalsh(system)[0]) - error, 0.0) + penalty
        most = float(np.linalg.norm(residual)) + error * math.hypot(1.0, float(np.linalg.norm(coefficients)))
        return most / least if least > 0 and math.isfinite(most) else math.inf


def _noise_of_coefficients(answer: Answer, level: float) -> float:
    """Return what the norm of the noise on released coefficients exceeds with probability 1 − level at most."""
    from scipy.special import chdtri, gammaincinv

    size = len(answer.integers)
    if isinstance(answer.law, DiscreteLaplace):  # ‖·‖₂ ≤ ‖·‖₁, a sum of exponentials
        return float(gammaincinv(size, level)) * float(answer.law.scale) * 2.0**-answer.unit_bits
    return answer.deviation * math.sqrt(float(chdtri(size, 1 - level)))
