"""Privacy budgets, in exact fractions.

A float is read by its decimal text, so ``ZCDP(0.1)`` holds exactly 1/10 and ten of them compose to
exactly 1. Composition and splitting are exact. Conversions between notions are irrational: they are
rounded in the safe direction (ε and δ up, ρ down).
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from typing import ClassVar, Self, TypeVar

import numpy as np

from dpcov.errors import ParameterError, shown

Exact = int | float | str | Fraction | Decimal

ROUNDING = 1e-11
"""Relative slack of the conversions, in the safe direction: four orders above their float64 error."""

LARGEST = 10**300
MAX_BITS = 3000
"""An amount's numerator and denominator have at most about 900 digits: files and floats can hold what was computed."""

FEW = 8
"""So many amounts are added up one by one: to find equal ones among them would take longer."""

HINT = "pass a number such as 0.1, or a fraction such as '1/3'"


def read_exact(name: str, value: object) -> Fraction:
    """Read a number by its decimal text; refuse what is not a finite number."""
    exact = value if type(value) is Fraction else _read_other(name, value)
    numerator, denominator = exact.as_integer_ratio()
    if max(numerator.bit_length(), denominator.bit_length()) > MAX_BITS or abs(numerator) > LARGEST * denominator:
        raise ParameterError(f"{name} must be at most 1e300 and have at most 900 digits, got {shown(value)}. Hint: {HINT}.")
    return exact


def _read_other(name: str, value: object) -> Fraction:
    if isinstance(value, bool | np.bool_) or not isinstance(value, int | float | str | Fraction | Decimal | np.number):
        raise ParameterError(f"{name} must be a number, got {shown(value)}. Hint: {HINT}.")
    try:
        return _from_text(str(value))
    except (ValueError, ZeroDivisionError):
        raise ParameterError(f"{name} must be a finite number, got {shown(value)}. Hint: {HINT}.") from None


def exact_fraction(name: str, value: object) -> Fraction:
    """Return a copy of a Fraction of as many digits as an amount may have; refuse another number, exact as it may be."""
    if type(value) is not Fraction:
        raise ParameterError(
            f"{name} must be a Fraction, got {shown(value)}. Hint: write Fraction(1, 10), as a float is not exact."
        )
    if max(value.numerator.bit_length(), value.denominator.bit_length()) > MAX_BITS:
        raise ParameterError(
            f"{name} must have at most 900 digits, got a longer fraction. Hint: the release file stores it; round it."
        )
    return Fraction(value.numerator, value.denominator)


def _from_text(text: str) -> Fraction:
    """Read a decimal or a fraction; refuse exponents that would take forever to write out."""
    if re.search(r"[eE][+-]?0*[0-9]{4}", text):
        raise ValueError(text)
    return Fraction(text)


class _Budget:
    """What the notions share: exact positive amounts, composition by addition, splitting by multiplication."""

    notion: ClassVar[str]
    names: ClassVar[tuple[str, ...]]

    def __init__(self, *amounts: Exact) -> None:
        for name, amount in zip(self.names, amounts, strict=True):
            exact = read_exact(name, amount)
            if exact.numerator <= 0:
                raise ParameterError(
                    f"{name} must be greater than 0, got {shown(amount)}. Hint: every release spends some privacy."
                )
            object.__setattr__(self, name, exact)

    def amounts(self) -> list[Fraction]:
        """Return ε, or ρ, or ε and δ."""
        return [getattr(self, name) for name in self.names]

    def covers(self, other: _Budget) -> bool:
        """Whether a promise of this size includes the other one, of the same notion."""
        return type(other) is type(self) and all(a >= b for a, b in zip(self.amounts(), other.amounts(), strict=True))

    def share(self, part: Exact) -> Self:
        """Return this exact part of the budget, for a part above 0 and at most 1."""
        exact = read_exact("part", part)
        if not 0 < exact <= 1:
            raise ParameterError(
                f"part must be above 0 and at most 1, got {shown(part)}. Hint: a part is a share of the budget."
            )
        return type(self)(*(amount * exact for amount in self.amounts()))

    def split(self, *parts: Exact) -> list[Self]:
        """Split into shares whose sum is at most the whole, exactly."""
        if sum(read_exact("part", part) for part in parts) > 1:
            raise ParameterError(f"parts must add up to at most 1, got {parts!r}. Hint: use Fractions, which add up exactly.")
        return [self.share(part) for part in parts]

    def to_json(self) -> dict[str, str]:
        """Return the notion and its exact numbers as text."""
        return {"notion": self.notion} | {name: str(getattr(self, name)) for name in self.names}

    def __repr__(self) -> str:
        inner = ", ".join(f"{name}={decimal_text(getattr(self, name))}" for name in self.names)
        return f"{type(self).__name__}({inner})"


@dataclass(frozen=True, init=False, repr=False)
class PureDP(_Budget):
    """ε-differential privacy: neighbours' output probabilities differ by a factor of at most exp(ε).

    Parameters
    ----------
    epsilon : int, float, str or Fraction
        Exact: a float is read by its decimal text, so 0.1 is 1/10.

    Examples
    --------
    >>> PureDP(1).split("1/4", "3/4")
    [PureDP(epsilon=0.25), PureDP(epsilon=0.75)]
    """

    epsilon: Fraction
    notion: ClassVar[str] = "pure"
    names: ClassVar[tuple[str, ...]] = ("epsilon",)

    def __init__(self, epsilon: Exact) -> None:
        super().__init__(epsilon)

    def to_zcdp(self) -> ZCDP:
        """Return the zCDP guarantee that ε-DP implies: ρ = ε²/2 (Bun and Steinke 2016, Proposition 1.4)."""
        return ZCDP(self.epsilon**2 / 2)


@dataclass(frozen=True, init=False, repr=False)
class ZCDP(_Budget):
    """ρ-zero-concentrated differential privacy: Rényi divergence of order α at most ρα, for every α > 1.

    Parameters
    ----------
    rho : int, float, str or Fraction
        Exact, as in `PureDP`.

    Examples
    --------
    >>> round(ZCDP(0.1).epsilon(delta=1e-6), 2)  # what it means as (ε, δ)
    2.14
    """

    rho: Fraction
    notion: ClassVar[str] = "zCDP"
    names: ClassVar[tuple[str, ...]] = ("rho",)

    def __init__(self, rho: Exact) -> None:
        super().__init__(rho)

    def epsilon(self, delta: Exact) -> float:
        """Return the smallest known ε for which ρ-zCDP implies (ε, δ)-DP, rounded up."""
        log_delta = _log(_probability("delta", delta))
        rho = float(self.rho)

        def at(a: float) -> float:
            return (1 + a) * rho + (-log_delta - math.log1p(a)) / a - math.log1p(1 / a)

        best = _smallest(at)
        return max(0.0, best + ROUNDING * max(1.0, abs(best)))

    def delta(self, epsilon: Exact) -> float:
        """Return the smallest known δ for which ρ-zCDP implies (ε, δ)-DP, rounded up."""
        target = read_exact("epsilon", epsilon)
        if target < 0:
            raise ParameterError(f"epsilon must be at least 0, got {shown(epsilon)}. Hint: epsilon = 0 gives total variation.")
        best = _smallest(lambda a: _log_delta(a, float(self.rho), float(target)))
        if best >= 0:
            return 1.0
        # nextafter: where exp underflows, a δ of exactly 0 would claim pure DP
        return min(1.0, math.nextafter(math.exp(best) * (1 + ROUNDING * max(1.0, abs(best))), math.inf))


@dataclass(frozen=True, init=False, repr=False)
class ApproxDP(_Budget):
    """(ε, δ)-differential privacy: as ε-differential privacy, but for a probability of δ.

    Parameters
    ----------
    epsilon, delta : int, float, str or Fraction
        Exact, as in `PureDP`; choose delta well below one in the number of rows.
    """

    epsilon: Fraction
    delta: Fraction
    notion: ClassVar[str] = "approx"
    names: ClassVar[tuple[str, ...]] = ("epsilon", "delta")

    def __init__(self, epsilon: Exact, delta: Exact) -> None:
        super().__init__(epsilon, _probability("delta", delta))

    def to_zcdp(self) -> ZCDP:
        """Return the largest ρ known to imply this (ε, δ), rounded down."""
        return ZCDP(Fraction(_largest_rho(float(self.epsilon), _log(self.delta)) * (1 - ROUNDING)))


Budget = PureDP | ZCDP | ApproxDP
Amount = TypeVar("Amount", bound=Budget)

NOTIONS: dict[str, type[Budget]] = {kind.notion: kind for kind in (PureDP, ZCDP, ApproxDP)}


def copied(budget: Amount) -> Amount:
    """Return an equal budget that nobody else holds; refuse what only looks like one."""
    if type(budget) not in NOTIONS.values():
        raise ParameterError(f"budget must be a PureDP, ZCDP or ApproxDP, got {shown(budget)}. Hint: ZCDP(0.1).")
    return type(budget)(*(Fraction(amount.numerator, amount.denominator) for amount in budget.amounts()))


def compose(*budgets: Budget) -> Budget:
    """Return what several releases about the same rows cost together (adaptive composition): the sum.

    Parameters
    ----------
    *budgets : PureDP, ZCDP or ApproxDP
        All of one notion; ``to_zcdp()`` converts.

    Examples
    --------
    >>> compose(*[ZCDP(0.1)] * 10)
    ZCDP(rho=1)
    """
    if not budgets or not {type(budget) for budget in budgets} <= set(NOTIONS.values()) or len(set(map(type, budgets))) > 1:
        kinds = sorted({type(budget).__name__ for budget in budgets})
        raise ParameterError(f"budgets must be one or more of the same notion, got {kinds}. Hint: convert with to_zcdp().")
    return type(budgets[0])(*totals(budgets))


def totals(budgets: Sequence[Budget]) -> list[Fraction]:
    """Return the sums of amounts of budgets of one notion, exactly."""
    columns = zip(*(budget.amounts() for budget in budgets), strict=True)
    return [_total(column) for column in columns]


def _total(amounts: tuple[Fraction, ...]) -> Fraction:
    """Add up amounts; of many, equal ones at once: a file may hold a hundred thousand."""
    if len(amounts) <= FEW:
        return sum(amounts[1:], start=amounts[0])
    found = Counter(amount.as_integer_ratio() for amount in amounts)  # looked up much faster than Fractions
    return sum((Fraction(up * count, down) for (up, down), count in found.items()), start=Fraction(0))


def pays_for(promise: Budget, charges: Sequence[Budget]) -> bool:
    """Whether a promise covers all these charges about the same rows.

    An (ε, δ) promise may also be kept by pure charges whose ε add up to at most ε, or by zCDP charges whose ρ add up to at most
    the ρ that implies it; never by a mixture.
    """
    if not charges or len({type(charge) for charge in charges}) > 1:
        return False
    limit: Budget = promise
    if isinstance(promise, ApproxDP) and isinstance(charges[0], PureDP):
        limit = PureDP(promise.epsilon)
    elif isinstance(promise, ApproxDP) and isinstance(charges[0], ZCDP):
        limit = promise.to_zcdp()
    # not compose(): a sum of δ beyond 1 is no budget, but it is an answer
    return type(limit) is type(charges[0]) and all(a <= b for a, b in zip(totals(charges), limit.amounts(), strict=True))


def decimal_text(value: Fraction) -> str:
    """Write a fraction as a decimal where that is exact and short, else as a fraction."""
    text = repr(float(value))
    return text.removesuffix(".0") if Fraction(text) == value else str(value)


def _probability(name: str, value: Exact) -> Fraction:
    exact = read_exact(name, value)
    if not 0 < exact < 1:
        raise ParameterError(f"{name} must be above 0 and below 1, got {shown(value)}. Hint: choose delta well below 1/n.")
    return exact


@lru_cache(maxsize=64)  # every charge against an (ε, δ) promise asks for it again
def _largest_rho(epsilon: float, log_delta: float) -> float:
    """Return the largest ρ for which ρ-zCDP is known to imply (ε, δ)-DP."""

    def at(a: float) -> float:
        return -(epsilon + (log_delta + math.log1p(a)) / a + math.log1p(1 / a)) / (1 + a)

    return -_smallest(at)


def _log(value: Fraction) -> float:
    if value > Fraction(1, 2):
        return math.log1p(-float(1 - value))  # the difference of two logarithms would cancel near 1
    return math.log(value.numerator) - math.log(value.denominator)


def _log_delta(a: float, rho: float, epsilon: float) -> float:
    """Return log δ at order α = 1 + a (Canonne, Kamath and Steinke 2020, Proposition 12).

    δ = exp((α−1)(αρ−ε)) · (1−1/α)^α / (α−1), rearranged so that nothing cancels as a → 0 or a → ∞.
    """
    return a * ((1 + a) * rho - epsilon) - math.log1p(a) - a * math.log1p(1 / a)


def _smallest(value_at: Callable[[float], float]) -> float:
    """Minimise over a = α − 1 > 0: a scan over 2⁻⁶⁰..2⁶⁰, then golden section on log a.

    Every order α gives a valid guarantee, so a poor minimum costs tightness and never privacy.
    """
    grid = np.linspace(-42.0, 42.0, 400)
    values = [value_at(math.exp(x)) for x in grid]
    best = int(np.argmin(values))
    low, high = grid[max(best - 1, 0)], grid[min(best + 1, len(grid) - 1)]
    ratio = (math.sqrt(5) - 1) / 2
    for _ in range(60):
        left, right = high - ratio * (high - low), low + ratio * (high - low)
        if value_at(math.exp(left)) < value_at(math.exp(right)):
            high = right
        else:
            low = left
    return min(values[best], value_at(math.exp((low + high) / 2)))
