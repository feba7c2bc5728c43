"""The automatic choice, from public facts alone: `rescaled`, or the additive noise with the smallest r.m.s. error.

`rescaled` has no centred form and its own post-processing; where one of these is in the way, noise is chosen by d and the
budget, and rows are clipped at a private radius. Streams that can be read once are not: that would need their norms first.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

from dpcov.errors import ParameterError
from dpcov.estimate import raw_error
from dpcov.kernel.budget import Budget
from dpcov.kernel.curator import Curator
from dpcov.kernel.questions.moments import SecondMoment
from dpcov.mechanisms.covariance.frobenius import frobenius
from dpcov.mechanisms.covariance.gaussian import gaussian
from dpcov.mechanisms.covariance.laplace import laplace
from dpcov.mechanisms.covariance.rescaled import check_steering, release_rescaled
from dpcov.mechanisms.covariance.wishart import wishart
from dpcov.mechanisms.shared.additive import question
from dpcov.mechanisms.shared.matrix_noise import best_noise
from dpcov.release.record import Release
from dpcov.release_clipped import POSTPROCESSES

ADDITIVE: dict[str, Callable[..., Release]] = {
    "gaussian": gaussian,
    "wishart": wishart,
    "frobenius": frobenius,
    "laplace": laplace,
}


def auto(
    curator: Curator, budget: Budget, *, postprocess: str | None = None, robust: bool = False, numerics: str = "rounded"
) -> Release:
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
    fits = curator.rereadable and not curator.grid.center and postprocess in (None, *POSTPROCESSES["rescaled"])
    noise = best_noise(curator, budget, numerics) if fits else None
    if noise is not None:
        release = release_rescaled(curator, noise, postprocess=postprocess or "shrink", robust=robust, numerics=numerics)
    elif robust:
        raise ParameterError(
            "robust must be False for centred rows, streams and other postprocess, got True. Hint: leave it out."
        )
    else:
        errors = predicted_errors(curator.second_moment(), budget, curator.neighbors, numerics)
        if not errors:
            raise ParameterError(f"budget must be large enough for some mechanism, got {budget!r}. Hint: spend more.")
        clip = "private" if curator.rereadable and not fits else "none"
        release = ADDITIVE[min(errors, key=errors.__getitem__)](curator, budget, postprocess=postprocess, clip=clip)
    return dataclasses.replace(release, requested="auto", options={**release.options, "robust": robust, "numerics": numerics})


def predicted_errors(moment: SecondMoment, budget: Budget, neighbors: str, numerics: str = "rounded") -> dict[str, float]:
    """Return, for each additive mechanism that serves the budget, the r.m.s. Frobenius error of n times the second moment.

    For rows of norm 1, before post-processing, exactly as the mechanism would calibrate its noise.
    """
    errors = {}
    for name in ADDITIVE:
        try:
            law = question(name, budget, moment, neighbors).law(moment, neighbors)
        except ParameterError:
            continue  # another notion, or too small a budget for this noise
        if law.numerics in ("exact", numerics):
            errors[name] = raw_error(law, moment.unit_bits, moment.d, moment.grid.center)
    return errors
