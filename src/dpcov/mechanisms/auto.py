"""The automatic choice, from public facts alone: `rescaled`, or the additive noise with the smallest r.m.s. error.

`rescaled` has the smallest error on nearly all data that we measured (docs/mechanisms/auto.md). It needs rows that can be read
twice, has no centred form and its own post-processing; where one of these is in the way, noise is chosen by d and the budget.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

from dpcov.curator import Curator
from dpcov.errors import ParameterError, check_choice, shown
from dpcov.mechanisms.additive import question
from dpcov.mechanisms.frobenius import frobenius
from dpcov.mechanisms.gaussian import gaussian
from dpcov.mechanisms.laplace import laplace
from dpcov.mechanisms.rescaled import POSTPROCESSES, rescaled
from dpcov.mechanisms.rescaled_noise import best_noise
from dpcov.mechanisms.wishart import wishart
from dpcov.privacy.budget import Budget
from dpcov.release import OPTIONS, Release, raw_error
from dpcov.statistics.moments import SecondMoment

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
    check_choice("numerics", numerics, OPTIONS["numerics"], "'exact' leaves out wishart and frobenius")
    if not isinstance(robust, bool):
        raise ParameterError(f"robust must be True or False, got {shown(robust)}. Hint: True clips less.")
    fits = curator.rereadable and not curator.grid.center and postprocess in (None, *POSTPROCESSES)
    if fits and best_noise(curator, budget, numerics) is not None:
        release = rescaled(curator, budget, postprocess=postprocess, robust=robust, numerics=numerics)
    else:
        errors = predicted_errors(curator.second_moment(), budget, curator.neighbors, numerics)
        if not errors:
            raise ParameterError(f"budget must be large enough for some mechanism, got {budget!r}. Hint: spend more.")
        release = ADDITIVE[min(errors, key=errors.__getitem__)](curator, budget, postprocess=postprocess)
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
