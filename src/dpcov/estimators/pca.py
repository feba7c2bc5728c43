"""`dpcov.pca` as a scikit-learn transformer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from dpcov.api import pca
from dpcov.custody.ledger import DataSet
from dpcov.estimators.common import PrivateEstimator
from dpcov.estimators.inputs import is_table, plain_rows, without_objects
from dpcov.kernel.budget import Exact
from dpcov.kernel.questions.moments import REPLACE
from dpcov.mechanisms.base import Named
from dpcov.release.record import Release
from dpcov.schema import Schema
from dpcov.sources.opening import open_source
from dpcov.uses.prediction import Products

Floats = NDArray[np.float64]


class PrivatePCA(TransformerMixin, ClassNamePrefixFeaturesOutMixin, PrivateEstimator):  # type: ignore[misc]
    """Principal components under differential privacy, in scikit-learn's form.

    Parameters are read when `fit` is called. Exactly one budget is required (``rho``, or ``epsilon`` with or without ``delta``)
    and exactly one of ``row_norm`` and ``schema``. There is no default for either: it would have to look at the data.

    Parameters
    ----------
    n_components : int
        How many components, fewer than there are columns (with a schema: than there are coordinates).
    epsilon, delta : number, optional
        Pure DP, or with ``delta`` approximate DP. Floats are read by their decimal text.
    rho : number, optional
        zCDP.
    row_norm, schema, mechanism, neighbors, center, columns, allow_weak, expected_n, ledger
        As in `dpcov.pca`. Unlike scikit-learn's PCA, rows are not centred by default.
    unit, weighting, most_rows, weight, max_weight
        As in `dpcov.covariance`: columns of X by name, of an array by position, and none of the features. A frame that is
        transformed may have them or not; an array has the columns that X had.
    options : dict, optional
        Of the mechanism, for example ``{"clip": "private"}``.
    random_state : int, optional
        None: the operating system's randomness. An integer is a seed, for tests and papers: the release is then stamped as
        **not private**.

    Attributes
    ----------
    release_ : Release
        What was learnt and what was promised. It is all that depends on the data; the rest is computed from it.
    components_ : array of shape (n_components, d)
        Orthonormal rows; the largest entry of each is positive. With a schema d counts a coordinate per level.
    explained_variance_, explained_variance_ratio_ : arrays of shape (n_components,)
        Private estimates of the variance along each component (second moment, where rows are not centred).
    mean_ : array of shape (d,)
        ``release_.mean`` when ``center`` is True; else zeros, or with a schema what it encodes as 0.
    n_components_ : int
        How many components there are.
    n_features_in_ : int
        Number of columns of X.
    feature_names_in_ : array of str
        Names of the columns of X, where it has any.

    Notes
    -----
    Every call of `fit` spends the budget anew. `transform` adds no noise: of private rows its result is as private as they are.
    Missing, NaN and infinite entries count as 0, with a schema as the midpoint, and values beyond its bounds as the bounds.

    Examples
    --------
    >>> import numpy as np, dpcov
    >>> X = np.full((10_000, 3), 0.5) * [1, 1, 0]
    >>> estimator = dpcov.PrivatePCA(1, epsilon=1, row_norm=1, random_state=0).fit(X)
    >>> estimator.transform(X[:1]).round(1).tolist()
    [[0.7]]
    """

    components_: Floats
    explained_variance_: Floats
    explained_variance_ratio_: Floats
    mean_: Floats
    n_components_: int

    def __init__(
        self,
        n_components: int = 1,
        *,
        epsilon: Exact | None = None,
        delta: Exact | None = None,
        rho: Exact | None = None,
        row_norm: float | None = None,
        schema: Schema | None = None,
        mechanism: str | Named = "auto",
        neighbors: str = REPLACE,
        center: bool = False,
        columns: Sequence[str | int] | None = None,
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
        self.n_components = n_components
        self.epsilon = epsilon
        self.delta = delta
        self.rho = rho
        self.row_norm = row_norm
        self.schema = schema
        self.mechanism = mechanism
        self.neighbors = neighbors
        self.center = center
        self.columns = columns
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

    _release = staticmethod(pca)
    _settings = (
        "row_norm",
        "schema",
        "mechanism",
        "neighbors",
        "center",
        "columns",
        "allow_weak",
        "expected_n",
        "ledger",
        "n_components",
    )
    _renamed = MappingProxyType({"n_components": "k"})

    def _keep(self, release: Release) -> None:
        found = release.pca(self.n_components)
        self.components_, self.explained_variance_ = found.components, found.explained
        self.explained_variance_ratio_ = found.ratio
        self.mean_, self.n_components_ = found.offsets, found.k

    @property
    def _n_features_out(self) -> int:
        return self.n_components_

    def transform(self, X: Any) -> Floats:
        """Return the coordinates of rows along the components."""
        check_is_fitted(self)
        found = self.release_.pca(self.n_components_)
        if self.schema is None and not is_table(X):
            rows = plain_rows(self, X, reset=False)
            source = open_source(np.asarray(rows), list(self.release_.feature_names))
        else:
            names = self.columns if self.columns is not None else None if self.schema else list(self.release_.feature_names)
            source = open_source(X if is_table(X) else np.asarray(without_objects(X)), names, self.schema, self.center)
        centre = (found.offsets - self.release_.offsets) / found.scales
        return Products(found.components, centre).of_source(source)

    def inverse_transform(self, X: Any) -> Floats:
        """Return rows in the data's units, of the selected columns (with a schema: coordinates), from their coordinates."""
        check_is_fitted(self)
        return self.release_.pca(self.n_components_).inverse_transform(X)
