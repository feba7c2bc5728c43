"""Which columns to keep: post-processing of their noisy squares, and what noise on the rest will cost."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

FIRST, OTHERS = 0.4, 0.4  # of all squares: what is taken to lie along the first component, and along the others together
EXCESS = 0.98  # of a component: what lies in columns as these exceed the lower quartile
ALIKE = 0.02  # a smaller part of all squares above the quartile: columns are alike
GRID, STEPS = 40, 300  # of the mixing law, and of its iterations


@np.errstate(all="ignore")  # likelihoods that vanish are 0
def deconvolved(noisy: Floats, scale: float) -> Floats:
    """Return posterior means of nonnegative numbers seen through Laplace noise, for that law of theirs that explains them best.

    The law is discrete on a public grid, fitted by expectation and maximisation (Kiefer and Wolfowitz 1956): many columns that
    hold nothing pull each other down, few that hold much stay as they are.
    """
    support = np.append(0.0, np.geomspace(scale / 30, max(float(noisy.max()), scale), GRID))
    log_likelihood = -np.abs(noisy[:, None] - support) / scale
    likelihood = np.exp(log_likelihood - log_likelihood.max(axis=1, keepdims=True))
    weights = np.full(len(support), 1 / len(support))
    for _ in range(STEPS):
        posterior = likelihood * weights
        weights = (posterior / posterior.sum(axis=1, keepdims=True)).mean(axis=0)
    posterior = likelihood * weights
    return np.asarray(posterior @ support / posterior.sum(axis=1))


@np.errstate(all="ignore")
def kept_columns(squares: Floats, k: int, variance: Callable[[Floats], Floats]) -> tuple[int, ...]:
    """Return the columns, ascending, whose k components should capture most, after the noise on their matrix.

    Parameters
    ----------
    squares : ndarray
        Denoised squares of the columns, in rows.
    variance : callable
        The variance of the noise above the diagonal of the matrix of m columns, in the same units, for an array of m.

    Notes
    -----
    Components are taken to hold four tenths of all along the first, as much along the others together, and to lie in columns as
    these exceed the lower quartile, which is what rows hold in every direction; but for a small part, as columns hold. Columns
    with the part p of a component λ keep λ·p of it, and noise of variance v on m columns leaves about 1/(1 + m·v/(λp)²) of
    that. Where all columns hold alike, and where there is next to no noise, none is dropped.
    """
    order = np.argsort(-squares, kind="stable")
    count, total, least = np.arange(1.0, len(squares) + 1), float(squares.sum()), k + 1
    if total <= 0:
        return tuple(sorted(order[:least].tolist()))
    excess = np.maximum(squares[order] - np.quantile(squares, 0.25), 0.0)
    weight = EXCESS / excess.sum() if excess.sum() > ALIKE * total else 0.0
    held_by = squares[order] / total * (1 - EXCESS if weight else 1.0) + weight * excess
    part, noise = np.cumsum(held_by), variance(count)
    captured = np.zeros(len(squares))
    for along in [FIRST, *[OTHERS / max(k - 1, 1)] * (k - 1)]:
        held = along * total * part
        captured += held / (1 + count * noise / held**2)
    return tuple(sorted(order[: max(int(np.argmax(captured)) + 1, least)].tolist()))
