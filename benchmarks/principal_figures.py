"""Figures 5 and 2 of Chaudhuri, Sarwate, Sinha (2013): variance captured against epsilon, and how chains forget their start.

Figure 5 has Gaussian rows; the paper does not say how they come into the unit ball. Here ``row_norm`` = 3 is public, and longer
rows are clipped by the library: about one in ten thousand. Captured variance is that of the rows as drawn.
"""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

import dpcov
from benchmarks.coinpress_runs import table
from benchmarks.common import write
from benchmarks.principal_data import Floats, at_hand, second_moment
from benchmarks.principal_runs import BEST, Line, cells, compare, draw, panels, read, records_of, subspace
from dpcov.uses.convergence import traces

EPSILONS = ("0.1", "0.2", "0.5", "1", "2")
SPECTRUM = np.array([0.5, 0.3, 0.04, 0.03, 0.02, 0.01, 0.004, 0.003, 0.001, 0.001])  # Eq. (27)
ROWS, K, DRAWS, DELTA = 5000, 2, 50, "0.05"
ROW_NORM = 3.0
CHAINS, LENGTH, CHAIN_K, SMALL = 5, 20_000, 4, 0.01
BY_EPSILON, BY_SWEEPS = "principal_epsilon.csv", "principal_chains.csv"
SCALING = "principal_scaling.csv"


def synthetic(random: np.random.Generator) -> Floats:
    """Draw Gaussian rows with the paper's eigenvalues in a random basis."""
    basis, _ = np.linalg.qr(random.standard_normal((len(SPECTRUM), len(SPECTRUM))))
    return np.asarray(random.standard_normal((ROWS, len(SPECTRUM))) * np.sqrt(SPECTRUM) @ basis.T)


def epsilon() -> None:
    records: list[dict[str, object]] = []
    print(f"\nn = {ROWS}, d = {len(SPECTRUM)}, k = {K}, row_norm = {ROW_NORM:g}, {DRAWS} runs; mod-sulq: delta = {DELTA}\n")
    rows = []
    for value in EPSILONS:
        lines: dict[str, Line] = {
            "auto": (dpcov.PureDP(value), {}),
            "ppca": subspace(Fraction(value), 1000),
            "wishart": (dpcov.PureDP(value), {"mechanism": "wishart"}),
            "mod-sulq": (dpcov.ApproxDP(value, DELTA), {"mechanism": "mod-sulq"}),
            "random": (dpcov.PureDP(value), {"mechanism": "random"}),
        }
        found = compare(synthetic, DRAWS, K, lines, ROW_NORM)
        records += records_of(found, epsilon=value)
        rows.append([value, *cells(found)])
    table(["epsilon", BEST, *lines], rows)
    write(BY_EPSILON, records)


def chains(names: list[str], folder: Path | None) -> None:
    """Print F_k of chains that know the true eigenvalues: an experiment, not a release."""
    for name, (data, _) in at_hand([name for name in ("kddcup", "insurance") if name in names], folder):
        records = [record for record in read(BY_SWEEPS) if record["data"] != name]
        spectrum = np.linalg.eigvalsh(second_moment(data))[::-1] * len(data)
        found = traces(np.maximum(spectrum, 0.0), CHAIN_K, 0.05, LENGTH, range(CHAINS))
        at = np.unique(np.geomspace(1, LENGTH, 120).astype(int))
        for chain, trace in enumerate(found):
            records += [{"data": name, "chain": str(chain), "sweeps": str(t), "F": str(trace[t - 1])} for t in at]
        write(BY_SWEEPS, records)
        print(f"\n{name}, n = {len(data)}, k = {CHAIN_K}, epsilon = 0.1: F_k of {CHAINS} chains, and 1/√T\n")
        shown = [[t, *(f"{trace[t - 1]:.4f}" for trace in found), f"{t**-0.5:.4f}"] for t in (10, 100, 1000, 10_000, LENGTH)]
        table(["T", *(f"chain {chain}" for chain in range(CHAINS)), "1/√T"], shown)
        below = [int(np.argmax(trace < SMALL)) + 1 if (trace < SMALL).any() else LENGTH for trace in found]
        print(f"\nfirst below {SMALL}: T = {below}; at {LENGTH} all are: {bool((found[:, -1] < SMALL).all())}")


def pictures(folder: Path) -> None:
    """Draw what the results hold; of what they do not, say so."""
    for name, results, drawn in (
        ("scaling", SCALING, _scaling),
        ("epsilon", BY_EPSILON, _epsilon),
        ("chains", BY_SWEEPS, _chains),
    ):
        records = read(results)
        if records:
            drawn(folder / f"principal-{name}.png", records)
        else:
            print(f"{name}: skipped (it is drawn from {results}, which is not there or empty)")


def _held(records: list[dict[str, str]], names: tuple[str, ...]) -> list[str]:
    return [name for name in names if any(record["data"] == name for record in records)]


def _scaling(path: Path, records: list[dict[str, str]]) -> None:
    names = _held(records, ("census", "kddcup", "insurance", "localization"))
    figure, axes = panels(len(names), 3.5 * len(names), 4)
    for one, name in zip(axes, names, strict=True):
        here = [record for record in records if record["data"] == name]
        draw(one, here, "n")
        one.set(title=f"{name}, persons A and B" if name == "localization" else name, xlabel="rows n")
        ticks = sorted({int(record["n"]) for record in here})
        one.set_xticks(ticks, [f"{tick:,}".replace(",", " ") for tick in ticks], fontsize=7, rotation=30)
        one.set_xticks([], minor=True)
    axes[0].set_ylabel("variance captured, q_F")
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=7, frameon=False)
    figure.savefig(path, dpi=100)


def _epsilon(path: Path, records: list[dict[str, str]]) -> None:
    figure, (axes,) = panels(1, 6, 3.8)
    draw(axes, records, "epsilon")
    axes.set(xlabel="ε", ylabel="variance captured, q_F")
    axes.set_xticks([float(value) for value in EPSILONS], EPSILONS)
    axes.set_xticks([], minor=True)
    axes.legend(frameon=False, fontsize=9)
    figure.savefig(path, dpi=100)


def _chains(path: Path, records: list[dict[str, str]]) -> None:
    names = _held(records, ("kddcup", "insurance"))
    figure, axes = panels(len(names), 4.5 * len(names) + 1, 3.6)
    for one, name in zip(axes, names, strict=True):
        _draw_chains(one, [record for record in records if record["data"] == name])
        one.set(title=f"{name}, k = {CHAIN_K}", xlabel="sweeps T")
    axes[0].set_ylabel("F_k(T)")
    axes[0].legend(frameon=False, fontsize=9)
    figure.savefig(path, dpi=100)


def _draw_chains(axes: Any, records: list[dict[str, str]]) -> None:
    for chain in range(CHAINS):
        points = np.array([[float(r["sweeps"]), float(r["F"])] for r in records if r["chain"] == str(chain)])
        axes.plot(*points.T, linewidth=1, color="#0072b2", alpha=0.35 + 0.13 * chain)
    sweeps = np.geomspace(1, LENGTH, 50)
    axes.plot(sweeps, sweeps**-0.5, color="black", linestyle="--", linewidth=1, label="1/√T: independent states")
    axes.axhline(SMALL, color="#d55e00", linewidth=1, label=f"{SMALL:g}")
    axes.set(xscale="log", yscale="log")
