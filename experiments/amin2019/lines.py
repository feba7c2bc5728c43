"""The mechanisms of Amin et al. side by side. All estimates have eigenvalues in [0, n], as in the paper.

The Gaussian mechanism is printed with σ = √(2·log(1.25/δ))/ε, which is right for a sensitivity of 1: where a row is replaced
the matrix moves by √2, and at small δ that σ is not private for large ε either. It is simulated here, and is no mechanism of
the library; "private" beside it has the noise that is needed.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

import dpcov
from dpcov.kernel.budget import Budget
from dpcov.release.record import Release
from experiments.forms import first_known
from experiments.frame import Options

Floats = NDArray[np.float64]
AD, IT_U, KT, L, E, OURS, ZERO = "AD", "IT-U", "KT", "L", "E", "ours (auto)", "zero matrix"
AS_PRINTED = ", as printed (not private)"
PRIVATE = "G-10, private"
EPSILONS = (0.01, 0.1, 0.2, 0.5, 1.0, 2.0, 4.0)
QUICK_EPSILONS = (0.01, 0.1, 1.0, 4.0)


def printed(exponent: int) -> str:
    return f"G-{exponent}{AS_PRINTED}"


def options_of(line: str) -> Options:
    if line == ZERO:
        return {}
    if line.endswith(AS_PRINTED):
        return {"simulated": f"σ=√(2·log(1.25/δ))/ε δ=1e{line.removesuffix(AS_PRINTED).removeprefix('G')}"}
    if line == PRIVATE:
        return {"mechanism": "gaussian", "constants": "paper", "postprocess": "clip", "delta": "1e-10"}
    if line == OURS:
        return {"mechanism": "auto"}
    if line in (AD, IT_U):
        paper = {
            "mechanism": "eigenvectors",
            "allocation": "adaptive" if line == AD else "uniform",
            "constants": "paper",
            "postprocess": "clip",
        }
        return first_known("covariance", "pure", {**paper, "values": "spectrum"}, paper)
    mechanism = {KT: "kapralov-talwar", L: "laplace", E: "frobenius"}[line]
    return {"mechanism": mechanism, "constants": "paper", "postprocess": "clip"}


def release_of(options: Options, rows: Floats, epsilon: float, seed: int) -> Release:
    given = dict(options)
    delta = given.pop("delta", None)
    budget: Budget = dpcov.PureDP(f"{epsilon:g}") if delta is None else dpcov.ApproxDP(f"{epsilon:g}", str(delta))
    return dpcov.covariance(rows, budget, row_norm=1, seed=seed, **given)


def simulated(line: str, rows: Floats, epsilon: float, seed: int) -> Floats:
    """Return the second moment with the printed Gaussian noise: for comparison only."""
    delta = 10.0 ** -int(line.removesuffix(AS_PRINTED).removeprefix("G-"))
    n, d = rows.shape
    deviation = np.sqrt(2 * np.log(1.25 / delta)) / epsilon
    noise = np.triu(np.random.default_rng((2, seed)).standard_normal((d, d)) * deviation)
    return clipped((rows.T @ rows + noise + np.triu(noise, 1).T) / n)


def clipped(moment: Floats) -> Floats:
    values, vectors = np.linalg.eigh(moment)
    return np.asarray((vectors * np.clip(values, 0, 1)) @ vectors.T)


def moment_of(line: str, options: Options, rows: Floats, epsilon: float, seed: int) -> Floats:
    if not options:
        return np.zeros((rows.shape[1],) * 2)
    if "simulated" in options:
        return simulated(line, rows, epsilon, seed)
    return release_of(options, rows, epsilon, seed).second_moment
