"""Simulated Markov chains: whether one like that behind a release was long enough."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dpcov.report.pictures import new_figure

if TYPE_CHECKING:
    from rich.console import Console

    from dpcov.uses.convergence import Chains

MOST_POINTS = 2000  # of a chain: more cannot be seen


def write(out: Console, found: Chains) -> None:
    """Say where the chains ended."""
    last, length = found.traces[:, -1], found.traces.shape[1]
    out.print(
        f"Chains: F_{found.release.estimate.k} of {len(last)} simulated chains after {length} sweeps is {last.min():.2g} to "
        f"{last.max():.2g}; independent draws would have about {length**-0.5:.2g}. It should fall to 0: that is evidence, and "
        "no proof.",
        soft_wrap=True,
    )


def record(found: Chains) -> dict[str, Any]:
    """Return where the chains ended for machines."""
    return {"chains": len(found.traces), "sweeps": found.traces.shape[1], "last": found.traces[:, -1].tolist()}


def columns(found: Chains) -> dict[str, Any]:
    """Return a line for each sweep, with a column for each chain."""
    return {"sweep": np.arange(1, found.traces.shape[1] + 1)} | {f"chain {i + 1}": row for i, row in enumerate(found.traces)}


def figure(found: Chains) -> Any:
    """Return a figure: F_k(T) of each chain on a logarithmic scale, as in Figure 2 of the paper."""
    from matplotlib import colormaps

    chains, length = found.traces.shape
    release, k = found.release, found.release.estimate.k
    times = np.unique(np.rint(np.linspace(1, length, min(length, MOST_POINTS))).astype(int))
    title = f"Has the chain converged? k = {k}, d = {release.d}, n = {release.n}, {chains} chain{'s' * (chains > 1)}"
    drawn = new_figure(7.6, 4.6, title)
    axis = drawn.subplots()
    for row, trace in enumerate(found.traces):
        colour = colormaps["viridis"](0.85 * row / max(chains - 1, 1))
        axis.plot(times, trace[times - 1], color=colour, linewidth=1.1, label="simulated chains" if row == 0 else None)
    axis.plot(times, times**-0.5, color="#666666", linewidth=1, linestyle="--", label="independent draws, about")
    axis.set_yscale("log")
    axis.set_xlim(0, length)
    axis.set_xlabel("T, sweeps")
    axis.set_ylabel(f"$F_{{{k}}}(T)$, logarithmic scale")
    axis.set_title("chains that know no row, for the released spectrum; falling to 0 is evidence, not proof", fontsize=9)
    axis.grid(visible=True, which="major", color="#e4e4e4", linewidth=0.6)
    axis.tick_params(labelsize=8)
    for edge in ("top", "right"):
        axis.spines[edge].set_visible(False)
    axis.legend(frameon=False, fontsize=9)
    return drawn
