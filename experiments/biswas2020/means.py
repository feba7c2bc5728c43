"""Figures 3, 4 and 5: means by mechanism, against the number of rows, the radius and the budget; and the supplement's.

All are told the covariance, 1. As in the paper the true mean is 0, the middle of the public ball, but for Figure 5 and the
panel "mean on the edge": there it lies on the ball's edge, where nothing looks good by standing still. Against the radius it
lies within half a deviation of 0 in each column: at 0 the middle of SYMQ's bins, however wide, would be exactly right.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

import dpcov
from experiments.biswas2020.rows import centred, kept, random_of
from experiments.forms import first_known
from experiments.frame import Experiment, Lines, Options, Panel, Point

RHO = 0.5
SIZES = [float(round(n)) for n in np.linspace(1000, 10_000, 12)]
BUDGETS = [float(f"{rho:.4g}") for rho in np.geomspace(0.005, 0.5, 10)]
QUICK_SIZES, QUICK_BUDGETS = (0, 5, 11), (0, 4, 9)
OURS, OURS_UNKNOWN = "ours", "ours, covariance unknown"
ROWS, ERROR = "rows n", "ℓ₂ error"


def lines(*names: str) -> dict[str, Options]:
    """Return the options of lines by their names in the paper."""
    return {name: _options(name) for name in names}


def _options(name: str) -> Options:
    if name == "non-private":
        return {}
    if name == OURS:
        return {"mechanism": "coinpress", "covariance": 1.0}
    if name == OURS_UNKNOWN:
        return {"mechanism": "auto"}
    if name.startswith("t = "):
        plain = {"mechanism": "coinpress", "covariance": 1.0, "rounds": int(name.removeprefix("t = "))}
    else:
        mechanism = {"KV": "karwa-vadhan", "SYMQ": "symq", "SYMQ, 2n rows": "symq", "naive": "coordinatewise"}[name]
        plain = {"mechanism": mechanism, "covariance": 1.0}
    return first_known("mean", "zcdp", {**plain, "constants": "paper"}, {**plain, "constants": "program"}, plain)


def run(point: Point, wanted: Lines, seed: int, _: Path | None) -> Mapping[str, float]:
    """Return ℓ₂ errors; where the settings say so, what they are above the error of a Gaussian sample."""
    n, d, rho = int(point.settings["n"]), int(point.settings["d"]), point.settings["rho"]
    radius, law = float(point.settings["radius"]), point.settings.get("law", "Gaussian")
    random = random_of(seed)
    rows = centred(law, n, d, random)
    mean = np.full(d, radius / d**0.5) if point.settings.get("edge") else np.zeros(d)
    more = centred(law, n, d, random)
    if point.settings.get("off_grid"):
        mean = random.uniform(-0.5, 0.5, d)
    above = 0.0
    if point.settings.get("excess"):
        above = float(np.linalg.norm(centred("Gaussian", n, d, random_of(seed)).mean(axis=0)))
    found = {}
    for line in wanted:
        options = dict(point.lines[line])
        data = (np.vstack([rows, more]) if line == "SYMQ, 2n rows" else rows) + mean
        estimate = data.mean(axis=0)
        if options:
            estimate = dpcov.mean(data, dpcov.ZCDP(str(rho)), radius=radius, seed=seed, **options).mean
        found[line] = float(np.linalg.norm(estimate - mean)) - above
    return found


def _settings(n: float, d: int, rho: float = RHO, radius: float = 0.0, **more: object) -> dict[str, object]:
    return {"n": n, "d": d, "rho": rho, "radius": radius or 10 * d**0.5, **more}


def _against(
    panel: str, places: Sequence[tuple[float, dict[str, object]]], quick_lines: Lines, slow: Mapping[str, int], runs: int
) -> list[Point]:
    """Return a point for each place; slow lines have runs of their own."""
    points = [Point(panel, x, lines(*quick_lines), runs, settings) for x, settings in places if quick_lines]
    for name, fewer in slow.items():
        points += [Point(panel, x, lines(name), fewer, settings) for x, settings in places]
    return points


def _figure3(quick: bool) -> list[Point]:
    runs = 30 if quick else 100
    slow = {"SYMQ": 6 if quick else 100}
    names = ("non-private", "t = 1", "t = 2", "KV", "naive", OURS, OURS_UNKNOWN)
    points = _against("d = 50", [(n, _settings(n, 50)) for n in kept(quick, SIZES, QUICK_SIZES)], names, slow, runs)
    radii = kept(quick, [float(f"{r:.6g}") for r in np.linspace(50**0.5, 1e4 * 50**0.5, 10)], (0, 4, 9))
    wide = [(r, _settings(1000, 50, radius=r, off_grid=True)) for r in radii]
    slow = {"SYMQ, 2n rows": 4 if quick else 100}
    return points + _against("n = 1000", wide, ("non-private", "t = 2", "t = 10", "KV", OURS), slow, runs)


def _figure4(quick: bool) -> list[Point]:
    runs = 30 if quick else 100
    sizes = kept(quick, SIZES, QUICK_SIZES)
    names = ("non-private", "t = 1", "t = 2", "KV", "naive", OURS)
    two = [(n, _settings(n, 2)) for n in sizes]
    points = _against("d = 2", two, (), {"SYMQ": 30 if quick else 100}, 0) + _against(
        "d = 2", two, names, {}, 200 if quick else 1000
    )
    many = [(n, _settings(n, 500)) for n in kept(quick, SIZES, (0, 1, 5, 11))]  # the second is just below 4d
    points += _against("d = 500", many, ("non-private", "t = 2", "KV", OURS), {}, 10 if quick else 100)
    slow = [(n, _settings(n, 500)) for n in sizes]
    points += _against("d = 500", slow, (), {"SYMQ": 1 if quick else 5}, 0)
    budgets = [(rho, _settings(2000, 50, rho)) for rho in kept(quick, BUDGETS, QUICK_BUDGETS)]
    return points + _against("n = 2000", budgets, ("non-private", "t = 2", "KV", OURS), {}, runs)


LAWS = {
    "independent coordinates": ("Gaussian", "Laplace", "t₃"),
    "spherical": ("Gaussian", "spherical Laplace", "spherical t₃"),
}


def _figure5(quick: bool) -> list[Point]:
    """Return a point for each law, its line named after it."""
    points = []
    for panel, laws in LAWS.items():
        for law in laws:
            for n in kept(quick, SIZES, (0, 11)):
                settings = _settings(n, 50, edge=True, excess=True, law=law)
                names = {f"{law}, t = 2": _options("t = 2"), f"{law}, ours": _options(OURS)}
                points.append(Point(panel, n, names, 60 if quick else 100, settings))
    return points


def _supplement(quick: bool) -> list[Point]:
    sizes, names = kept(quick, SIZES, QUICK_SIZES), ("non-private", "t = 1", "t = 2", "t = 10", "KV", OURS)
    runs = 30 if quick else 100
    points = _against("d = 100", [(n, _settings(n, 100)) for n in sizes], names, {}, runs)
    edge = [(n, _settings(n, 50, edge=True)) for n in sizes]
    return points + _against("d = 50, mean on the edge", edge, names, {}, runs)


FIGURE3 = Experiment(
    "biswas2020",
    "figure3",
    "Means, ρ = 0.5: d = 50, R = 10√d against rows; n = 1000 against the radius R",
    (Panel("d = 50", ROWS, ERROR), Panel("n = 1000", "radius R", ERROR)),
    _figure3,
    run,
    "trimmed",
    ours=(OURS, OURS_UNKNOWN),
)
FIGURE4 = Experiment(
    "biswas2020",
    "figure4",
    "Means, R = 10√d: few columns, many columns (ρ = 0.5), and d = 50 against the budget",
    (Panel("d = 2", ROWS, ERROR), Panel("d = 500", ROWS, ERROR), Panel("n = 2000", "ρ", ERROR)),
    _figure4,
    run,
    "trimmed",
    ours=(OURS,),
)
FIGURE5 = Experiment(
    "biswas2020",
    "figure5",
    "Means of long-tailed rows, d = 50: error above a Gaussian sample's, mean on the edge of the ball",
    tuple(Panel(name, ROWS, "excess of the ℓ₂ error", yscale="linear") for name in LAWS),
    _figure5,
    run,
    "trimmed",
    ours=tuple(dict.fromkeys(f"{law}, ours" for laws in LAWS.values() for law in laws)),
)
SUPPLEMENT_MEANS = Experiment(
    "biswas2020",
    "supplement-means",
    "Means, ρ = 0.5, R = 10√d: d = 100, and the true mean on the edge of the ball",
    (Panel("d = 100", ROWS, ERROR), Panel("d = 50, mean on the edge", ROWS, ERROR)),
    _supplement,
    run,
    "trimmed",
    ours=(OURS,),
)
