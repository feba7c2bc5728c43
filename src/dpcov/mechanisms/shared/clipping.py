r"""Where to clip: at row_norm, at a public radius, or at a private one.

Clipping at τ costs at most Σ (‖x‖² − τ²)₊ in Frobenius norm, and the noise at τ has r.m.s. norm c·τ², with c its norm at radius
1. The sum is smallest where just c rows lie outside: a quantile, which the exponential mechanism finds to within a few rows
whatever row_norm is, up to a thousand times too large. So a loose bound costs little.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from dpcov.errors import ParameterError, check_real
from dpcov.kernel.answer import Answer
from dpcov.kernel.budget import ZCDP, PureDP
from dpcov.kernel.calibrate import exponential_rate
from dpcov.kernel.face import Face
from dpcov.kernel.questions.choices import AmongRadii, Quantile
from dpcov.kernel.questions.moments import MAX_ROWS
from dpcov.kernel.rows.grid import SMALLEST_RADIUS

PER_OCTAVE, OCTAVES = 16, 10  # the radii to choose from: 2^{−k/16} down to 2⁻¹⁰
SCORE_RANGE = 25  # ε times rows, for the share that is wanted: the choice is then off by few rows compared with them
SHARES = (Fraction(1, 100), Fraction(1, 5))  # of the budget, at least and at most
PARTS = 1000  # shares are multiples of one part in so many
FEW_RADII = 8  # each eighth: two to the octave
FINENESS = ((12.0, 1), (8.0, 2), (6.0, 4), (0.0, FEW_RADII))  # rate·rows at least, and which radii: each, each second, ...


def checked_clip(curator: Face, clip: object) -> str | float:
    """Return "none", "private" or a radius, or refuse what is none of them."""
    if isinstance(clip, str) and clip in ("none", "private"):
        return clip
    longest = curator.grid.row_norm
    rule = f"'none', 'private' or a radius between {SMALLEST_RADIUS:g} and {longest:g}"
    hint = "'private' finds one for a part of the budget; with a schema a radius is of encoded rows, whose norm is at most 1"
    return check_real("clip", clip, rule, SMALLEST_RADIUS, longest, hint)


@dataclass(frozen=True)
class RadiusPlan:
    """A private choice of the radius with about ``rows`` rows outside: what it costs, from public numbers."""

    rows: int
    share: Fraction
    every: int

    def ask(self, curator: Face, budget: PureDP | ZCDP) -> Answer:
        """Ask for it, at its share of the whole ``budget``."""
        norms = curator.norms(PER_OCTAVE, OCTAVES)
        return curator.choose(Quantile(norms, self.rows, self.every), budget.share(self.share))


def plan_radius(budget: PureDP | ZCDP, rows: float, shares: tuple[Fraction, Fraction] = SHARES) -> RadiusPlan:
    """Split off what a choice needs so that it is off by few rows compared with ``rows``, within limits."""
    whole = max(1, min(round(rows), MAX_ROWS))
    if isinstance(budget, PureDP):
        wanted = Fraction(SCORE_RANGE, whole) / budget.epsilon
    else:
        wanted = Fraction(SCORE_RANGE, whole) ** 2 / (8 * budget.rho)
    share = Fraction(math.ceil(min(max(wanted, shares[0]), shares[1]) * PARTS), PARTS)
    sharpness = float(exponential_rate(budget.share(share))) * whole
    return RadiusPlan(whole, share, next(every for least, every in FINENESS if sharpness >= least))


def chosen_radius(answer: Answer) -> float:
    """Return the radius, as a part of row_norm, that a choice or search answered."""
    assert isinstance(answer.question, AmongRadii)
    return answer.question.radius(int(answer.integers[0]))


def check_rereadable(curator: Face, work: str = "private clipping") -> None:
    """Refuse a stream that can be read once, before anything is spent: clipping needs norms first, rounds the rows again."""
    if not curator.rereadable:
        raise ParameterError(
            f"data must be readable twice for {work}, got a stream. Hint: write it to a file, or use mechanism='auto'."
        )


def prefetch_norms(curator: Face, *, derive: bool = True) -> None:
    """Read the norms before anything is charged."""
    check_rereadable(curator)
    curator.prefetch(curator.norms(PER_OCTAVE, OCTAVES), derive=derive)


def rows_outside(error: float, budget: PureDP | ZCDP, curator: Face) -> float:
    """Return how many rows to leave outside where nothing is given back: the noise's norm, at most half of a public n.

    Fewer than the choice can count, about 60/ε or 15/√ρ, are not worth asking for. Where n is not known before a reading, that
    is the reading for the norms.
    """
    check_rereadable(curator)
    if not curator.knows_n:
        prefetch_norms(curator)
    least = 60 / float(budget.epsilon) if isinstance(budget, PureDP) else 15 / math.sqrt(budget.rho)
    rows = max(error, least)
    return rows if curator.hides_n else min(rows, curator.n / 2)
