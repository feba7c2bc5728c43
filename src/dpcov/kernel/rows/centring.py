r"""Mean and covariance from one second moment, by a constant first coordinate.

Rows x with ‖x‖ ≤ 1 become z = (a, b·x) with a = ½ and b = √(1 − a²), so ‖z‖ ≤ 1 and (1/n) Σ z zᵀ holds everything:

.. math:: \begin{pmatrix} a^2 & ab\,m^T \\ ab\,m & b^2\,(C + m m^T) \end{pmatrix}

with m the mean and C the covariance of x. Of a positive semidefinite matrix H of that shape, the Schur complement
H_xx − H_x0 H_0x / H_00 is positive semidefinite; divided by b² it is the estimate of C, and (a/b)·H_x0/H_00 that of m. A larger
a would sharpen the mean and blur the covariance: docs/mechanisms/centring.md compares three.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

Matrix = NDArray[np.float64]
Vector = NDArray[np.float64]

CONSTANT_BITS = 1
CONSTANT = 2.0**-CONSTANT_BITS  # a
SCALE_SQUARED = 1 - CONSTANT**2  # b²


def with_public_corner(noisy: Matrix) -> Matrix:
    """Put a² where n is already divided out: the noise there tells nothing."""
    corrected = noisy.copy()
    corrected[0, 0] = CONSTANT**2
    return corrected


def mean_and_covariance(lifted: Matrix) -> tuple[Vector, Matrix]:
    """Return m and C of a lifted second moment; C is positive semidefinite where the argument is."""
    corner = float(lifted[0, 0])
    slope = lifted[0, 1:] / corner if corner > 0 else np.zeros(len(lifted) - 1)
    covariance = (lifted[1:, 1:] - corner * np.outer(slope, slope)) / SCALE_SQUARED
    return slope * CONSTANT / math.sqrt(SCALE_SQUARED), covariance
