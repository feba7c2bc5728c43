"""What a call of one of the functions would ask, found without reading a row."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import fields
from typing import Any

from dpcov.api import covariance, mean, pca, ridge
from dpcov.errors import ParameterError, check_choice
from dpcov.kernel.budget import Budget
from dpcov.mechanisms import MECHANISMS, ridge_mechanism
from dpcov.rehearsal import Rehearsal
from dpcov.release.record import Release
from dpcov.request import request
from dpcov.schema.whose import Whose


def rehearse(target: str, data: object, budget: Budget, /, **arguments: Any) -> Rehearsal:
    """Say what a release would ask, at what price and with how much noise, without reading a row or spending anything.

    Parameters
    ----------
    target : {"covariance", "mean", "pca", "ridge"}
        The function that would be called.
    data, budget
        As in `covariance`. Of the data only names and types are looked at, and the number of rows where it is public and known.
    **arguments
        All that the function takes: ``row_norm=``, ``schema=``, ``mechanism=``, ``k=``, ...

    Returns
    -------
    Rehearsal
        ``spent``, ``expected_error`` or ``unknown_because``, whether it ``depends_on_answers``; ``to_dict()`` has all of it.
        What the function itself would refuse is refused, in the same words.

    Examples
    --------
    >>> import numpy as np, dpcov
    >>> found = dpcov.rehearse("covariance", np.zeros((1000, 3)), dpcov.ZCDP(0.5), row_norm=1, mechanism="gaussian")
    >>> [(spend.asked, spend.budget) for spend in found.spent], round(found.expected_error, 4)
    ([('second moment', ZCDP(rho=0.5))], 0.0035)
    """
    check_choice("target", target, FUNCTIONS, "name the function that you would call")
    function = FUNCTIONS[target]
    try:
        bound = inspect.signature(function).bind(data, budget, **arguments)
    except TypeError as error:
        raise ParameterError(f"arguments must be those of dpcov.{target}: {error}. Hint: see help(dpcov.{target}).") from None
    bound.apply_defaults()
    given = dict(bound.arguments)
    options = given.pop("options", {}) | {name: given.pop(name) for name in OWN_OPTIONS[target]}
    kept = {name: value for name, value in given.items() if name in inspect.signature(request).parameters}
    kept |= {"bound": given["radius" if target == "mean" else "row_norm"], "options": options}
    kept["whose"] = Whose(**{one.name: given[one.name] for one in fields(Whose) if one.name in given})
    kept["mechanism"] = ridge_mechanism(given["mechanism"]) if target == "ridge" else given["mechanism"]
    asked = request(target, **kept)
    return asked.rehearse(asked.source(data, given["columns"]), budget)


FUNCTIONS: dict[str, Callable[..., Release]] = {"covariance": covariance, "mean": mean, "pca": pca, "ridge": ridge}
OWN_OPTIONS = {
    target: [p for p in inspect.signature(FUNCTIONS[target]).parameters if any(p in one.options for one in known.values())]
    for target, known in MECHANISMS.items()
}
"""What a function takes by a name of its own and a mechanism as an option."""
