"""Frames in release files: the centre as a list, and a number, a list or a list of lists for the extent."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpcov.kernel.rows.frame import Frame
from dpcov.strict_json import Fields, each, refuse

LARGEST = 1e150  # as in statistics/frames.py, which it may not import


def frame_record(frame: Frame) -> dict[str, Any]:
    """Return a frame as JSON has it."""
    return {"centre": frame.centre.tolist(), "extent": frame.extent.tolist(), "deviations": frame.deviations}


def read_frame(record: dict[str, Any]) -> Frame | None:
    """Return the frame of a record, or None for an empty one."""
    if not record:
        return None
    fields = Fields(record, "frame")
    centre = _numbers(fields.take("centre", list))
    deviations = fields.take("deviations", float)
    if type(record.get("extent")) is float:
        read = _numbers([fields.take("extent", float)]).reshape(())
    else:
        rows = fields.take("extent", list)
        nested = bool(rows) and type(rows[0]) is list
        read = np.array([_numbers(row) for row in each(rows, list, "extent")]) if nested and _square(rows) else _numbers(rows)
    fields.end()
    d = len(centre)
    if read.shape not in ((), (d,), (d, d)) or d == 0 or not 0 < deviations < LARGEST:
        refuse("well formed: an extent fits its centre", "another")
    return Frame(centre, read, deviations)


def _square(rows: list[Any]) -> bool:
    return all(type(row) is list and len(row) == len(rows) for row in rows) or refuse("well formed: square", "another")


def _numbers(values: list[Any]) -> NDArray[np.float64]:
    numbers = np.array(each(values, float, "a frame"), dtype=np.float64)
    if not np.all(np.abs(numbers) <= LARGEST):
        refuse("well formed: coordinates are ordinary numbers", "larger ones")
    return numbers
