"""The automatic choice: of the noises that serve the budget, the one with the smallest r.m.s. error.

It is computed from public numbers alone (d, the budget, the neighbours), so choosing costs nothing and tells nothing.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

from dpcov.curator import Curator
from dpcov.errors import ParameterError, check_choice
from dpcov.mechanisms.additive import question
from dpcov.mechanisms.frobenius import frobenius
from dpcov.mechanisms.gaussian import gaussian
from dpcov.mechanisms.laplace import laplace
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


def auto(curator: Curator, budget: Budget, *, postprocess: str | None = None, numerics: str = "rounded") -> Release:
    """Release the second moment by the additive mechanism with the smallest predicted error.

    Parameters
    ----------
    numerics : {"rounded", "exact"}
        "exact" leaves out the mechanisms whose noise is rounded (docs/guarantee.md): at a price in error under pure DP.

    Privacy
    -------
    ``budget``: that of the chosen mechanism.
    """
    check_choice("numerics", numerics, OPTIONS["numerics"], "'exact' leaves out wishart and frobenius")
    errors = predicted_errors(curator.second_moment(), budget, curator.neighbors, numerics)
    if not errors:
        raise ParameterError(f"budget must be large enough for some mechanism, got {budget!r}. Hint: spend more.")
    best = min(errors, key=errors.__getitem__)
    release = ADDITIVE[best](curator, budget, postprocess=postprocess)
    return dataclasses.replace(release, requested="auto", options={**release.options, "numerics": numerics})


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
