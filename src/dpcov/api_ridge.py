"""One regression in one release: the baseline that a covariance release is compared with."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from dpcov.errors import ParameterError
from dpcov.kernel.bits import Bits, SeededBits, SystemBits
from dpcov.kernel.budget import Budget
from dpcov.kernel.curator import Curator
from dpcov.kernel.questions.moments import REPLACE
from dpcov.mechanisms import checked_mechanism
from dpcov.release.record import Release
from dpcov.request import check_budget, checked_grid, released
from dpcov.schema import Categorical, Schema
from dpcov.sources.opening import open_source
from dpcov.uses.selection import column_of_feature, target_place


def ridge(
    data: object,
    budget: Budget,
    target: str | int,
    *,
    alpha: float,
    row_norm: float | None = None,
    schema: Schema | None = None,
    mechanism: str = "output-perturbation",
    columns: Sequence[str | int] | None = None,
    seed: int | None = None,
    progress: Callable[[float | None], None] | None = None,
) -> Release:
    """Release one ridge regression, of a target on all other columns, under differential privacy.

    A baseline: it pays for one model. `covariance` pays once for all of them, ``release.ridge(target)``, and its models are
    better unless alpha is large.

    Parameters
    ----------
    data : array, frame, path or anything with ``__arrow_c_stream__``
        As in `covariance`.
    budget : PureDP, ZCDP or ApproxDP
        What may be spent.
    target : str or int
        The name, or the position among the columns used, of what is predicted: a column of numbers.
    alpha : float
        The penalty: (1/n)·Σ(y − w·x)² + alpha·‖w‖² is least, in the units of the rows (with a schema: encoded).
    row_norm, schema, columns, seed, progress
        As in `covariance`; row_norm bounds whole rows, the target among them. Neighbours differ in one replaced row.
    mechanism : str
        A name in ``dpcov.MECHANISMS["ridge"]``.

    Returns
    -------
    Release
        ``release.ridge()`` is the model.

    Raises
    ------
    ParameterError, SchemaError
        Before anything is spent.
    EngineError
        A file or stream cannot be read to its end; nothing is spent.

    Privacy
    -------
    ``budget``, for data sets that differ in one row, and for any data whatsoever.

    Examples
    --------
    >>> import numpy as np, dpcov
    >>> rows = np.tile([[0.5, 0.25], [-0.5, -0.25]], (50_000, 1))
    >>> release = dpcov.ridge(rows, dpcov.PureDP(1), "x1", alpha=0.01, row_norm=1, seed=0)
    >>> release.ridge().coefficients.round(1).tolist()
    [0.5]
    """
    check_budget(budget)
    grid = checked_grid(row_norm, schema, REPLACE, False)
    run = checked_mechanism("ridge", mechanism, ())
    bits: Bits = SystemBits() if seed is None else SeededBits(seed)
    source = open_source(data, columns, schema, False, progress)
    place = target_place(source.feature_names, source.schema, target)
    column = column_of_feature(source.schema, source.feature_names)[place]
    if source.schema is not None and isinstance(source.schema.used[column], Categorical):
        raise ParameterError(
            f"target must be a column of numbers, got {target!r}. Hint: dpcov.covariance(...).ridge(target) has levels, too."
        )
    return released(run, Curator(source, grid, budget, REPLACE, bits), budget, target=place, alpha=alpha)
