"""Figure 8: the map of Europe in two private principal components of 1387 people.

20 components of the published study, each times its eigenvalue and 20, then rotated at random. The public bound is K = 30;
ρ is not printed, the authors' program has 1. For a bound on rows the same analyst has √(K·d). Dot products are those of the
first two private components with the true ones, without their signs.
"""

from __future__ import annotations

import gzip
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path

import numpy as np

import dpcov
from experiments.biswas2020.covariances import estimated, rounds
from experiments.biswas2020.rows import Floats, random_of
from experiments.data import folder_with
from experiments.frame import Experiment, Lines, Options, Panel, Point
from experiments.pictures import new_figure, save

EIGS, EVAL = (f"POPRES_08_24_01.EuroThinFinal.LD_0.8.exLD.out0-PCA.{kind}.gz" for kind in ("eigs", "eval"))
COLORS, SHADES = "POPRESID_Color.txt.gz", "coinpress_colors.txt.gz"
K, D, SCALE = 30.0, 20, 20.0
ROW_NORM = (K * D) ** 0.5
BUDGETS = (1.0, 0.1)
AUTO, AUTO_PCA = "auto", "auto, PCA only"
PLACES = ("first component", "second component")


@lru_cache(maxsize=1)
def people(folder: Path | None) -> tuple[Floats, Floats]:
    """Return the rows before they are rotated, and the colour of each person's country on the map."""
    where = folder_with(folder, EIGS, EVAL, COLORS, SHADES)
    with gzip.open(where / EVAL, "rt") as lines:
        values = np.array([float(line) for line in lines][:D])
    with gzip.open(where / EIGS, "rt") as lines:
        cells = [line.split() for line in lines][1:]
    with gzip.open(where / SHADES, "rt") as lines:
        shades = {line.split()[0]: [float(part) / 255 for part in line.split()[1:4]] for line in lines if line.strip()}
    with gzip.open(where / COLORS, "rt") as lines:
        colors = {line.split()[0]: line.split()[1] for line in lines}
    rows = np.array([[float(cell) for cell in line[-D - 1 : -1]] for line in cells]) * values * SCALE
    return rows, np.array([shades[colors[line[0]]] for line in cells])


def options_of(line: str) -> Options:
    if line == AUTO:
        return {"mechanism": "auto"}
    if line == AUTO_PCA:
        return {"mechanism": "auto", "k": 2}
    if line == "ours":
        return {"mechanism": "coinpress"}
    return rounds(int(line.removeprefix("t = ")))


LINES = ("t = 1", "t = 3", "t = 5", "ours", AUTO, AUTO_PCA)


def components(rows: Floats, line: str, rho: float, seed: int) -> Floats:
    """Return two private components in rows."""
    budget, options = dpcov.ZCDP(str(rho)), options_of(line)
    if "k" in options:
        return dpcov.pca(rows, budget, 2, row_norm=ROW_NORM, seed=seed).components
    if line == AUTO:
        return first_two(dpcov.covariance(rows, budget, row_norm=ROW_NORM, seed=seed).second_moment)
    return first_two(estimated(rows, str(rho), options, seed, K))


def first_two(moment: Floats) -> Floats:
    return np.asarray(np.linalg.eigh(moment)[1].T[:-3:-1])


def run(point: Point, wanted: Lines, seed: int, folder: Path | None) -> Mapping[str, float]:
    rows, _ = people(folder)
    basis, _ = np.linalg.qr(random_of(seed).standard_normal((D, D)))
    rotated = rows @ basis
    truth = first_two(rotated.T @ rotated / len(rows))
    products = np.abs(np.sum(components(rotated, str(point.x), float(point.settings["rho"]), seed) * truth, axis=1))
    found = dict(zip(PLACES, map(float, products), strict=True))
    return {line: found[line] for line in wanted}


def _points(quick: bool) -> list[Point]:
    runs = 20 if quick else 100
    return [
        Point(f"ρ = {rho:g}", line, dict.fromkeys(PLACES, options_of(line)), runs, {"rho": rho})
        for rho in BUDGETS
        for line in LINES
    ]


def draw(path: Path, folder: Path | None) -> None:
    """Draw the people in the two components of seed 0, turned as the map is."""
    rows, colors = people(folder)
    truth = first_two(rows.T @ rows / len(rows))
    lines = [("without privacy", truth)] + [
        (f"{line}, ρ = {rho:g}", components(rows, line, rho, 0))
        for line, rho in (("t = 1", 1.0), ("t = 3", 1.0), ("t = 5", 1.0), (AUTO, 1.0), (AUTO, 0.1))
    ]
    figure, all_axes = new_figure(len(lines), 2.6, 2.3)
    for axes, (name, found) in zip(all_axes, lines, strict=True):
        signs = np.sign(np.sum(found * truth, axis=1))
        first, second = (rows @ (found * signs[:, None]).T).T
        axes.scatter(-second, -first, s=3, c=colors, linewidth=0)  # north up, west to the left
        axes.set_title(name, fontsize=9)
        axes.set_xticks([])
        axes.set_yticks([])
        axes.spines[:].set_visible(False)
    save(figure, path)


FIGURE8 = Experiment(
    "biswas2020",
    "figure8",
    "The map of Europe: dot products of private components with the true ones, medians over rotations",
    tuple(Panel(f"ρ = {rho:g}", "", "dot product", yscale="linear", limits=(0, 1.02)) for rho in BUDGETS),
    _points,
    run,
    "median",
    also=("map", draw),
)
