"""What a release of clipped rows must hold: its radii agree with each other and with what was paid for them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

from dpcov.errors import ParameterError
from dpcov.estimate import SINGLE_REACH
from dpcov.kernel.answer import Answer, Spend
from dpcov.kernel.budget import ZCDP, PureDP
from dpcov.kernel.calibrate import exponential_rate, sparse_vector_epsilon
from dpcov.kernel.noise.choice import Exponential, SparseVector
from dpcov.kernel.questions.choices import LARGEST, Bias, Quantile, Radius
from dpcov.kernel.questions.measure import Measure
from dpcov.kernel.questions.moments import REPLACE, Count, SecondMoment
from dpcov.kernel.questions.norms import Trace
from dpcov.kernel.questions.overlap import AnyOverlap
from dpcov.kernel.questions.spectral import AlongBasis, Diagonal, Spectrum
from dpcov.kernel.rows.annulus import Annulus
from dpcov.kernel.rows.grid import Grid
from dpcov.release.record import Release
from dpcov.strict_json import refuse

POSTPROCESSES = {
    "separate": ("project", "clip", "none"),
    "adaptive": ("shrink", "project", "clip", "none"),
    "rescaled": ("shrink", "none"),
}
CLIPPED = tuple(POSTPROCESSES)
"""The mechanisms that ask several questions about clipped rows, and how their estimates can be finished."""

FINEST = 1024  # radii to the octave
DEEPEST = 2000  # octaves


@dataclass(frozen=True)
class Choice:
    """A radius that was chosen or searched for: k and q, for row_norm·2^{−k/q}, and the rows that were to lie outside."""

    name: str
    law: str
    step: int
    size: ClassVar[int] = 3
    unit_bits: ClassVar[int] = 0

    def check(self, answer: Answer, spend: Spend) -> None:
        """Refuse a place that is none, or more precision than was paid for."""
        octaves(answer)
        if answer.radii:
            refuse("consistent", f"a {self.name} that is none")
        self.check_paid(answer, spend)

    def check_paid(self, answer: Answer, spend: Spend) -> None:
        """Refuse more precision than was paid for."""
        law, paid = answer.noise, spend.budget
        if law.law != self.law or spend.noise != law.law or not isinstance(paid, PureDP | ZCDP):
            refuse("consistent", f"a {self.name} that was not paid for")
        if isinstance(law, Exponential):
            affordable = law.rate <= exponential_rate(paid)
        else:
            assert isinstance(law, SparseVector)
            least = 2 * self.step / sparse_vector_epsilon(paid)
            affordable = min(law.threshold, law.query) >= least
        if not affordable:
            refuse("consistent", "less noise than the promise needs")


CHOSEN = Choice(Quantile.name, Exponential.law, 1)
SEARCHED = Choice(Radius.name, SparseVector.law, Radius.step)
BALANCED = Choice(Bias.name, SparseVector.law, Bias.step)


def octaves(answer: Answer) -> float:
    """Return how many octaves below row_norm a radius lies, k/q, or refuse a place that is none: it becomes an exponent."""
    if len(answer.integers) != Choice.size:
        refuse("consistent", f"a {answer.statistic} that is none")
    place, per_octave, rows = answer.integers.tolist()
    if not 1 <= per_octave <= FINEST or not 0 <= place <= DEEPEST * per_octave or not 0 <= rows <= LARGEST:
        refuse("consistent", f"a {answer.statistic} that is none")
    return float(place / per_octave)


def asked_radius(release: Release) -> list[Choice]:
    """List the choice of a radius, where clipping is private."""
    return [CHOSEN] if release.options.get("clip") == "private" else []


def clipped_moment(release: Release, moment: SecondMoment, name: str = SecondMoment.name) -> SecondMoment:
    """Return the statistic of rows clipped where the answers and the options say."""
    place = release.answer(Bias.name) or release.answer(Quantile.name)
    clip = release.options.get("clip")
    radius = _whole(moment).row_norm
    if place is not None:
        radius *= 2.0 ** -octaves(place)
        if release.mechanism == "rescaled" and moment.d == 1:
            radius = min(SINGLE_REACH * radius, _whole(moment).row_norm)
    elif isinstance(clip, float):
        radius = clip
    answer = release.answer(name)
    found = answer.radii if answer is not None else ()
    if len(found) > 1 or not math.isclose(found[0] if found else _whole(moment).row_norm, radius, rel_tol=1e-12):
        refuse("consistent", "a second moment of rows with another radius")
    return of_radii(moment, found)


def expected_clipped(release: Release, moment: SecondMoment) -> list[Measure | Choice]:
    """List what a mechanism of `CLIPPED` asks, given that later questions depend on earlier answers."""
    if release.postprocess not in POSTPROCESSES[release.mechanism]:
        refuse("consistent", "a postprocess that its mechanism does not have")
    if release.mechanism == "rescaled" and release.center:
        refuse("consistent", "centred rows of a mechanism that has none")
    names = [answer.statistic for answer in release.answers]
    count = [Count()] if release.neighbors != REPLACE else []
    if release.mechanism == "rescaled" and SecondMoment.name not in names:
        return [*count]
    within = clipped_moment(release, moment)
    if release.mechanism == "rescaled":
        return [*count, CHOSEN, within, *_given_back(release, moment)]
    start: list[Measure | Choice] = [*asked_radius(release)]
    if release.mechanism == "adaptive":
        searched = [SEARCHED] if Radius.name in names else []  # left out where n is too small for it
        start = [*searched, Trace(_radius_of_trace(release, moment), moment.d), BALANCED]
        if within.name in names and not {Diagonal.name, Spectrum.name} & set(names):
            return [*start, within, *([] if release.center else count)]
    paper = release.options.get("constants") == "paper"
    return [*start, within, Spectrum(within, moment.d) if paper else AlongBasis(within, moment.d, Diagonal.name), *count]


def _given_back(release: Release, moment: SecondMoment) -> list[Measure]:
    """List what was asked about the rows between two radii: one number, or nothing."""
    answer = release.answer(AnyOverlap.name)
    if answer is None:
        return []
    inner = release.answer(SecondMoment.name)
    if len(answer.radii) != 2 or inner is None or answer.radii[:1] != (inner.radii or (_whole(moment).row_norm,)):
        refuse("consistent", "a scale of rows with another radius")
    return [AnyOverlap(of_radii(moment, answer.radii))]


def _radius_of_trace(release: Release, moment: SecondMoment) -> Grid:
    answer, place = release.answer(Trace.name), release.answer(Radius.name)
    grid = of_radii(moment, () if answer is None else answer.radii).grid
    radius = _whole(moment).row_norm * 2.0 ** (0.0 if place is None else -octaves(place))
    if not isinstance(grid, Grid) or not math.isclose(grid.row_norm, radius, rel_tol=1e-12):
        refuse("consistent", "a trace of other rows")
    return grid


def of_radii(moment: SecondMoment, radii: tuple[float, ...]) -> SecondMoment:
    """Return the statistic of the rows that an answer says it is about."""
    whole = _whole(moment)
    try:
        grids = [Grid(radius, whole.bits, whole.center) for radius in radii]
        if any(radius > whole.row_norm for radius in radii):
            refuse("consistent", "a radius beyond row_norm")
        if not grids:
            return moment
        return SecondMoment(grids[0] if len(grids) == 1 else Annulus(*grids), moment.d)
    except (ParameterError, TypeError):
        refuse("consistent", "radii that are none")


def _whole(moment: SecondMoment) -> Grid:
    """Return the grid of unclipped rows."""
    assert isinstance(moment.grid, Grid)
    return moment.grid
