"""`dpcov.covariance` as a scikit-learn estimator."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import pinvh
from sklearn.utils.validation import check_is_fitted

from dpcov.api import covariance
from dpcov.custody.ledger import DataSet
from dpcov.estimators.common import PrivateEstimator
from dpcov.kernel.budget import Exact
from dpcov.kernel.questions.moments import REPLACE
from dpcov.mechanisms.base import Named
from dpcov.release.record import Release
from dpcov.schema import Level, Schema

Floats = NDArray[np.float64]


class PrivateCovariance(PrivateEstimator):
    """Mean and covariance under differential privacy, in scikit-learn's form.

    Parameters are read when `fit` is called. Exactly one budget is required (``rho``, or ``epsilon`` with or without ``delta``)
    and exactly one of ``row_norm`` and ``schema``. There is no default for either: it would have to look at the data.

    Parameters
    ----------
    epsilon, delta : number, optional
        Pure DP, or with ``delta`` approximate DP. Floats are read by their decimal text.
    rho : number, optional
        zCDP.
    row_norm, schema, mechanism, postprocess, neighbors, center, columns, allow_weak, expected_n, ledger, by
        As in `dpcov.covariance`. With ``by`` the attributes are about all groups together; ``release_["north"]`` is one.
    unit, weighting, most_rows, weight, max_weight
        As in `dpcov.covariance`: columns of X by name, of an array by position, and none of the features.
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
        ``release_.mean`` when the release is centred, else zeros.
    n_features_in_ : int
        Number of columns of X.
    feature_names_in_ : array of str
        Names of the columns of X, where it has any.

    Notes
    -----
    Every call of `fit` spends the budget anew. Steps before this one in a pipeline must not learn from the data (a scaler
    does, a FunctionTransformer does not). There is no ``score``: a score of private data would be one more release. Some of
    scikit-learn's meta-estimators set ``random_state`` unasked: look at ``release_.seeded``. A fitted estimator keeps no
    reference to X, and its pickle holds no data.

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

    covariance_: Floats
    location_: Floats

    def __init__(
        self,
        *,
        epsilon: Exact | None = None,
        delta: Exact | None = None,
        rho: Exact | None = None,
        row_norm: float | None = None,
        schema: Schema | None = None,
        mechanism: str | Named = "auto",
        postprocess: str | None = None,
        neighbors: str = REPLACE,
        center: bool | None = None,
        columns: Sequence[str | int] | None = None,
        allow_weak: bool = False,
        expected_n: int | None = None,
        ledger: DataSet | None = None,
        unit: str | int | None = None,
        weighting: str | None = None,
        most_rows: int | None = None,
        weight: str | int | None = None,
        max_weight: float | None = None,
        by: str | Mapping[str, Sequence[Level]] | None = None,
        options: Mapping[str, Any] | None = None,
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
        self.allow_weak = allow_weak
        self.expected_n = expected_n
        self.ledger = ledger
        self.unit = unit
        self.weighting = weighting
        self.most_rows = most_rows
        self.weight = weight
        self.max_weight = max_weight
        self.by = by
        self.options = options
        self.random_state = random_state

    _release = staticmethod(covariance)
    _settings = (
        "row_norm",
        "schema",
        "mechanism",
        "postprocess",
        "neighbors",
        "center",
        "columns",
        "allow_weak",
        "expected_n",
        "ledger",
        "by",
    )

    def _keep(self, release: Release) -> None:
        self.covariance_ = release.covariance
        self.location_ = release.mean if release.center else np.zeros(release.d)

    def get_precision(self) -> Floats:
        """Return the pseudo-inverse of ``covariance_``."""
        check_is_fitted(self)
        return np.asarray(pinvh(self.covariance_))
