"""Whose rows are, what they weigh and in which group they are: one table with such columns, and what it must sum to."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pyarrow as pa

from dpcov.kernel.questions.clipped_pair import ClippedPair
from dpcov.kernel.questions.groups import GroupCounts, GroupedMoment
from dpcov.kernel.questions.moments import Count
from dpcov.kernel.questions.remade import remade
from dpcov.kernel.questions.together import Together
from dpcov.kernel.rows.aside import USUAL_PEOPLE, Aside, aside_of
from dpcov.kernel.rows.grid import DEFAULT_BITS, Grid
from dpcov.schema import Schema
from dpcov.sources.by import By, checked_by
from dpcov.sources.opening import open_source
from tests.engines.asked import questions
from tests.sources.mixed import NUMBERS, SCHEMA, arrow

NAMES = ("7", "07", "7 ", "é", "e\u0301", "A", "a", "x" * 64, "x" * 65, "x" * 66, None, "", "NaN", " null")
"""Text that nearly agrees, text that is longer than a word, and text that names nobody."""

NUMBERED = (2**53, 2**53 + 1, -(2**53) - 1, 0, 1, 2, 3, -(2**63), 2**63 - 1, None)
FLOATS = (0.0, -0.0, 5e-324, 1.0, 1.0 + 2**-52, np.nan, np.inf, -np.inf, None)
WEIGHTS = (0.0, -1.0, np.nan, np.inf, None, 1e-300, 0.3, 1.0, 4.0, 5.0, 1e300)


@cache
def table() -> Any:
    """240 rows; rows of a person stand anywhere, and one person has nearly half of them."""
    draw = np.random.default_rng(8101)
    found = arrow()
    for name, choices, kind in (
        ("who", NUMBERED, pa.int64()),
        ("number", FLOATS, pa.float64()),
        ("patient", NAMES, pa.string()),
        ("amount", WEIGHTS, pa.float64()),
    ):
        places = np.where(draw.random(240) < 0.4, 3, draw.integers(0, len(choices), 240))
        found = found.append_column(name, pa.array([choices[place] for place in places], kind))
    for name, cells in (("each", [f"p{row}" for row in range(240)]), ("one", ["p"] * 240), ("nobody", [None] * 240)):
        found = found.append_column(name, pa.array(cells, pa.string()))
    return found


def aside(unit: str, most_rows: int = 0, weight: str = "") -> Aside:
    return aside_of(unit, DEFAULT_BITS, USUAL_PEOPLE, most_rows, weight, 5.0 if weight else 0.0)


ASIDES = {
    "unit": aside("who"),
    "floats": aside("number"),
    "text": aside("patient"),
    "rows": aside("who", 4),
    "weight": aside("", 0, "amount"),
    "text, weight": aside("patient", 0, "amount"),
    "number, rows, weight": aside("number", 3, "amount"),
    "each a person": aside("each"),
    "one person": aside("one"),
    "nobody": aside("nobody"),
}
OF_ALL_KINDS = ("unit", "text, weight", "weight")
"""Of these all questions are asked; of the others the first few."""

GROUPS = checked_by("stadt", SCHEMA)
NUMBERED_GROUPS = checked_by({"grade": [1, 2.5, 3]}, None)
FEATURES = [name for name in NUMBERS if name != "grade"]


def about(question: Any, beside: Aside) -> Any:
    """Return the question as a curator asks it of such rows."""
    if type(question) is Together:  # people are counted by their source, in no reading of rows
        kept = [one for one in question.members if beside.partial or type(one) is not Count]
        return Together(tuple(about(one, beside) for one in kept))
    return replace(question, aside=beside) if type(question) is ClippedPair else remade(question, beside)


@cache
def expected(kind: str, center: bool, schema: Schema | None = SCHEMA) -> list[tuple[Any, list[int]]]:
    """Return each question with the integers that all must have: those of a table in memory, read by this process."""
    beside = ASIDES[kind]
    source = open_source(table(), NUMBERS if schema is None else None, schema, center, aside=beside)
    asked = questions(source.d, center, schema)
    found = [about(question, beside) for question in (asked if kind in OF_ALL_KINDS else asked[:3])]
    return [(question, source.total(question).tolist()) for question in found]


def grouped(by: By) -> tuple[list[str] | None, Schema | None]:
    """Return the features beside such groups."""
    return (None, by.features) if by is GROUPS else (FEATURES, None)


@cache
def expected_groups(center: bool, numbered: bool) -> list[tuple[Any, list[int]]]:
    by = NUMBERED_GROUPS if numbered else GROUPS
    names, schema = grouped(by)
    source = open_source(table(), names, schema, center, by=by)
    grid = Grid(1.0 if schema is not None else 50.0, center=center)
    count = by.groups.count
    asked: list[Any] = [GroupedMoment(grid, grid.width(source.d), count), GroupCounts(count), Count()]
    return [(question, source.total(question).tolist()) for question in [*asked, Together(tuple(asked[:2]))]]


def array(unit: str) -> Any:
    """The columns of numbers, and behind them an identifier and a weight: x5 and x6."""
    cells = [table()[name].to_pylist() for name in (*NUMBERS, unit, "amount")]
    return np.array([[np.nan if cell is None else float(cell) for cell in column] for column in cells]).T


ARRAYS = {"unit": aside("x5"), "weight": aside("", 0, "x6"), "all": aside("x5", 3, "x6")}


def check(source: Any, asked: list[tuple[Any, list[int]]]) -> None:
    """Compare all integers."""
    for question, integers in asked:
        found = source.total(question)
        assert found.tolist() == integers, question.name
        assert found.dtype == np.int64


@cache
def expected_of_array(kind: str, center: bool) -> list[tuple[Any, list[int]]]:
    beside = ARRAYS[kind]
    source = open_source(array("number"), [0, 1, 2, 3, 4], None, center, aside=beside)
    asked = [about(question, beside) for question in questions(5, center, None)]
    return [(question, source.total(question).tolist()) for question in asked]


def cuts() -> Iterator[tuple[int, int]]:
    """Where the table is cut into partitions: some have one row, some none."""
    yield from zip([0, 0, 0, 1, 1, 7, 80, 81, 160, 240], [0, 0, 1, 1, 7, 80, 81, 160, 240, 240], strict=True)
