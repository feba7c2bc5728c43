r"""Gaussian noise, then the nearest matrix that a second moment can be: the projection mechanism.

The mechanism of Nikolov, Talwar and Zhang adds Gaussian noise to all answers and returns the nearest point of the set of
answers that data can have. For second moments of rows in the unit ball that set is {positive semidefinite, trace ≤ n}, and the
nearest point keeps the eigenvectors and moves the eigenvalues onto a simplex.

Paper    Nikolov, Talwar, Zhang (STOC 2013); Dong, Liang, Yi (NeurIPS 2022), Appendix E.
Proof    docs/mechanisms/projection.md
"""

from __future__ import annotations

import dataclasses

from dpcov.errors import ParameterError, check_choice
from dpcov.kernel.budget import Budget, PureDP
from dpcov.kernel.curator import Curator
from dpcov.mechanisms.covariance.gaussian import gaussian
from dpcov.release.record import Release


def projection(
    curator: Curator, budget: Budget, *, postprocess: str | None = None, clip: str | float = "none", constants: str = "tight"
) -> Release:
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
    if isinstance(budget, PureDP):
        raise ParameterError(
            f"budget of mechanism 'projection' must be ZCDP or ApproxDP, got {budget!r}. Hint: 'wishart' is pure."
        )
    chosen = "project" if postprocess is None else postprocess
    check_choice("postprocess", chosen, ("project", "none"), "mechanism='gaussian' has others")
    release = gaussian(curator, budget, postprocess=chosen, clip=clip, constants=constants)
    return dataclasses.replace(release, requested="projection")
