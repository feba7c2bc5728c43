"""What a group's estimate in private units is made of: units are those of all rows, the moment is its own, drawn towards all.

Single columns are asked of all rows alike: their centres, deviations, ranges and shares of levels are units here, and say
nothing of a group. A group has its block of the moment; its corner is a² times the sum of its rows' weights, which stands for
their number. The block is drawn towards all groups together, as those of the additive mechanisms are
(`mechanisms/shared/pooling.py`); what intervals are made of is not.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from dpcov.errors import ReleaseError
from dpcov.kernel.answer import Answer
from dpcov.kernel.questions.choices import Quantile
from dpcov.kernel.questions.moments import SecondMoment
from dpcov.kernel.rows.standard import Standard
from dpcov.mechanisms.shared.pooling import Drawn, Noisy, drawn_together
from dpcov.mechanisms.standardized.columns import LevelColumn, NumericColumn
from dpcov.release.estimate import Estimate, OwnPart
from dpcov.release.groups import Part
from dpcov.release.record import Transcript

Floats = NDArray[np.float64]

OF_LONG_ROWS = 0.25  # of their weight is lost, at most: 0.1 to 0.17 on all tables that were tried


def rows_asked(transcript: Transcript) -> int:
    """Return how many rows, or people, single columns were asked of: all of them, of a group as well."""
    return transcript.n if transcript.part is None else transcript.part.whole.n


def rows_counted(transcript: Transcript, moment: Answer, rows: Standard) -> float:
    """Return how many rows a moment is of; of groups, whose corner tells it, at least as many as its noise may be taken for.

    Otherwise a group that noise hides would have means far outside all bounds, in place of wide intervals.
    """
    if transcript.part is None:
        return float(transcript.n)
    return max(float(transcript.n), moment.deviation * (rows.row_norm / rows.corner) ** 2)


def mean_weight(transcript: Transcript, told: float) -> float:
    """Return the mean weight of rows, as ``told`` by corner and n; of groups that of all, as a corner stands for their n."""
    part = transcript.part
    return told if part is None else min(max(part.whole.pooled.n / part.whole.n, 1 - most_lost(transcript)), 1.0)


def most_lost(transcript: Transcript) -> float:
    """Return the share of weight that rows outside the radius lose together, at most: the corner that tells it is noisy."""
    radius = transcript.find(Quantile)
    if radius is None or not isinstance(radius.question, Quantile):
        return 1.0
    return min(OF_LONG_ROWS * radius.question.rows / rows_asked(transcript), 1.0)


def off_centre(transcript: Transcript, seen: Floats, away: Floats) -> Floats:
    """Return what missing cells, which count as the centre of all rows, add to the variances of a group away from it."""
    part = transcript.part
    return (1 - seen) * away**2 * (part is not None and part.level is not None)


def of_group_alone(
    numeric: Sequence[NumericColumn], levels: Sequence[LevelColumn]
) -> tuple[list[NumericColumn], list[LevelColumn]]:
    """Return columns as a group knows them: where cells are missing or constant, and nothing of its means and variances."""
    columns = [
        column if column.constant else replace(column, asked=False, whole=None, noise=math.inf, mean_noise=math.inf)
        for column in numeric
    ]
    return columns, [replace(column, noise=math.inf) for column in levels]


def drawn_to_all(part: Part, rows: Standard) -> Drawn:
    """Return the moment of a row of one group, drawn towards that of all groups together."""
    square = (rows.corner / rows.row_norm) ** 2
    others = [other.take(SecondMoment) for other in part.others]
    counts = np.array([max(float(one.matrix[0, 0]) / square, 1.0) for one in others])
    if not np.isfinite(counts).all():
        raise ReleaseError("release must have a constant in front of its rows, got rows without it. Hint: another version?")
    moments = np.array([one.matrix / count for one, count in zip(others, counts, strict=True)])
    moments[:, 0, 0] = square  # rows are counted by it
    noisy = Noisy(moments, others[0].spread, counts, others[0].deviation / square)
    return drawn_together(noisy, part.whole.groups.index(str(part.level)), centred=True)


def of_group(own: Estimate, drawn: Estimate, by: Drawn) -> Estimate:
    """Return an estimate drawn towards all groups, with what intervals are made of from the group's own noisy numbers."""
    assert own.units is not None
    assert drawn.units is not None
    units = replace(
        own.units,
        covariance=drawn.units.covariance,
        left=drawn.units.left,
        correlation=drawn.units.correlation,
        deviation=drawn.units.deviation,
    )
    back = np.abs(own.units.back)
    both = back @ np.ones_like(by.own[1:, 1:]) @ back.T
    with np.errstate(all="ignore"):
        part = np.where(both > 0, back @ by.own[1:, 1:] @ back.T / both, 1.0)
        errors = np.sqrt(back**2 @ (by.standard_error[1:, 1:] * own.units.weighing.row_norm**2) ** 2 @ (back**2).T)
    return replace(drawn, units=units, seen=own.seen, expected_error=own.expected_error, own=OwnPart(part, errors))
