"""`dpcov.covariance` as a scikit-learn estimator."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import pinvh
from scipy.sparse import issparse
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted, validate_data

from dpcov.api import covariance
from dpcov.errors import ParameterError
from dpcov.estimators.inputs import check_seed, checked_options, column_names, is_table, read_budget, watched, without_objects
from dpcov.options import Option
from dpcov.privacy.budget import Exact
from dpcov.release import Release
from dpcov.schema import Schema
from dpcov.statistics.moments import REPLACE

Floats = NDArray[np.float64]


class PrivateCovariance(BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """Mean and covariance under differential privacy, in scikit-learn's form.

    Parameters are read when `fit` is called. Exactly one budget is required (``rho``, or ``epsilon`` with or without ``delta``)
    and exactly one of ``row_norm`` and ``schema``. There is no default for either: it would have to look at the data.

    Parameters
    ----------
    epsilon, delta : number, optional
        Pure DP, or with ``delta`` approximate DP. Floats are read by their decimal text.
    rho : number, optional
        zCDP.
    row_norm, schema, mechanism, postprocess, neighbors, center, columns
        As in `dpcov.covariance`.
    options : dict, optional
        Of the mechanism, for example ``{"constants": "paper"}``.
    random_state : int, optional
        None: the operating system's randomness. An integer is a seed, for tests and papers: the release is then stamped as
        **not private**. Generators are refused: noise drawn from one can be predicted, too.

    Attributes
    ----------
    release_ : Release
        What was learnt and what was promised. It is all that depends on the data; the rest is computed from it.
    covariance_ : array of shape (d, d)
        ``release_.covariance``. With a schema d counts a coordinate per level: ``release_.feature_names``.
    location_ : array of shape (d,)
        ``release_.mean`` when ``center`` is True, else zeros.
    n_features_in_ : int
        Number of columns of X.
    feature_names_in_ : array of str
        Names of the columns of X, where it has any.

    Notes
    -----
    Every call of `fit` spends the budget anew. Steps before this one in a pipeline must not learn from the data (a scaler
    does, a FunctionTransformer does not). There is no ``score``: a score of private data would be one more release.

    Examples
    --------
    >>> import numpy as np, dpcov
    >>> X = np.full((10_000, 2), 0.5)
    >>> estimator = dpcov.PrivateCovariance(rho=0.5, row_norm=1, random_state=0).fit(X)
    >>> estimator.covariance_.round(2).tolist()
    [[0.25, 0.25], [0.25, 0.25]]
    >>> estimator.release_.seeded
    True
    """

    release_: Release
    covariance_: Floats
    location_: Floats
    n_features_in_: int
    feature_names_in_: NDArray[np.object_]

    def __init__(
        self,
        *,
        epsilon: Exact | None = None,
        delta: Exact | None = None,
        rho: Exact | None = None,
        row_norm: float | None = None,
        schema: Schema | None = None,
        mechanism: str = "auto",
        postprocess: str | None = None,
        neighbors: str = REPLACE,
        center: bool = False,
        columns: Sequence[str | int] | None = None,
        options: Mapping[str, Option] | None = None,
        random_state: int | None = None,
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.rho = rho
        self.row_norm = row_norm
        self.schema = schema
        self.mechanism = mechanism
        self.postprocess = postprocess
        self.neighbors = neighbors
        self.center = center
        self.columns = columns
        self.options = options
        self.random_state = random_state

    def fit(self, X: Any, y: object = None) -> Self:  # noqa: ARG002 - y is there for pipelines
        """Release once from X and keep the release, not X.

        Parameters
        ----------
        X : array-like, frame, path or anything with ``__arrow_c_stream__``
            A row per person. Values are never checked: NaN and infinity are data like any other, and in lists and arrays of
            Python objects a cell that is no number is missing.
        y : ignored
        """
        budget, options = read_budget(self.epsilon, self.delta, self.rho), checked_options(self.options)
        check_seed(self.random_state)
        table = is_table(X)
        data = watched(X) if table else self._checked(X)
        release = covariance(
            data,
            budget,
            row_norm=self.row_norm,
            schema=self.schema,
            mechanism=self.mechanism,
            postprocess=self.postprocess,
            neighbors=self.neighbors,
            center=self.center,
            columns=self.columns,
            seed=self.random_state,
            **options,
        )
        self.release_ = release  # first of all: it was paid for
        self.covariance_ = release.covariance
        self.location_ = release.mean if release.center else np.zeros(release.d)
        if table:
            self._note_columns(column_names(data))
        return self

    def get_precision(self) -> Floats:
        """Return the pseudo-inverse of ``covariance_``."""
        check_is_fitted(self)
        return np.asarray(pinvh(self.covariance_))

    def _checked(self, X: Any) -> Any:
        """Note the number of columns and return an array; no value is looked at.

        What is no two-dimensional array is left for `covariance` to refuse: scikit-learn would print it, or forget a mask.
        """
        array = without_objects(X)
        plain = isinstance(array, np.ndarray) and not isinstance(array, np.ma.MaskedArray) and array.ndim == 2
        if not plain and not issparse(array):  # scikit-learn's own words for sparse matrices are the clearer ones
            return array
        if array.dtype.kind == "c":  # scikit-learn's message would hold the rows
            raise ParameterError(f"X must be real, got {array.dtype}. Hint: Complex data not supported; use two columns.")
        least = 1 if self.neighbors == REPLACE else 0  # whether a table is empty is private where n is
        return validate_data(self, array, dtype=None, ensure_all_finite=False, ensure_min_samples=least)

    def _note_columns(self, names: list[Any]) -> None:
        self.n_features_in_ = len(names)
        if all(isinstance(name, str) for name in names):
            self.feature_names_in_ = np.array(names, dtype=object)
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_  # of an earlier fit

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.string = True  # as levels of a schema, else as missing numbers
        tags.input_tags.categorical = self.schema is not None
        return tags
