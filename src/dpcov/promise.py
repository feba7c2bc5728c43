"""What a release promises, in one paragraph."""

from __future__ import annotations

import math
from collections.abc import Sequence
from decimal import ROUND_CEILING, Context

from dpcov.privacy.budget import ZCDP, ApproxDP, Budget, PureDP, decimal_text
from dpcov.privacy.noise import NoiseLaw, RoundedLaw


def promise(privacy: Budget, laws: Sequence[NoiseLaw]) -> str:
    """Name the notion and its amounts, and what the numbers take from it."""
    text = {
        ZCDP: lambda p: f"{decimal_text(p.rho)}-zCDP (at delta = 1e-6: epsilon = {_round_up(p.epsilon(1e-6))})",
        PureDP: lambda p: f"{decimal_text(p.epsilon)}-DP",
        ApproxDP: lambda p: f"({decimal_text(p.epsilon)}, {decimal_text(p.delta)})-DP",
    }[type(privacy)](privacy)
    tails = [law.tail for law in laws if isinstance(law, RoundedLaw)]
    if tails:
        text += f" (but for a probability below 2**-{math.floor(-math.log2(max(tails))) - 1})"
    if any(law.numerics == "float" for law in laws):
        text += " (for real numbers: directions are drawn in float64)"
    if any(law.numerics == "markov chain" for law in laws):
        text = f"approximate: private at stationarity only. In the limit of many sweeps {text}"
    return text


def statement(promised: str, neighbors: str, n: int, seeded: bool, public: str) -> str:
    """Say for which change the promise holds, and what is public."""
    change = {
        "replace": f"replacing any one of the {n} rows",
        "add-remove": "adding or removing any one row",
    }[neighbors]
    if seeded:
        return f"seeded: not private. With the operating system's randomness it would be {promised} for {change}."
    return f"{promised} for {change}; column names, {public} and the options are public."


def _round_up(epsilon: float) -> str:
    """Write four digits that do not promise more than was proved."""
    return str(Context(prec=4, rounding=ROUND_CEILING).create_decimal_from_float(epsilon).normalize())
