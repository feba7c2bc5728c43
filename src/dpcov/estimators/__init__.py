"""scikit-learn's face of the library: an estimator holds parameters, `fit` makes one release."""

from __future__ import annotations

from dpcov.estimators.covariance import PrivateCovariance

__all__ = ["PrivateCovariance"]
