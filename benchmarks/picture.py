"""The README's picture: error against budget on scikit-learn's digits.

``python -m benchmarks.picture docs/images/error.png`` draws it again.
"""

from __future__ import annotations

import sys

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

import dpcov
from benchmarks.datasets import digits
from dpcov.release.record import Option

EPSILONS = np.geomspace(0.1, 16, 12)
LINES: dict[str, tuple[str, dict[str, Option]]] = {
    "laplace, the paper's constants": ("#b0b0b0", {"mechanism": "laplace", "constants": "paper"}),
    "laplace, tight, projected": ("#7a9cc6", {"mechanism": "laplace", "postprocess": "project"}),
    "wishart, denoised": ("#2c5f9e", {"mechanism": "wishart"}),
    "auto (clipped, denoised, rescaled)": ("#d1602b", {}),
}


def error(rows: np.ndarray, truth: np.ndarray, epsilon: float, options: dict[str, Option]) -> float:
    budget = dpcov.PureDP(str(round(float(epsilon), 4)))
    runs = [dpcov.covariance(rows, budget, row_norm=1, seed=seed, **options) for seed in range(8)]  # type: ignore[arg-type]
    return float(np.mean([np.linalg.norm(run.second_moment - truth) for run in runs]) / np.linalg.norm(truth))


def main(path: str) -> None:
    rows = digits(None)
    truth = rows.T @ rows / len(rows)
    figure = Figure(figsize=(7, 3.6), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.subplots()
    for name, (color, options) in LINES.items():
        axes.plot(EPSILONS, [error(rows, truth, e, options) for e in EPSILONS], "o-", color=color, label=name, markersize=4)
    axes.axhline(1, color="black", linewidth=0.8, linestyle=":")
    axes.text(2.4, 1.08, "the zero matrix", fontsize=8)
    axes.set(xscale="log", yscale="log", xlabel="ε (pure differential privacy)", ylabel="relative Frobenius error")
    axes.set_title("Second moment of 1797 handwritten digits, 64 columns", fontsize=10)
    axes.legend(frameon=False, fontsize=8)
    axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(path, dpi=130)


if __name__ == "__main__":
    main(sys.argv[1])
