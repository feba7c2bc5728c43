"""Releases in the units people read: how wrong correlations, deviations, means and regressions are, table by table.

python -m benchmarks.units --data DIR                                                everything: half an hour or more
python -m benchmarks.units --data DIR --tables adult --budgets epsilon=1 --seeds 3   seconds
python -m benchmarks.units --tables "mixed-20k*" --mechanisms old,auto --jobs 2      tables by pattern, two processes

============  =================================================================================================
figure        mean over seeds ± its standard error
============  =================================================================================================
corr numeric  mean absolute error of correlations between numeric columns
corr all      the same between all features of different columns; a level is a feature
sd            mean relative error of the standard deviations of numeric columns
mean          mean absolute error of all means, in true standard deviations
ridge         mean squared error over variance, mean of the first six numeric columns, each predicted from all other
              columns with alpha="auto"; ``worst``: of the worst seed
Frobenius     error of the second moment of encoded rows over its Frobenius norm
CPU s         seconds for a release
============  =================================================================================================

``old`` is noise on the encoded rows, clipped at a private radius; ``new`` is ``standardized``, where dpcov has it; ``auto`` is
what people get. Beside them: answering 0 to every correlation and predicting the mean, and least squares with the rows.
"""

from __future__ import annotations

import argparse
import csv
import itertools
import sys
import time
from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase
from pathlib import Path

import dpcov
from benchmarks.common import Mean
from benchmarks.units_runs import (
    FIGURES,
    MECHANISMS,
    RIDGE,
    SECONDS,
    STANDARDIZED,
    Budget,
    Figures,
    Measured,
    Run,
    available,
    measure_all,
)
from benchmarks.units_tables import TABLES, Table, knows_nullable

BUDGETS = "epsilon=1,epsilon=4,rho=0.1"
WORST = f"{RIDGE} worst"
HEADER = ("budget", "mechanism", *FIGURES, WORST, SECONDS)


def budget_of(text: str) -> Budget:
    """Read ``epsilon=1`` or ``rho=0.1``."""
    kind, _, size = text.partition("=")
    kinds: dict[str, type[dpcov.PureDP] | type[dpcov.ZCDP]] = {"epsilon": dpcov.PureDP, "rho": dpcov.ZCDP}
    if kind not in kinds:
        raise argparse.ArgumentTypeError(f"budgets must be like epsilon=1 or rho=0.1, got {text!r}")
    try:
        return kinds[kind](size)
    except dpcov.DpcovError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def budgets_of(text: str) -> dict[str, Budget]:
    return {each: budget_of(each) for each in text.split(",")}


def tables_of(text: str) -> list[str]:
    """Return the names that patterns such as ``mixed-*`` match, in the order of the tables."""
    patterns = text.split(",")
    for pattern in patterns:
        if not any(fnmatchcase(name, pattern) for name in TABLES):
            raise argparse.ArgumentTypeError(f"tables must be among {', '.join(TABLES)}, got {pattern!r}")
    return [name for name in TABLES if any(fnmatchcase(name, pattern) for pattern in patterns)]


def mechanisms_of(text: str) -> list[str]:
    for name in text.split(","):
        if name not in MECHANISMS:
            raise argparse.ArgumentTypeError(f"mechanisms must be among {', '.join(MECHANISMS)}, got {name!r}")
    return text.split(",")


def count_of(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"it must be a number above 0, got {text!r}")
    return int(text)


def bench(name: str, measured: Measured, runs: dict[tuple[str, str], list[Run]], jobs: int) -> dict[Run, Figures]:
    """Measure all releases of a table; say on stderr how far it got."""
    start, found = time.perf_counter(), {}
    order = list(itertools.chain(*runs.values()))
    last = {line[-1]: " ".join(key) for key, line in runs.items()}
    for run, figures in zip(order, measure_all(measured, order, jobs), strict=True):
        found[run] = figures
        if run in last:
            say(f"{name}: {last[run]}: {time.perf_counter() - start:.0f} s")
    return found


def line_of(found: Sequence[Figures]) -> list[str]:
    """Return the cells of a row of the table: means with standard errors, the worst regression, seconds."""
    cells = [cell([figures[name] for figures in found]) for name in FIGURES]
    seconds = sum(figures[SECONDS] for figures in found) / len(found)
    return [*cells, number(max(figures[RIDGE] for figures in found)), f"{seconds:.3f}"]


def cell(values: Sequence[float]) -> str:
    if len(values) == 1:
        return number(values[0])
    mean = Mean.of(values)
    return f"{number(mean.value)} ± {number(mean.error)}"


def number(value: float) -> str:
    return f"{value:.4f}" if value < 10 else f"{value:.3g}"


def print_table(lines: Sequence[Sequence[str]]) -> None:
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    for line in lines:
        aligned = [
            text.ljust(width) if j < 2 else text.rjust(width) for j, (text, width) in enumerate(zip(line, widths, strict=True))
        ]
        print("  ".join(aligned).rstrip())
    print(flush=True)


def records_of(name: str, run: Run | None, budget: str, mechanism: str, figures: Figures) -> Iterable[dict[str, object]]:
    """Yield a tidy row for each figure; what needs no release has neither a budget nor a seed."""
    row = {"table": name, "neighbors": run.neighbors if run else "", "budget": budget, "mechanism": mechanism}
    for figure, value in figures.items():
        yield row | {"seed": run.seed if run else "", "figure": figure, "value": value}


def write_csv(path: Path, records: Sequence[dict[str, object]]) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, fieldnames=list(records[0]))
        writer.writeheader()
        writer.writerows(records)


def described(table: Table) -> str:
    columns = table.schema.used.values()
    numeric = sum(isinstance(column, dpcov.Numeric) for column in columns)
    features = len(table.schema.feature_names)
    return f"{table.rows.num_rows} rows, {numeric} numeric of {len(columns)} columns, {features} features"


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, metavar="DIR", help="folder with copies of adult, census-income and airfoil")
    parser.add_argument("--tables", type=tables_of, default=list(TABLES), help="names or patterns: adult,census,mixed-*")
    parser.add_argument("--budgets", type=budgets_of, default=budgets_of(BUDGETS), help=f"{BUDGETS} by default")
    parser.add_argument("--mechanisms", type=mechanisms_of, default=list(MECHANISMS), help="of old,new,auto")
    parser.add_argument("--neighbors", choices=["replace", "add-remove"], default="replace")
    parser.add_argument("--seeds", type=count_of, metavar="N", help="seeds 0 to N - 1; by default 20, for census 8")
    parser.add_argument("--jobs", type=count_of, default=1, metavar="N", help="processes")
    parser.add_argument("--csv", type=Path, metavar="FILE", help="write tidy rows: a line for each figure of each release")
    options = parser.parse_args()
    mechanisms = [name for name in options.mechanisms if available(name)]
    if mechanisms != options.mechanisms:
        say(f"new: left out (this dpcov has no mechanism {STANDARDIZED!r})")
    if not knows_nullable(dpcov.Numeric):
        say("missing cells are not declared (this dpcov has no nullable columns)")
    records: list[dict[str, object]] = []
    for name in options.tables:
        try:
            table = TABLES[name](options.data)
        except (OSError, SystemExit) as reason:
            say(f"{name}: skipped ({reason})")
            continue
        measured, seeds = Measured.of(table), range(options.seeds or table.seeds)
        runs = {
            (budget, mechanism): [Run(options.budgets[budget], mechanism, options.neighbors, seed) for seed in seeds]
            for budget in options.budgets
            for mechanism in mechanisms
        }
        found = bench(name, measured, runs, options.jobs)
        lines = [list(HEADER)]
        for title, figures in measured.without_release().items():
            lines.append(["", title, *(number(figures[figure]) if figure in figures else "" for figure in FIGURES), "", ""])
            records += records_of(name, None, "", title, figures)
        for (budget, mechanism), line in runs.items():
            lines.append([budget, mechanism, *line_of([found[run] for run in line])])
            records += itertools.chain(*(records_of(name, run, budget, mechanism, found[run]) for run in line))
        print(f"{name}: {described(table)}; {options.neighbors}, seeds 0 to {seeds[-1]}")
        print_table(lines)
        if options.csv is not None:
            write_csv(options.csv, records)  # after each table: a run that is stopped leaves what it has


if __name__ == "__main__":
    main()
