"""Whether the parts of a release agree with each other: a file is refused where they do not."""

from __future__ import annotations

import numpy as np

from dpcov.privacy.budget import ApproxDP, Budget, pays_for
from dpcov.release import OPTIONS, Answer, Release, Spend
from dpcov.statistics.calibrated import LAWS, calibrated, check_tail
from dpcov.statistics.grid import Grid
from dpcov.statistics.moments import MAX_ROWS, REPLACE, Count, SecondMoment, Statistic, corner_count
from dpcov.strict_json import refuse

NOISE_OF_LAW = {kind.law: noise for noise, kind in LAWS.items()}


def check_consistent(release: Release) -> None:
    """Refuse a release that no curator can have made."""
    if not 1 <= release.n < 2**63 or (release.neighbors == REPLACE and release.n > MAX_ROWS) or not release.feature_names:
        refuse("consistent", "an n or a list of columns that no release has")
    if len(set(release.feature_names)) < release.d or any("\ud800" <= c <= "\udfff" for c in "".join(release.feature_names)):
        refuse("consistent", "a column name that stands twice or is no text")
    if release.requested not in ("auto", release.mechanism):
        refuse("consistent", "another mechanism than the requested one")
    for name, value in release.options.items():
        if value not in OPTIONS.get(name, ()):
            refuse("known to this version: options are constants and numerics", "others")
    if not release.spent or not pays_for(release.privacy, [spend.budget for spend in release.spent]):
        refuse("consistent", "spends that exceed the promise")
    if release.schema is not None and (release.row_norm != 1.0 or release.feature_names != release.schema.feature_names):
        refuse("consistent", "columns that are not those of its schema")
    grid = Grid(release.row_norm, release.grid_bits, release.center)
    expected: list[Statistic] = [SecondMoment(grid, grid.width(release.d))]
    count_asked = release.neighbors != REPLACE and not release.center
    if count_asked:
        expected.append(Count())
    names = [statistic.name for statistic in expected]
    if [answer.statistic for answer in release.answers] != names or [spend.asked for spend in release.spent] != names:
        refuse(f"consistent: it answers {names}", "other answers or spends")
    if release.mechanism != NOISE_OF_LAW.get(release.answers[0].noise.law):
        refuse("consistent", "a mechanism with another noise than its own")
    for statistic, answer, spend in zip(expected, release.answers, release.spent, strict=True):
        _check_answer(statistic, answer, spend, release.neighbors, release.privacy)
    corner = int(release.answers[-1].integers[0])
    if release.neighbors != REPLACE and release.n != (max(1, corner) if count_asked else corner_count(corner, grid)):
        refuse("consistent", "an n that is not the noisy count")


def _check_answer(statistic: Statistic, answer: Answer, spend: Spend, neighbors: str, promise: Budget) -> None:
    if len(answer.integers) != sum(part.size for part in statistic.parts) or answer.unit_bits != statistic.unit_bits:
        refuse("consistent", f"a {statistic.name} that does not fit the columns and the grid")
    if spend.noise != answer.noise.law or answer.noise.law not in NOISE_OF_LAW:
        refuse("consistent", "a noise that was not paid for")
    if not np.array_equal(answer.noise.settle(answer.integers), answer.integers):
        refuse("consistent", "integers that are not on the lattice of their noise")
    least = calibrated(statistic, spend.budget, neighbors, NOISE_OF_LAW[answer.noise.law])
    if isinstance(promise, ApproxDP):
        check_tail(answer.noise, promise)
    if not answer.noise.is_at_least(least):
        refuse("consistent", "less noise than the promise needs")
