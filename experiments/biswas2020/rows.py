"""Rows as the CoinPress paper draws them, and its measure of error: Mahalanobis, against the true parameters."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def random_of(seed: int) -> np.random.Generator:
    """Return what rows are drawn from: default_rng(seed) would give the bits that a release draws its noise from."""
    return np.random.default_rng((1, seed))


def centred(law: str, n: int, d: int, random: np.random.Generator) -> Floats:
    """Draw rows of mean 0 and covariance 1: Gaussian, or with longer tails in each coordinate, or in all together."""
    normal = random.standard_normal((n, d))
    if law == "Laplace":
        return np.asarray(random.laplace(scale=0.5**0.5, size=(n, d)))
    if law == "t₃":
        return np.asarray(random.standard_t(3, size=(n, d)) / 3**0.5)
    if law == "spherical Laplace":
        return np.asarray(normal * np.sqrt(random.exponential(size=(n, 1))))
    if law == "spherical t₃":
        return np.asarray(normal / np.sqrt(random.chisquare(3, size=(n, 1))))
    assert law == "Gaussian"
    return normal


def spectrum(name: str, d: int, largest: float) -> Floats:
    """Return eigenvalues: all 1, or half of them the largest."""
    return np.ones(d) if name == "isotropic" else np.repeat([largest, 1.0], [d // 2, d - d // 2])


def gaussian(n: int, values: Floats, random: np.random.Generator) -> tuple[Floats, Floats]:
    """Draw rows with these eigenvalues in a random basis; return them and their covariance."""
    basis, _ = np.linalg.qr(random.standard_normal((len(values), len(values))))
    root = (basis * np.sqrt(values)) @ basis.T
    return random.standard_normal((n, len(values))) @ root, root @ root


def mahalanobis(estimate: Floats, covariance: Floats) -> float:
    """Return ‖Σ^-½ A Σ^-½ − 1‖_F of an estimate A."""
    factor = np.linalg.cholesky(covariance)
    white = np.linalg.solve(factor, np.linalg.solve(factor, estimate).T)
    return float(np.linalg.norm(white - np.eye(len(factor))))


def kept(quick: bool, grid: list[float], places: tuple[int, ...]) -> list[float]:
    """Return the authors' grid, or the places of it at which their numbers are at hand."""
    return [grid[index] for index in places] if quick else grid
