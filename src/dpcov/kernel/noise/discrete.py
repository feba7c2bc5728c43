r"""Exact discrete Laplace and discrete Gaussian noise, vectorised.

Both are drawn as in Canonne, Kamath and Steinke (2020): propose a two-sided geometric variable, then accept
it with probability exp(−γ) for an exactly known rational γ. Every random decision here has one of two forms,
for a uniform U ∈ [0, 1) and a rational γ:

- *compare*: is U < exp(−γ)?
- *invert*:  what is ⌊−b·log U⌋, which is geometric with P(≥ m) = exp(−m/b)?

U is never rounded. Its first 64 bits are one word w; floats decide where they can, and where they cannot,
further bits of U are drawn and compared with exp(−γ) in exact arithmetic. So each draw has exactly the stated
law, and only the speed rests on floats.

Error bound of the filter
-------------------------
U lies in [w, w+1)·2⁻⁶⁴; let E = −log U and Ê = −log(float(w)·2⁻⁶⁴) as computed. For w ≥ 2⁴⁴:

=====================================  ==============================  =========
source                                 bound                           at most
=====================================  ==============================  =========
unseen bits of U                       log(1 + 1/w)                    2⁻⁴⁴
float(w), correctly rounded            −log(1 − 2⁻⁵³)                  2⁻⁵²
``np.log`` (documented: 4 ulp;         2¹³ ulp of 13.9                 2⁻³⁶
assumed: 8192)
=====================================  ==============================  =========

so |Ê − E| ≤ 2⁻³⁵ = ``LOG_ERROR`` with room to spare, and E ≤ 20·log 2 + 2⁻³⁵ < 14. Words below 2⁴⁴ come once in
2²⁰ draws and always go to the exact path. So much room costs an exact decision in 10⁵ draws at most, and then hardly anything
is assumed of the logarithm on the machine that draws.

*Invert* multiplies by b ≤ 2¹⁶, which adds at most 14·b·2⁻⁵¹: the value is off by at most b·2⁻³⁴. *Compare* needs γ to
within 2⁻⁴⁷ + γ·2⁻⁴⁸, shown beside each γ, so it decides where |Ê − γ| > 2⁻³⁴·(1 + γ).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import MAX_EMAX, MIN_EMIN, ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from dpcov.errors import ParameterError
from dpcov.kernel.bits import Bits

MIN_SCALE = Fraction(1, 2**20)
"""Smallest scale: below it floats would overflow, and noise of that size is zero anyway. Raise a smaller one to it."""

MAX_SCALE = Fraction(2**56)
"""Largest scale: a draw leaves [−2⁶², 2⁶²] with probability exp(−64), and int64 with exp(−128): it holds every draw."""

MIN_VARIANCE, MAX_VARIANCE = MIN_SCALE**2, MAX_SCALE**2

TRUSTED_WORD = np.uint64(2**44)
LOG_ERROR = 2.0**-35
DOUBT = 2.0**-34
"""Where floats do not decide: this far around a boundary of −log U, relative to the scale or to 1 + γ."""

COARSE_BITS = 16
BATCH = 2**14  # proposals at a time: the working arrays then stay in cache

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]
Words = NDArray[np.uint64]
FloatExcess = Callable[[Integers, Integers], Floats]
ExactExcess = Callable[[int, int], Fraction]


def discrete_laplace(scale: Fraction, size: int, bits: Bits) -> Integers:
    """Draw from P(x) ∝ exp(−|x|/scale) on the integers."""
    check_scale(scale)
    inverse = float(1 / scale)

    def excess(magnitude: Integers, low: Integers) -> Floats:  # noqa: ARG001
        return np.multiply(low, inverse, dtype=np.float64)  # two roundings: relative error 2⁻⁵¹

    return _two_sided(scale, size, bits, excess, lambda _, low: low / scale)


def discrete_gaussian(variance: Fraction, size: int, bits: Bits) -> Integers:
    """Draw from P(x) ∝ exp(−x²/(2·variance)) on the integers."""
    check_variance(variance)
    scale = math.isqrt(math.floor(variance)) + 1  # t = ⌊σ⌋ + 1, the proposal of the paper's sampler
    centre, spread, inverse = float(variance / scale), float(2 * variance), 1.0 / scale

    def excess(magnitude: Integers, low: Integers) -> Floats:
        # With y = magnitude/σ and σ < t: |error| ≤ (y+1)²·2⁻⁵¹, which is ≤ 2⁻⁴⁷ for y < 3 and ≤ γ·2⁻⁴⁸ beyond.
        distance = magnitude - centre
        return low * inverse + distance * distance / spread

    def exact_excess(magnitude: int, low: int) -> Fraction:
        return Fraction(low, scale) + (magnitude - variance / scale) ** 2 / (2 * variance)

    return _two_sided(Fraction(scale), size, bits, excess, exact_excess)


def _two_sided(scale: Fraction, size: int, bits: Bits, excess: FloatExcess, exact_excess: ExactExcess) -> Integers:
    """Draw ±m with probability ∝ exp(−(m − low)/scale − excess(m, low)), where ``low`` are the low bits of m.

    m = high·2ʲ + low with ``high`` geometric of scale/2ʲ ≤ 2¹⁶ and ``low`` uniform: accepting with exp(−excess)
    leaves the wanted law. −0 is dropped, so that zero is not counted twice.
    """
    shift = max(0, math.floor(scale).bit_length() - COARSE_BITS)
    coarse = scale / 2**shift
    low_mask = np.int64(2**shift - 1)
    draws = np.empty(size, dtype=np.int64)
    filled = 0
    while filled < size:
        count = min(BATCH, 2 * (size - filled) + 32)
        words = bits.words(3 * count)
        with np.errstate(all="ignore"):  # a caller's np.seterr(all="raise") must not stop a draw
            high = _invert(words[:count], coarse, bits)
            signed = words[count : 2 * count].view(np.int64)
            low = signed & low_mask
            negative = signed < 0
            magnitude = (high << shift) | low
            accepted = compare(words[2 * count :], excess(magnitude, low), magnitude, low, exact_excess, bits)
        accepted &= ~(negative & (magnitude == 0))
        values = np.where(negative, -magnitude, magnitude)[accepted][: size - filled]
        draws[filled : filled + len(values)] = values
        filled += len(values)
    return draws


def _minus_log(words: Words) -> Floats:
    return -np.log(np.maximum(words.astype(np.float64), 1.0) * 2.0**-64)


def _invert(words: Words, scale: Fraction, bits: Bits) -> Integers:
    """Return ⌊−scale·log U⌋ for the uniforms that start with ``words``; scale ≤ 2¹⁶."""
    position = _minus_log(words) * float(scale)
    below = np.floor(position)
    slack = float(scale) * DOUBT
    fraction = position - below
    unsure = (words < TRUSTED_WORD) | (fraction > 1 - slack) | ((fraction < slack) & (below > 0))
    values = below.astype(np.int64)
    for index in np.flatnonzero(unsure):
        values[index] = _LazyUniform(int(words[index]), bits).inverted(scale)
    return values


def compare(
    words: Words,
    gamma: Floats,
    magnitude: Integers,
    low: Integers,
    exact: ExactExcess,
    bits: Bits,
    zeros: Integers | None = None,
) -> NDArray[np.bool_]:
    """Return U < exp(−γ) for the uniforms that start with ``words``; before these, with so many ``zeros``, at most 64."""
    margin = _minus_log(words) - gamma
    if zeros is not None:
        margin = margin + zeros * math.log(2)  # at most 45: another 2⁻⁴⁶ of error
    accepted = margin > 0
    unsure = (words < TRUSTED_WORD) | (np.abs(margin) <= DOUBT * (1 + gamma))
    for index in np.flatnonzero(unsure):
        uniform = _LazyUniform(int(words[index]), bits, 0 if zeros is None else int(zeros[index]))
        accepted[index] = uniform.below_exp(exact(int(magnitude[index]), int(low[index])))
    return accepted


class _LazyUniform:
    """A uniform number of which only the first bits are known; more are drawn when a comparison needs them."""

    def __init__(self, word: int, bits: Bits, zeros: int = 0) -> None:
        self._value, self._length, self._bits = word, zeros + 64, bits

    def below_exp(self, gamma: Fraction) -> bool:
        """Whether U < exp(−γ), for γ ≥ 0."""
        while True:
            if gamma > self._length and self._value > 0:
                return False  # exp(−γ) < 2⁻ˡᵉⁿᵍᵗʰ ≤ U; its digits would fill the memory for a large γ
            lower, upper = (Fraction(0), Fraction(1)) if gamma > self._length else exp_enclosure(gamma, self._length)
            if Fraction(self._value + 1, 2**self._length) <= lower:
                return True
            if Fraction(self._value, 2**self._length) >= upper:
                return False
            self._value = (self._value << 64) | int(self._bits.words(1)[0])
            self._length += 64

    def inverted(self, scale: Fraction) -> int:
        """Return ⌊−scale·log U⌋, the largest m with U < exp(−m/scale), by bisection."""
        low, high = 0, 1
        while self.below_exp(high / scale):
            low, high = high, 2 * high
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if self.below_exp(middle / scale) else (low, middle)
        return low


def exp_enclosure(gamma: Fraction, length: int) -> tuple[Fraction, Fraction]:
    """Return rationals around exp(−γ), closer to each other than 2⁻ˡᵉⁿᵍᵗʰ.

    The standard library's ``Decimal.exp`` is correctly rounded, so one unit in the last place each way encloses it.
    """
    digits = length // 3 + 10
    down = Context(prec=digits, rounding=ROUND_FLOOR, Emin=MIN_EMIN, Emax=MAX_EMAX, traps=[], clamp=0)
    up = Context(prec=digits, rounding=ROUND_CEILING, Emin=MIN_EMIN, Emax=MAX_EMAX, traps=[], clamp=0)
    numerator, denominator = Decimal(gamma.numerator), Decimal(gamma.denominator)
    lower = down.next_minus(down.exp(down.minus(up.divide(numerator, denominator))))
    upper = up.next_plus(up.exp(up.minus(down.divide(numerator, denominator))))
    return Fraction(max(lower, Decimal(0))), min(Fraction(upper), Fraction(1))


def check_scale(scale: Fraction) -> None:
    """Refuse a scale outside [MIN_SCALE, MAX_SCALE]."""
    if not MIN_SCALE <= scale <= MAX_SCALE:
        raise ParameterError(
            f"scale of the noise must be between 2**-20 and 2**56 grid steps, got {_size(scale)}. "
            f"Hint: spend more; with so small a budget the answer would be nothing but noise."
        )


def check_variance(variance: Fraction) -> None:
    """Refuse a variance outside [MIN_SCALE², MAX_SCALE²]."""
    if not MIN_VARIANCE <= variance <= MAX_VARIANCE:
        raise ParameterError(
            f"variance of the noise must be between 2**-40 and 2**112 squared grid steps, got {_size(variance)}. "
            f"Hint: spend more; with so small a budget the answer would be nothing but noise."
        )


def _size(value: Fraction) -> str:
    if value <= 0:
        return "0 or less"
    return f"about 2**{value.numerator.bit_length() - value.denominator.bit_length()}"
