"""Figure 1: the balls of one run of the mean estimator, n = 160, ρ = 0.1, three rounds, in the plane.

The printed algorithm (Figure 2 of the paper, MVMRec) in numpy, because the balls between rounds are no part of a release: a
simulation. The library's own estimate and its ball are beside it. The start is not printed: radius 10, 8 away from the mean.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
from matplotlib.patches import Circle

import dpcov
from experiments.biswas2020.rows import Floats, centred, random_of
from experiments.frame import Experiment, Lines, Panel, Point
from experiments.pictures import COLORS, OURS, new_figure, save

N, D, RHO, ROUNDS, BETA = 160, 2, 0.1, 3, 0.1
RADIUS = 10.0
MEAN = np.array([8.0, 0.0]) / 2**0.5 + np.array([0.0, 8.0]) / 2**0.5
PRINTED, RELEASED = "radius, as printed (simulated)", "ours"
DISTANCE, OUR_DISTANCE = "centre to mean, as printed (simulated)", "centre to mean, ours"


def balls(rows: Floats, random: np.random.Generator) -> list[tuple[Floats, float]]:
    """Return the public ball and those after each round of MVMRec with equal budgets, as in Theorem 2.2."""
    n, d = rows.shape
    found = [(np.zeros(d), RADIUS)]
    for number in range(ROUNDS):
        last = number == ROUNDS - 1
        rho, beta = (RHO / 2, BETA / 4) if last else (RHO / 2 / (ROUNDS - 1), BETA / 4 / (ROUNDS - 1))
        centre, radius = found[-1]
        log = np.log(n / beta)
        reach = np.sqrt(d + 2 * np.sqrt(d * log) + 2 * log)
        away = rows - centre
        clipped = centre + away * np.minimum(1, (radius + reach) / np.linalg.norm(away, axis=1))[:, None]
        variance = 2 * (radius + reach) ** 2 / (n**2 * rho)
        noisy = clipped.mean(axis=0) + random.standard_normal(d) * np.sqrt(variance)
        found.append((noisy, float(reach * np.sqrt(1 / n + variance))))
    return found


def _drawn(seed: int) -> tuple[Floats, list[tuple[Floats, float]]]:
    random = random_of(seed)
    rows = centred("Gaussian", N, D, random) + MEAN
    return rows, balls(rows, random)


def run(point: Point, wanted: Lines, seed: int, _: Path | None) -> Mapping[str, float]:
    number = int(point.x)
    rows, found = _drawn(seed)
    centre, radius = found[number]
    values = {PRINTED: radius, DISTANCE: float(np.linalg.norm(centre - MEAN))}
    if OUR_DISTANCE in wanted:
        release = dpcov.mean(
            rows, dpcov.ZCDP(str(RHO)), radius=RADIUS, mechanism="coinpress", covariance=1.0, rounds=number, seed=seed
        )
        values[OUR_DISTANCE] = float(np.linalg.norm(release.mean - MEAN))
    return {line: values[line] for line in wanted}


def _points(quick: bool) -> list[Point]:
    simulated = {"simulated": "MVMRec"}
    ours = {"mechanism": "coinpress", "covariance": 1.0}
    names = [
        {PRINTED: simulated, DISTANCE: simulated} | ({OUR_DISTANCE: ours} if number else {}) for number in range(ROUNDS + 1)
    ]
    return [Point("one run", float(number), names[number], 20 if quick else 100) for number in range(ROUNDS + 1)]


def draw(path: Path, _: Path | None) -> None:
    """Draw rows and balls of seed 0, and a closer look at the last ones."""
    rows, found = _drawn(0)
    figure, (wide, near) = new_figure(2, 4.2, 3.8)
    for axes in (wide, near):
        axes.scatter(*rows.T, s=5, color="#999999", label="rows")
        for number, (centre, radius) in enumerate(found):
            color = "#333333" if number == 0 else COLORS[number - 1]
            name = "public ball" if number == 0 else f"after round {number}"
            axes.add_patch(Circle(tuple(centre), radius, fill=False, color=color, linewidth=1.5, label=name))
        axes.plot(*MEAN, "*", color=OURS, markersize=11, label="true mean", linestyle="")
        axes.set_aspect("equal")
        axes.tick_params(labelsize=8)
    wide.set(xlim=(-11, 11), ylim=(-11, 11))
    reach = found[-1][1] * 2.5
    near.set(xlim=(MEAN[0] - reach, MEAN[0] + reach), ylim=(MEAN[1] - reach, MEAN[1] + reach))
    figure.legend(*wide.get_legend_handles_labels(), loc="outside lower center", ncols=6, frameon=False, fontsize=8)
    figure.suptitle("One run of the mean estimator as printed: n = 160, ρ = 0.1, t = 3 (simulated)", fontsize=10)
    save(figure, path)


FIGURE1 = Experiment(
    "biswas2020",
    "figure1",
    "One run of the mean estimator, n = 160, ρ = 0.1, t = 3",
    (Panel("one run", "round", "", xscale="linear"),),
    _points,
    run,
    also=("balls", draw),
)
