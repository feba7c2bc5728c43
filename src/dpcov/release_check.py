"""Whether the parts of a release agree with each other: a file is refused where they do not."""

from __future__ import annotations

import numpy as np

from dpcov.kernel.answer import Answer, Spend
from dpcov.kernel.budget import ApproxDP, pays_for
from dpcov.kernel.questions.calibrated import LAWS, calibrated, check_tail
from dpcov.kernel.questions.columns import Block
from dpcov.kernel.questions.measure import Measure
from dpcov.kernel.questions.moments import MAX_ROWS, REPLACE, Count, SecondMoment, corner_count
from dpcov.kernel.questions.spectral import Values
from dpcov.kernel.rows.annulus import radii_of
from dpcov.kernel.rows.grid import MAX_FEATURES, Grid
from dpcov.options import NUMBERS, OPTIONS
from dpcov.release.record import Release
from dpcov.release_clipped import CLIPPED, Choice, asked_radius, clipped_moment, expected_clipped
from dpcov.release_drawn import DRAWN, Drawn, Expected, check_mod_sulq, expected_components, expected_directions
from dpcov.release_framed import FRAMED, check_proved, expected_framed
from dpcov.release_solved import expected_solution
from dpcov.schema import is_broken
from dpcov.strict_json import refuse

ALIASES = (("projection", "gaussian"),)
"""What may be requested under another name."""

QUESTIONS = (Choice, Drawn)
"""What is asked without a noise that is added."""

MOST_BITS = 2**19
"""Of the denominators of all spends together: a hundred rounds of the longest budgets have 300 000."""

NOISE_OF_LAW = {kind.law: noise for noise, kind in LAWS.items()}


def check_consistent(release: Release) -> None:
    """Refuse a release that no curator can have made: sizes first, so that a small file cannot ask for much time or memory."""
    if not 1 <= release.n < 2**63 or (release.neighbors == REPLACE and release.n > MAX_ROWS):
        refuse("consistent", "an n that no release has")
    if not 1 <= release.d <= MAX_FEATURES - release.about_midpoints:
        refuse("consistent", "a list of columns that no release has")
    if len(set(release.feature_names)) < release.d or any(is_broken(name) for name in release.feature_names):
        refuse("consistent", "a column name that stands twice or is no text")
    if release.requested not in ("auto", release.mechanism) and (release.requested, release.mechanism) not in ALIASES:
        refuse("consistent", "another mechanism than the requested one")
    _check_options(release)
    if release.schema is not None and (release.row_norm != 1.0 or release.feature_names != release.schema.feature_names):
        refuse("consistent", "columns that are not those of its schema")
    framed = release.mechanism in FRAMED.get(release.kind, {})
    grid = Grid(release.row_norm, release.grid_bits, release.center and not framed)
    moment = SecondMoment(grid, grid.width(release.d))
    expected: Expected
    if framed:
        expected = expected_framed(release)
    elif release.kind == "mean" or any(answer.frame is not None for answer in release.answers):
        refuse("consistent", "a mean, or public coordinates, of a mechanism that has none")
    elif release.kind == "ridge":
        expected = expected_solution(release, moment)
    elif release.kind == "pca":
        expected = expected_components(release, moment)
    elif release.mechanism in DRAWN:
        expected = expected_directions(release, moment)
    elif release.mechanism in CLIPPED:
        expected = expected_clipped(release, moment)
    else:
        expected = _expected_moment(release, moment)
    names = [measure.name for measure in expected]
    if [answer.statistic for answer in release.answers] != names or [spend.asked for spend in release.spent] != names:
        refuse(f"consistent: it answers {names[:20]}", "other answers or spends")
    for measure, answer in zip(expected, release.answers, strict=True):
        _check_size(measure, answer)
    _check_paid(release)
    if release.mechanism in NOISE_OF_LAW.values():
        answered = release.answer(SecondMoment.name)
        if answered is None or NOISE_OF_LAW.get(answered.noise.law) != release.mechanism:
            refuse("consistent", "a mechanism with another noise than its own")
    elif not framed and release.kind not in ("pca", "ridge") and release.mechanism not in (*DRAWN, *CLIPPED):
        refuse("consistent", "a mechanism that this version does not know")
    for measure, answer, spend in zip(expected, release.answers, release.spent, strict=True):
        if answer.columns != (measure.columns if isinstance(measure, Block) else ()):
            refuse("consistent", f"a {measure.name} of other columns")
        if isinstance(measure, QUESTIONS):
            measure.check(answer, spend)
        else:
            if isinstance(measure, Values) and release.neighbors == REPLACE:
                measure = measure.among(release.n)
            _check_answer(measure, answer, spend, release.neighbors)
            if answer.radii != (() if framed else radii_of(getattr(measure, "grid", grid), grid)):
                refuse("consistent", f"a {measure.name} of other rows")
    if isinstance(release.privacy, ApproxDP):
        check_tail([answer.noise for answer in release.answers], release.privacy)
    if release.neighbors != REPLACE and release.n != _noisy_n(release, grid):
        refuse("consistent", "an n that is not the noisy count")
    if framed:
        check_proved(release)
    elif release.mechanism == "mod-sulq":
        check_mod_sulq(release)


def _check_size(measure: Measure | Choice | Drawn, answer: Answer) -> None:
    """Refuse an answer with more or fewer numbers than its question has, or in other units."""
    size = measure.size if isinstance(measure, QUESTIONS) else sum(part.size for part in measure.parts)
    if len(answer.integers) != size or answer.unit_bits != measure.unit_bits:
        refuse("consistent", f"a {measure.name} that does not fit the columns and the grid")


def _check_paid(release: Release) -> None:
    """Refuse spends that exceed the promise, or whose exact sum would take forever."""
    amounts = {amount for spend in release.spent for amount in spend.budget.amounts()}
    if sum(amount.denominator.bit_length() for amount in amounts) > MOST_BITS:
        refuse("consistent", "spends in too many digits")
    if release.spent and not pays_for(release.privacy, [spend.budget for spend in release.spent]):
        refuse("consistent", "spends that exceed the promise")


def _check_options(release: Release) -> None:
    own = {"k": "pca", "target": "ridge", "alpha": "ridge"}
    if any((name in release.options) != (release.kind == kind) for name, kind in own.items()):
        refuse("consistent", "options that its kind does not have, or has not without")
    for name, value in release.options.items():
        number = name in NUMBERS and type(value) is NUMBERS[name]
        if not number and value not in OPTIONS.get(name, ()):
            refuse(f"known to this version: options are {sorted([*OPTIONS, *NUMBERS])}", "others")


def _expected_moment(release: Release, moment: SecondMoment) -> Expected:
    """List what an additive mechanism asks: a radius where it is private, the second moment, and n unless it is known."""
    count = [Count()] if release.neighbors != REPLACE and not release.center else []
    return [*asked_radius(release), clipped_moment(release, moment), *count]


def _noisy_n(release: Release, grid: Grid) -> int:
    """Return the n that the answers give: the count's, or the corner's of a centred second moment."""
    for answer in release.answers:
        if answer.statistic == Count.name:
            return max(1, int(answer.integers[0]))
    answered = release.answer(SecondMoment.name)
    return 0 if answered is None else corner_count(int(answered.integers[0]), grid)


def _check_answer(statistic: Measure, answer: Answer, spend: Spend, neighbors: str) -> None:
    if spend.noise != answer.noise.law or answer.noise.law not in NOISE_OF_LAW:
        refuse("consistent", "a noise that was not paid for")
    if not np.array_equal(answer.noise.settle(answer.integers), answer.integers):
        refuse("consistent", "integers that are not on the lattice of their noise")
    if not answer.noise.is_at_least(calibrated(statistic, spend.budget, neighbors, NOISE_OF_LAW[answer.noise.law])):
        refuse("consistent", "less noise than the promise needs")
