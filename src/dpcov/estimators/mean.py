"""`dpcov.mean` as a scikit-learn estimator."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpcov.api import mean
from dpcov.custody.ledger import DataSet
from dpcov.estimators.common import PrivateEstimator
from dpcov.kernel.budget import Exact
from dpcov.kernel.questions.moments import REPLACE
from dpcov.mechanisms.base import Named
from dpcov.mechanisms.shared.means import Origin
from dpcov.release.record import Release
from dpcov.schema import Schema

Floats = NDArray[np.float64]


class PrivateMean(PrivateEstimator):
    """The mean of rows under differential privacy, in scikit-learn's form.

    Parameters are read when `fit` is called. Exactly one budget is required (``rho``, or ``epsilon`` with or without ``delta``)
    and exactly one of ``radius`` and ``schema``. There is no default for either: it would have to look at the data.

    Parameters
    ----------
    epsilon, delta : number, optional
        Pure DP, or with ``delta`` approximate DP. Floats are read by their decimal text.
    rho : number, optional
        zCDP.
    radius, origin, schema, mechanism, postprocess, neighbors, columns, allow_weak, expected_n, ledger
        As in `dpcov.mean`.
    unit, weighting, most_rows, weight, max_weight
        As in `dpcov.covariance`: columns of X by name, of an array by position, and none of the features.
    options : dict, optional
        Of the mechanism, for example ``{"covariance": 1.0}``.
    random_state : int, optional
        None: the operating system's randomness. An integer is a seed, for tests and papers: the release is then stamped as
        **not private**. Generators are refused: noise drawn from one can be predicted, too.

    Attributes
    ----------
    release_ : Release
        What was learnt and what was promised. It is all that depends on the data; the rest is computed from it.
    mean_ : array of shape (d,)
        ``release_.mean``. With a schema d counts a coordinate per level: ``release_.feature_names``.
    n_features_in_ : int
        Number of columns of X.
    feature_names_in_ : array of str
        Names of the columns of X, where it has any.

    Notes
    -----
    Every call of `fit` spends the budget anew.

    Examples
    --------
    >>> import numpy as np, dpcov
    >>> X = np.full((10_000, 2), 0.5)
    >>> dpcov.PrivateMean(rho=0.5, radius=10, random_state=0).fit(X).mean_.round(1).tolist()
    [0.5, 0.5]
    """

    mean_: Floats

    def __init__(
        self,
        *,
        epsilon: Exact | None = None,
        delta: Exact | None = None,
        rho: Exact | None = None,
        radius: float | None = None,
        origin: Origin = 0.0,
        schema: Schema | None = None,
        mechanism: str | Named = "auto",
        postprocess: str | None = None,
        neighbors: str = REPLACE,
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
        self.epsilon = epsilon
        self.delta = delta
        self.rho = rho
        self.radius = radius
        self.origin = origin
        self.schema = schema
        self.mechanism = mechanism
        self.postprocess = postprocess
        self.neighbors = neighbors
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

    def _keep(self, release: Release) -> None:
        self.mean_ = release.mean

    _release = staticmethod(mean)
    _settings = (
        "radius",
        "origin",
        "schema",
        "mechanism",
        "postprocess",
        "neighbors",
        "columns",
        "allow_weak",
        "expected_n",
        "ledger",
    )
