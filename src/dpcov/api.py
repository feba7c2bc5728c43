"""The functions people call: each makes one request, and runs it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from dpcov.custody.ledger import DataSet
from dpcov.kernel.budget import Budget
from dpcov.kernel.questions.moments import REPLACE
from dpcov.mechanisms import ridge_mechanism
from dpcov.mechanisms.base import Named
from dpcov.mechanisms.shared.means import Origin
from dpcov.release.record import Release
from dpcov.request import request
from dpcov.schema import Level, Schema
from dpcov.schema.whose import Whose
from dpcov.sources.user_map import Map


def covariance(
    data: object,
    budget: Budget,
    *,
    row_norm: float | None = None,
    schema: Schema | None = None,
    mechanism: str | Named = "auto",
    postprocess: str | None = None,
    neighbors: str = REPLACE,
    center: bool | None = None,
    columns: Sequence[str | int] | None = None,
    seed: int | None = None,
    progress: Callable[[float | None], None] | None = None,
    allow_weak: bool = False,
    expected_n: int | None = None,
    workers: int | Map = 1,
    ledger: DataSet | None = None,
    max_rows: int | None = None,
    unit: str | int | None = None,
    weighting: str | None = None,
    most_rows: int | None = None,
    weight: str | int | None = None,
    max_weight: float | None = None,
    clip_weight: str | None = None,
    by: str | Mapping[str, Sequence[Level]] | None = None,
    **options: Any,
) -> Release:
    """Release the second moment (1/n) Σ x xᵀ of the rows, or mean and covariance, once, under differential privacy.

    Parameters
    ----------
    data : array, frame, path or anything with ``__arrow_c_stream__``
        A row per person, unless ``unit`` says whose a row is: a numeric array of shape (n, d), a pandas, polars or pyarrow
        table, a duckdb relation, a path to a Parquet or CSV file or a folder of them, a frame of Dask or Spark: docs/engines.md
        lists all. Never modified.
    budget : PureDP, ZCDP or ApproxDP
        What may be spent, for example ``dpcov.PureDP(1)``.
    row_norm : float
        A public bound on the Euclidean norm of rows, chosen **without looking at the data**: longer rows are clipped; missing,
        NaN and infinite entries count as 0. Exactly one of row_norm and schema is required.
    schema : Schema
        Public bounds and levels of the columns: values outside the bounds are clipped; what missing, NaN and infinite cells and
        unknown levels count as: docs/tables.md. Estimates are in the columns' own units.
    mechanism : str or Mechanism
        A name in ``dpcov.MECHANISMS["covariance"]``, or a mechanism of your own; "auto" picks from public facts alone:
        docs/mechanisms/auto.md.
    postprocess : {"shrink", "project", "clip", "none"}, optional
        How the estimate is made from the noisy matrix; it costs no privacy. By default the mechanism's own. "clip" is about
        eigenvalues, and has nothing to do with the option ``clip``, which is about rows.
    neighbors : {"replace", "add-remove"}
        "replace": n is public. "add-remove": n is private, paid for, or in the corner of a centred noisy matrix.
    center : bool, optional
        True: a mean and a centred covariance, from one noisy matrix. By default with a schema, if the mechanism can; else not.
    columns : list of names or positions, optional
        Which columns to use, in this order.
    seed : int, optional
        For tests and papers only: the release is then stamped as not private.
    progress : callable, optional
        Called now and then while rows are read, with the fraction read so far or None.
    allow_weak : bool
        True goes on with a budget that is otherwise refused, because it hides hardly anything: docs/guarantee.md#weak-budgets.
    expected_n : int, optional
        With neighbors="add-remove": a public guess of n, below one in which delta must be. By default it may be at most 1e-6.
    workers : int or callable
        How many processes read the rows, 1: this one; or a function as ``pool.map``. The release is the same: docs/engines.md.
    ledger : DataSet, optional
        Whose budget pays: ``dpcov.Ledger("budget.db").dataset("adult", why="annual report")``. All of ``budget`` is spent there
        after the first complete reading and before the first draw: docs/ledger.md.
    max_rows : int, optional
        A public bound on n, above 2³⁰ (2²⁶ people): the grid is then as much coarser as exact sums need: docs/engines.md.
    unit : str or int, optional
        The column that says whose a row is, or of an array its position; no feature. The promise is then about a person with
        all rows, each person counts once, by the average over own rows, and n is the number of people: docs/people.md.
    weighting, most_rows : {"person", "rows"}, int
        "rows": each row counts alike, but those of a person with more than ``most_rows``, a public number: less.
    weight, max_weight : str or int, float
        The column of weights, as of a survey, and a public bound: what is above counts as it, what is missing or negative as 0.
        Estimates are those of a weighted sample; ``release.n`` is a noisy total, in weights of ``max_weight``.
    clip_weight : {"none", "private"}
        "private": a lower bound than a loose ``max_weight`` is found, for a small part of the budget; ``release.max_weight``.
    by : str, or mapping of one name to levels, optional
        A column with public levels, or its name with them: a matrix for each level, at the price of one: docs/groups.md.
    **options
        Of the mechanism: docs/mechanisms/README.md. A radius ``clip`` is in units of row_norm, with a schema of encoded rows.

    Returns
    -------
    Release
        The mean, the covariance and all that can be made of them.

    Raises
    ------
    ParameterError, SchemaError
        Before anything is spent; but for an empty stream, before any row is read.
    EngineError
        A file or stream cannot be read to its end; nothing is spent.

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
    asked = request(
        "covariance",
        budget,
        mechanism=mechanism,
        bound=row_norm,
        schema=schema,
        neighbors=neighbors,
        center=center,
        postprocess=postprocess,
        seed=seed,
        allow_weak=allow_weak,
        expected_n=expected_n,
        workers=workers,
        ledger=ledger,
        max_rows=max_rows,
        by=by,
        whose=Whose(unit, weighting, most_rows, weight, max_weight, clip_weight),
        options=options,
    )
    return asked.run(asked.source(data, columns, progress), budget)


def mean(
    data: object,
    budget: Budget,
    *,
    radius: float | None = None,
    origin: Origin = 0.0,
    schema: Schema | None = None,
    mechanism: str | Named = "auto",
    postprocess: str | None = None,
    neighbors: str = REPLACE,
    columns: Sequence[str | int] | None = None,
    seed: int | None = None,
    progress: Callable[[float | None], None] | None = None,
    allow_weak: bool = False,
    expected_n: int | None = None,
    workers: int | Map = 1,
    ledger: DataSet | None = None,
    unit: str | int | None = None,
    weighting: str | None = None,
    most_rows: int | None = None,
    weight: str | int | None = None,
    max_weight: float | None = None,
    clip_weight: str | None = None,
    **options: Any,
) -> Release:
    """Release the mean of the rows, once, under differential privacy.

    Parameters
    ----------
    data, budget
        As in `covariance`.
    radius : float
        The mean lies within this Euclidean distance of ``origin``: a public bound, chosen **without looking at the data**.
        It may be far too large: its price is logarithmic. Exactly one of radius and schema is required.
    origin : number or list of numbers
        A public guess of the mean, in the data's units; 0 by default.
    schema : Schema
        Public bounds and levels of the columns; radius and origin are then those of the bounds. Unknown levels count as none.
    mechanism : str or Mechanism
        A name in ``dpcov.MECHANISMS["mean"]``, or a mechanism of your own.
    postprocess : {"project", "none"}, optional
        By default an estimate outside the public ball is moved to its surface.
    neighbors, columns, seed, progress, allow_weak, expected_n, workers, ledger, unit, weighting, most_rows, weight, max_weight,
    clip_weight
        As in `covariance`.
    **options
        Of the mechanism: docs/mechanisms/README.md lists them. ``covariance=`` is a public variance, a list of them or a
        matrix, in the data's units.

    Returns
    -------
    Release
        Its ``mean`` is the estimate. A missing, NaN or infinite entry counts as the centre at which a round clips.

    Raises
    ------
    ParameterError, SchemaError, EngineError
        As in `covariance`. A first reading that fails costs nothing.

    Privacy
    -------
    ``budget``, for the chosen neighbours and for any data whatsoever. What was asked is in ``release.spent``.

    Examples
    --------
    >>> import numpy as np, dpcov
    >>> rows = np.full((10_000, 2), 0.5)
    >>> release = dpcov.mean(rows, dpcov.ZCDP(0.5), radius=100, seed=0)
    >>> release.mean.round(1).tolist()
    [0.5, 0.5]
    """
    asked = request(
        "mean",
        budget,
        mechanism=mechanism,
        bound=radius,
        schema=schema,
        neighbors=neighbors,
        postprocess=postprocess,
        seed=seed,
        allow_weak=allow_weak,
        expected_n=expected_n,
        workers=workers,
        ledger=ledger,
        whose=Whose(unit, weighting, most_rows, weight, max_weight, clip_weight),
        options={**options, "origin": origin},
    )
    return asked.run(asked.source(data, columns, progress), budget)


def pca(
    data: object,
    budget: Budget,
    k: int,
    *,
    row_norm: float | None = None,
    schema: Schema | None = None,
    mechanism: str | Named = "auto",
    neighbors: str = REPLACE,
    center: bool = False,
    columns: Sequence[str | int] | None = None,
    seed: int | None = None,
    progress: Callable[[float | None], None] | None = None,
    allow_weak: bool = False,
    expected_n: int | None = None,
    workers: int | Map = 1,
    ledger: DataSet | None = None,
    max_rows: int | None = None,
    unit: str | int | None = None,
    weighting: str | None = None,
    most_rows: int | None = None,
    weight: str | int | None = None,
    max_weight: float | None = None,
    clip_weight: str | None = None,
    **options: Any,
) -> Release:
    """Release k principal components of the rows, once, under differential privacy.

    Where the whole covariance is of use, too, `covariance` has principal components for free: ``release.pca(k)``. This function
    spends all of the budget on the components.

    Parameters
    ----------
    data, budget
        As in `covariance`.
    k : int
        How many components, fewer than there are columns.
    row_norm, schema
        Public bounds, as in `covariance`; exactly one of them. With a schema components are of the encoded columns.
    mechanism : str or Mechanism
        A name in ``dpcov.MECHANISMS["pca"]``, or a mechanism of your own; "auto" has a proof for every k.
    center : bool
        True: components of the centred rows; served by "auto", "wishart" and "gaussian". Else of the rows as they are, about 0.
    neighbors, columns, seed, allow_weak, expected_n, workers, max_rows, ledger, unit, weighting, most_rows,
    weight, max_weight, clip_weight
        As in `covariance`.
    progress : callable, optional
        Called now and then while rows are read, or a long draw is made, with the fraction done or None.
    **options
        Of the mechanism: docs/mechanisms/README.md lists them.

    Returns
    -------
    Release
        Its ``components`` are orthonormal rows, ``explained`` the variance along them; ``release.pca()`` can transform rows.

    Privacy
    -------
    ``budget``, for the chosen neighbours and for any data whatsoever; "ppca" with k > 1 has it in a limit only, and says so.

    Examples
    --------
    >>> import numpy as np, dpcov
    >>> rows = np.full((10_000, 3), 0.5) * [1, 1, 0]
    >>> release = dpcov.pca(rows, dpcov.PureDP(1), 1, row_norm=1, seed=0)
    >>> release.components.round(1).tolist()
    [[0.7, 0.7, 0.0]]
    """
    asked = request(
        "pca",
        budget,
        mechanism=mechanism,
        bound=row_norm,
        schema=schema,
        neighbors=neighbors,
        center=center,
        seed=seed,
        allow_weak=allow_weak,
        expected_n=expected_n,
        workers=workers,
        ledger=ledger,
        max_rows=max_rows,
        whose=Whose(unit, weighting, most_rows, weight, max_weight, clip_weight),
        options={**options, "k": k},
    )
    return asked.run(asked.source(data, columns, progress), budget, progress=progress)


def ridge(
    data: object,
    budget: Budget,
    target: str | int,
    *,
    alpha: float,
    row_norm: float | None = None,
    schema: Schema | None = None,
    mechanism: str | Named | None = None,
    columns: Sequence[str | int] | None = None,
    seed: int | None = None,
    progress: Callable[[float | None], None] | None = None,
    allow_weak: bool = False,
    workers: int | Map = 1,
    ledger: DataSet | None = None,
    unit: str | int | None = None,
) -> Release:
    """Release one ridge regression, of a target on all other columns, under differential privacy.

    A baseline: it pays for one model. `covariance` pays once for all of them, ``release.ridge(target)``, and its models are
    better unless alpha is large.

    Parameters
    ----------
    data, budget
        As in `covariance`.
    target : str or int
        The name, or the position among the columns used, of what is predicted: a column of numbers.
    alpha : float
        The penalty: (1/n)·Σ(y − w·x)² + alpha·‖w‖² is least, in the units of the rows (with a schema: encoded).
    row_norm, schema, columns, seed, progress, allow_weak, workers, ledger, unit
        As in `covariance`; row_norm bounds whole rows, the target among them. Neighbours differ in one replaced row.
    mechanism : str or Mechanism, optional
        A name in ``dpcov.MECHANISMS["ridge"]``; there is one.

    Returns
    -------
    Release
        ``release.ridge()`` is the model.

    Privacy
    -------
    ``budget``, for data sets that differ in one row (with ``unit``: in the rows of one person), and for any data whatsoever.

    Examples
    --------
    >>> import numpy as np, dpcov
    >>> rows = np.tile([[0.5, 0.25], [-0.5, -0.25]], (50_000, 1))
    >>> release = dpcov.ridge(rows, dpcov.PureDP(1), "x1", alpha=0.01, row_norm=1, seed=0)
    >>> release.ridge().coefficients.round(1).tolist()
    [0.5]
    """
    asked = request(
        "ridge",
        budget,
        mechanism=ridge_mechanism(mechanism),
        bound=row_norm,
        schema=schema,
        seed=seed,
        allow_weak=allow_weak,
        workers=workers,
        ledger=ledger,
        whose=Whose(unit),
        options={"target": target, "alpha": alpha},
    )
    return asked.run(asked.source(data, columns, progress), budget)
