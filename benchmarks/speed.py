"""CPU time of a release as a ratio to the floor: one X.T @ X plus one eigh of the same data, in the same run.

Floor and release take turns, and the ratio is that of the medians, so that other work on the machine hits both alike.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from fractions import Fraction
from functools import partial
from statistics import median

import numpy as np
from threadpoolctl import threadpool_limits

import dpcov
from benchmarks.common import write
from dpcov.kernel.bits import SystemBits
from dpcov.kernel.budget import Budget
from dpcov.kernel.noise.discrete import discrete_gaussian, discrete_laplace

ROWS = 20_000
AUTO = {50: 2.5, 108: 2.2, 200: 2.2, 400: 2.2, 784: 2.2}
LIMITS: list[tuple[str, Budget, dict[int, float]]] = [
    ("gaussian", dpcov.ZCDP("0.1"), {50: 3.0, 108: 2.2, 200: 1.8, 400: 1.8, 784: 1.8}),
    ("wishart", dpcov.PureDP(1), {200: 1.8, 400: 1.8, 784: 1.8}),
    ("auto", dpcov.ZCDP("0.1"), AUTO),
    ("auto", dpcov.PureDP(1), AUTO),
]


def cpu_seconds(call: Callable[[], object]) -> float:
    start = time.process_time()
    call()
    return time.process_time() - start


def ratio(d: int, mechanism: str, budget: Budget, rounds: int) -> tuple[float, float]:
    rows = np.random.default_rng(d).standard_normal((ROWS, d))
    rows /= np.linalg.norm(rows, axis=1).max()

    def floor() -> object:
        return np.linalg.eigh(rows.T @ rows)

    def release() -> object:
        return dpcov.covariance(rows, budget, row_norm=1, mechanism=mechanism).second_moment

    floor(), release()  # warm up
    pairs = [(cpu_seconds(floor), cpu_seconds(release)) for _ in range(rounds)]
    floors, releases = zip(*pairs, strict=True)
    return median(floors), median(releases) / median(floors)


def main() -> None:
    records = []
    for mechanism, budget, targets in LIMITS:
        print(f"{mechanism}, {budget!r}, with shrinkage, n = {ROWS}, one BLAS thread, CPU time")
        print(f"{'d':>5} {'floor':>9} {'ratio':>6} {'target':>7}")
        for d, target in targets.items():
            seconds, value = ratio(d, mechanism, budget, rounds=41 if d < 300 else 11)
            print(f"{d:5d} {seconds * 1e3:7.1f}ms {value:6.2f} {target:7.1f}{'  missed' * (value > target)}", flush=True)
            row = {"mechanism": mechanism, "budget": repr(budget), "d": d, "floor s": seconds, "ratio": value, "target": target}
            records.append(row)
    write("speed.csv", records)
    print("\n300 000 draws, CPU time (target 200 ms)")
    for scale in (Fraction(1, 1000), Fraction(1), Fraction(2**32 * 10**0.5), Fraction(2**50)):
        gaussian = cpu_seconds(partial(discrete_gaussian, scale**2, 300_000, SystemBits()))
        laplace = cpu_seconds(partial(discrete_laplace, scale, 300_000, SystemBits()))
        print(f"scale {float(scale):8.2g}  gaussian {gaussian * 1e3:4.0f}ms  laplace {laplace * 1e3:4.0f}ms")


if __name__ == "__main__":
    with threadpool_limits(1):
        main()
