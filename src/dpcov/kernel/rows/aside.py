r"""What a block of rows has beside its features: how much each row counts, where a person has several.

A source that is opened with an `Aside` delivers it in the last columns of each block, after the features, and questions take it
off again: pools, engines and loops over blocks need not know of it. A row's *share* is a whole number of 2⁻⁵²: with m rows of
its person it is

.. math:: s = \lfloor 2^{52}/m \rfloor

and 0 where nobody knows whose row it is, so the shares of a person's rows add up to at most 1. What a person contributes is
then a sum Σ sⱼ·f(xⱼ), a point of the convex hull of 0 and of what single rows contribute: sums over people have the
sensitivities of sums over rows. Proof: docs/mechanisms/people.md.

A row may count less: by its *weight* w, of which a public ``max_weight`` W is the most, and with a public ``most_rows`` M each
row of a person with fewer than M of them counts as one of M. Then s = ⌊⌊2⁵²·min(1, w/W)⌋/max(m, M)⌋, people are *partial*, and
the sum of all shares is what estimates are divided by: it is private in both relations.

Where weights are *searched*, a private answer says which weight c = W·2^{−k/8} counts as 1 in later questions: their aside has
the *cut* k. A source knows nothing of it. It delivers θ = ⌊2⁵²·min(1, w/W)⌋, and max(m, M) where rows have an owner, and the
share is made of these where a question takes a block apart: s = ⌊min(2⁵², θ·2^{k/8})/max(m, M)⌋.

- *Counts* take ⌊s·2ᵇ⌋ for 1: they are in units of 2⁻ᵇ, b = ``share_bits``.
- *Rows* are encoded and clipped as any others, then multiplied by ⌊√s⌋ and rounded on a grid that is 2ᵉ times finer,
  e = ``finer``. That each has ‖z‖² ≤ s·R² is checked on the integers; a row that rounding made longer is truncated instead.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dpcov.errors import ParameterError
from dpcov.kernel.rows.grid import SUM_BITS, squared_norms
from dpcov.schema.whose import LARGEST_WEIGHT, MOST_ROWS_EACH, Checked

Floats = NDArray[np.float64]

SHARE_BITS = 52
"""A share is a whole number of 2⁻⁵²: a float64 holds it exactly, and its root in 26 bits."""

ROOT_BITS = SHARE_BITS // 2
CHUNK = 2**15  # cells at a time: they stay in cache
FINEST = 2  # more bits than the plain grid has: enough that rounding a hundredth of a row loses nothing that noise would show
MOST_COUNT_BITS, ROOM_BITS = 20, 44
"""Counts times 17 bits (a bias, a sum of cells) times the most people stay below 2⁶¹: b + 17 + log₂ n ≤ 61."""

USUAL_PEOPLE = 2**26
"""For whom there is room unless more are expected, in public."""

CUTS_PER_OCTAVE, CUT_OCTAVES = 8, 20
"""Weights to choose from, W·2^{−k/8}: a bound may be a million times too large, and the one that is found 9 % too large."""

LAST_CUT = CUTS_PER_OCTAVE * CUT_OCTAVES

ROW = "row"
"""Who is protected where each row is a person, as ledgers say it."""

MOST_PEOPLE = 2**34
"""More are never expected: counts keep at least 10 bits."""


class Apart(NamedTuple):
    """A block of rows, and what each of them counts."""

    features: Floats
    shares: Floats


class Weighed(NamedTuple):
    """What the rows of a block weigh, in 2⁻⁵² of the most, and in how many parts: 0 where nobody knows whose a row is."""

    thetas: Floats
    parts: Floats

    @property
    def shares(self) -> Floats:
        """Return ⌊θ/m⌋: the quotient is at least 1/m below a whole number, or one, and rounding is by half of that."""
        quotients = np.divide(self.thetas, self.parts, out=np.zeros(len(self.thetas)), where=self.parts >= 1)
        return np.floor(quotients)


@dataclass(frozen=True)
class Aside:
    """Which columns are beside the features, and how finely they are counted: public.

    Attributes
    ----------
    unit : str
        The column that says whose a row is; empty: each row is a person.
    finer : int
        Bits that the integers of a row have beyond those of the plain grid.
    share_bits : int
        Counts of people are in units of 2 to minus this.
    most_rows : int
        0: each person counts once; else each row of a person with at most so many counts alike.
    weight : str
        The column of weights; empty: all rows have the same.
    max_weight : float
        A weight that counts as 1; larger ones as well.
    searched : bool
        Whether a smaller one is chosen privately.
    cut : int, optional
        Which one was: ``max_weight``·2^{−cut/8}.
    """

    unit: str
    finer: int
    share_bits: int
    most_rows: int = 0
    weight: str = ""
    max_weight: float = 0.0
    searched: bool = False
    cut: int | None = None

    def __post_init__(self) -> None:
        ints = type(self.finer) is int and type(self.share_bits) is int and type(self.most_rows) is int
        if (
            type(self.unit) is not str
            or not ints
            or not 0 <= self.finer <= FINEST
            or not 1 <= self.share_bits <= MOST_COUNT_BITS
        ):
            raise ParameterError(
                "unit must be a column, counted on a public grid, got something else. Hint: unit='patient_id'."
            )
        weighted = type(self.weight) is str and type(self.max_weight) is float and bool(self.weight) == (self.max_weight > 0)
        if not weighted or not 0 <= self.max_weight <= LARGEST_WEIGHT or not 0 <= self.most_rows <= MOST_ROWS_EACH:
            raise ParameterError(
                "weight must be a column with a public bound, and most_rows a public number, got something else. "
                "Hint: weight='fnlwgt', max_weight=1e6."
            )
        placed = self.cut is None or (type(self.cut) is int and self.searched and 0 <= self.cut <= LAST_CUT)
        if type(self.searched) is not bool or (self.searched and not self.weight) or not placed:
            raise ParameterError(
                "clip_weight must be one of the public edges, of a weight, got something else. Hint: clip_weight='private'."
            )
        if not (self.unit or self.weight) or self.unit == self.weight or (self.most_rows and not self.unit):
            raise ParameterError("unit and weight must be two columns, got one or none. Hint: leave both out for rows alike.")

    @property
    def names(self) -> tuple[str, ...]:
        """The columns of the table that it is read from."""
        return tuple(name for name in (self.unit, self.weight) if name)

    @property
    def partial(self) -> bool:
        """Whether people may count less than once: then how much they count in all is private, whoever the neighbours are."""
        return bool(self.weight) or self.most_rows > 1

    @property
    def width(self) -> int:
        """How many columns stand after the features of a block: θ and m where rows have weights and an owner, else a share."""
        return 2 if self.unit and self.weight else 1

    @property
    def largest(self) -> float:
        """The weight that counts as 1."""
        return self.max_weight / self.stretch

    @property
    def person(self) -> str:
        """Who is protected, as ledgers say it."""
        return person_by(self.unit) if self.unit else ROW

    def apart(self, rows: Floats) -> Apart:
        """Take a block apart."""
        features = rows[:, : -self.width]
        return Apart(features, self.weighed(rows).shares if self.weight else rows[:, -1])

    @property
    def stretch(self) -> float:
        """How many times as much as by ``max_weight`` a weight counts, up to 1."""
        return float(np.exp2((self.cut or 0) / CUTS_PER_OCTAVE))

    def weighed(self, rows: Floats) -> Weighed:
        """Return what the rows of a block weigh, in parts of the weight that counts as 1: never more than it."""
        beside = rows[:, -self.width :]
        thetas = np.clip(np.floor(beside[:, 0] * self.stretch), 0.0, 2.0**SHARE_BITS)
        return Weighed(thetas, beside[:, 1] if self.unit else np.ones(len(rows)))

    def counted(self, shares: Floats) -> Floats:
        """Return what each row counts, a whole number of 2⁻ᵇ, rounded down."""
        return np.floor(np.ldexp(shares, self.share_bits - SHARE_BITS))

    def factors(self, shares: Floats, reach: int) -> tuple[Floats, NDArray[np.int64]]:
        """Return 2ᵉ·√s for each row, its root cut to 26 bits, and ⌊s·4ᵉ·reach⌋."""
        whole = shares.astype(np.int64)
        roots = np.floor(np.sqrt(shares)).astype(np.int64)
        roots -= roots * roots > whole
        factors = np.ldexp(roots.astype(np.float64), self.finer - ROOT_BITS)[:, None]
        return factors, _parts(reach << 2 * self.finer, whole)

    def scaled(self, z: Floats, shares: Floats, reach: int) -> Floats:
        """Return integer rows z, ‖z‖² ≤ ``reach``, times 2ᵉ·√s, rounded: with ‖·‖² ≤ ⌊s·4ᵉ·reach⌋ for each, exactly.

        z is written over.
        """
        factors, most = self.factors(shares, reach)
        columnar = z.flags.f_contiguous and not z.flags.c_contiguous
        step = max(CHUNK // z.shape[1], 1)
        for start in range(0, len(z), step):
            part = slice(start, start + step)
            exact = z[part] * factors[part]  # 17 times 26 bits: exact
            found = np.rint(exact, out=z[part])
            norms = squared_norms(found, columnar)
            long = np.flatnonzero(norms > most[part])
            found[long] = np.trunc(exact[long])  # which is no longer than √s times the row
            norms[long] = squared_norms(found[long])
            found[~(norms <= most[part])] = 0.0  # never so; the sensitivity rests on this line all the same
        return z


def _parts(reach: int, shares: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return ⌊reach·s⌋ for each share, reach ≤ 2³⁶: the product has more bits than an int64, its halves have not."""
    high, low = shares >> ROOT_BITS, shares & (2**ROOT_BITS - 1)
    return np.asarray((reach * high + (reach * low >> ROOT_BITS)) >> ROOT_BITS)


def thetas(weights: Floats, max_weight: float) -> Floats:
    """Return ⌊2⁵²·min(1, w/W)⌋ for each weight, 0 for what is none: whatever the floats, a whole number from 0 to 2⁵²."""
    with np.errstate(all="ignore"):
        parts = np.clip(np.where(weights > 0, weights, 0.0) / max_weight, 0.0, 1.0)
    return np.floor(np.ldexp(parts, SHARE_BITS))


def person_by(unit: str) -> str:
    """Return who is protected by a column, as ledgers say it: never the same as where rows are, whatever it is called."""
    return f"person: {unit}"


def aside_of(
    unit: str, bits: int, people: int, most_rows: int = 0, weight: str = "", max_weight: float = 0.0, searched: bool = False
) -> Aside:
    """Return how finely so many people can be counted, whose rows are on a grid of so many bits."""
    finer = max(0, min(FINEST, (SUM_BITS - (people - 1).bit_length()) // 2 - bits))
    share_bits = min(MOST_COUNT_BITS, ROOM_BITS - (SUM_BITS - 2 * (bits + finer)))
    return Aside(unit, finer, share_bits, most_rows, weight, max_weight, searched)


def aside_for(whose: Checked, bits: int, max_rows: int | None) -> Aside | None:
    """Return who a person is and how much a row counts, or None where each row is a person and counts alike."""
    if not whose.names:
        return None
    people = USUAL_PEOPLE if max_rows is None else int(max_rows)
    if people > MOST_PEOPLE:
        raise ParameterError(f"max_rows must be at most 2**34 people with unit=, got {people}. Hint: fewer do.")
    return aside_of(whose.unit, bits, people, whose.most_rows, whose.weight, whose.max_weight, whose.searched)
