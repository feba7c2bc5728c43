"""The Wine data, released privately with the truth beside it: what a private release looks like, on rows that are public."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpcov import api
from dpcov.kernel.budget import ZCDP
from dpcov.release.record import Release
from dpcov.results import Drawable
from dpcov.schema import Numeric, Schema

Floats = NDArray[np.float64]

RHO = "1"
BOUNDS = {
    # Six of the thirteen columns: 178 rows carry no more. Round figures that a chemist could name without the data.
    "alcohol": (10, 16),
    "flavanoids": (0, 6),
    "color_intensity": (0, 15),
    "hue": (0, 2),
    "od280/od315_of_diluted_wines": (1, 5),
    "proline": (200, 2000),
}


@dataclass(frozen=True, eq=False, repr=False)
class Demo(Drawable):
    """Public rows and a private release of them."""

    rows: Floats
    release: Release

    @property
    def correlation(self) -> Floats:
        """The exact correlations."""
        return np.asarray(np.corrcoef(self.rows.T))

    @property
    def eigenvalues(self) -> Floats:
        """Of the exact correlations, the largest first."""
        return np.asarray(np.linalg.eigvalsh(self.correlation)[::-1])


def demo() -> Demo:
    """Release mean and covariance of the wines."""
    from sklearn.datasets import load_wine

    wine: Any = load_wine()
    rows = wine.data[:, [wine.feature_names.index(name) for name in BOUNDS]]
    schema = Schema({name: Numeric(lower, upper) for name, (lower, upper) in BOUNDS.items()})
    return Demo(rows, api.covariance(rows, ZCDP(RHO), schema=schema, center=True))
