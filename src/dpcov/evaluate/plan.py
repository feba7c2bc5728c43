"""How large will the error be, and how many rows are needed? From public numbers, before any data are read or spent on."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from dpcov.bounds import least_rows, least_rows_scope, mod_sulq_rows, ppca_rows
from dpcov.errors import ParameterError, check_choice, shown
from dpcov.kernel.answer import Spend
from dpcov.kernel.budget import ApproxDP, Budget, Exact
from dpcov.kernel.questions.moments import REPLACE, SecondMoment
from dpcov.kernel.rows.grid import MAX_FEATURES, Grid
from dpcov.mechanisms import MECHANISMS
from dpcov.mechanisms.base import Described, Named
from dpcov.mechanisms.shared.additive import predicted_errors
from dpcov.mechanisms.shared.components import EXPLAINED
from dpcov.promise import check_budget
from dpcov.rehearsal import Rehearsal, Shape
from dpcov.release.record import TARGETS
from dpcov.request import checked_norm, request
from dpcov.results import Result
from dpcov.schema import Schema
from dpcov.schema.whose import Whose

MOST_ROWS = 2**62
MOST_NAMED = 3  # mechanisms, in a repr


@dataclass(frozen=True)
class Prediction:
    """What a mechanism would ask, and what its noise will do.

    Attributes
    ----------
    mechanism : str
        Its name.
    expected_error : float, optional
        The r.m.s. norm of its noise, as `Release.expected_error`; None where it is not known beforehand.
    unknown_because : str, optional
        Why it is not.
    spent : tuple of Spend
        What would be asked, with the law of its noise and its price.
    """

    mechanism: str
    expected_error: float | None
    unknown_because: str | None = None
    spent: tuple[Spend, ...] = ()


@dataclass(frozen=True)
class Plan(Result):
    """Predicted errors of mechanisms, for rows of norm 1: r.m.s. norms of the noise, the smallest first.

    Multiply by row_norm² for a second moment in the data's units (means: by the radius). No second moment is larger than 1.
    Post-processing makes the error smaller, most of all where it is large.

    Attributes
    ----------
    target : str
        What would be released.
    budget : PureDP, ZCDP or ApproxDP
        What would be spent.
    n, d : int
        Number of rows and of features.
    neighbors, center
        As in `covariance`.
    predictions : tuple of Prediction
        One for each mechanism.
    counted : {"rows", "people"}
        What n counts.
    """

    target: str
    budget: Budget
    n: int
    d: int
    neighbors: str
    center: bool
    predictions: tuple[Prediction, ...]
    counted: str = "rows"

    @property
    def best(self) -> Prediction:
        """The mechanism with the smallest expected error; where none is known, the first."""
        return self.predictions[0]

    def __repr__(self) -> str:
        errors = ["?" if one.expected_error is None else f"{one.expected_error:.3g}" for one in self.predictions]
        named = [f"{one.mechanism} {error}" for one, error in zip(self.predictions, errors, strict=True)]
        listed = ", ".join(named[:MOST_NAMED]) + ", ..." * (len(named) > MOST_NAMED)
        return f"<Plan of a {self.target} with {self.budget!r}, n={self.n}, d={self.d}: {listed}>"

    def to_dict(self) -> dict[str, float | None]:
        """Return the expected error of each mechanism."""
        return {prediction.mechanism: prediction.expected_error for prediction in self.predictions}


def plan(
    target: str,
    budget: Budget,
    /,
    *,
    n: int,
    d: int | None = None,
    schema: Schema | None = None,
    mechanism: str | Named | Sequence[str | Named] | None = None,
    neighbors: str = REPLACE,
    center: bool = False,
    unit: str | int | None = None,
    weighting: str | None = None,
    most_rows: int | None = None,
    weight: str | int | None = None,
    max_weight: float | None = None,
    **options: Any,
) -> Plan:
    """Predict errors, and what would be asked, from public numbers alone.

    Parameters
    ----------
    target : {"covariance", "mean", "pca", "ridge"}
        What would be released. How many rows principal components need: `plan_pca`.
    budget : PureDP, ZCDP or ApproxDP
        What would be spent.
    n, d : int
        Number of rows and of features; a column of text counts once per level. In place of d:
    schema : Schema, optional
        Public bounds and levels of the columns.
    mechanism : str, Mechanism or list of them, optional
        Whose error; by default of a covariance all that add noise to it at row_norm. "auto" usually clips further, which is not
        shown there unless it is asked for.
    neighbors, center
        As in `covariance`.
    unit, weighting, most_rows, weight, max_weight
        As in `covariance`, or in the schema; no table has to have these columns. n is then the number of people, and with
        weights or ``weighting="rows"`` what you expect all to count together: it is private, and a question of its own.
    **options
        Of the mechanism.

    Returns
    -------
    Plan

    Examples
    --------
    >>> import dpcov
    >>> best = dpcov.plan("covariance", dpcov.PureDP(1), n=48842, d=108).best
    >>> best.mechanism, round(best.expected_error, 4)
    ('wishart', 0.0328)
    """
    check_choice("target", target, TARGETS, "say what you would release")
    check_budget(budget)
    whose = Whose(unit, weighting, most_rows, weight, max_weight)
    beside = (whose.joined(schema.whose) if isinstance(schema, Schema) else whose).checked()
    additive = mechanism is None and target == "covariance" and not options
    usual = next(iter(MECHANISMS[target])) if mechanism is None else mechanism
    if not isinstance(usual, str | Described | Sequence):
        raise ParameterError(
            f"mechanism must be a name, a Mechanism, or a list of them, got {shown(usual)}. Hint: mechanism='auto'."
        )
    several = () if additive else (usual,) if isinstance(usual, str | Described) else tuple(usual)
    bound = 1.0 if schema is None else None
    said: dict[str, Any] = {"bound": bound, "schema": schema, "neighbors": neighbors, "center": center, "whose": whose}
    asked = {one: request(target, budget, mechanism=one, options=options, **said) for one in several}
    checked_norm(bound, schema, neighbors, center)
    if (d is None) == (schema is None):
        got = "neither" if d is None else "both"
        raise ParameterError(
            f"either d or schema must be given, got {got}. Hint: a schema already says how many features there are."
        )
    known = None if schema is None else schema.of_features()
    shape = Shape(_names(d, center) if known is None else known.feature_names, known, _checked_size("n", n, MOST_ROWS))
    if additive:
        errors = _additive(shape, budget, neighbors, center)
        asked = {name: request(target, budget, mechanism=name, options={}, **said) for name in errors}
    rehearsed = {one if isinstance(one, str) else one.name: made.rehearse(shape, budget) for one, made in asked.items()}
    found = [
        Prediction(name, errors[name] / shape.n, None, one.spent)
        if additive and not (beside.weight or beside.most_rows)  # a total that is asked for leaves less for the matrix
        else _prediction(name, one, shape.n)
        for name, one in rehearsed.items()
    ]
    found.sort(key=lambda one: math.inf if one.expected_error is None else one.expected_error)
    return Plan(target, budget, n, shape.d, neighbors, center, tuple(found), "people" if beside.unit else "rows")


def _additive(shape: Shape, budget: Budget, neighbors: str, center: bool) -> dict[str, float]:
    """Return n times the error of every kind of noise that serves the budget: no matrix need be made for it."""
    grid = Grid(1.0, center=center)
    errors = predicted_errors(SecondMoment(grid, grid.width(shape.d)), budget, neighbors)
    if not errors:
        raise ParameterError(f"budget must be larger, got {budget!r}, too little for any mechanism. Hint: spend more.")
    return errors


def _prediction(name: str, found: Rehearsal, n: int) -> Prediction:
    error = found.expected_error_times_n  # under add-remove, too: here n is what the user said
    return Prediction(name, None if error is None else error / n, found.unknown_because, found.spent)


def _names(d: object, center: bool) -> tuple[str, ...]:
    """Return names for so many features."""
    return tuple(f"x{j}" for j in range(_checked_size("d", d, MAX_FEATURES - center)))


def _checked_size(name: str, value: object, largest: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= largest:
        raise ParameterError(f"{name} must be an integer from 1 to {largest}, got {shown(value)}. Hint: give a public number.")
    return value


@dataclass(frozen=True)
class RowsNeeded(Result):
    """How many rows one private component needs: enough, and necessary; None where a theorem says nothing.

    Theorems of Chaudhuri, Sarwate and Sinha (2013), for rows of norm at most 1 and neighbours that replace one row. They hold
    for all data with this gap: fewer rows than enough may do for yours.

    Attributes
    ----------
    d, gap, largest, epsilon, delta, correlation, beta
        What it was asked for: see `plan_pca`.
    enough, enough_as_printed : int
        For one direction drawn by the exponential mechanism (Theorem 7, with tight constants and as printed).
    enough_for_release, direction_share : int, float
        For a release, whose direction has this share of epsilon: the rest tells what the direction explains.
    needed_by_any, needed_by_any_from_correlation : int, float
        With fewer, no epsilon-DP algorithm reaches the correlation on all data (Theorem 8), which starts there.
    needed_by_mod_sulq : int
        With fewer, a Gaussian matrix cannot reach it (Theorem 15).
    """

    d: int
    gap: float
    largest: float
    epsilon: float
    delta: float
    correlation: float
    beta: float
    enough: int
    enough_for_release: int
    direction_share: float
    enough_as_printed: int
    needed_by_any: int | None
    needed_by_any_from_correlation: float | None
    needed_by_mod_sulq: int | None

    def __repr__(self) -> str:
        return f"<RowsNeeded for a component of {self.d} features at epsilon={self.epsilon:g}: {self.enough} are enough>"

    def to_dict(self) -> dict[str, float | None]:
        """Return the numbers by name."""
        return asdict(self)


def plan_pca(
    d: int,
    gap: float,
    epsilon: Exact,
    *,
    delta: Exact = "1e-6",
    correlation: float = 0.9,
    largest: float = 1.0,
    beta: float = 0.05,
) -> RowsNeeded:
    """Predict how many rows, of norm at most 1, one private principal component needs.

    Parameters
    ----------
    d : int
        Number of features.
    gap : float
        Between the two largest eigenvalues of the mean of x xᵀ.
    epsilon, delta : number
        The budget; delta counts for Gaussian noise on the matrix only.
    correlation : float
        Wanted, with the true first component.
    largest : float
        The largest eigenvalue, at most 1.
    beta : float
        The probability that it may go wrong.

    Returns
    -------
    RowsNeeded

    Examples
    --------
    >>> import dpcov
    >>> dpcov.plan_pca(100, 0.1, 0.1).enough
    636026
    """
    if isinstance(d, bool) or not isinstance(d, int) or not 2 <= d <= MAX_FEATURES:
        raise ParameterError(
            f"d must be an integer from 2 to {MAX_FEATURES}, got {shown(d)}. Hint: one column has no directions."
        )
    budget = ApproxDP(epsilon, delta)
    size, miss = float(budget.epsilon), float(budget.delta)
    try:
        enough = ppca_rows(d, gap, size, correlation, largest=largest, beta=beta)
        printed = ppca_rows(d, gap, size, correlation, largest=largest, beta=beta, constants="paper")
        needed, scope = least_rows(d, gap, size, correlation), least_rows_scope(d)
        mod_sulq = mod_sulq_rows(d, size, miss, correlation)
        return RowsNeeded(
            d=d,
            gap=float(gap),
            largest=float(largest),
            epsilon=size,
            delta=miss,
            correlation=float(correlation),
            beta=float(beta),
            enough=_whole(enough),
            enough_for_release=_whole(enough / float(1 - EXPLAINED)),
            direction_share=float(1 - EXPLAINED),
            enough_as_printed=_whole(printed),
            needed_by_any=_whole(needed) if needed > 0 else None,
            needed_by_any_from_correlation=scope if scope < 1 else None,
            needed_by_mod_sulq=_whole(mod_sulq) if mod_sulq > 1 else None,
        )
    except ArithmeticError:
        raise ParameterError(
            f"epsilon and gap must be larger, got {size:g} and {gap:g}, for which no number of rows suffices. Hint: spend more."
        ) from None


def _whole(rows: float) -> int:
    """Round up, but for what rounding added."""
    return max(1, math.ceil(rows * (1 - 1e-12)))
