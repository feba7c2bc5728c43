"""The automatic choice, from public facts alone: `rescaled`, or the additive noise with the smallest r.m.s. error.

`rescaled` has no centred form and its own post-processing; where one of these is in the way, noise is chosen by d and the
budget, and rows are clipped at a private radius. Streams that can be read once are not: that would need their norms first.
"""

from __future__ import annotations

from dpcov.errors import ParameterError
from dpcov.kernel.budget import ZCDP, ApproxDP, Budget, PureDP
from dpcov.kernel.public import Facts
from dpcov.kernel.questions.moments import SecondMoment
from dpcov.mechanisms.base import Alias, Mechanism, Resolved
from dpcov.mechanisms.covariance.frobenius import FROBENIUS
from dpcov.mechanisms.covariance.gaussian import GAUSSIAN
from dpcov.mechanisms.covariance.laplace import LAPLACE
from dpcov.mechanisms.covariance.rescaled import RESCALED, check_steering
from dpcov.mechanisms.covariance.wishart import WISHART
from dpcov.mechanisms.shared.additive import plan_additive
from dpcov.mechanisms.shared.matrix_noise import best_noise
from dpcov.mechanisms.shared.moment import raw_error

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
    fits = public.rereadable and not public.grid.center and postprocess in (None, *RESCALED.postprocess)
    if fits and best_noise(public, budget, numerics) is not None:
        return RESCALED, postprocess, {"robust": robust, "numerics": numerics}
    if robust:
        raise ParameterError(
            "robust must be False for centred rows, streams and other postprocess, got True. Hint: leave it out."
        )
    errors = predicted_errors(public.second_moment(), budget, public.neighbors, numerics)
    if not errors:
        raise ParameterError(f"budget must be large enough for some mechanism, got {budget!r}. Hint: spend more.")
    best = min(errors, key=errors.__getitem__)
    chosen = next(mechanism for mechanism in ADDITIVE if mechanism.name == best)
    return chosen, postprocess, {"clip": "private" if public.rereadable and not fits else "none"}


def predicted_errors(moment: SecondMoment, budget: Budget, neighbors: str, numerics: str = "rounded") -> dict[str, float]:
    """Return, for each additive mechanism that serves the budget, the r.m.s. Frobenius error of n times the second moment.

    For rows of norm 1, before post-processing, exactly as the mechanism would calibrate its noise.
    """
    errors = {}
    for mechanism in ADDITIVE:
        try:
            law = plan_additive(mechanism.name, budget, moment, neighbors).law(moment, neighbors)
        except ParameterError:
            continue  # another notion, or too small a budget for this noise
        if law.numerics in ("exact", numerics):
            errors[mechanism.name] = raw_error(law, moment.unit_bits, moment.d, moment.grid.center)
    return errors


AUTO = Alias(
    target="covariance",
    name="auto",
    serves=(PureDP, ZCDP, ApproxDP),
    resolve=resolve,
    postprocess=("shrink", "project", "clip", "none"),
    centring="homogeneous",
)
