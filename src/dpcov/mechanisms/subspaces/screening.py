"""Which columns to keep: post-processing of their noisy squares, and what noise on the rest will cost."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

DROPPED = 0.7  # of what lies in columns that are dropped, so much would have been captured
SEEN = 2.5  # a column counts where as many like it would be seen so many times above the threshold of detection
GRID, STEPS = 40, 300  # of the mixing law, and of its iterations


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


def kept_columns(squares: Floats, k: int, variance: Callable[[Floats], Floats]) -> tuple[int, ...]:
    """Return the columns, ascending, that lose least: what is dropped, and what noise takes from the k components of the rest.

    Parameters
    ----------
    squares : ndarray
        Denoised squares of the columns, in rows.
    variance : callable
        The variance of the noise above the diagonal of the matrix of m columns, in the same units, for an array of m.

    Notes
    -----
    Of a component that holds λ, noise of variance v on m columns takes about the part y/(1 + y), y = m·v/λ². Half of all is
    taken to lie along the first component, a quarter along the others together.
    """
    d = len(squares)
    order = np.argsort(-squares, kind="stable")
    descending, count = squares[order], np.arange(1.0, d + 1)
    total, noise = float(squares.sum()), variance(count)
    loss = DROPPED * (total - np.cumsum(descending))
    held = [total / 2, *[total / 4 / max(k - 1, 1)] * (k - 1)]
    for along in held if total > 0 else []:
        part = count * noise / along**2
        loss += along * part / (1 + part)
    seen = np.flatnonzero(descending > SEEN * np.sqrt(noise / (2 * count)))
    most = int(seen[-1]) + 1 if len(seen) else 1
    size = max(min(int(np.argmin(loss)) + 1, most), min(k + 1, d))
    return tuple(sorted(order[:size].tolist()))
