"""Amin, Dick, Kulesza, Muñoz Medina, Vassilvitskii (NeurIPS 2019), "Differentially private covariance estimation"."""

from experiments.amin2019 import against_dimension, bounds, errors, regressions, rejections

EXPERIMENTS = (
    errors.FIGURE1A,
    errors.FIGURE1B,
    bounds.BOUNDS,
    rejections.REJECTIONS,
    regressions.RIDGE,
    against_dimension.DIMENSION,
)
