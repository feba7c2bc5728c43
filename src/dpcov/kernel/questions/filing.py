"""How questions stand in a file: rows by their radius, coordinates that several share once, bases by the answer they are of."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpcov.errors import ReleaseError
from dpcov.kernel.answer import Answer
from dpcov.kernel.rows.annulus import Annulus
from dpcov.kernel.rows.encoding import Encoding
from dpcov.kernel.rows.frames import LARGEST, Ball, Box, Ellipsoid, Frame, of_frame
from dpcov.kernel.rows.grid import Grid
from dpcov.strict_json import Fields, each, refuse

RowShape = Grid | Annulus | Ball | Box | Ellipsoid


@dataclass
class Writing:
    """What questions share while a transcript is written."""

    answers: Sequence[Answer]
    frames: dict[Ball | Box | Ellipsoid, int] = field(default_factory=dict)

    def rows(self, rows: RowShape) -> dict[str, Any]:
        """Return which rows a question is about."""
        if isinstance(rows, Grid):
            return {"radius": rows.row_norm}
        if isinstance(rows, Annulus):
            return {"inner": rows.inner.row_norm, "outer": rows.outer.row_norm}
        return {"frame": self.frames.setdefault(rows, len(self.frames))}

    def place(self, answer: Answer) -> int:
        """Return which of the answers this one is."""
        found = next((place for place, one in enumerate(self.answers) if one is answer), None)
        if found is None:
            raise ReleaseError("a question must be about earlier answers of its release, got another. Hint: ask again.")
        return found

    def frame_records(self) -> list[dict[str, Any]]:
        """Return the coordinates that were referred to, in order."""
        frames = [rows.frame for rows in self.frames]
        return [{"centre": f.centre.tolist(), "extent": f.extent.tolist(), "deviations": f.deviations} for f in frames]


@dataclass
class Reading:
    """What questions share while a transcript is read: the encoding, the coordinates, and the answers read so far."""

    encoding: Encoding
    frames: Sequence[Ball | Box | Ellipsoid]
    answers: list[Answer] = field(default_factory=list)
    used: set[int] = field(default_factory=set)
    """Which coordinates some question is about."""

    def rows(self, record: dict[str, Any]) -> RowShape:
        """Return the rows that a record names."""
        fields = Fields(record, "rows")
        found: RowShape | None
        if "frame" in record:
            place = fields.take("frame", int)
            found = self.frames[place] if 0 <= place < len(self.frames) else None
            self.used.add(place)
        elif "inner" in record:
            found = Annulus(*(self._grid(fields.take(name, float)) for name in ("inner", "outer")))
        else:
            found = self._grid(fields.take("radius", float))
        fields.end()
        return refuse("consistent", "coordinates that do not stand in it") if found is None else found

    def coordinates(self, rows: RowShape) -> int:
        """Return how many coordinates such rows have."""
        return self.encoding.width if isinstance(rows, Grid | Annulus) else len(rows.centre)

    def answer(self, place: int) -> Answer:
        """Return an earlier answer."""
        return self.answers[place] if 0 <= place < len(self.answers) else refuse("consistent", "a basis of a later answer")

    def _grid(self, radius: float) -> Grid:
        return Grid(radius, self.encoding.bits, self.encoding.constant)


def read_frame(record: dict[str, Any]) -> Ball | Box | Ellipsoid:
    """Return the coordinates of a record: a number, a list or a list of lists for the extent."""
    fields = Fields(record, "frame")
    centre = _numbers(fields.take("centre", list))
    deviations = fields.take("deviations", float)
    if type(record.get("extent")) is float:
        extent = _numbers([fields.take("extent", float)]).reshape(())
    else:
        rows = fields.take("extent", list)
        nested = bool(rows) and type(rows[0]) is list
        extent = np.array([_numbers(row) for row in each(rows, list, "extent")]) if nested and _square(rows) else _numbers(rows)
    fields.end()
    d = len(centre)
    if extent.shape not in ((), (d,), (d, d)) or d == 0 or not 0 < deviations < LARGEST:
        refuse("well formed: an extent fits its centre", "another")
    return of_frame(Frame(centre, extent, deviations))


def _square(rows: list[Any]) -> bool:
    return all(type(row) is list and len(row) == len(rows) for row in rows) or refuse("well formed: square", "another")


def _numbers(values: list[Any]) -> NDArray[np.float64]:
    numbers = np.array(each(values, float, "a frame"), dtype=np.float64)
    if not np.all(np.abs(numbers) <= LARGEST):
        refuse("well formed: coordinates are ordinary numbers", "larger ones")
    return numbers
