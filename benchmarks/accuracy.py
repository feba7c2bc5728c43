"""Plain noise, post-processed: Frobenius error of the second moment, averaged over seeded runs, with the worst cells first.

Each row is a data set and a budget, with `wishart` under pure DP and `gaussian` otherwise; columns differ in post-processing
only, on the same noise. ``zero`` is the error of answering nothing, ``oracle`` that of knowing diag(VᵀSV).
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
from threadpoolctl import threadpool_limits

import dpcov
from benchmarks.common import Mean, plain, write
from benchmarks.datasets import Rows, available
from dpcov.kernel.budget import Budget
from dpcov.release.record import Release

NAMES = ("wine", "airfoil01", "cancer01", "digits", "adult", "mnist")
SMALL: list[Budget] = [dpcov.PureDP(1), dpcov.ZCDP("0.1")]
BUDGETS: list[Budget] = [
    dpcov.PureDP("0.1"),
    dpcov.PureDP(1),
    dpcov.PureDP(4),
    dpcov.ZCDP("0.01"),
    dpcov.ZCDP("0.1"),
    dpcov.ZCDP(1),
    dpcov.ApproxDP(1, "1e-6"),
]
TARGETS = {
    ("wine", "PureDP(epsilon=1)"): 0.185,
    ("airfoil01", "PureDP(epsilon=1)"): 0.018,
    ("digits", "PureDP(epsilon=1)"): 0.105,
    ("adult", "PureDP(epsilon=1)"): 0.0235,
    ("wine", "PureDP(epsilon=4)"): 0.045,
    ("digits", "PureDP(epsilon=4)"): 0.047,
    ("adult", "PureDP(epsilon=4)"): 0.0072,
    ("wine", "ZCDP(rho=0.1)"): 0.082,
    ("airfoil01", "ZCDP(rho=0.1)"): 0.0100,
    ("digits", "ZCDP(rho=0.1)"): 0.038,
    ("adult", "ZCDP(rho=0.1)"): 0.0045,
    ("mnist", "ZCDP(rho=0.1)"): 0.0063,
}
POSTPROCESSES = ("shrink", "project", "clip", "none")


def oracle(release: Release, truth: Rows) -> Rows:
    """Return the noisy eigenvectors with the best eigenvalues for them."""
    raw = release.finished("none").second_moment
    vectors = np.linalg.eigh(raw)[1]
    best = np.einsum("ij,ik,kj->j", vectors, truth, vectors, optimize=True)
    return np.asarray((vectors * best) @ vectors.T)


def cell(name: str, rows: Rows, budget: Budget, runs: int) -> dict[str, object]:
    """Measure one data set at one budget."""
    truth = rows.T @ rows / len(rows)
    errors: dict[str, list[float]] = {key: [] for key in (*POSTPROCESSES, "oracle")}
    for seed in range(runs):
        release = dpcov.covariance(rows, budget, row_norm=1, mechanism=plain(budget), seed=seed)
        estimates = {key: release.finished(key).second_moment for key in POSTPROCESSES}
        estimates["oracle"] = oracle(release, truth)
        for key, estimate in estimates.items():
            errors[key].append(float(np.linalg.norm(estimate - truth)))
    gap = Mean.of(np.subtract(errors["shrink"], errors["project"]).tolist())
    zero = float(np.linalg.norm(truth))
    means = {key: float(np.mean(values)) for key, values in errors.items()}
    return {
        "data": name,
        "budget": repr(budget),
        "mechanism": release.mechanism,
        "shrink": means["shrink"],
        "s.e.": Mean.of(errors["shrink"]).error,
        "target": TARGETS.get(
            (name, repr(budget)), 1.05 * zero if (name, repr(budget)) == ("digits", "PureDP(epsilon=0.1)") else ""
        ),
        "zero": zero,
        **{key: means[key] for key in ("project", "clip", "none", "oracle")},
        "expected": release.expected_error,
        "to_oracle": means["shrink"] / means["oracle"],
        "over_project": gap.value / (gap.error + 1e-300),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, help="folder with copies of airfoil, adult and MNIST")
    parser.add_argument("--only", nargs="*", default=NAMES, choices=NAMES, help="data sets")
    options = parser.parse_args()
    cells = []
    for name, rows in available(options.only, options.data):
        runs = {"adult": 8, "mnist": 2}.get(name, 20)
        budgets = SMALL if name == "mnist" else BUDGETS
        cells += [cell(name, rows, budget, runs) for budget in budgets]
    cells.sort(key=lambda row: -float(str(row["to_oracle"])))
    write("accuracy.csv", cells)
    print("Frobenius error of the second moment, worst cells (farthest from the oracle) first")
    columns = ("shrink", "s.e.", "target", "zero", "project", "clip", "none", "oracle", "to_oracle", "over_project")
    print(f"{'data':<10}{'budget':<34}{'mechanism':<10}" + "".join(f"{name:>13}" for name in columns))
    for row in cells:
        numbers = "".join(f"{row[name]:13.4f}" if row[name] != "" else " " * 13 for name in columns)
        print(f"{row['data']:<10}{row['budget']:<34}{row['mechanism']:<10}{numbers}")
    missed = [row for row in cells if row["target"] != "" and float(str(row["shrink"])) > float(str(row["target"]))]
    worse = sum(float(str(row["over_project"])) > 2 for row in cells)
    print(f"\n{len(missed)} target(s) missed; {worse} cell(s) worse than project by more than two standard errors")


if __name__ == "__main__":
    with threadpool_limits(1):
        main()
