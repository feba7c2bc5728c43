"""scikit-learn's face of the library."""

from __future__ import annotations

from dpcov.estimators.covariance import PrivateCovariance
from dpcov.estimators.mean import PrivateMean
from dpcov.estimators.pca import PrivatePCA
from dpcov.estimators.ridge import PrivateRidge

__all__ = ["PrivateCovariance", "PrivateMean", "PrivatePCA", "PrivateRidge"]
