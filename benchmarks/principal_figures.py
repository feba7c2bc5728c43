"""The picture of variance captured against the number of rows, Figures 3 and 4 of Chaudhuri, Sarwate, Sinha (2013).

The paper's own lines, its other figures and its tables: `python -m experiments chaudhuri2013`.
"""

from __future__ import annotations

from pathlib import Path

from benchmarks.principal_runs import draw, panels, read

SCALING = "principal_scaling.csv"
NAMES = ("census", "kddcup", "insurance", "localization")


def pictures(folder: Path) -> None:
    """Draw what the results hold; where there are none, say so."""
    records = read(SCALING)
    if not records:
        print(f"scaling: skipped (it is drawn from {SCALING}, which is not there or empty)")
        return
    names = [name for name in NAMES if any(record["data"] == name for record in records)]
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
    figure.savefig(folder / "principal-scaling.png", dpi=100)
