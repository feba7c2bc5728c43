r"""Gaussian noise, then the nearest matrix that a second moment can be: the projection mechanism.

The mechanism of Nikolov, Talwar and Zhang adds Gaussian noise to all answers and returns the nearest point of the set of
answers that data can have. For second moments of rows in the unit ball that set is {positive semidefinite, trace ≤ n}, and the
nearest point keeps the eigenvectors and moves the eigenvalues onto a simplex.

Paper    Nikolov, Talwar, Zhang (STOC 2013); Dong, Liang, Yi (NeurIPS 2022), Appendix E.
Proof    docs/mechanisms/projection.md
"""

from __future__ import annotations

from typing import Any

from dpcov.kernel.budget import ZCDP, ApproxDP, Budget
from dpcov.kernel.public import Facts
from dpcov.mechanisms.base import Alias, Resolved
from dpcov.mechanisms.covariance.gaussian import GAUSSIAN


def resolve(
    public: Facts,  # noqa: ARG001
    budget: Budget,  # noqa: ARG001
    postprocess: str | None,
    *,
    clip: str | float = "none",
    constants: str = "tight",
) -> Resolved:
    """Release the second moment with Gaussian noise, projected onto what a second moment can be.

    Parameters
    ----------
    clip : {"none", "private"} or float
        Where rows are clipped before the noise: at row_norm, at a radius found for a part of the budget, or at this one.
    constants : {"tight", "paper"}
        "paper" gives every entry of the triangle the variance of the diagonal.

    Privacy
    -------
    ``budget`` (ZCDP or ApproxDP): that of `gaussian`.
    """
    options: dict[str, Any] = {"clip": clip, "constants": constants}
    return GAUSSIAN, postprocess or "project", options


PROJECTION = Alias(
    target="covariance",
    name="projection",
    serves=(ZCDP, ApproxDP),
    resolve=resolve,
    postprocess=("project", "none"),
    centring="homogeneous",
)
