"""The audit of all mechanisms: what each answer cost at most, and how large ε must be at the least.

python -m benchmarks.evidence            audit all, and put the table into docs/evidence.md
python -m benchmarks.evidence --print    print it only

Each mechanism is audited at ε = ½, 1 and 2 in the first notion that it serves: pure DP, else zCDP of ρ = ε²/2, else
(ε, 10⁻⁶)-DP. Prices are exact, over `PAIRS` searched neighbours in each relation that it serves. The bound from below is that
of `TRIALS` releases of each of two neighbours where a row is replaced, in as few columns as can be, where the worst answers are
least rare. All of it is seeded: it comes out the same again.
"""

from __future__ import annotations

import argparse
import inspect
from fractions import Fraction
from pathlib import Path
from typing import Any

import dpcov
from dpcov.kernel.budget import ZCDP, ApproxDP, Budget, PureDP
from dpcov.mechanisms import MECHANISMS
from dpcov.mechanisms.base import Named
from dpcov.verify.audit import Audit, audit_mechanism

PAGE = Path(__file__).parents[1] / "docs" / "evidence.md"
BEGIN, END = "<!-- Made by benchmarks/evidence.py -->", "<!-- end of what is made -->"
EPSILONS = ("1/2", "1", "2")
DELTA = "1e-6"
PAIRS, TRIALS = 200, 1000
FOR_THE_BOUND = 50
"""Neighbours that are searched for those that cost most."""

NEEDED: dict[str, Any] = {"k": 1, "target": 0, "alpha": 0.1}
"""What options that have no default are set to."""

LINES = [(target, name, epsilon) for target, names in MECHANISMS.items() for name in names for epsilon in EPSILONS]

UPPER = 10.0
"""A public bound of the covariance, for mechanisms that take one."""

SCHEMA = dpcov.Schema(
    {"wide": dpcov.Numeric(-1, 1), "gaps": dpcov.Numeric(0, 9, nullable=True), "sex": dpcov.Categorical(["F", "M"])}
)
"""Of mechanisms that want one."""


def budget_of(named: Named, epsilon: str) -> Budget:
    """Return the promise that a mechanism is audited at."""
    if PureDP in named.serves:
        return PureDP(epsilon)
    return ZCDP(Fraction(epsilon) ** 2 / 2) if ZCDP in named.serves else ApproxDP(epsilon, DELTA)


def audited(named: Named, epsilon: str, pairs: int, trials: int) -> tuple[Audit, dict[str, Audit]]:
    """Return the audit that has a bound from below, and those of each relation, which have prices."""
    options = {name: NEEDED[name] for name, default in named.options.items() if default is inspect.Parameter.empty}
    if named.bound == "covariance":
        options[named.covariances[0]] = UPPER
    given: dict[str, Any] = {"options": options, "seed": 1, "draws": 0, "target": named.target}
    given |= {"schema": SCHEMA, "center": True} if named.bound == "schema" else {}
    budget, least = budget_of(named, epsilon), 2 if options.keys() & {"k", "target"} else 1
    prices = {
        neighbors: audit_mechanism(named, budget, neighbors=neighbors, pairs=pairs, trials=0, width=2, **given)
        for neighbors in named.neighbors
    }
    return audit_mechanism(named, budget, pairs=min(pairs, FOR_THE_BOUND), trials=trials, width=least, **given), prices


def line(target: str, name: str, epsilon: str, pairs: int = PAIRS, trials: int = TRIALS) -> tuple[list[str], bool]:
    """Return the line of a mechanism and an ε, and whether its promise is refuted."""
    main, each = audited(MECHANISMS[target][name], epsilon, pairs, trials)
    costs = [f"{each[one].dearest:.6f}" if one in each else "" for one in ("replace", "add-remove")]
    best = main.finding
    bound = "" if best is None else f"{best.proved:.2f}"
    at = "" if best is None else f"{best.promised:.2f}" + f" at δ = {best.delta:.0e}" * (best.delta > 0)
    cells = [target, f"[`{name}`](mechanisms/{name}.md)", shown(main.budget), *costs, bound, at]
    return cells, any(one.refuted for one in (main, *each.values()))


def shown(budget: Budget) -> str:
    """Return a promise in a few signs."""
    if isinstance(budget, ZCDP):
        return f"ρ = {float(budget.rho):g}"
    delta = f", δ = {float(budget.delta):.0e}" if isinstance(budget, ApproxDP) else ""
    return f"ε = {float(budget.epsilon):g}{delta}"


TITLES = ("target", "mechanism", "promise", "cost ÷ charge, replace", "add-remove", "ε is at least", "promised")


def table(lines: list[list[str]]) -> str:
    """Return the lines as a table."""
    return "\n".join(f"| {' | '.join(line)} |" for line in (list(TITLES), ["---"] * 3 + ["--:"] * 3 + ["---"], *lines))


def main() -> None:
    """Audit, print, and write the page unless told not to."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--print", action="store_true", dest="only", help="do not write docs/evidence.md")
    only = parser.parse_args().only
    lines = []
    for target, name, epsilon in LINES:
        cells, refuted = line(target, name, epsilon)
        print(" | ".join(cells), "REFUTED" * refuted, flush=True)
        lines.append(cells)
        if refuted:
            raise SystemExit(3)
    if not only:
        text = PAGE.read_text(encoding="utf-8")
        before, after = text.partition(BEGIN)[0], text.partition(END)[2]
        PAGE.write_text(f"{before}{BEGIN}\n{table(lines)}\n{END}{after}", encoding="utf-8")


if __name__ == "__main__":
    main()
