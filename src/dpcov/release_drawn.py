"""What a release of directions or of a subspace must hold: unit vectors, no more concentrated than was paid for."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np

from dpcov.bounds import mod_sulq_beta
from dpcov.kernel.answer import DIRECTION_BITS, Answer, Spend
from dpcov.kernel.budget import ZCDP, ApproxDP, PureDP
from dpcov.kernel.calibrate import SPAN
from dpcov.kernel.noise.drawn import MOST_SWEEPS, Bingham, MatrixBingham, Uniform
from dpcov.kernel.noise.laws import TOLERANCE, DiscreteGaussian, NoiseLaw
from dpcov.kernel.questions.columns import Block, Squares, block_of
from dpcov.kernel.questions.measure import Measure
from dpcov.kernel.questions.moments import REPLACE, Count, SecondMoment
from dpcov.kernel.questions.spectral import AlongBasis, Explained, Quotients, Spectrum, Values
from dpcov.release.record import Release
from dpcov.release_clipped import CHOSEN, Choice, asked_radius, clipped_moment, of_radii
from dpcov.strict_json import refuse

REACH = (math.sqrt(6) * (1 - 1e-9), 8.0)
"""How far the variances of `screened` may reach, in radii of its block."""

MATRICES = {"gaussian": "shrink", "wishart": "shrink", "mod-sulq": "clip"}
"""The mechanisms for components that release a noisy matrix, and how its eigenvalues are finished."""

COMPONENTS: dict[str, set[str]] = {
    "screened": {"k", "screen", "numerics"},
    "gaussian": {"k", "clip"},
    "wishart": {"k", "clip"},
    "mod-sulq": {"k", "clip"},
    "eigenvectors": {"k"},
    "ppca": {"k", "sweeps", "approximate"},
    "random": {"k", "sweeps"},
}
"""The mechanisms for components, and the options that their releases have."""

DRAWN = ("eigenvectors", "kapralov-talwar")
"""The mechanisms for covariances that release directions."""


def are_many(columns: int, k: int) -> bool:
    """Whether there are columns enough for `screened` to drop some of them."""
    return columns > max(2 * k, 12)


@dataclass(frozen=True)
class Drawn:
    """``count`` directions in d coordinates, drawn one by one, or together as a subspace."""

    name: str
    count: int
    d: int
    neighbors: str
    orthogonal: bool = True
    free_last: bool = True
    uniform: bool = False
    unit_bits: ClassVar[int] = DIRECTION_BITS

    @property
    def size(self) -> int:
        """How many integers there are."""
        return self.count * self.d

    def check(self, answer: Answer, spend: Spend) -> None:
        """Refuse what is no set of directions, or costs more than was paid."""
        if answer.radii or answer.frame is not None:
            refuse("consistent", "directions of other rows")
        rows = answer.values.reshape(self.count, self.d)
        if not np.all(np.abs(np.linalg.norm(rows, axis=1) - 1) <= 2.0**-DIRECTION_BITS * self.d):
            refuse("consistent", "directions that are no unit vectors")
        if self.orthogonal and np.abs(rows @ rows.T - np.eye(self.count)).max() > 2.0**-DIRECTION_BITS * self.d:
            refuse("consistent", "directions that are not orthogonal")
        if spend.noise != answer.noise.law:
            refuse("consistent", "directions that were not paid for")
        exponents = [SPAN[self.neighbors] * concentration for concentration in self._concentrations(answer.noise)]
        paid = spend.budget
        if isinstance(paid, PureDP):
            affordable = sum(exponents) <= paid.epsilon
        else:
            affordable = isinstance(paid, ZCDP) and sum(exponent**2 for exponent in exponents) <= 8 * paid.rho
        if not affordable:
            refuse("consistent", "less noise than the promise needs")

    def _concentrations(self, law: NoiseLaw) -> list[Fraction]:
        drawn = min(self.count, self.d - 1) if self.free_last else self.count
        if self.name == "directions" and isinstance(law, Bingham) and len(law.concentrations) == drawn:
            if [name for name, _ in law.concentrations] != [str(i + 1) for i in range(drawn)]:
                refuse("consistent", "concentrations that are not in order")
            return [concentration for _, concentration in law.concentrations]
        if self.name != "subspace" or not isinstance(law, Uniform if self.uniform else MatrixBingham):
            refuse("consistent", "directions that were not paid for")
        return [law.concentration] if isinstance(law, MatrixBingham) else []


Expected = Sequence[Measure | Choice | Drawn]


def expected_directions(release: Release, moment: SecondMoment) -> Expected:
    """List what is asked with directions: the count and the eigenvalues, where wanted, before them, their values after."""
    if release.postprocess not in ("clip", "none"):
        refuse("consistent", "a postprocess that directions do not have")
    count = _whole_number(release, "rank", 0, moment.d) or moment.d
    expected: list[Measure] = [] if release.neighbors == REPLACE else [Count()]
    subtracted = release.mechanism == "kapralov-talwar"
    free_last = not subtracted or moment.d == 1
    drawn = Drawn("directions", count, moment.d, release.neighbors, orthogonal=not subtracted, free_last=free_last)
    if subtracted:
        return [*expected, drawn, Quotients(moment, count)]
    if release.options.get("values") == "spectrum":
        return [*expected, Spectrum(moment, moment.d), drawn]
    return [*expected, drawn, Values(moment, count)]


def expected_components(release: Release, moment: SecondMoment) -> Expected:
    """List what a release of components holds: a noisy matrix, or directions and what lies along them."""
    k = _whole_number(release, "k", 1, release.d - 1)
    if set(release.options) != COMPONENTS.get(release.mechanism):
        refuse("consistent", "options that its mechanism does not have")
    count: list[Measure] = [] if release.neighbors == REPLACE else [Count()]
    if release.requested == "auto" and release.mechanism not in ("screened", "gaussian", "wishart"):
        refuse("consistent", "a mechanism that auto does not choose")
    if release.mechanism in MATRICES:
        if release.postprocess != MATRICES[release.mechanism]:
            refuse("consistent", "a postprocess that its mechanism does not have")
        counted = [] if release.center else count  # the corner of a centred matrix is the count
        return [*asked_radius(release), clipped_moment(release, moment), *counted]
    if release.mechanism == "screened":
        return [*count, *_expected_block(release, moment, k)]
    if release.mechanism not in ("eigenvectors", "ppca", "random") or release.postprocess != "clip" or release.center:
        refuse("consistent", "a mechanism that this version does not know")
    chain, uniform = release.mechanism == "ppca" and k > 1, release.mechanism == "random"
    if release.mechanism != "eigenvectors" and (_whole_number(release, "sweeps", 0, MOST_SWEEPS) == 0) != uniform:
        refuse("consistent", "a chain of another length than its mechanism has")
    if release.options.get("approximate", False) is not chain:
        refuse("consistent", "a chain that says it is none, or none that says it is one")
    drawn = Drawn("subspace" if chain or uniform else "directions", k, moment.d, release.neighbors, uniform=uniform)
    return [*count, drawn, AlongBasis(moment, k + 1, Explained.name)]


def check_mod_sulq(release: Release) -> None:
    """Refuse less noise than equation (5) has, or another kind."""
    answer, promise = release.answer(SecondMoment.name), release.privacy
    law = None if answer is None else answer.noise
    if not isinstance(law, DiscreteGaussian) or not isinstance(promise, ApproxDP) or release.center or answer is None:
        refuse("consistent", "a mechanism with another noise than its own")
    deviation = Fraction(mod_sulq_beta(1, release.d, float(promise.epsilon), float(promise.delta))) * 2**answer.unit_bits
    if any(variance < deviation**2 * TOLERANCE for _, variance in law.variances):
        refuse("consistent", "less noise than its paper has")


def _expected_block(release: Release, moment: SecondMoment, k: int) -> Expected:
    """List what `screened` asks: a radius, squares of many columns, a block, and what lies along its components."""
    block, told = release.answer(Block.name), release.answer(Explained.name)
    if block is None or told is None or release.postprocess != "clip" or release.center:
        refuse("consistent", "other answers or spends")
    within, around = clipped_moment(release, moment, Block.name), of_radii(moment, told.radii)
    inner, outer = (answer.radii[0] if answer.radii else release.row_norm for answer in (block, told))
    least, most = (min(release.row_norm, reach * inner) for reach in REACH)
    if len(told.radii) > 1 or not least * (1 - 1e-9) <= outer <= most * (1 + 1e-9) or len(block.columns) <= k:
        refuse("consistent", "a block of other rows")
    if release.options["numerics"] == "exact" and block.noise.numerics != "exact":
        refuse("consistent", "rounded noise where exact was asked for")
    pure = all(isinstance(spend.budget, PureDP) for spend in release.spent)
    squares = [Squares(within)] if release.options["screen"] and pure and are_many(release.d, k) else []
    if not squares and len(block.columns) < release.d:
        refuse("consistent", "columns that were chosen without a question")
    return [CHOSEN, *squares, block_of(within, block.columns), AlongBasis(around, k + 1, Explained.name)]


def _whole_number(release: Release, name: str, least: int, most: int) -> int:
    value = release.options.get(name, 0)
    if type(value) is not int or not least <= value <= most:
        refuse("consistent", f"a {name} beyond its columns")
    return value
