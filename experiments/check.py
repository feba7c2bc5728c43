"""Prints the papers' claims and the known numbers beside what came out: a report, not a test."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

from experiments.frame import PAPERS, Experiment, experiments, place
from experiments.results import Record, read_records, results_path
from experiments.targets import LIMITS, SOURCES, compared

AGREES, DIFFERS, CANNOT = "agrees", "differs", "cannot tell"


class Results:
    """The records of one paper: ``of(experiment, panel, line)`` maps places to values."""

    def __init__(self, paper: str, out: Path | None) -> None:
        self.records = {each.name: read_records(results_path(out, each)) for each in experiments([paper])}

    def of(self, experiment: str, panel: str, line: str) -> dict[str, float]:
        return {r.x: r.value for r in self.records[experiment] if (r.panel, r.line) == (panel, line)}

    def at(self, experiment: str, panel: str, line: str, x: float | str) -> float:
        """Return one value; where it was not run the claim cannot be judged."""
        found = self.of(experiment, panel, line)
        if place(x) not in found:
            raise NotRunError(f"{experiment}, {panel}, {line} at {place(x)} was not run")
        return found[place(x)]


class NotRunError(LookupError):
    """A claim rests on a result that is not there."""


Verdict = tuple[str, str]
"""Agrees, differs or cannot tell, and the numbers that say so."""


@dataclass(frozen=True)
class Claim:
    """What a paper says, what was expected of it here, and what judges it."""

    text: str
    judge: Callable[[Results], Verdict]


def verdict(holds: bool, numbers: str) -> Verdict:
    return AGREES if holds else DIFFERS, numbers


def judged(claims: tuple[Claim, ...], results: Results) -> Iterator[tuple[str, str, str]]:
    for claim in claims:
        try:
            yield claim.text, *claim.judge(results)
        except NotRunError as reason:
            yield claim.text, CANNOT, str(reason)


def check(out: Path | None, papers: tuple[str, ...] = PAPERS) -> None:
    """Print claims, then numbers."""
    for paper in papers:
        print(f"\n{paper}\n\n| claim | | numbers |\n|---|---|---|")
        claims: tuple[Claim, ...] = import_module(f"experiments.{paper}.claims").CLAIMS
        for cells in judged(claims, Results(paper, out)):
            print("| " + " | ".join(cells) + " |")
        _numbers(experiments([paper]), out)
    sys.stdout.flush()


def _numbers(wanted: list[Experiment], out: Path | None) -> None:
    print("\n| | panel | at | line | known | | found | ratio | |\n|---|---|---|---|---|---|---|---|---|")
    count: Counter[tuple[str, str]] = Counter()
    for experiment in wanted:
        for each in compared(experiment, read_records(results_path(out, experiment))):
            target, record = each
            count[target.source, each.verdict.split(":")[0]] += 1
            found, ratio = _found(record), f"{record.value / target.value:.2f}" if record and target.value else ""
            cells = [target.experiment, target.panel, target.x, target.line, f"{target.value:.4g}", target.source, found, ratio]
            print("| " + " | ".join([*cells, each.verdict]) + " |")
    print()
    for source, name in SOURCES.items():
        if kinds := {kind: number for (of, kind), number in count.items() if of == source}:
            asked = f", within {LIMITS[source]:.0%} asked" if source in LIMITS else ""
            print(f"{name}{asked}: " + ", ".join(f"{number} {kind}" for kind, number in sorted(kinds.items())))


def _found(record: Record | None) -> str:
    return "" if record is None else f"{record.value:.4g} ± {record.error:.1g} ({record.runs})"
