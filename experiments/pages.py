"""Writes what the results say into the pages of docs/papers, between marks: claims, numbers and cost.

What stands around the marks is written by hand.
"""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

from experiments.check import Claim, Results, judged
from experiments.frame import PAPERS, experiments
from experiments.results import read_records, results_path
from experiments.targets import LIMITS, SOURCES, Compared, compared

FOLDER = Path(__file__).parent.parent / "docs" / "papers"
MARKED = re.compile(r"(<!-- (claims|numbers|cost): made by python -m experiments pages -->\n).*?(<!-- end -->)", re.DOTALL)


def pages() -> dict[Path, str]:
    """Return each paper's page as it should be."""
    return {path: _filled(path, paper) for paper in PAPERS for path in [FOLDER / f"{paper}.md"]}


def write_pages() -> None:
    for path, text in pages().items():
        path.write_text(text, encoding="utf-8")


def _filled(path: Path, paper: str) -> str:
    parts = {"claims": _claims, "numbers": _numbers, "cost": _cost}

    def fill(found: re.Match[str]) -> str:
        return found[1] + "\n" + "\n".join(parts[found[2]](paper)) + "\n\n" + found[3]

    return MARKED.sub(fill, path.read_text(encoding="utf-8"))


def _claims(paper: str) -> Iterator[str]:
    claims: tuple[Claim, ...] = import_module(f"experiments.{paper}.claims").CLAIMS
    yield from ("| the paper says | | what came out |", "|---|---|---|")
    for cells in judged(claims, Results(paper, None)):
        yield "| " + " | ".join(cells) + " |"


def _numbers(paper: str) -> Iterator[str]:
    """Yield a summary by source, then what is further off than asked, one by one."""
    found = [each for wanted in experiments([paper]) for each in compared(wanted, read_records(results_path(None, wanted)))]
    counted = Counter((each.target.source, each.verdict.split(":")[0]) for each in found)
    for source, name in SOURCES.items():
        if kinds := {kind: number for (of, kind), number in counted.items() if of == source}:
            asked = f", within {LIMITS[source]:.0%} asked" if source in LIMITS else ""
            yield f"- {name}{asked}: " + ", ".join(f"{number} {kind}" for kind, number in sorted(kinds.items()))
    off = [each for each in found if each.verdict.startswith(("differs", "within", "not run"))]
    if off:
        yield from (
            "",
            "Those further off:",
            "",
            "| | panel | at | line | known | | found | why |",
            "|---|---|---|---|---|---|---|---|",
        )
        yield from map(_row, off)


def _row(each: Compared) -> str:
    target, record = each
    found = "not run" if record is None else f"{record.value:.3g} ± {record.error:.1g}"
    why = target.note if each.verdict.startswith("differs") else each.verdict
    cells = [target.experiment, target.panel, target.x, target.line, f"{target.value:.4g}", target.source, found, why]
    return "| " + " | ".join(cells) + " |"


def _cost(paper: str) -> Iterator[str]:
    yield from ("| experiment | size | runs of lines | CPU seconds |", "|---|---|---|---|")
    path = Path(__file__).parent / paper / "results" / "cost.csv"
    if path.exists():
        with path.open(newline="", encoding="utf-8") as file:
            for row in csv.DictReader(file):
                yield f"| {row['experiment']} | {row['size']} | {row['runs']} | {float(row['cpu_seconds']):.0f} |"
