"""Utility: how far an estimate can be off, with probability 1 − beta, with explicit constants and their proofs.

- `dpcov.bounds.eigenvectors`: Amin, Dick, Kulesza, Muñoz Medina and Vassilvitskii (2019), for the *sum* of x xᵀ under pure DP;
- `dpcov.bounds.revisited`: Dong, Liang and Yi (2022), for the *mean* of x xᵀ under zCDP: norms of noise, `separate`, clipping;
- `dpcov.bounds.clipping`: their Theorem 3, for `adaptive`;
- `dpcov.bounds.coinpress`: Biswas, Dong, Kamath and Ullman (2020), for Gaussian rows;
- `dpcov.bounds.principal`: Chaudhuri, Sarwate and Sinha (2013), for the first principal component.
"""

from __future__ import annotations

from dpcov.bounds.clipping import adaptive_clipping_error, clipping_bias, private_radius_error
from dpcov.bounds.coinpress import (
    COVARIANCE_EVENTS,
    MEAN_EVENTS,
    covariance_bounds,
    gaussian_norm,
    mean_radius,
    round_beta,
    sampling_gap,
)
from dpcov.bounds.eigenvectors import (
    NEIGHBORS,
    STEP,
    VALUES_SHARE,
    adaptive_error,
    direction_loss,
    eigenvectors_error,
    enough_variance,
    exponent,
    exponential_failure,
    reconstruction_error,
    rival_error,
    rival_variance,
    rival_variance_limit,
    uniform_error,
    value_noise,
)
from dpcov.bounds.principal import (
    least_rows,
    least_rows_scope,
    mod_sulq_beta,
    mod_sulq_correlation,
    mod_sulq_rows,
    packing_gap,
    ppca_rows,
)
from dpcov.bounds.revisited import (
    clipped_gaussian_noise,
    clipped_separate_noise,
    eta,
    isometric_norm,
    isometric_operator_norm,
    nu,
    omega,
    separate_error,
    sparse_vector_error,
    worst_case_error,
)

__all__ = [
    "COVARIANCE_EVENTS",
    "MEAN_EVENTS",
    "NEIGHBORS",
    "STEP",
    "VALUES_SHARE",
    "adaptive_clipping_error",
    "adaptive_error",
    "clipped_gaussian_noise",
    "clipped_separate_noise",
    "clipping_bias",
    "covariance_bounds",
    "direction_loss",
    "eigenvectors_error",
    "enough_variance",
    "eta",
    "exponent",
    "exponential_failure",
    "gaussian_norm",
    "isometric_norm",
    "isometric_operator_norm",
    "least_rows",
    "least_rows_scope",
    "mean_radius",
    "mod_sulq_beta",
    "mod_sulq_correlation",
    "mod_sulq_rows",
    "nu",
    "omega",
    "packing_gap",
    "ppca_rows",
    "private_radius_error",
    "reconstruction_error",
    "rival_error",
    "rival_variance",
    "rival_variance_limit",
    "round_beta",
    "sampling_gap",
    "separate_error",
    "sparse_vector_error",
    "uniform_error",
    "value_noise",
    "worst_case_error",
]
