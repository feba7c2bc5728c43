"""The default, `auto`, beside what was wanted of it and beside the papers; and two figures of Dong, Liang, Yi (2022).

``targets``: errors against the figures of a prototype, against the zero matrix, and with row_norm ten times too large.
``against``: the best, in hindsight, of the papers' mechanisms and baselines in their own forms, printed ones and those of
programs, as a ratio to `auto`; ``--runs`` says how many of each.
``figures``: `gaussian`, `separate` and `adaptive` as in the program behind the paper's figures, against d; ``picture PATH``
draws them.
"""

from __future__ import annotations

import argparse
import csv
import sys
import time
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import scipy.linalg  # noqa: F401 - brings a BLAS of its own, which must be loaded before its threads can be limited
from threadpoolctl import threadpool_limits

import dpcov
from benchmarks.common import RESULTS, Mean, error, write
from benchmarks.datasets import Rows, available, dong
from dpcov.kernel.budget import Budget

PURE: list[Budget] = [dpcov.PureDP(epsilon) for epsilon in ("0.1", "0.5", "1", "4")]
CONCENTRATED: list[Budget] = [dpcov.ZCDP(rho) for rho in ("0.05", "0.1", "0.5")]
TARGETS = {  # at PureDP(1) and ZCDP(0.1)
    "wine": (0.081, 0.032),
    "airfoil01": (0.0137, 0.0079),
    "cancer01": (0.044, 0.0226),
    "digits": (0.0765, 0.0296),
    "adult": (0.0195, 0.0040),
}
TO_TARGET, TO_ZERO, LOOSE_TO_TIGHT = 1.08, 1.05, 2.0  # limits of the ratios
LOOSE = 10.0  # row_norm of rows of norm 1
AGAINST = ("wine", "wine01", "airfoil", "airfoil01", "cancer", "cancer01", "digits", "adult", "dong, N = 1", "dong, N = 4")
FORMS: dict[str, tuple[str, dict[str, Any]]] = {  # "program" is what is behind the figures of Dong, Liang and Yi
    "separate": ("separate", {"constants": "program"}),
    "adaptive": ("adaptive", {"constants": "program"}),
    "adaptive as printed": ("adaptive", {"constants": "paper", "postprocess": "clip"}),
    "eigenvectors (AD)": ("eigenvectors", {"constants": "paper"}),
    "kapralov-talwar": ("kapralov-talwar", {}),
    "laplace": ("laplace", {"constants": "paper"}),
    "frobenius": ("frobenius", {"constants": "paper"}),
    "gaussian": ("gaussian", {"constants": "program"}),
}
PAPERS = {
    dpcov.PureDP: tuple(form for form in FORMS if form != "gaussian"),
    dpcov.ZCDP: ("gaussian", "separate", "adaptive", "adaptive as printed", "eigenvectors (AD)"),
}
WANTED = {"pure": 3.8, "zCDP": 2.3}  # geometric means of best other / auto
ROUNDING = 1e-9  # where both answer zero, the ratio is 1 but for rounding
SIZES = (10, 30, 70, 100, 200, 400)
FIGURES = {"tr = 1: n = 4000, N = 1": (4000, 1), "tr < 1: n = 16000, N = 4": (16_000, 4)}
FIGURE_LINES = {"gaussian": ("#2c5f9e", "o-"), "separate": ("#7fb07f", "s-"), "adaptive": ("#d1602b", "d-")}
FIGURE_RUNS = 10


def budget_name(budget: Budget) -> str:
    return f"ε = {float(budget.epsilon):g}" if isinstance(budget, dpcov.PureDP) else f"ρ = {float(budget.rho):g}"  # type: ignore[union-attr]


def progress(text: str, start: float) -> None:
    print(f"{text}: {time.perf_counter() - start:.0f} s", file=sys.stderr, flush=True)


def compared(name: str, budget: Budget, row_norm: float, runs: int, found: Mean, to: str, reference: Mean) -> dict[str, object]:
    ratio = found.over(reference)
    limit = {"target": TO_TARGET, "zero": TO_ZERO, "tight": LOOSE_TO_TIGHT}[to]
    row = {"data": name, "budget": budget_name(budget), "row_norm": row_norm, "runs": runs, "error": found.value}
    row |= {"s.e.": found.error, "against": to, "reference": reference.value, "ratio": ratio.value, "ratio s.e.": ratio.error}
    return row | {"limit": limit, "missed": ratio.value > limit}


def targets(folder: Path | None) -> None:
    records: list[dict[str, object]] = []
    start = time.perf_counter()
    for name, rows in available(TARGETS, folder):
        truth, runs = rows.T @ rows / len(rows), 20 if name == "adult" else 100
        zero = Mean(float(np.linalg.norm(truth)), 0.0)
        for budget in (*PURE, *CONCENTRATED):
            tight = error(rows, truth, budget, runs)
            if budget in (dpcov.PureDP(1), dpcov.ZCDP("0.1")):
                target = Mean(TARGETS[name][budget == dpcov.ZCDP("0.1")], 0.0)
                records.append(compared(name, budget, 1.0, runs, tight, "target", target))
            if budget == dpcov.PureDP("0.1"):
                records.append(compared(name, budget, 1.0, runs, tight, "zero", zero))
            loose = error(rows, truth, budget, runs, LOOSE)
            records.append(compared(name, budget, LOOSE, runs, loose, "tight", tight))
        progress(name, start)
    records.sort(key=lambda row: ("target", "zero", "tight").index(str(row["against"])))
    write("targets.csv", records)
    print(f"auto: Frobenius error of the second moment; 'tight': with row_norm = {LOOSE:g}, against row_norm = 1")
    print(f"{'data':<12}{'budget':<10}{'error':>20} {'against':<8}{'':>8}{'ratio':>16}{'limit':>7}")
    for row in records:
        found, ratio = f"{row['error']:.4g} ± {row['s.e.']:.1g}", f"{row['ratio']:.3f} ± {row['ratio s.e.']:.1g}"
        line = f"{row['data']:<12}{row['budget']:<10}{found:>20} {row['against']:<8}{row['reference']:8.4f}{ratio:>16}"
        print(f"{line}{row['limit']:7.2f}{'  missed' * bool(row['missed'])}")
    print(f"{sum(bool(row['missed']) for row in records)} of {len(records)} limits missed")


def cell(rows: Rows, budget: Budget, runs: int) -> dict[str, Mean]:
    """Return the errors of auto, first, and of the papers' mechanisms that serve the budget."""
    truth = rows.T @ rows / len(rows)
    found = {"auto": error(rows, truth, budget, runs)}
    for form in PAPERS[type(budget)]:
        mechanism, options = FORMS[form]
        found[form] = error(rows, truth, budget, runs, mechanism=mechanism, **options)
    return found


def against(folder: Path | None, runs_of_each: int) -> None:
    records: list[dict[str, object]] = []
    start = time.perf_counter()
    print("Frobenius error of the second moment: auto, and the best of the papers' mechanisms with their constants")
    print(f"{'data':<13}{'budget':<10}{'auto':>18}{'best other':>18}  {'':<20}{'other/auto':>14}")
    for name, rows in available(AGAINST, folder):
        runs = min(20, runs_of_each) if len(rows) > 20_000 else runs_of_each
        for budget in (*PURE, *CONCENTRATED):
            errors = cell(rows, budget, runs)
            auto, *_ = errors.values()
            best = min(PAPERS[type(budget)], key=lambda mechanism: errors[mechanism].value)
            ratio = errors[best].over(auto)
            notion = "pure" if budget in PURE else "zCDP"
            row = {"data": name, "notion": notion, "budget": budget_name(budget), "runs": runs, "best": best}
            records.append(row | {"ratio": ratio.value, "ratio s.e.": ratio.error})
            for mechanism in ("auto", *dict.fromkeys(sum(PAPERS.values(), ()))):
                known = errors.get(mechanism)
                records[-1] |= {mechanism: known.value if known else "", f"{mechanism} s.e.": known.error if known else ""}
            shown = f"{ratio.value:.2f} ± {ratio.error:.1g}"
            print(f"{name:<13}{row['budget']:<10}{auto!s:>18}{errors[best]!s:>18}  {best:<20}{shown:>14}", flush=True)
        progress(name, start)
    write("against.csv", records)
    for notion, wanted in WANTED.items():
        ratios = [float(str(row["ratio"])) for row in records if row["notion"] == notion]
        mean = np.exp(np.mean(np.log(ratios)))
        print(f"{notion}: geometric mean of other/auto over {len(ratios)} cells {mean:.2f} (wanted {wanted})")
    clear: list[str] = []
    unclear: list[str] = []
    for row in records:
        short = 1 - float(str(row["ratio"]))
        if short > ROUNDING:
            place = f"{row['data']}, {row['budget']}: {row['ratio']:.3f} ± {row['ratio s.e.']:.1g}"
            (clear if short > 2 * float(str(row["ratio s.e."])) else unclear).append(place)
    print(f"below 1 by more than two standard errors (none wanted): {'; '.join(clear) or 'none'}")
    print(f"below 1 by less: {'; '.join(unclear) or 'none'}")


def figures() -> None:
    records: list[dict[str, object]] = []
    start = time.perf_counter()
    for title, (n, bins) in FIGURES.items():
        print(f"\n{title}, ρ = 0.1, the program's forms, {FIGURE_RUNS} runs")
        columns = "".join(f"{line:>19}" for line in FIGURE_LINES)
        print(f"{'d':>5}{columns}{'adaptive/better':>17}  {'better':<10}{'zero':>7}")
        for d in SIZES:
            rows = dong(n, d, bins)
            truth = rows.T @ rows / n
            budget, zero = dpcov.ZCDP("0.1"), float(np.linalg.norm(truth))
            means = {
                line: error(rows, truth, budget, FIGURE_RUNS, mechanism=line, constants="program") for line in FIGURE_LINES
            }
            better = min("gaussian", "separate", key=lambda line: means[line].value)
            row: dict[str, object] = {"n": n, "N": bins, "d": d, "zero": zero}
            for line, mean in means.items():
                row |= {line: mean.value, f"{line} s.e.": mean.error}
            records.append(row)
            cells = "".join(f"{mean!s:>19}" for mean in means.values())
            to_better = means["adaptive"].value / means[better].value
            print(f"{d:5d}{cells}{to_better:17.2f}  {better:<10}{zero:7.3f}", flush=True)
        progress(title, start)
    write("adaptive.csv", records)


def picture(path: Path) -> None:
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    curves: dict[tuple[int, int], list[dict[str, str]]] = defaultdict(list)
    with (RESULTS / "adaptive.csv").open(newline="", encoding="utf-8") as file:
        for record in csv.DictReader(file):
            curves[int(record["n"]), int(record["N"])].append(record)
    figure = Figure(figsize=(9, 4), layout="constrained")
    FigureCanvasAgg(figure)
    for axes, (title, key) in zip(figure.subplots(1, 2), FIGURES.items(), strict=True):
        d = [int(record["d"]) for record in curves[key]]
        for line, (color, style) in FIGURE_LINES.items():
            axes.plot(d, [float(record[line]) for record in curves[key]], style, color=color, label=line, markersize=4)
        zero = [float(record["zero"]) for record in curves[key]]
        axes.plot(d, zero, ":", color="black", label="the zero matrix", linewidth=0.8)
        axes.set(xscale="log", yscale="log", xlabel="columns d", ylabel="Frobenius error of the second moment")
        axes.set_xticks(SIZES, [str(size) for size in SIZES])
        axes.set_xticks([], minor=True)
        axes.yaxis.set_minor_formatter("")
        axes.set_title(title, fontsize=10)
        axes.spines[["top", "right"]].set_visible(False)
    figure.legend(*figure.axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=4, frameon=False, fontsize=8)
    figure.savefig(path, dpi=100)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=["targets", "against", "figures", "picture"])
    parser.add_argument("path", type=Path, nargs="?", help="of the picture")
    parser.add_argument("--data", type=Path, help="folder with copies of airfoil and adult")
    parser.add_argument("--runs", type=int, default=50, help="of each cell of `against`; 20 at most of large tables")
    options = parser.parse_args()
    if options.what == "picture":
        picture(options.path)
    elif options.what == "figures":
        figures()
    elif options.what == "against":
        against(options.data, options.runs)
    else:
        targets(options.data)


if __name__ == "__main__":
    with threadpool_limits(1):
        main()
