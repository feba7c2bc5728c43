"""What an experiment is: points to compute, lines at each, and how they are drawn.

A point is one place of one panel. A run draws or reads its rows once, by its seed, and returns one number for each line. What
is kept of a run is known by panel, place, line, form and seed: form is the options a line was run with, so that a line whose
options change is run again and all others are not.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any

PAPERS = ("amin2018", "amin2019", "chaudhuri2013", "biswas2020", "dong2022")
Options = dict[str, Any]


@dataclass(frozen=True)
class Point:
    """One place of one panel: settings of its rows, and for each line the options it is run with."""

    panel: str
    x: float | str
    lines: Mapping[str, Options]
    runs: int
    settings: Mapping[str, Any] = field(default_factory=dict)

    def form(self, line: str) -> str:
        """Return the options of a line as text."""
        return " ".join(f"{name}={value}" for name, value in self.lines[line].items())


@dataclass(frozen=True)
class Panel:
    """How a panel is drawn."""

    name: str
    xlabel: str = ""
    ylabel: str = ""
    xscale: str = "log"
    yscale: str = "log"
    limits: tuple[float, float] | None = None
    """Of the vertical axis."""


Lines = Sequence[str]
Run = Callable[[Point, Lines, int, Path | None], Mapping[str, float]]
"""From a point, the lines wanted, a seed and the folder of the data to a number for each line."""


@dataclass(frozen=True)
class Experiment:
    """One figure or table: ``points`` takes whether the quick ones are wanted."""

    paper: str
    name: str
    title: str
    panels: tuple[Panel, ...]
    points: Callable[[bool], Sequence[Point]]
    run: Run
    summary: str = "mean"
    """Of the runs at a point: mean, trimmed or median."""
    ours: Lines = ()
    """Lines that are this library's own, drawn thick."""
    also: tuple[str, Callable[[Path, Path | None], None]] | None = None
    """A second picture, where lines against places are not what the paper shows: its name, and what draws it on a path."""

    @property
    def key(self) -> str:
        return f"{self.paper} {self.name}"

    @property
    def folder(self) -> Path:
        return Path(__file__).parent / self.paper


def place(x: float | str) -> str:
    """Return how a place is written in files."""
    return x if isinstance(x, str) else f"{x:.6g}"


def experiments(papers: Sequence[str] = PAPERS) -> list[Experiment]:
    """Return the experiments of the papers, in their order."""
    return [each for paper in papers for each in import_module(f"experiments.{paper}").EXPERIMENTS]


def find(key: str) -> Experiment:
    paper, _ = key.split(" ", 1)
    return next(each for each in experiments([paper]) if each.key == key)
