"""The functions people call: check the parameters, build a curator, run one mechanism."""

from __future__ import annotations

import inspect

from dpcov.curator import Curator
from dpcov.errors import ParameterError, check_choice, shown
from dpcov.mechanisms import MECHANISMS
from dpcov.privacy.bits import Bits, SeededBits, SystemBits
from dpcov.privacy.budget import ZCDP, ApproxDP, Budget, PureDP
from dpcov.release import Option, Release
from dpcov.sources.array import ArraySource
from dpcov.statistics.grid import Grid
from dpcov.statistics.moments import MAX_ROWS, REPLACE, check_neighbors


def covariance(
    data: object,
    budget: Budget,
    *,
    row_norm: float | None = None,
    mechanism: str = "auto",
    postprocess: str | None = None,
    neighbors: str = REPLACE,
    seed: int | None = None,
    **options: Option,
) -> Release:
    """Release the second moment (1/n) Σ x xᵀ of the rows, once, under differential privacy.

    Parameters
    ----------
    data : ndarray of shape (n, d)
        A row per person. Never modified. NaN and infinite entries count as 0; longer rows than row_norm are clipped.
    budget : PureDP, ZCDP or ApproxDP
        What may be spent, for example ``dpcov.PureDP(1)``.
    row_norm : float
        A public bound on the Euclidean norm of rows, chosen **without looking at the data**.
    mechanism : str
        A name in ``dpcov.MECHANISMS["covariance"]``; "auto" picks from the budget and the number of columns.
    postprocess : {"shrink", "project", "clip", "none"}, optional
        How the estimate is made from the noisy matrix; it costs no privacy. By default the mechanism's own.
    neighbors : {"replace", "add-remove"}
        "replace": n is public. "add-remove": n is private and is asked for with a small part of the budget.
    seed : int, optional
        For tests and papers only: the release is then stamped as not private.
    **options
        Of the mechanism.

    Returns
    -------
    Release

    Raises
    ------
    ParameterError
        Before any row is read and anything is spent.

    Privacy
    -------
    ``budget``, for the chosen neighbours and for any data whatsoever. What was asked is in ``release.spent``.

    Examples
    --------
    >>> import numpy as np, dpcov
    >>> rows = np.full((10_000, 2), 0.5)
    >>> release = dpcov.covariance(rows, dpcov.ZCDP(0.5), row_norm=1, seed=0)
    >>> release.second_moment.round(2).tolist()
    [[0.25, 0.25], [0.25, 0.25]]
    """
    source = ArraySource(data)
    if type(budget) not in (PureDP, ZCDP, ApproxDP):
        raise ParameterError(f"budget must be a PureDP, ZCDP or ApproxDP, got {shown(budget)}. Hint: dpcov.ZCDP(0.1).")
    check_neighbors(neighbors)
    grid = Grid(_checked_row_norm(row_norm))
    check_choice("mechanism", mechanism, MECHANISMS["covariance"], "dpcov.MECHANISMS lists them")
    run = MECHANISMS["covariance"][mechanism]
    known = set(inspect.signature(run).parameters) - {"curator", "budget", "postprocess"}
    for name in sorted(set(options) - known):
        raise ParameterError(f"options of {mechanism!r} must be among {sorted(known)}, got {name!r}. Hint: check the name.")
    bits: Bits = SystemBits() if seed is None else SeededBits(seed)
    if neighbors == REPLACE and not 1 <= source.n <= MAX_ROWS:
        raise ParameterError(f"data must have 1 to 2**30 rows, got {source.n}. Hint: an empty table has no second moment.")
    return run(Curator(source, grid, budget, neighbors, bits), budget, postprocess=postprocess, **options)


def _checked_row_norm(row_norm: float | None) -> float:
    if row_norm is None:
        raise ParameterError(
            "row_norm must be given, got nothing. Hint: a public bound on the rows' Euclidean norm; "
            "a bound computed from the data would leak, so there is no default."
        )
    return row_norm
