"""What the mechanisms for components share that draw them: the number k, and what lies along them."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from dpcov.errors import ParameterError, shown
from dpcov.kernel.answer import Answer
from dpcov.kernel.budget import ZCDP, Budget, PureDP
from dpcov.kernel.curator import Curator
from dpcov.kernel.questions.calibrated import noise_for
from dpcov.kernel.questions.spectral import AlongBasis, Explained
from dpcov.linalg import orthonormal_rows
from dpcov.mechanisms.shared.directions import served, without_count
from dpcov.options import Option
from dpcov.release.record import Release

Floats = NDArray[np.float64]

EXPLAINED = Fraction(1, 40)
"""The share of the budget that tells how much lies along the components, and how much does not."""


def checked_k(k: object, d: int) -> int:
    """Return the number of components, or refuse it."""
    if d < 2:
        raise ParameterError(
            f"data must have two columns or more for components, got n_features = {d}. Hint: one column has no directions."
        )
    if isinstance(k, bool) or not isinstance(k, int | np.integer) or not 1 <= k < d:
        raise ParameterError(f"k must be an integer from 1 to {d - 1}, got {shown(k)}. Hint: fewer than there are columns.")
    return int(k)


def refuse_centred(curator: Curator, name: str) -> None:
    """Refuse rows with a constant coordinate: a drawn direction would mix it with the others."""
    if curator.grid.center:
        raise ParameterError(
            f"center must be False for mechanism {name!r}, got True. Hint: mechanism='auto', 'wishart' and 'gaussian' serve it."
        )


def prepared(curator: Curator, name: str, budget: Budget, k: int) -> PureDP | ZCDP:
    """Refuse what can be refused, hold the second moment, pay for n where it is private, and return what is left."""
    refuse_centred(curator, name)
    measure = AlongBasis(curator.second_moment(), k + 1, Explained.name)
    return without_count(curator, served(name, budget, (PureDP, ZCDP)), measure, EXPLAINED)


def explain(curator: Curator, components: Floats, budget: PureDP | ZCDP, radius: float = 1.0) -> None:
    """Ask how much of rows, clipped at a part of row_norm, lies along orthonormal components, and how much does not."""
    basis = np.ascontiguousarray(components.T)
    curator.noisy(Explained(curator.second_moment(radius), len(components) + 1, basis), budget, noise=noise_for(budget))


def release_drawn(curator: Curator, name: str, drawn: Answer, budget: PureDP | ZCDP, k: int, **options: Option) -> Release:
    """Ask how much lies along what was drawn, and how much does not, and release both."""
    explain(curator, orthonormal_rows(drawn.values.reshape(k, curator.d)), budget)
    return curator.release("pca", name, postprocess="clip", k=k, **options)
