"""The automatic choice, from public facts alone: `standardized` for centred tables, `rescaled` for rows that are not centred.

Both have their own post-processing, and read rows more than once; where one of these is in the way, or rows are centred without
a schema, it is the additive noise with the smallest r.m.s. error, chosen by d and the budget, with rows clipped at a private
radius unless they are a stream that can be read once.
"""

from __future__ import annotations

from dpcov.errors import ParameterError
from dpcov.kernel.budget import ZCDP, ApproxDP, Budget, PureDP
from dpcov.kernel.public import Facts
from dpcov.mechanisms.base import Alias, Mechanism, Resolved
from dpcov.mechanisms.covariance.frobenius import FROBENIUS
from dpcov.mechanisms.covariance.gaussian import GAUSSIAN
from dpcov.mechanisms.covariance.laplace import LAPLACE
from dpcov.mechanisms.covariance.rescaled import RESCALED, check_steering
from dpcov.mechanisms.covariance.wishart import WISHART
from dpcov.mechanisms.shared.additive import predicted_errors, wanted_moment
from dpcov.mechanisms.shared.matrix_noise import best_noise
from dpcov.mechanisms.standardized.covariance import STANDARDIZED

ADDITIVE: tuple[Mechanism, ...] = (GAUSSIAN, WISHART, FROBENIUS, LAPLACE)
"""Each adds the noise of its name."""


def resolve(
    public: Facts, budget: Budget, postprocess: str | None, *, robust: bool = False, numerics: str = "rounded"
) -> Resolved:
    """Release the second moment by the mechanism that does best on most data.

    Parameters
    ----------
    robust : bool
        True clips less: for data where few long rows point elsewhere than the others.
    numerics : {"rounded", "exact"}
        "exact" leaves out noise that is rounded (docs/guarantee.md): at a price in error under pure DP.

    Privacy
    -------
    ``budget``: that of the chosen mechanism.
    """
    check_steering(robust, numerics)
    centred_table = public.described and public.grid.center and not robust
    exact = isinstance(budget, PureDP) and numerics == "exact"  # its matrix has rounded noise under pure DP
    if centred_table and public.rereadable and not exact and postprocess in (None, *STANDARDIZED.postprocess):
        return STANDARDIZED, postprocess, {}
    whole = not public.grid.center and not public.groups  # its scale is that of all rows
    fits = public.rereadable and whole and postprocess in (None, *RESCALED.postprocess)
    if fits and best_noise(public, budget, numerics) is not None:
        return RESCALED, postprocess, {"robust": robust, "numerics": numerics}
    if robust:
        raise ParameterError(
            "robust must be False for centred rows, for groups, for streams and for this postprocess, got True. "
            "Hint: leave it out."
        )
    errors = predicted_errors(wanted_moment(public), budget, public.neighbors, numerics)
    if not errors:
        raise ParameterError(f"budget must be larger, got {budget!r}, too little for any mechanism. Hint: spend more.")
    best = min(errors, key=errors.__getitem__)
    chosen = next(mechanism for mechanism in ADDITIVE if mechanism.name == best)
    return chosen, postprocess, {"clip": "private" if public.rereadable and not fits else "none"}


AUTO = Alias(
    target="covariance",
    name="auto",
    serves=(PureDP, ZCDP, ApproxDP),
    resolve=resolve,
    postprocess=("shrink", "project", "clip", "none"),
    centring="homogeneous",
    groups=True,
)
