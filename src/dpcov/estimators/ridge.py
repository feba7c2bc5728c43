"""Ridge regression as a scikit-learn estimator: one release of rows and target together, and one model from it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import RegressorMixin
from sklearn.utils.validation import check_is_fitted, column_or_1d, validate_data

from dpcov.api import covariance, ridge
from dpcov.custody.ledger import DataSet
from dpcov.errors import ParameterError, check_choice, check_real, shown
from dpcov.estimators.beside import apart, features_of
from dpcov.estimators.common import PrivateEstimator
from dpcov.estimators.inputs import (
    check_seed,
    checked_options,
    column_names,
    is_table,
    plain_rows,
    read_budget,
    refuse_merging,
    refuse_others,
    watched,
    with_target,
    without_objects,
)
from dpcov.kernel.budget import Budget, Exact
from dpcov.kernel.questions.moments import REPLACE
from dpcov.kernel.rows.grid import checked_row_norm
from dpcov.mechanisms import MECHANISMS
from dpcov.release.record import Release
from dpcov.schema import Schema
from dpcov.schema.whose import Whose
from dpcov.sources.array import checked_array
from dpcov.uses.ridge import AUTO, RidgeModel
from dpcov.uses.selection import column_of_feature, target_place
from dpcov.uses.solving import LARGEST_ALPHA

Floats = NDArray[np.float64]
HINT = "'auto' adapts it to the noise"


class PrivateRidge(RegressorMixin, PrivateEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """Ridge regression under differential privacy, in scikit-learn's form.

    `fit` makes one release of the mean and covariance of rows and target together and solves for one model. ``release_`` has
    all the others for free: ``release_.ridge(target)``.

    Parameters
    ----------
    alpha : float or "auto"
        The penalty in (1/n)·Σ(y − b − w·x)² + alpha·‖w‖², in the units of X and y: alpha·n is scikit-learn's. "auto" takes it
        from the release's own noise.
    epsilon, delta : number, optional
        Pure DP, or with ``delta`` approximate DP. Floats are read by their decimal text.
    rho : number, optional
        zCDP.
    row_norm : float
        A public bound on the Euclidean norm of rows of X, chosen **without looking at the data**.
    target_bound : float
        A public bound on |y|; y is clipped to it. Rows with the target divided by it are clipped together.
    schema : Schema
        In place of these two: public bounds and levels of the columns, the target's among them. alpha is then in the units of
        encoded columns, as in ``release_.ridge``.
    target : str, optional
        With a schema: what is predicted, a column of numbers or ``column=level``. By default its last column.
    fit_intercept : bool
        Whether the model has an intercept, which is not penalised.
    mechanism : str
        A name in ``dpcov.MECHANISMS["covariance"]``; or "output-perturbation", a baseline that adds noise to the
        coefficients of this one model (without an intercept, with a number for alpha).
    neighbors : {"replace", "add-remove"}
        As in `dpcov.covariance`.
    allow_weak, expected_n, ledger
        As in `dpcov.covariance`.
    unit, weighting, most_rows, weight, max_weight
        As in `dpcov.covariance`: columns of X by name, of an array by position, and none of the features. A frame to predict
        may have them or not; an array has the columns that X had.
    options : dict, optional
        Of the mechanism.
    random_state : int, optional
        None: the operating system's randomness. An integer is a seed, for tests and papers: the release is then stamped as
        **not private**. Generators are refused: noise drawn from one can be predicted, too.

    Attributes
    ----------
    release_ : Release
        What was learnt and what was promised, of rows in units of ``row_norm`` with the target, in ``target_bound``, last;
        with a schema in the columns' own units.
    coef_ : array of shape (d,)
        The coefficients, in the units of X and y; with a schema one for each level, named by ``model_.features``.
    intercept_ : float
        0 without one.
    alpha_ : float
        The penalty that was used, in the units of X and y.
    model_ : RidgeModel
        The model, with its intervals and its reading; without a schema in units of the bounds.
    n_features_in_ : int
        Number of columns of X, ``unit`` and ``weight`` among them.
    feature_names_in_ : array of str
        Names of the columns of X, where it has any.

    Notes
    -----
    Every call of `fit` spends the budget anew. ``score`` looks at its data: of private rows it is not private. Missing,
    NaN and infinite entries count as 0, of X and of y, when fitting and when predicting; with a schema as docs/tables.md says.

    Examples
    --------
    >>> import numpy as np, dpcov
    >>> X = np.tile([[1.0], [2.0], [3.0]], (10_000, 1))
    >>> model = dpcov.PrivateRidge(epsilon=1, row_norm=3, target_bound=10, random_state=0).fit(X, 2 * X[:, 0] + 1)
    >>> model.predict([[1.0], [3.0]]).round().tolist()
    [3.0, 7.0]
    """

    coef_: Floats
    intercept_: float
    alpha_: float
    model_: RidgeModel

    def __init__(
        self,
        alpha: float | str = AUTO,
        *,
        epsilon: Exact | None = None,
        delta: Exact | None = None,
        rho: Exact | None = None,
        row_norm: float | None = None,
        target_bound: float | None = None,
        schema: Schema | None = None,
        target: str | None = None,
        fit_intercept: bool = True,
        mechanism: str = "auto",
        neighbors: str = REPLACE,
        allow_weak: bool = False,
        expected_n: int | None = None,
        ledger: DataSet | None = None,
        unit: str | int | None = None,
        weighting: str | None = None,
        most_rows: int | None = None,
        weight: str | int | None = None,
        max_weight: float | None = None,
        options: Mapping[str, Any] | None = None,
        random_state: int | None = None,
    ) -> None:
        self.alpha = alpha
        self.epsilon = epsilon
        self.delta = delta
        self.rho = rho
        self.row_norm = row_norm
        self.target_bound = target_bound
        self.schema = schema
        self.target = target
        self.fit_intercept = fit_intercept
        self.mechanism = mechanism
        self.neighbors = neighbors
        self.allow_weak = allow_weak
        self.expected_n = expected_n
        self.ledger = ledger
        self.unit = unit
        self.weighting = weighting
        self.most_rows = most_rows
        self.weight = weight
        self.max_weight = max_weight
        self.options = options
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None, **given: object) -> Self:
        """Release once from X and y and keep the release, not the data.

        Parameters
        ----------
        X : array-like or frame of numbers
            A row per person. With a schema any table, or an array of its columns in order, but for the target, the last.
        y : array-like
            The target, a number per person; with a schema also a level. It may be left out where X is a table that holds it.
        **given
            Refused, ``sample_weight`` with a hint: weights stand in a column of X.
        """
        refuse_others(given)
        budget = read_budget(self.epsilon, self.delta, self.rho, type(self).__name__, "target_bound=10, row_norm")
        check_seed(self.random_state)
        if self.schema is not None:
            return self._fit_table(X, y, budget)
        if self.target is not None:
            raise ParameterError(f"target must be left out without a schema, got {shown(self.target)}. Hint: y is the target.")
        longest, largest = self._checked_bounds()
        penalty = self._checked_penalty(longest)
        if y is None:
            raise ParameterError(f"{type(self).__name__} requires y to be passed, but the target y is None. Hint: fit(X, y).")
        whose = Whose(**self._whose).checked()
        parts = apart(X if is_table(X) else self._checked(X), whose) if whose.names else None
        rows = checked_array(without_objects(self._checked(X) if parts is None else parts.features))
        if is_table(X):
            validate_data(self, X, skip_check_array=True)  # notes the names of columns
        target = _numbers(y)
        if len(rows) != len(target):
            raise ParameterError(
                "y must have one number for each row of X, got more or fewer. Hint: give one target per person."
            )
        self._warn_of_spending()
        joined = _joined(rows, target, longest, largest)
        last = joined.shape[1] - 1
        self.release_ = self._released(joined if parts is None else parts.with_target(joined), last, budget, penalty)
        self.model_ = model = self.release_.ridge(last, alpha=penalty)
        self.coef_ = model.coefficients * (largest / longest)
        self.intercept_ = model.intercept * largest
        self.alpha_ = model.alpha * longest**2
        return self

    def _fit_table(self, X: Any, y: Any, budget: Budget) -> Self:
        """Release a table with its schema, the target among its columns."""
        schema, options = self._checked_schema(), checked_options(self.options, covariance)
        check_choice("mechanism", self.mechanism, list(MECHANISMS["covariance"]), "'auto' takes any budget")
        names = schema.feature_names
        target = names[-1] if self.target is None else self.target
        place = target_place(names, schema, target)
        alpha = (
            AUTO if self.alpha == AUTO else check_real("alpha", self.alpha, "'auto', or 0 or more", 0.0, LARGEST_ALPHA, HINT)
        )
        if self._has_people:
            refuse_merging(X, y)
        data = watched(X) if y is None else with_target(X, y, column_of_feature(schema, names)[place], schema)
        if not is_table(data) and not isinstance(data, np.ndarray):
            raise ParameterError(f"X must be a table or an array, got {type(X).__name__}. Hint: pass a frame.")
        self._warn_of_spending()
        self.release_ = covariance(
            data,
            budget,
            schema=schema,
            mechanism=self.mechanism,
            neighbors=self.neighbors,
            seed=self.random_state,
            allow_weak=self.allow_weak,
            expected_n=self.expected_n,
            ledger=self.ledger,
            **self._whose,
            **options,
        )
        self.model_ = self.release_.ridge(place, alpha=alpha)
        self.coef_, self.intercept_, self.alpha_ = self.model_.coefficients, self.model_.intercept, self.model_.alpha
        if is_table(X):
            self._note_columns(column_names(data if y is None else X))
        else:
            self.n_features_in_ = np.shape(X)[1]
        return self

    def _checked_schema(self) -> Schema:
        """Return the schema, or refuse what does not go with one."""
        if self.row_norm is not None or self.target_bound is not None or self.fit_intercept is not True:
            raise ParameterError(
                "row_norm and target_bound must be left out with a schema, and fit_intercept must be True, got something else. "
                "Hint: the schema has the bounds."
            )
        if not isinstance(self.schema, Schema):
            raise ParameterError(f"schema must be a Schema, got {shown(self.schema)}. Hint: dpcov.Schema.read('schema.toml').")
        return self.schema

    def predict(self, X: Any) -> Floats:
        """Return a prediction for each row."""
        check_is_fitted(self)
        if self.schema is not None:
            return self.model_.predict(X if is_table(X) else without_objects(X))
        aside = self.release_.encoding.aside
        if is_table(X) and aside is not None:
            array = without_objects(features_of(X, list(self.feature_names_in_), aside.names))
        elif is_table(X):
            array = without_objects(X)
            validate_data(self, X, skip_check_array=True, reset=False)  # columns by the same names, in the same order
        else:
            array = np.asarray(plain_rows(self, X, reset=False))
            array = array[:, [int(name[1:]) for name in self.release_.feature_names[:-1]]]
        rows = checked_array(array).astype(np.float64, order="C")  # the same product for a frame and an array
        with np.errstate(all="ignore"):
            return np.asarray(np.where(np.isfinite(rows), rows, 0.0) @ self.coef_ + self.intercept_)

    def _released(self, rows: Any, last: int, budget: Budget, alpha: float | str) -> Release:
        """Release rows with their target, each of norm at most 1, together."""
        bound = math.sqrt(2)
        check_choice("mechanism", self.mechanism, [*MECHANISMS["covariance"], *MECHANISMS["ridge"]], "'auto' takes any budget")
        if self.mechanism in MECHANISMS["ridge"]:
            checked_options(self.options, ridge)
            if self.fit_intercept or self.neighbors != REPLACE or isinstance(alpha, str) or self.options:
                raise ParameterError(
                    f"mechanism {self.mechanism!r} must have fit_intercept=False, neighbors='replace', a number for alpha "
                    f"and no options, got something else. Hint: mechanism='auto' allows all of them."
                )
            if self.weight is not None or self.weighting == "rows":
                raise ParameterError(
                    f"weight and weighting='rows' must be left out for mechanism {self.mechanism!r}, got one of them. "
                    f"Hint: mechanism='auto' takes them."
                )
            return ridge(
                rows,
                budget,
                last,
                alpha=alpha,
                row_norm=bound,
                mechanism=self.mechanism,
                seed=self.random_state,
                allow_weak=self.allow_weak,
                ledger=self.ledger,
                unit=self.unit,
            )
        options = checked_options(self.options, covariance)
        if "centring" in options:
            raise ParameterError("options must leave centring to fit_intercept, got 'centring'. Hint: set fit_intercept=True.")
        return covariance(
            rows,
            budget,
            row_norm=bound,
            center=self.fit_intercept,
            mechanism=self.mechanism,
            neighbors=self.neighbors,
            seed=self.random_state,
            allow_weak=self.allow_weak,
            expected_n=self.expected_n,
            ledger=self.ledger,
            **self._whose,
            **options,
        )

    def _checked_bounds(self) -> tuple[float, float]:
        if self.row_norm is None or self.target_bound is None:
            raise ParameterError(
                "row_norm and target_bound must be given, got None. Hint: give public bounds; the data's own would leak."
            )
        if not isinstance(self.fit_intercept, bool):
            raise ParameterError(
                f"fit_intercept must be True or False, got {shown(self.fit_intercept)}. Hint: True is the default."
            )
        return checked_row_norm(self.row_norm), checked_row_norm(self.target_bound, name="target_bound")

    def _checked_penalty(self, longest: float) -> float | str:
        """Return alpha in the units of the release, whose rows are divided by their bound."""
        if isinstance(self.alpha, str) and self.alpha == AUTO:
            return AUTO
        rule, hint = "'auto', or 0 or more and finite", "'auto' adapts it to the noise"
        alpha = check_real("alpha", self.alpha, rule, 0.0, LARGEST_ALPHA, hint)
        if alpha / LARGEST_ALPHA > min(longest, 1.0) ** 2:
            raise ParameterError(f"alpha must be at most 1e300 times row_norm squared, got {alpha:.3g}. Hint: {hint}.")
        return alpha / longest / longest

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.regressor_tags.poor_score = True  # a hundred rows are few for any noise
        return tags


def _numbers(y: Any) -> Floats:
    """Return the target as numbers; what is none is missing. No value is looked at."""
    if isinstance(y, np.ma.MaskedArray):
        raise ParameterError("y must be a plain array, got a masked one. Hint: y.filled(np.nan), which counts as 0.")
    array = np.asarray(without_objects(y))  # of a list, cell by cell: one that is no number is missing
    if array.dtype.kind not in "biuf":
        raise ParameterError(
            f"y must be numbers, got {array.dtype.type.__name__}. Hint: dpcov.covariance with a schema takes levels."
        )
    flat = column_or_1d(array, warn=True)
    with np.errstate(all="ignore"):
        return np.asarray(flat, dtype=np.float64)


def _joined(rows: NDArray[Any], target: Floats, longest: float, largest: float) -> Floats:
    """Return rows and target in units of their bounds: elementwise, so that a row's numbers are its own."""
    joined = np.empty((len(rows), rows.shape[1] + 1))
    with np.errstate(all="ignore"):
        np.divide(rows, longest, out=joined[:, :-1], dtype=np.float64, casting="unsafe")  # not in the rows' own precision
        inside = np.where(np.isfinite(target), np.clip(target, -largest, largest), 0.0)
        np.divide(inside, largest, out=joined[:, -1])
    return joined
