"""What a release of answers in public coordinates must hold: each answer was paid for, and the last one makes the estimate."""

from __future__ import annotations

from typing import Any

import numpy as np

from dpcov.answer import Answer, Spend
from dpcov.errors import ParameterError
from dpcov.frame import Frame
from dpcov.release import Release
from dpcov.release_clipped import CHOSEN, Choice
from dpcov.statistics.bins import Bins, Rank
from dpcov.statistics.choices import Quantile
from dpcov.statistics.frames import Ball, Box, Ellipsoid
from dpcov.statistics.measure import Measure
from dpcov.statistics.moments import REPLACE, Count, SecondMoment, Sum
from dpcov.statistics.norms import Trace
from dpcov.strict_json import refuse

FRAMED = {
    "mean": ("coinpress", "clipped", "coordinatewise", "karwa-vadhan", "symq"),
    "covariance": ("coinpress",),
}
"""The mechanisms that ask about rows in public coordinates."""

FINISHED = ("project", "clip", "none")
"""How their estimates can be finished."""


class RankChoice(Choice):
    """A quantile of a column that was chosen: its bin, how many there are, the column, and the rows below."""

    def check(self, answer: Answer, spend: Spend) -> None:
        """Refuse a bin that is none, or more precision than was paid for."""
        if len(answer.integers) != 4 or answer.frame is None or answer.frame.kind != "box":
            refuse("consistent", "a quantile that is none")
        place, bins, column, rows = answer.integers.tolist()
        if not 0 <= place < bins or not 0 <= column < len(answer.frame.centre) or rows < 0:
            refuse("consistent", "a quantile that is none")
        self.check_paid(answer, spend)


RANKED = RankChoice(Rank.name, CHOSEN.law, 1)


def expected_framed(release: Release) -> list[Measure | Choice | None]:
    """List what each answer says it is about, and refuse a list that makes no estimate."""
    if release.postprocess not in FINISHED:
        refuse("consistent", "a postprocess that its mechanism does not have")
    expected: list[Measure | Choice | None] = [_expected(answer, release) for answer in release.answers]
    names = [answer.statistic for answer in release.answers if answer.statistic != Count.name]
    last = names[-1] if names else ""
    makes_mean = last == Sum.name or (names == [Rank.name] * 2 * release.d and release.mechanism == "symq")
    makes_moment = SecondMoment.name in names and last in (SecondMoment.name, Trace.name)
    if not (makes_mean if release.kind == "mean" else makes_moment):
        refuse("consistent", "no answer that makes an estimate")
    counts = sum(answer.statistic == Count.name for answer in release.answers)
    if counts != (release.neighbors != REPLACE):
        refuse("consistent", "no count, or more than are needed")
    return expected


def _expected(answer: Answer, release: Release) -> Measure | Choice:
    """Return the question that an answer belongs to."""
    name, width = answer.statistic, release.d
    if name == Count.name:
        return Count()
    if name == Rank.name:
        return RANKED
    if answer.frame is None or answer.frame.centre.shape != (release.d,):
        refuse("consistent", f"a {name} without coordinates that fit the columns")
    if name == Quantile.name:
        return CHOSEN
    grid = _grid(answer.frame)
    if name == Sum.name:
        return Sum(grid, width)
    if name == Bins.name and isinstance(grid, Box) and len(answer.integers) % width == 0:
        return Bins(grid, width, len(answer.integers) // width)
    if name == SecondMoment.name and isinstance(grid, Ball | Ellipsoid):
        return SecondMoment(grid, width)
    if name != Trace.name or not isinstance(grid, Ellipsoid):
        refuse("consistent", f"a {name} where none is asked")
    return Trace(grid, width)


def _grid(frame: Frame) -> Any:
    """Return the encoding that a frame describes."""
    centre = tuple(frame.centre.tolist())
    try:
        if frame.kind == "ball":
            return Ball(centre, float(frame.extent), frame.deviations)
        if frame.kind == "box":
            return Box(centre, tuple(np.asarray(frame.extent).tolist()))
        return Ellipsoid(centre, np.array(frame.extent), frame.deviations)
    except ParameterError as error:
        refuse("well formed", str(error))
