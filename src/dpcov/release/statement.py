"""What a release promises, in one paragraph."""

from __future__ import annotations

import math
from collections.abc import Sequence
from decimal import ROUND_CEILING, Context
from fractions import Fraction

from dpcov.kernel.budget import ZCDP, ApproxDP, Budget, PureDP, decimal_text
from dpcov.kernel.noise.drawn import Bingham, MatrixBingham
from dpcov.kernel.noise.laws import NoiseLaw, RoundedLaw

ROUNDING = "rare errors in rounding the noise"
"""What the δ of noise that is drawn in floats stands for, in the words of someone who meets it for the first time."""


def promise(privacy: Budget, laws: Sequence[NoiseLaw]) -> str:
    """Name the notion and its amounts, and what the numbers take from it."""
    text = {
        ZCDP: lambda p: f"{decimal_text(p.rho)}-zCDP (at delta = 1e-6: epsilon = {_round_up(p.epsilon(1e-6))})",
        PureDP: lambda p: f"{decimal_text(p.epsilon)}-DP",
        ApproxDP: lambda p: f"({decimal_text(p.epsilon)}, {decimal_text(p.delta)})-DP",
    }[type(privacy)](privacy)
    tails = [law.tail for law in laws if isinstance(law, RoundedLaw)]
    if tails and isinstance(privacy, PureDP):  # an (ε, δ) promise has them in its δ; zCDP has no rounded noise
        text = _rounded(privacy, sum(tails, start=Fraction(0)))
    if any(isinstance(law, Bingham | MatrixBingham) for law in laws):
        text += " (for real numbers: directions are drawn in float64)"
    if any(law.numerics == "markov chain" for law in laws):
        text = f"approximate: private at stationarity only. In the limit of many sweeps {text}"
    return text


def _rounded(privacy: PureDP, tail: Fraction) -> str:
    """Name the δ of pure noise that is drawn in floats: what is within p of ε-DP is (ε, (1 + e^ε)·p)-DP (docs/guarantee.md)."""
    epsilon, text = float(privacy.epsilon), decimal_text(privacy.epsilon)
    bits = math.log2(tail.denominator) - math.log2(tail.numerator)
    digits = math.floor(bits - (epsilon + math.log1p(math.exp(-epsilon))) / math.log(2) - 1e-9)  # rounded: δ is no larger
    if digits > 0:
        return f"({text}, delta)-DP with delta = 2**-{digits} ({ROUNDING})"
    return f"within a probability of 2**-{math.floor(bits - 1e-9)} ({ROUNDING}) of a release that is {text}-DP"


def statement(promised: str, neighbors: str, rows: str, seeded: bool, public: str) -> str:
    """Say for which change the promise holds, against whom it does not, and what is public."""
    change = {
        "replace": f"replacing any one {rows}",
        "add-remove": "adding or removing any one row",
    }[neighbors]
    if seeded:
        return f"seeded: not private. With the operating system's randomness it would be {promised} for {change}."
    return f"{promised} for {change}, not against those who time it; column names, {public} and the options are public."


def _round_up(epsilon: float) -> str:
    """Write four digits that do not promise more than was proved."""
    return str(Context(prec=4, rounding=ROUND_CEILING).create_decimal_from_float(epsilon).normalize())
