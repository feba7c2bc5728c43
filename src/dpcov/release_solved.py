"""What a release of one regression must hold: the coefficients of its target, with the noise that they need."""

from __future__ import annotations

from dpcov.errors import ParameterError
from dpcov.kernel.questions.measure import Measure
from dpcov.kernel.questions.moments import REPLACE, SecondMoment
from dpcov.kernel.questions.solution import Solution, unit_alpha
from dpcov.release.record import Release
from dpcov.schema import Numeric
from dpcov.strict_json import refuse

SOLVED = ("output-perturbation",)
"""The mechanisms that release coefficients."""


def expected_solution(release: Release, moment: SecondMoment) -> list[Measure]:
    """List the one question of a regression."""
    target, alpha = release.options.get("target"), release.options.get("alpha")
    if (
        release.mechanism not in SOLVED
        or release.requested != release.mechanism
        or release.postprocess != "none"
        or set(release.options) != {"target", "alpha"}
    ):
        refuse("consistent", "a mechanism or options that no regression has")
    if release.neighbors != REPLACE or release.center or type(target) is not int or type(alpha) is not float or alpha <= 0:
        refuse("consistent", "a regression of other rows")
    if release.schema is not None and not isinstance(release.schema.used.get(_name(release, target)), Numeric):
        refuse("consistent", "a regression of a level")
    try:
        return [Solution(moment, release.n, target, unit_alpha(alpha, release.row_norm))]
    except (ParameterError, ValueError, OverflowError):
        refuse("consistent", "a target or a penalty that is none")


def _name(release: Release, target: int) -> str:
    return release.feature_names[target] if 0 <= target < release.d else ""
