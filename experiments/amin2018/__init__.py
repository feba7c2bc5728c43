"""Amin, Dick, Kulesza, Muñoz Medina, Vassilvitskii (2018), "Private covariance estimation via eigenvector sampling"."""

from experiments.amin2018 import figure1

EXPERIMENTS = (figure1.ERRORS, figure1.REGRESSIONS)
