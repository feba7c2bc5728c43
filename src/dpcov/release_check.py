"""Whether the parts of a release agree with each other: a file is refused where they do not."""

from __future__ import annotations

from fractions import Fraction

from dpcov.privacy.budget import ZCDP, compose
from dpcov.privacy.calibrate import gaussian_variance
from dpcov.privacy.discrete import MIN_SCALE
from dpcov.release import Answer, Release, Spend
from dpcov.statistics.grid import Grid
from dpcov.statistics.moments import REPLACE, Count, SecondMoment, Statistic
from dpcov.strict_json import refuse


def check_consistent(release: Release) -> None:
    """Refuse a release that no curator can have made."""
    if not 1 <= release.n < 2**63 or not release.feature_names:
        refuse("consistent", "an n or a list of columns that no release has")
    if len(set(release.feature_names)) < release.d:
        refuse("consistent", "a column name that stands twice")
    if not release.spent or any(type(spend.budget) is not type(release.privacy) for spend in release.spent):
        refuse("consistent", "spends of another notion than the promise")
    if not release.privacy.covers(compose(*(spend.budget for spend in release.spent))):
        refuse("consistent", "spends that exceed the promise")
    grid = Grid(release.row_norm, release.grid_bits)
    expected: list[Statistic] = [SecondMoment(grid, release.d)]
    if release.neighbors != REPLACE:
        expected.append(Count())
    names = [statistic.name for statistic in expected]
    if [answer.statistic for answer in release.answers] != names or [spend.asked for spend in release.spent] != names:
        refuse(f"consistent: it answers {names}", "other answers or spends")
    for statistic, answer, spend in zip(expected, release.answers, release.spent, strict=True):
        _check_answer(statistic, answer, spend, release.neighbors)


def _check_answer(statistic: Statistic, answer: Answer, spend: Spend, neighbors: str) -> None:
    if len(answer.integers) != sum(part.size for part in statistic.parts) or answer.unit_bits != statistic.unit_bits:
        refuse("consistent", f"a {statistic.name} that does not fit the columns and the grid")
    if [name for name, _ in answer.noise.variances] != [part.name for part in statistic.parts]:
        refuse("consistent", f"noise on other parts than those of a {statistic.name}")
    if not isinstance(spend.budget, ZCDP) or spend.noise != answer.noise.law:
        refuse("consistent", "a noise that does not serve the promise")
    least = gaussian_variance(Fraction(statistic.sensitivity_squared(neighbors)), spend.budget)
    for part, (_, variance) in zip(statistic.parts, answer.noise.variances, strict=True):
        if variance < max(least / part.weight, MIN_SCALE**2):
            refuse("consistent", "less noise than the promise needs")
