"""What a release promises, in one paragraph."""

from __future__ import annotations

import math
from collections.abc import Sequence
from decimal import ROUND_CEILING, Context
from fractions import Fraction

from dpcov.errors import printable
from dpcov.kernel.budget import ZCDP, ApproxDP, Budget, PureDP, decimal_text
from dpcov.kernel.noise.drawn import Bingham, MatrixBingham
from dpcov.kernel.noise.laws import NoiseLaw, RoundedLaw
from dpcov.kernel.rows.encoding import Encoding

ROUNDING = "rare errors in rounding the noise"
"""What the δ of noise that is drawn in floats stands for, in the words of someone who meets it for the first time."""

LARGEST_ODDS = 14  # ε: e^14 is above a million


def promise(privacy: Budget, laws: Sequence[NoiseLaw]) -> str:
    """Name the notion and its amounts, and what the numbers take from it."""
    text = {
        ZCDP: lambda p: f"{decimal_text(p.rho)}-zCDP (at delta = 1e-6: epsilon = {_round_up(p.epsilon(1e-6))})",
        PureDP: lambda p: f"{decimal_text(p.epsilon)}-DP",
        ApproxDP: lambda p: f"({decimal_text(p.epsilon)}, {decimal_text(p.delta)})-DP",
    }[type(privacy)](privacy)
    tails = _tails(laws)
    if tails and isinstance(privacy, PureDP):  # an (ε, δ) promise has them in its δ; zCDP has no rounded noise
        text = _rounded(privacy, tails)
    if any(isinstance(law, Bingham | MatrixBingham) for law in laws):
        text += " (for real numbers: directions are drawn in float64)"
    if any(law.numerics == "markov chain" for law in laws):
        text = f"approximate: private at stationarity only. In the limit of many sweeps {text}"
    return text


def _tails(laws: Sequence[NoiseLaw]) -> Fraction:
    """Add up how often noise that is drawn in floats is not what it should be."""
    return sum((law.tail for law in laws if isinstance(law, RoundedLaw)), start=Fraction(0))


def _rounded(privacy: PureDP, tail: Fraction) -> str:
    """Name the δ of pure noise that is drawn in floats: what is within p of ε-DP is (ε, (1 + e^ε)·p)-DP (docs/guarantee.md)."""
    epsilon, text = float(privacy.epsilon), decimal_text(privacy.epsilon)
    digits = math.floor(
        _bits(tail) - (epsilon + math.log1p(math.exp(-epsilon))) / math.log(2) - 1e-9
    )  # rounded: δ is no larger
    if digits > 0:
        return f"({text}, delta)-DP with delta = 2**-{digits} ({ROUNDING})"
    return f"within a probability of 2**-{math.floor(_bits(tail) - 1e-9)} ({ROUNDING}) of a release that is {text}-DP"


def statement(promised: str, neighbors: str, encoding: Encoding, n: int, seeded: bool, public: str) -> str:
    """Say for which change the promise holds, against whom it does not, and what is public."""
    several = "" if encoding.aside is None else encoding.aside.unit
    of = f"all rows of any one of the {n} people" if several else f"any one of the {n} rows"
    of = f"any one row of the {n} pairs" if encoding.pairs else of.replace(f"{n} ", "") if encoding.partial else of
    added = "all rows of any one person" if several else "any one row"
    change = {"replace": f"replacing {of}", "add-remove": f"adding or removing {added}"}[neighbors]
    change += f" (rows with one value of {printable(several)!r} are a person's)" if several else " (each row is a person)"
    if seeded:
        return f"seeded: not private. With the operating system's randomness it would be {promised} for {change}."
    return f"{promised} for {change}, not against those who time it; column names, {public} and the options are public."


def risk(privacy: Budget, neighbors: str, laws: Sequence[NoiseLaw] = (), *, seeded: bool = False, unit: str = "") -> str:
    """Say what a release can change for one person, in one sentence; docs/custodians.md has the proofs.

    An attacker who knows all other rows weighs two guesses at one person's row (add-remove: whether it is there at all), or at
    all rows of a person where ``unit`` says whose they are.
    """
    if seeded:
        return "For one person: nothing is promised, as whoever knows the seed can take the noise off."
    own, given = ("rows", "given rows") if unit else ("row", "a given row")
    guess = f"at this person's {own}" if neighbors == "replace" else f"whether this person, with {given}, is in the table"
    limit = "in the limit of many sweeps, " if any(law.numerics == "markov chain" for law in laws) else ""
    chance = f"picks the right one with probability at most {_chance(privacy)}; chance has 50 %."
    if not isinstance(privacy, PureDP):
        known = f"For one person: {limit}even someone who knows every other row, and has two equally likely guesses {guess}, "
        if isinstance(privacy, ApproxDP):
            return known + chance
        return f"{known}{chance} ({decimal_text(privacy.rho)}-zCDP is ({_round_up(privacy.epsilon(1e-6))}, 1e-06)-DP.)"
    tails = _tails(laws)
    but = f", but for a chance of 2**-{math.floor(_bits(tails) - 1e-9)}" if tails else ""
    values = (
        ""
        if neighbors == "replace"
        else f" (between two guesses at the {own} {'themselves' if unit else 'itself'}: {_power(2 * privacy.epsilon)})"
    )
    return (
        f"For one person: {limit}even to someone who knows every other row, the release changes the odds between two guesses "
        f"{guess} by a factor of at most {_power(privacy.epsilon)}{values}{but}. "
        f"Whoever has two equally likely guesses {chance}"
    )


def _bits(probability: Fraction) -> float:
    """Return the k with probability = 2⁻ᵏ."""
    return math.log2(probability.denominator) - math.log2(probability.numerator)


def _power(epsilon: Fraction) -> str:
    """Write e^ε with three digits, rounded up; as a power where it is beyond imagination."""
    if epsilon > LARGEST_ODDS:
        return f"e^{float(epsilon):.4g}"
    return f"{Context(prec=3, rounding=ROUND_CEILING).create_decimal_from_float(math.exp(epsilon)):f}"


def _chance(privacy: Budget) -> str:
    """Return how often the better of two guesses is right: (1 + V)/2, V the largest total variation between neighbours.

    V ≤ (e^ε − 1 + 2δ)/(e^ε + 1) for (ε, δ) (Kairouz, Oh and Viswanath 2015); for ρ, the divergence of order 1 is at most ρ, so
    V ≤ √(ρ/2) (Pinsker) and V ≤ √(1 − e^−ρ) (Bretagnolle and Huber).
    """
    if isinstance(privacy, ZCDP):
        rho = float(privacy.rho)
        variation = min(math.sqrt(rho / 2), math.sqrt(-math.expm1(-rho)))
    else:
        epsilon, delta = float(privacy.epsilon), float(privacy.delta) if isinstance(privacy, ApproxDP) else 0.0
        variation = min(math.tanh(epsilon / 2) + 2 * delta * math.exp(-epsilon) / (1 + math.exp(-epsilon)), 1.0)
    percent = math.ceil(500 * (1 + variation)) / 10
    return f"{percent:.1f} %"


def _round_up(epsilon: float) -> str:
    """Write four digits that do not promise more than was proved."""
    return str(Context(prec=4, rounding=ROUND_CEILING).create_decimal_from_float(epsilon).normalize())
