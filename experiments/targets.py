"""Numbers that are known of a paper's figures: ``targets.csv`` beside each paper's results.

===  ==========================================================================================
P    printed in the paper
A    in result files that the authors published
R    a re-implementation of the printed algorithm, a few lines and runs: ±5 % at best
D    this library's documentation
M    this library, measured apart
===  ==========================================================================================
"""

from __future__ import annotations

import csv
from pathlib import Path
from typing import NamedTuple

from experiments.frame import Experiment, place
from experiments.results import Record

SOURCES = {
    "P": "printed in the paper",
    "A": "the authors' result files",
    "R": "re-implementation",
    "D": "our documentation",
    "M": "this library, measured apart",
}
LIMITS = {"P": 0.15, "A": 0.15, "R": 0.25}
"""How far a result may be from a number of each kind: of others nothing is asked."""


BELOW = "an upper bound"
"""How the note of a number begins that a result must only stay below."""


class Target(NamedTuple):
    """A number, what it is about, and why a result may differ, where that is known."""

    experiment: str
    panel: str
    x: str
    line: str
    value: float
    source: str
    note: str


def targets(folder: Path, experiment: str | None = None) -> list[Target]:
    """Return the numbers known of a paper, or of one of its experiments."""
    with (folder / "targets.csv").open(newline="", encoding="utf-8") as file:
        found = [Target(r["experiment"], r["panel"], _place(r["x"]), *_rest(r)) for r in csv.DictReader(file)]
    return [each for each in found if experiment in (None, each.experiment)]


class Compared(NamedTuple):
    """A number beside what came out."""

    target: Target
    record: Record | None

    @property
    def off(self) -> float:
        """How far the result is from the number, as a part of it."""
        assert self.record is not None
        value = self.target.value
        return abs(self.record.value - value) / abs(value) if value else abs(self.record.value)

    @property
    def verdict(self) -> str:
        limit = LIMITS.get(self.target.source)
        if self.record is None:
            return "not run"
        if limit is None:
            return "reported"
        if self.off <= limit or (self.target.note.startswith(BELOW) and self.record.value < self.target.value):
            return "agrees"
        if abs(self.record.value - self.target.value) <= 2 * self.record.error:
            return "within the runs' own error"
        return "differs" + (f": {self.target.note}" if self.target.note else "")


def compared(experiment: Experiment, records: list[Record]) -> list[Compared]:
    """Put each number of an experiment beside its result."""
    at = {(r.panel, r.x, r.line): r for r in records}
    return [Compared(t, at.get((t.panel, t.x, t.line))) for t in targets(experiment.folder, experiment.name)]


def _place(text: str) -> str:
    try:
        return place(float(text))
    except ValueError:
        return text


def _rest(row: dict[str, str]) -> tuple[str, float, str, str]:
    return row["line"], float(row["value"]), row["source"], row["note"]
