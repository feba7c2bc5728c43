r"""Eigenvectors of a second moment with isometric Gaussian noise.

The eigenvectors of a noisy matrix cost nothing beyond the matrix. Its noise is that of `gaussian` for covariances.

Paper    Dwork, Talwar, Thakurta, Zhang (STOC 2014).
Proof    docs/mechanisms/gaussian.md
"""

from __future__ import annotations

from dpcov.kernel.budget import ZCDP, ApproxDP, Budget
from dpcov.kernel.face import Face
from dpcov.kernel.questions.calibrated import GAUSSIAN as NOISE
from dpcov.mechanisms.base import Mechanism
from dpcov.mechanisms.shared.additive import ask_additive
from dpcov.mechanisms.shared.components import checked_k, from_noisy_matrix


def ask(curator: Face, budget: Budget, *, k: int, clip: str | float = "none") -> None:
    """Release the first k eigenvectors of a second moment with isometric Gaussian noise.

    Parameters
    ----------
    k : int
        How many components.
    clip : {"none", "private"} or float
        Where rows are clipped before the noise: at row_norm, at a radius found for a part of the budget, or at this one.

    Privacy
    -------
    ``budget`` (ZCDP or ApproxDP): that of `gaussian` for covariances.
    """
    checked_k(k, curator.encoding.d)
    ask_additive(curator, NOISE, budget, clip=clip)


GAUSSIAN_PCA = Mechanism(
    target="pca",
    name="gaussian",
    serves=(ZCDP, ApproxDP),
    ask=ask,
    estimate=from_noisy_matrix,
    postprocess=("shrink", "none"),
    centring="homogeneous",
)
