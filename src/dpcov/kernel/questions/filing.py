"""How questions stand in a file: rows by their radius, coordinates that several share once, bases by the answer they are of."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dpcov.errors import ReleaseError
from dpcov.kernel.answer import Answer
from dpcov.kernel.questions.weights import weighed_by
from dpcov.kernel.rows.annulus import Annulus
from dpcov.kernel.rows.aside import Aside
from dpcov.kernel.rows.columns import Columns
from dpcov.kernel.rows.encoding import Encoding
from dpcov.kernel.rows.frames import LARGEST, Ball, Box, Ellipsoid, Frame, of_frame
from dpcov.kernel.rows.grid import Grid
from dpcov.kernel.rows.groups import Groups
from dpcov.kernel.rows.standard import LevelUnits, NumericUnits, Standard, Units
from dpcov.strict_json import WORD, Fields, each, packed, refuse, unpacked

if TYPE_CHECKING:
    from dpcov.kernel.questions.measure import Question

CHOSEN_BY = "max_weight of"
"""How a question says which answer told what weight counts as 1 in it."""

RowShape = Grid | Annulus | Ball | Box | Ellipsoid | Standard
Coordinates = Ball | Box | Ellipsoid | Units
"""What several questions share."""


@dataclass
class Writing:
    """What questions share while a transcript is written."""

    answers: Sequence[Answer]
    frames: dict[Coordinates, int] = field(default_factory=dict)

    def rows(self, rows: RowShape) -> dict[str, Any]:
        """Return which rows a question is about."""
        if isinstance(rows, Grid):
            return {"radius": rows.row_norm}
        if isinstance(rows, Annulus):
            return {"inner": rows.inner.row_norm, "outer": rows.outer.row_norm}
        if isinstance(rows, Standard):
            return {"frame": self._number(rows.units), "corner": rows.corner, "radius": rows.row_norm}
        return {"frame": self._number(rows)}

    def _number(self, coordinates: Coordinates) -> int:
        return self.frames.setdefault(coordinates, len(self.frames))

    def place(self, answer: Answer) -> int:
        """Return which of the answers this one is."""
        found = next((place for place, one in enumerate(self.answers) if one is answer), None)
        if found is None:
            raise ReleaseError(
                "a question must be about earlier answers of the same release, got one of another. Hint: ask it again there."
            )
        return found

    def weighed(self, question: Question) -> dict[str, Any]:
        """Return which answer said what weight counts as 1 in a question; nothing where none did."""
        if question.aside is None or question.aside.cut is None:
            return {}
        return {CHOSEN_BY: weighed_by(replace(question.aside, cut=None), self.answers)[1]}

    def frame_records(self) -> list[dict[str, Any]]:
        """Return the coordinates that were referred to, in order."""
        return [_frame_record(coordinates) for coordinates in self.frames]


@dataclass
class Reading:
    """What questions share while a transcript is read: the encoding, the coordinates, and the answers read so far."""

    encoding: Encoding
    frames: Sequence[Coordinates]
    answers: list[Answer] = field(default_factory=list)
    used: set[int] = field(default_factory=set)
    """Which coordinates some question is about."""

    chosen: tuple[Aside | None, int] | None = None
    """What stands beside rows after the answer that says what a weight counts as, and which that is."""

    def rows(self, record: dict[str, Any]) -> RowShape:
        """Return the rows that a record names."""
        fields = Fields(record, "rows")
        found: RowShape | None
        if "frame" in record:
            place = fields.take("frame", int)
            shared = self.frames[place] if 0 <= place < len(self.frames) else None
            self.used.add(place)
            if isinstance(shared, Units):
                found = Standard(shared, fields.take("corner", float), fields.take("radius", float), self.encoding.bits)
            else:
                found = shared
        elif "inner" in record:
            found = Annulus(*(self._grid(fields.take(name, float)) for name in ("inner", "outer")))
        else:
            found = self._grid(fields.take("radius", float))
        fields.end()
        return refuse("consistent", "a question in coordinates that the file does not list") if found is None else found

    def coordinates(self, rows: RowShape) -> int:
        """Return how many coordinates such rows have."""
        if isinstance(rows, Standard):
            return rows.width
        return self.encoding.width if isinstance(rows, Grid | Annulus) else len(rows.centre)

    def columns(self) -> Columns:
        """Return where the columns of a table stand in an encoded row."""
        found = self.encoding.columns
        return refuse("consistent", "questions about columns, but no schema") if found is None else found

    def groups(self) -> Groups:
        """Return the groups of rows."""
        found = self.encoding.groups
        return refuse("consistent", "questions about groups, but none") if found is None else found

    def weighed(self, fields: Fields) -> Aside | None:
        """Return what stands beside the rows of the next question: an answer that says what a weight counts as, it names."""
        if self.chosen is None:
            aside, place = weighed_by(self.encoding.aside, self.answers[-1:])
            self.chosen = None if place is None else (aside, len(self.answers) - 1)
        if self.chosen is None:
            return self.encoding.aside
        if fields.take(CHOSEN_BY, int) != self.chosen[1]:
            refuse("consistent", "a question with another weight than that which was chosen")
        return self.chosen[0]

    def answer(self, place: int) -> Answer:
        """Return an earlier answer."""
        return self.answers[place] if 0 <= place < len(self.answers) else refuse("consistent", "a basis of a later answer")

    def _grid(self, radius: float) -> Grid:
        return Grid(radius, self.encoding.bits, self.encoding.constant)


def _frame_record(coordinates: Coordinates) -> dict[str, Any]:
    if isinstance(coordinates, Units):
        numeric = [[one.low, one.high, one.centre, one.deviation] for one in coordinates.numeric]
        levels = [[list(one.groups), list(one.shares), list(one.divisors)] for one in coordinates.levels]
        return {"numeric": numeric, "levels": levels}
    frame = coordinates.frame
    extent = packed(frame.extent.astype("<f8").tobytes()) or frame.extent.tolist()
    return {"centre": frame.centre.tolist(), "extent": extent, "deviations": frame.deviations}


def read_frame(record: dict[str, Any], encoding: Encoding) -> Coordinates:
    """Return the coordinates of a record: a number, a list or a list of lists for the extent; or the units of columns."""
    fields = Fields(record, "frame")
    if "numeric" in record:
        units = _read_units(fields, Reading(encoding, ()).columns())
        fields.end()
        return units
    centre = _numbers(fields.take("centre", list))
    deviations = fields.take("deviations", float)
    extent: NDArray[np.float64]
    if type(record.get("extent")) is float:
        extent = _numbers([fields.take("extent", float)]).reshape(())
    elif type(record.get("extent")) is str:  # a large matrix
        cells = len(centre) ** 2
        words = unpacked(fields.take("extent", str), WORD * cells, "a matrix that does not fit its centre", least=cells)
        extent = _ordinary(np.frombuffer(words, dtype="<f8").astype(np.float64)).reshape(len(centre), len(centre))
    else:
        rows = fields.take("extent", list)
        nested = bool(rows) and type(rows[0]) is list
        extent = np.array([_numbers(row) for row in each(rows, list, "extent")]) if nested and _square(rows) else _numbers(rows)
    fields.end()
    d = len(centre)
    if extent.shape not in ((), (d,), (d, d)) or d == 0 or not 0 < deviations < LARGEST:
        refuse("well formed: an extent fits its centre", "a different number of columns")
    return of_frame(Frame(centre, extent, deviations))


def _read_units(fields: Fields, columns: Columns) -> Units:
    numeric = [each(one, float, "units") for one in each(fields.take("numeric", list), list, "units")]
    levels = [each(one, list, "units") for one in each(fields.take("levels", list), list, "units")]
    if any(len(one) != 4 for one in numeric) or any(len(one) != 3 for one in levels):
        refuse("well formed: units are four numbers, or three lists", "more or fewer")
    return Units(columns, tuple(NumericUnits(*one) for one in numeric), tuple(_read_levels(*one) for one in levels))


def _read_levels(groups: list[Any], shares: list[Any], divisors: list[Any]) -> LevelUnits:
    floats = (tuple(each(part, float, "units")) for part in (shares, divisors))
    return LevelUnits(tuple(each(groups, int, "units")), *floats)


def _square(rows: list[Any]) -> bool:
    return all(type(row) is list and len(row) == len(rows) for row in rows) or refuse(
        "well formed: a matrix is square", "one that is not"
    )


def _numbers(values: list[Any]) -> NDArray[np.float64]:
    return _ordinary(np.array(each(values, float, "a frame"), dtype=np.float64))


def _ordinary(numbers: NDArray[np.float64]) -> NDArray[np.float64]:
    if not np.all(np.abs(numbers) <= LARGEST):
        refuse("well formed: coordinates are ordinary numbers", "numbers that are too large")
    return numbers
