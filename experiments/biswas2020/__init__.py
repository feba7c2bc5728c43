"""Biswas, Dong, Kamath, Ullman (NeurIPS 2020), "CoinPress: Practical private mean and covariance estimation"."""

from experiments.biswas2020 import covariances, europe, means, one_run

EXPERIMENTS = (
    one_run.FIGURE1,
    means.FIGURE3,
    means.FIGURE4,
    means.FIGURE5,
    covariances.FIGURE6,
    covariances.FIGURE7,
    europe.FIGURE8,
    means.SUPPLEMENT_MEANS,
    covariances.SUPPLEMENT_COVARIANCES,
)
