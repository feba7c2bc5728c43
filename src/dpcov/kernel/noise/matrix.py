"""Matrix noise for pure DP: the difference of two Wishart matrices, and the Frobenius ball.

No exact sampler is known for either, so they are *rounded*: drawn in float64 with a proved error bound, added to the exact
sum in integers, and the sum, never the noise alone, is rounded to a public lattice. docs/guarantee.md proves that this adds
at most ``excess`` to ε, outside an event of probability ``tail``. `calibrate_wishart` and `calibrate_frobenius` spend
``excess`` in advance: the noise is calibrated at ε − excess.

For both, f is the density of the noise and e bounds the error of each entry, in grid steps. With lattice step γ the cost is
D·log((γ+2e)/(γ−2e)) for the cells' sizes, plus the Lipschitz constant of log f times the size of a shift by 2e in each entry.

Of several matrices with independent noise one row moves ``moved`` and no more. What is answered about the others has the same
law for both neighbours, rounded or not: rounding costs ``moved`` excesses, not one for each matrix (docs/mechanisms/groups.md).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from typing import ClassVar, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from dpcov.errors import ParameterError
from dpcov.kernel.bits import Bits
from dpcov.kernel.budget import decimal_text
from dpcov.kernel.noise.laws import NoiseLaw, Spread
from dpcov.kernel.noise.normal import RELATIVE_ERROR, UNSEEN, exponentials, normals
from dpcov.kernel.rows.groups import MOST_GROUPS
from dpcov.linalg import pack, triangle_size

Integers = NDArray[np.int64]

TAIL = 80.0
"""A sum of exponentials exceeds the bound used in e with probability exp(−80) for each row: below 2⁻¹¹⁵."""

LEAST_DEVIATION = 2.0**12
"""Noise of a smaller standard deviation than this many grid steps is raised to it: rounding would cost too much ε."""

LARGEST_ENTRY = 2**62
LARGEST_EPSILON = Fraction(10**12)
"""A larger ε is served as this one: more noise than asked for, though the least deviation decides long before."""

ROUNDOFF = 2.0**-53
SPARE = 1e-9
"""Relative: so much more than what rounding costs is calibrated away. Floats and logarithms of any machine err far less."""


@dataclass(frozen=True)
class _Lattice:
    """What the two laws share: a scale, the step 2ˡᵃᵗᵗⁱᶜᵉ of the answers, the ε that rounding costs, the tail's probability."""

    d: int
    scale: Fraction
    lattice: int
    excess: Fraction
    tail: Fraction
    law: ClassVar[str]
    numerics: ClassVar[str] = "rounded"

    def __post_init__(self) -> None:
        if not 0 <= self.lattice <= 61 or self.d < 1 or not 0 < self.scale <= LARGEST_ENTRY or not self.excess < 2**64:
            raise ParameterError("the noise must fit into 64-bit integers, got too large a scale. Hint: spend more.")

    def settle(self, total: Integers) -> Integers:
        """Round exact sum plus noise to the lattice, in integers: half-open cells, no ties."""
        half = np.int64(1 << self.lattice >> 1)
        return np.asarray((total + half) >> self.lattice << self.lattice)

    def is_at_least(self, other: NoiseLaw) -> bool:
        """Whether this is the other law, or one with a larger scale; `covers` says whether it keeps a promise."""
        if not isinstance(other, _Lattice) or (type(self), self.d, self.tail) != (type(other), other.d, other.tail):
            return False
        return self.scale >= other.scale and self.lattice >= other.lattice

    def to_json(self) -> dict[str, str]:
        """Return the parameters."""
        names = ("d", "scale", "lattice", "excess", "tail")
        return {name: str(Fraction(getattr(self, name))) for name in names}

    @classmethod
    def from_json(cls, record: Mapping[str, Fraction]) -> Self:
        """Read the parameters."""
        values = dict(record)
        whole = {name: values.pop(name) for name in ("d", "lattice", "blocks") if name in values}
        if any(number.denominator != 1 for number in whole.values()) or whole.get("blocks") == 1:
            raise TypeError("d, lattice and blocks are integers; one block is not said")
        return cls(**{name: int(number) for name, number in whole.items()}, **values)  # type: ignore[arg-type]

    def _rounding_variance(self) -> float:
        return 4.0**self.lattice / 12


@dataclass(frozen=True)
class WishartDifference(_Lattice):
    """A − B with A, B ~ Wishart_d(d+1, scale·I), in grid steps; or so many independent ones of one scale."""

    blocks: int = 1
    law: ClassVar[str] = "wishart difference"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_blocks(self.blocks)

    def draw(self, sizes: Sequence[int], bits: Bits) -> Integers:  # noqa: ARG002 - the sizes follow from d and blocks
        """Draw G Gᵀ − H Hᵀ with d by d+1 standard normals, scaled and rounded to the grid; all diagonals first."""
        drawn = np.array([self._draw_one(bits) for _ in range(self.blocks)])
        return np.concatenate([drawn[:, : self.d].ravel(), drawn[:, self.d :].ravel()])

    def _draw_one(self, bits: Bits) -> Integers:
        shape = (2, self.d, self.d + 1)
        plus, minus = normals(math.prod(shape), bits).reshape(shape)
        with np.errstate(all="ignore"):
            matrix = (plus @ plus.T - minus @ minus.T) * float(self.scale)
        return np.rint(pack(matrix)).astype(np.int64)

    def is_at_least(self, other: NoiseLaw) -> bool:
        """Compare the scales, of as many matrices."""
        return super().is_at_least(other) and isinstance(other, WishartDifference) and self.blocks == other.blocks

    def to_json(self) -> dict[str, str]:
        """Return the parameters; of several matrices how many there are."""
        return {**super().to_json(), **({"blocks": str(self.blocks)} if self.blocks > 1 else {})}

    def spread(self) -> Spread:
        """Off-diagonal variance 2(d+1)s², diagonal 4(d+1)s²."""
        variance = 2 * (self.d + 1) * float(self.scale) ** 2
        return Spread(2 * variance + self._rounding_variance(), variance + self._rounding_variance(), wishart=True)


@dataclass(frozen=True)
class FrobeniusNoise(_Lattice):
    """Density ∝ exp(−‖N‖_F/scale): uniform direction in the isometric coordinates, radius Gamma(D, scale)."""

    law: ClassVar[str] = "frobenius"

    def draw(self, sizes: Sequence[int], bits: Bits) -> Integers:
        """Draw direction and radius; an entry above the diagonal is its isometric coordinate divided by √2."""
        count = sum(sizes)
        direction = normals(count, bits)
        radius = math.fsum(exponentials(count, bits)) * float(self.scale)  # Gamma(D) as a sum of D exponentials
        entries = direction * (radius / math.sqrt(math.fsum(direction * direction)))
        entries[self.d :] /= math.sqrt(2)
        return np.asarray(np.rint(entries), dtype=np.int64)

    def spread(self) -> Spread:
        """E‖N‖²_F = D(D+1)·scale², shared evenly by D coordinates."""
        variance = (triangle_size(self.d) + 1) * float(self.scale) ** 2
        return Spread(variance + self._rounding_variance(), variance / 2 + self._rounding_variance())


Law = TypeVar("Law", WishartDifference, FrobeniusNoise)


def check_blocks(blocks: object) -> None:
    """Refuse a number of matrices that is none."""
    if type(blocks) is not int or not 1 <= blocks <= MOST_GROUPS:
        raise ParameterError("the noise must be of 1 to 4096 matrices, got another number. Hint: one for each group.")


@dataclass(frozen=True)
class _Terms:
    """What the noise of one kind costs: floats are per unit of its scale, in grid steps."""

    sensitivity: Fraction
    """Over the scale it is ε, but for rounding."""
    deviation: float
    error: float
    largest: float
    lipschitz: float
    tail: float
    moved: int = 1
    """How many matrices one row moves."""

    def excess(self, d: int, error: float, lattice: int, epsilon: float) -> float:
        """Return the ε that rounding costs, for an error of each entry of so many grid steps; all of ε beyond the lemma."""
        step = 2.0**lattice
        if not step > 4 * error:
            return epsilon
        one = triangle_size(d) * math.log1p(4 * error / (step - 2 * error)) + self.lipschitz * 2 * error * epsilon
        return self.moved * one

    @property
    def stated_tail(self) -> Fraction:
        """The probability of the tail, rounded up to a power of two."""
        return Fraction(1, 2 ** math.floor(-math.log2(self.tail)))


def _wishart_terms(d: int, nuclear: int, blocks: int = 1, moved: int = 1) -> _Terms:
    terms = d + 1
    squares = 2 * _gamma_tail(terms / 2)  # bounds Σ g² over a row of normals, but for probability exp(−TAIL)
    return _Terms(
        Fraction(nuclear, 2),
        deviation=math.sqrt(2 * terms),
        # g and h each err by RELATIVE_ERROR; a sum of d+1 products, a difference and a product round d+5 times
        error=2 * squares * (2.1 * RELATIVE_ERROR + 1.01 * (terms + 4) * ROUNDOFF),
        largest=squares,
        # a shift by at most t in each entry has nuclear norm ≤ √d·‖·‖_F ≤ d^{3/2}·t, and log f is ε/Δ_*-Lipschitz in it
        lipschitz=d**1.5 / nuclear,
        tail=blocks * (2 * d * math.exp(-TAIL) + 2 * d * terms * UNSEEN),
        moved=moved,
    )


def _frobenius_terms(d: int, sensitivity: Fraction) -> _Terms:
    size = triangle_size(d)
    radius = _gamma_tail(size)
    return _Terms(
        sensitivity,
        deviation=math.sqrt((size + 1) / 2),
        # direction and exponentials each err by RELATIVE_ERROR; fsum rounds once
        error=radius * (4 * RELATIVE_ERROR + 16 * ROUNDOFF),
        largest=radius,
        lipschitz=d / float(sensitivity),  # a shift by at most t in each entry has ‖·‖_F ≤ d·t
        tail=math.exp(-TAIL) + 2 * size * UNSEEN,
    )


@lru_cache(maxsize=16)  # one release asks for the same law when it chooses, when it checks and when it draws
def calibrate_wishart(
    d: int, nuclear: int, epsilon: Fraction, least_scale: Fraction, blocks: int = 1, moved: int = 1
) -> WishartDifference:
    """Return the difference of Wisharts for ε-DP: s = Δ_*/(2ε), docs/mechanisms/wishart.md.

    ``nuclear`` is the sensitivity Δ_* in the nuclear norm and ``least_scale`` a floor for s, both in grid steps. Of several
    independent ``blocks`` Δ_* is the sum over those that one row moves, at most ``moved``.
    """
    law = _calibrated(WishartDifference, d, _wishart_terms(d, nuclear, blocks, moved), epsilon, least_scale)
    return replace(law, blocks=blocks)


@lru_cache(maxsize=16)
def calibrate_frobenius(d: int, sensitivity: Fraction, epsilon: Fraction, least_scale: Fraction) -> FrobeniusNoise:
    """Return Frobenius noise for ε-DP: scale = Δ_F/ε, docs/mechanisms/frobenius.md."""
    return _calibrated(FrobeniusNoise, d, _frobenius_terms(d, sensitivity), epsilon, least_scale)


def _calibrated(kind: type[Law], d: int, terms: _Terms, epsilon: Fraction, least_scale: Fraction) -> Law:
    """Choose lattice and scale so that ε(scale) + excess ≤ ε."""
    refusal = ParameterError(
        f"epsilon must leave room for the rounding of this noise, got {decimal_text(epsilon)[:20]} at d = {d}. "
        f"Hint: spend more, or use mechanism 'laplace', whose noise is exact."
    )
    epsilon = min(epsilon, LARGEST_EPSILON)
    least = max(least_scale, Fraction(LEAST_DEVIATION / terms.deviation))
    if max(terms.sensitivity / epsilon, least) > LARGEST_ENTRY:
        raise refusal
    scale, budget = float(max(terms.sensitivity / epsilon, least)), float(epsilon)
    e = 2 * scale * terms.error + 0.5  # twice, because the final scale is a little larger; rint to the grid errs by a half
    # An eighth of the noise costs no accuracy; more, up to the noise itself, where rounding would cost a hundredth of ε.
    finest, coarsest = math.floor(math.log2(terms.deviation * scale / 8)), math.floor(math.log2(terms.deviation * scale))
    entries = terms.moved * triangle_size(d)
    lattice = min(max(finest, math.ceil(math.log2(400 * e * entries / budget))), coarsest)
    excess = terms.excess(d, e, lattice, budget)
    if excess > budget / 4 or 4 * scale * terms.largest + 2.0**lattice > LARGEST_ENTRY:
        raise refusal
    spent = Fraction(math.ceil(excess * (1 + SPARE) * 2**64), 2**64)
    exact = max(terms.sensitivity / (epsilon - spent), least)
    rounded = float(exact) if Fraction(float(exact)) >= exact else math.nextafter(float(exact), math.inf)
    return kind(d, Fraction(rounded), lattice, spent, terms.stated_tail)


def covers(law: WishartDifference | FrobeniusNoise, sensitivity: Fraction, epsilon: Fraction, moved: int = 1) -> bool:
    """Whether a law keeps ε: sensitivity/scale + excess ≤ ε in fractions, with an excess that covers what rounding costs.

    That is the lemma of docs/guarantee.md at the law's own scale and lattice. What rounding costs has a logarithm, which may
    differ in its last digits, 10⁻¹⁵, on another machine: calibration adds `SPARE` of it, and half of that must be left.
    ``sensitivity`` is Δ_* or Δ_F, in grid steps, of the ``moved`` matrices together that one row can move.
    """
    if isinstance(law, WishartDifference):
        terms = _wishart_terms(law.d, int(sensitivity), law.blocks, moved)
    else:
        terms = _frobenius_terms(law.d, sensitivity)
    epsilon, scale = min(epsilon, LARGEST_EPSILON), math.nextafter(float(law.scale), math.inf)
    excess = terms.excess(law.d, scale * terms.error + 0.5, law.lattice, float(epsilon)) * (1 + SPARE / 2)
    fits = law.tail == terms.stated_tail and 2 * scale * terms.largest + 2.0**law.lattice <= LARGEST_ENTRY
    return fits and Fraction(excess) <= law.excess and terms.sensitivity / law.scale + law.excess <= epsilon


def _gamma_tail(shape: float) -> float:
    """Bound a Gamma(shape) number, but for probability exp(−TAIL) (Boucheron, Lugosi and Massart 2013, section 2.4)."""
    return shape + math.sqrt(2 * shape * TAIL) + TAIL
