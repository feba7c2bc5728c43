"""How large will errors be, column by column, in the table's own units? From the schema and the number of rows alone.

A table with a schema is measured in private units (docs/mechanisms/standardized.md): what is asked later depends on earlier
answers, so no formula tells its errors. But the whole release can be tried on rows that are made up from the schema, which is
public: what it says of its own errors there is the prediction. It is as good as the made-up rows are like the real ones.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpcov.errors import ParameterError, check_real, shown
from dpcov.evaluate.made_up import GONE, MOST_ROWS, Repeated, alone, made_up
from dpcov.kernel.budget import ZCDP, ApproxDP, Budget, PureDP
from dpcov.kernel.questions.moments import REPLACE
from dpcov.mechanisms.base import Named
from dpcov.release.statement import risk
from dpcov.request import Request, request
from dpcov.results import Drawable
from dpcov.schema import SMALLEST, Categorical, Numeric, Schema
from dpcov.schema.whose import Whose
from dpcov.sources.kept import KeptSource
from dpcov.uses.description import CLEAR, Description

Floats = NDArray[np.float64]

SPREAD = 1 / 16
"""Deviation of a column of numbers, in widths of its bounds: docs/planning.md has what it was chosen by."""

RUNS = (3, 9)  # releases that are tried, at least and at most: more where there are fewer columns,
TRIED = 20  # so that the figures of this many columns of numbers are there to take a median of
MOST = 2**30  # rows: no sum of encoded rows wraps around below
FACTORS = tuple(Fraction(factor) for factor in ("1/4", "1/2", "1", "2", "4"))
"""Budgets of the picture, in parts of the one that was asked about."""

ASSUMED = (
    "numbers have a deviation of {spread} of the width of their bounds and a moderately long upper tail, levels are equally "
    f"frequent, columns are independent, and {GONE:.0%} of the cells of nullable columns are missing"
)
"""What the made-up rows are like, in words."""

NO_CORRELATION = 1 / CLEAR  # a standard error above it: not even a correlation of 1 is clear of noise


@dataclass(frozen=True, eq=False, repr=False)
class Outlook:
    """Standard errors that a release with one budget is expected to have.

    Attributes
    ----------
    budget : PureDP, ZCDP or ApproxDP
        What would be spent.
    ran : str
        The mechanism that would run: of "auto" its choice.
    feature_names, columns : tuple of str
        What the arrays are about: features, and the column of each. The levels of one column share it.
    is_level : array of bool
        Which features are levels: their means are shares.
    mean : array
        Standard errors of means, in the columns' units; of levels, of their shares. NaN where the mechanism does not tell.
    deviation_from : array
        The smallest standard deviation that is clear of noise; infinite where none is.
    correlation : float
        The standard error of a correlation between two columns of numbers (where there are not two: between any two columns).
    """

    budget: Budget
    ran: str
    feature_names: tuple[str, ...]
    columns: tuple[str, ...]
    is_level: NDArray[np.bool_]
    mean: Floats
    deviation_from: Floats
    correlation: float

    def __repr__(self) -> str:
        return f"<Outlook of {len(self.feature_names)} features with {self.budget!r}: a correlation ± {self.correlation:.2g}>"

    def to_dict(self) -> dict[str, Any]:
        """Return the errors as plain values; what is not known, or infinite, is None."""
        return {
            "ran": self.ran,
            "feature_names": list(self.feature_names),
            "mean_error": [_finite(error) for error in self.mean],
            "deviation_from": [_finite(least) for least in self.deviation_from],
            "correlation_error": _finite(self.correlation),
        }

    @property
    def shows_correlations(self) -> bool:
        """Whether a correlation of less than 1 can be clear of noise."""
        return self.correlation < NO_CORRELATION


@dataclass(frozen=True, eq=False, repr=False)
class TablePlan(Drawable):
    """What a release of a table will be able to tell: see `plan_table`.

    Attributes
    ----------
    schema : Schema
        Bounds and levels of the columns.
    budget : PureDP, ZCDP or ApproxDP
        What would be spent.
    n : int
        The number of rows.
    neighbors : str
        As in `covariance`.
    spread : float
        The deviation of a column of numbers that was assumed, in widths of its bounds.
    outlook : Outlook
        With all columns of the schema.
    narrower : Outlook
        With bounds of numbers half as wide, for the same rows; None where there are no numbers.
    chosen : Outlook
        With the chosen columns only; None where none were chosen.
    counted : {"rows", "people"}
        What n counts.
    """

    schema: Schema
    budget: Budget
    n: int
    neighbors: str
    spread: float
    outlook: Outlook
    narrower: Outlook | None
    chosen: Outlook | None
    counted: str
    _trial: _Trial = field(repr=False)

    @cached_property
    def curve(self) -> tuple[Outlook, ...]:
        """The outlook at a quarter, half, two and four times the budget, too, the smallest first: what a picture shows.

        With the chosen columns, where there are some. Budgets that are too small for any release are left out.
        """
        known = self.outlook if self.chosen is None else self.chosen
        found = []
        for factor in FACTORS:
            try:
                found.append(known if factor == 1 else self._trial.outlook(_times(self.budget, factor)))
            except ParameterError:
                continue
        return tuple(found)

    @property
    def assumed(self) -> str:
        """What the made-up rows are like, in words."""
        return ASSUMED.format(spread=f"1/{1 / self.spread:.3g}")

    @property
    def risk(self) -> str:
        """What such a release could change for one person, in one sentence."""
        return risk(self.budget, self.neighbors, unit="people" if self.counted == "people" else "")

    def to_dict(self) -> dict[str, Any]:
        """Return all of it as plain values; what is not known, or infinite, is None."""
        return {
            "privacy": self.budget.to_json(),
            "risk": self.risk,
            "neighbors": self.neighbors,
            "n": self.n,
            "counted": self.counted,
            "assumed": {"spread": self.spread, "text": self.assumed},
            **self.outlook.to_dict(),
            "half_as_wide": None if self.narrower is None else self.narrower.to_dict(),
            "chosen_columns": None if self.chosen is None else self.chosen.to_dict(),
        }

    def __repr__(self) -> str:
        columns = f"{len(self.schema.used)} columns"
        return f"<TablePlan of {columns}, n={self.n}, {self.budget!r}: a correlation ± {self.outlook.correlation:.2g}>"


def plan_table(
    schema: Schema,
    budget: Budget,
    *,
    n: int,
    columns: Sequence[str] | None = None,
    mechanism: str | Named = "auto",
    neighbors: str = REPLACE,
    spread: float = SPREAD,
    seed: int = 0,
    unit: str | None = None,
    weighting: str | None = None,
    most_rows: int | None = None,
    weight: str | None = None,
    max_weight: float | None = None,
    **options: Any,
) -> TablePlan:
    """Predict the errors of means, deviations and correlations of a table in its own units, from public numbers alone.

    The release is tried on rows that are made up from the schema, and its own standard errors there are the prediction. Each
    column of numbers is taken to have a deviation of ``spread`` times the width of its bounds, with a moderately long upper
    tail, levels to be equally frequent, columns to be independent, and a tenth of the cells of a nullable column to be missing.

    Parameters
    ----------
    schema : Schema
        Public bounds and levels of the columns.
    budget : PureDP, ZCDP or ApproxDP
        What would be spent.
    n : int
        Number of rows; where it is private (``neighbors="add-remove"``), a guess from public knowledge.
    columns : list of names, optional
        The columns that you need: what is gained by releasing these only.
    mechanism, neighbors, **options
        As in `covariance`.
    spread : float
        What you assume of the deviations, above 0 and at most 1/2.
    seed : int
        Of the rows and of the noise.
    unit, weighting, most_rows, weight, max_weight
        As in `covariance`, or in the schema. n is then the number of people, each of whom is taken to have one row, and with
        weights or ``weighting="rows"`` what you expect all to count together.

    Returns
    -------
    TablePlan
        ``outlook``, ``narrower`` and ``chosen`` have the errors; ``plot(path)`` draws them against the budget.

    Raises
    ------
    ParameterError, SchemaError
        What a release would refuse, and bad numbers.

    Examples
    --------
    >>> import dpcov
    >>> schema = dpcov.Schema({"age": dpcov.Numeric(18, 110), "stay": dpcov.Numeric(0, 120)})
    >>> found = dpcov.plan_table(schema, dpcov.PureDP(1), n=8000)
    >>> found.outlook.correlation < 0.05
    True
    """
    if not isinstance(schema, Schema):
        raise ParameterError(f"schema must be a Schema, got {shown(schema)}. Hint: dpcov.Schema.read('schema.toml').")
    said: dict[str, Any] = {"bound": None, "schema": schema, "neighbors": neighbors, "center": None, "seed": seed}
    said["whose"] = Whose(unit, weighting, most_rows, weight, max_weight)
    asked = request("covariance", budget, mechanism=mechanism, options=options, **said)
    if isinstance(n, bool) or not isinstance(n, int) or not 1 <= n <= MOST:
        raise ParameterError(f"n must be an integer from 1 to 2**30, got {shown(n)}. Hint: give a public number.")
    wide = check_real("spread", spread, "above 0 and at most 0.5", 1e-6, 0.5, "0.0625 is a sixteenth of the bounds")
    if columns is not None and (isinstance(columns, str | bytes) or not isinstance(columns, Sequence) or not columns):
        raise ParameterError(f"columns must be a list of names, got {shown(columns)}. Hint: columns=['age'].")
    counted = "people" if asked.aside is not None and asked.aside.unit else "rows"
    schema = schema.of_features()
    asked = replace(asked, aside=None if asked.aside is None else alone(asked.aside, schema))
    whole = _Trial(asked, schema, schema, n, wide)
    chosen = None if columns is None else schema.select(columns)
    small = whole if chosen is None else _Trial(asked, chosen, chosen, n, wide)
    half = _half_as_wide(schema)
    return TablePlan(
        schema=schema,
        budget=budget,
        n=n,
        neighbors=neighbors,
        spread=wide,
        outlook=whole.outlook(budget),
        narrower=None if half is None else _Trial(asked, schema, half, n, wide).outlook(budget),
        chosen=None if chosen is None else small.outlook(budget),
        counted=counted,
        _trial=small,
    )


@dataclass(frozen=True, eq=False)
class _Trial:
    """Releases of rows that are made up from one schema and measured by another, which has narrower bounds or is the same."""

    request: Request
    made_from: Schema
    schema: Schema
    n: int
    spread: float

    @cached_property
    def _sources(self) -> list[Repeated]:
        times = -(-self.n // MOST_ROWS)
        asked, first = replace(self.request, schema=self.schema), self.request.seed or 0
        numbers = sum(isinstance(column, Numeric) for column in self.schema.used.values())
        runs = min(max(RUNS[0], -(-TRIED // max(numbers, 1))), RUNS[1])
        tables = (made_up(self.made_from, self.n // times, self.spread, first + run, asked.aside) for run in range(runs))
        return [Repeated(KeptSource(asked.source(table, None)), times) for table in tables]

    def outlook(self, budget: Budget) -> Outlook:
        """Release each table once, and take the medians of what the releases say of their errors.

        Columns that are described alike differ by chance only: they are taken together, in widths of their bounds.
        """
        first = self.request.seed or 0
        described = []
        for run, source in enumerate(self._sources):
            asked = replace(self.request, schema=self.schema, seed=first + run)
            described.append(asked.run(source, budget).describe("rows"))
        one = described[0]
        return Outlook(
            budget=budget,
            ran=one.release.mechanism,
            feature_names=one.feature_names,
            columns=one.columns,
            is_level=one.is_level,
            mean=self._together(np.array([_mean_errors(found) for found in described])),
            deviation_from=self._together(np.array([_least_deviations(found) for found in described])),
            correlation=float(np.median([_correlation_errors(found) for found in described])),
        )

    def _together(self, errors: Floats) -> Floats:
        """Return the median over runs, in rows, and over features of columns that are described alike."""
        low, high = self.schema.bounds()
        alike = [
            (len(column.levels) if isinstance(column, Categorical) else 0, column.nullable, column.weight)
            for column, width in zip(self.schema.used.values(), self.schema.widths(), strict=True)
            for _ in range(width)
        ]
        relative = errors / (high - low)
        medians = {
            kind: float(np.median(relative[:, [place for place, other in enumerate(alike) if other == kind]]))
            for kind in set(alike)
        }
        return np.array([medians[kind] for kind in alike]) * (high - low)


def _finite(number: float) -> float | None:
    return float(number) if math.isfinite(number) else None


def _mean_errors(found: Description) -> Floats:
    return np.full(len(found.feature_names), np.nan) if found.mean is None else found.mean.standard_error


def _least_deviations(found: Description) -> Floats:
    """Return the roots of what noise alone would show as a variance at most, `CLEAR` standard errors."""
    if found.deviation is None:
        return np.full(len(found.feature_names), np.nan)
    with np.errstate(all="ignore"):
        error = found.deviation.standard_error
        of_variance = 2 * found.deviation.values * error + error**2  # (s + error)² − s²: as errors of deviations are made
        return np.asarray(np.sqrt(CLEAR * of_variance))


def _correlation_errors(found: Description) -> Floats:
    """Return the standard errors for pairs of columns of numbers; where there are none, of all columns."""
    if found.correlation is None:
        return np.full(1, np.nan)
    pairs = found.pairs(clear=False)
    numbers = [(i, j) for i, j in pairs if not found.is_level[i] and not found.is_level[j]]
    places = sorted(numbers or pairs)
    return found.correlation.standard_error[tuple(np.array(places).T)] if places else np.full(1, np.nan)


def _half_as_wide(schema: Schema) -> Schema | None:
    """Return the schema with bounds of numbers half as wide, from the lower ones; None where there are no numbers."""
    halved, found = dict(schema.columns), False
    for name, column in schema.columns.items():
        if isinstance(column, Numeric) and column.reach(center=True) >= SMALLEST:
            halved[name], found = replace(column, upper=column.midpoint), True
    return Schema(halved) if found else None


def _times(budget: Budget, factor: Fraction) -> Budget:
    """Return a multiple of a budget; its δ stays."""
    if isinstance(budget, ZCDP):
        return ZCDP(budget.rho * factor)
    if isinstance(budget, ApproxDP):
        return ApproxDP(budget.epsilon * factor, budget.delta)
    return PureDP(budget.epsilon * factor)
