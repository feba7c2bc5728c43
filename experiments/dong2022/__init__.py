"""Dong, Liang, Yi (NeurIPS 2022), "Differentially private covariance revisited"."""

from experiments.dong2022 import images, known_bounds, news, pure, synthetic

EXPERIMENTS = (
    known_bounds.FIGURE1,
    synthetic.FIGURE2,
    synthetic.FIGURE3,
    images.FIGURE4,
    news.FIGURE5,
    pure.PURE,
    images.DIGITS,
)
