"""What the coefficients of a regression err by: the noise of entries of a matrix, and residuals that depend on features."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class EntryNoise:
    """The noise c·K u of rows c, for symmetric K with independent entries of these variances."""

    rows: Floats
    variances: Floats

    def products(self, u: Floats, h: Floats) -> Floats:
        """Return the covariance of c·K u and c·K h, for each row; u and h may be rows, too."""
        c, own = self.rows, self.variances.diagonal()
        above = self.variances - np.diag(own)
        apart = np.sum(c**2 * ((u * h) @ above), axis=1) + np.einsum("ij,ij->i", (c * u) @ above, c * h)
        return np.asarray(apart + (c**2 * u * h) @ own)

    def with_each(self, u: Floats) -> Floats:
        """Return the covariances of c·K u with each entry of K u."""
        c, own = self.rows, self.variances.diagonal()
        above = self.variances - np.diag(own)
        return np.asarray(c * (above @ u**2) + u * ((c * u) @ above) + c * own * u**2)


@dataclass(frozen=True, eq=False)
class DrawnResiduals:
    """Drawn rows of coordinates, the target's last, with weights: how residuals that depend on features change errors.

    Attributes
    ----------
    rows, weights : array
        As `LostByWeights` has them, in the coordinates of a regression.
    """

    rows: Floats
    weights: Floats

    def of(self, wanted: Floats) -> tuple[Floats, Floats]:
        """Return by what the variance over draws is to be multiplied, and how far weights move coefficients, for each row.

        The first is E(c·B⁻¹(1, x)we)² over s²cA⁻¹c, with B = E w(1, x)(1, x)ᵀ and e the residuals of the weighted regression.
        """
        n, y = len(self.rows), self.rows[:, -1]
        x = np.hstack([np.ones((n, 1)), self.rows[:, :-1]])
        plain, heavy = x.T @ x / n, (x.T * self.weights) @ x / n
        of_plain, of_heavy = (
            np.linalg.lstsq(a, b, rcond=None)[0] for a, b in ((plain, x.T @ y / n), (heavy, (x.T * self.weights) @ y / n))
        )
        residuals = y - x @ of_plain
        usual = np.mean(residuals**2) * np.einsum("ij,ij->i", wanted, np.linalg.lstsq(plain, wanted.T, rcond=None)[0].T)
        along = (x @ np.linalg.lstsq(heavy, wanted.T, rcond=None)[0]) * (self.weights * (y - x @ of_heavy))[:, None]
        factor = np.divide(np.mean(along**2, axis=0), usual, out=np.ones(len(wanted)), where=usual > 0)
        return factor, wanted @ (of_plain - of_heavy)
