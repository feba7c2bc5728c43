r"""Eigenvectors of a second moment plus the difference of two Wishart matrices.

The eigenvectors of a noisy matrix cost nothing beyond the matrix. Its noise is that of `wishart` for covariances.

Proof    docs/mechanisms/wishart.md
"""

from __future__ import annotations

from dpcov.kernel.budget import ApproxDP, Budget, PureDP
from dpcov.kernel.face import Face
from dpcov.kernel.questions.calibrated import WISHART as NOISE
from dpcov.mechanisms.base import Mechanism
from dpcov.mechanisms.shared.additive import ask_additive
from dpcov.mechanisms.shared.components import checked_k, from_noisy_matrix


def ask(curator: Face, budget: Budget, *, k: int, clip: str | float = "none") -> None:
    """Release the first k eigenvectors of a second moment with Wishart-difference noise.

    Parameters
    ----------
    k : int
        How many components.
    clip : {"none", "private"} or float
        Where rows are clipped before the noise: at row_norm, at a radius found for a part of the budget, or at this one.

    Privacy
    -------
    ``budget`` (PureDP, or ApproxDP with δ unused): that of `wishart` for covariances.
    """
    checked_k(k, curator.encoding.d)
    ask_additive(curator, NOISE, budget, clip=clip)


WISHART_PCA = Mechanism(
    target="pca",
    name="wishart",
    serves=(PureDP, ApproxDP),
    ask=ask,
    estimate=from_noisy_matrix,
    postprocess=("shrink", "none"),
    centring="homogeneous",
)
