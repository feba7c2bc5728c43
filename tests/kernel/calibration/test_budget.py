"""Budgets are exact; conversions are tight, on the safe side, and those of two other libraries."""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from itertools import product
from typing import Any

import mpmath
import numpy as np
import opendp.prelude as dp
import pytest
from dp_accounting.rdp import rdp_privacy_accountant

from dpcov.errors import ParameterError
from dpcov.kernel.budget import ROUNDING, ZCDP, ApproxDP, Budget, PureDP, _log, compose, decimal_text, read_exact

RHOS = [1e-6, 1e-4, 1e-2, 0.1, 1.0, 10.0, 100.0]
DELTAS = [1e-12, 1e-9, 1e-6, 1e-3, 0.1, 0.5]
EPSILONS = [1e-4, 1e-2, 0.1, 1.0, 10.0, 100.0]
GRID = list(product(RHOS, DELTAS))

TIGHT = 10 * ROUNDING
"""What a conversion may lose: its own slack of one `ROUNDING`, and room for the float64 error."""

SPARED = ROUNDING * 9 / 10
"""What a conversion must lose: another machine's float64 error is as large as it likes below it."""


def true_epsilon(rho: Fraction, delta: Fraction) -> mpmath.mpf:
    """Minimise (1+a)ρ + (log(1/δ) − log(1+a))/a − log(1+1/a) over a > 0 at 50 digits; may be negative.

    Its derivative is ρ − (log(1/δ) − log(1+a))/a², so the minimum is where ρa² + log(1+a) = log(1/δ).
    """
    rho_mp, logs = _mp(rho), -mpmath.log(_mp(delta))
    a = _root(lambda a: rho_mp * a**2 + mpmath.log1p(a) - logs)
    return (1 + a) * rho_mp + (logs - mpmath.log1p(a)) / a - mpmath.log1p(1 / a)


def true_log_delta(rho: Fraction, epsilon: Fraction) -> mpmath.mpf:
    """Minimise a((1+a)ρ − ε) − log(1+a) − a·log(1+1/a) over a > 0 at 50 digits.

    Its derivative (1+2a)ρ − ε − log(1+1/a) increases, so its one root is the minimum.
    """
    rho_mp, epsilon_mp = _mp(rho), _mp(epsilon)
    a = _root(lambda a: (1 + 2 * a) * rho_mp - epsilon_mp - mpmath.log1p(1 / a))
    return a * ((1 + a) * rho_mp - epsilon_mp) - mpmath.log1p(a) - a * mpmath.log1p(1 / a)


def _mp(value: Fraction) -> mpmath.mpf:
    return mpmath.mpf(value.numerator) / value.denominator


def _root(increasing: Callable[[mpmath.mpf], mpmath.mpf]) -> mpmath.mpf:
    """Find a > 0 by bisection on its logarithm; flat at the minimum, so 25 digits of a give 50 of the value."""
    low, high = mpmath.mpf(-120), mpmath.mpf(120)
    for _ in range(90):
        middle = (low + high) / 2
        low, high = (low, middle) if increasing(mpmath.exp(middle)) > 0 else (middle, high)
    return mpmath.exp((low + high) / 2)


@pytest.mark.parametrize(
    "amount",
    [0.1, "0.1", "1/10", Fraction(1, 10), Decimal("0.1"), np.float64(0.1), np.float32(0.1), np.float16(0.1)],
    ids=lambda amount: f"{type(amount).__name__}-{amount}",
)
def test_a_number_is_read_by_its_decimal_text(amount: float) -> None:
    assert ZCDP(amount).rho == Fraction(1, 10)
    assert PureDP(amount).epsilon == Fraction(1, 10)
    assert ApproxDP(amount, amount) == ApproxDP(Fraction(1, 10), Fraction(1, 10))


@pytest.mark.parametrize("amount", [3, np.int64(3), np.uint8(3), "3", 3.0])
def test_whole_numbers_are_read_exactly(amount: int) -> None:
    assert PureDP(amount).epsilon == 3


def test_ten_tenths_make_exactly_one() -> None:
    assert compose(*[ZCDP(0.1)] * 10) == ZCDP(1)
    assert compose(*[PureDP(np.float32(0.1))] * 10) == PureDP(1)  # type: ignore[arg-type]
    assert compose(*[ApproxDP(0.1, 1e-7)] * 10) == ApproxDP(1, 1e-6)


@pytest.mark.parametrize(
    "amount",
    [
        True,
        np.True_,
        math.nan,
        math.inf,
        -math.inf,
        np.float32("nan"),
        Decimal("NaN"),
        Decimal("sNaN"),
        Decimal("Infinity"),
        -1,
        -0.1,
        0,
        0.0,
        -0.0,
        "",
        "much",
        "nan",
        "1/0",
        None,
        1j,
        np.complex128(1),
        [0.1],
        np.array(0.1),
        b"0.1",
    ],
    ids=lambda amount: f"{type(amount).__name__}-{amount}",
)
def test_what_is_not_a_positive_number_is_refused(amount: object) -> None:
    with pytest.raises(ParameterError, match=r"^rho must be .*\. Hint: .*\.$"):
        ZCDP(amount)  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match=r"^epsilon must be"):
        PureDP(amount)  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match=r"^epsilon must be"):
        ApproxDP(amount, 1e-6)  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match=r"^delta must be"):
        ApproxDP(1, amount)  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match=r"^delta must be"):
        ZCDP(1).epsilon(amount)  # type: ignore[arg-type]


@pytest.mark.parametrize("delta", [1, 1.0, "1", 1.5, Fraction(3, 2), 10**6])
def test_delta_of_one_or_more_is_refused(delta: float) -> None:
    with pytest.raises(ParameterError, match=r"^delta must be above 0 and below 1"):
        ApproxDP(1, delta)
    with pytest.raises(ParameterError, match=r"^delta must be above 0 and below 1"):
        ZCDP(1).epsilon(delta)


@pytest.mark.parametrize("epsilon", [-1, -1e-300, math.nan, math.inf, True, None, "text"])
def test_delta_at_no_epsilon_is_refused(epsilon: float) -> None:
    with pytest.raises(ParameterError, match=r"^epsilon must be"):
        ZCDP(1).delta(epsilon)


def test_budgets_are_values() -> None:
    assert ZCDP(0.1) == ZCDP("1/10")
    assert hash(ZCDP(0.1)) == hash(ZCDP("1/10"))
    assert not {ZCDP(1)} & {PureDP(1)}
    with pytest.raises(AttributeError):
        ZCDP(1).rho = Fraction(2)  # type: ignore[misc]


def test_composition_is_the_sum_within_one_notion() -> None:
    assert compose(ZCDP("1/3"), ZCDP("1/6")) == ZCDP("1/2")
    assert compose(PureDP(1)) == PureDP(1)
    assert compose(ApproxDP(1, "1/3"), ApproxDP(2, "1/7")) == ApproxDP(3, "10/21")
    for mixed in [(), (ZCDP(1), PureDP(1)), (ApproxDP(1, 0.1), PureDP(1))]:
        with pytest.raises(ParameterError, match=r"^budgets must be"):
            compose(*mixed)
    with pytest.raises(ParameterError, match=r"^delta must be"):
        compose(ApproxDP(1, 0.5), ApproxDP(1, 0.5))


@pytest.mark.parametrize("budget", [ZCDP("0.123456789"), PureDP("22/7"), ApproxDP(0.7, "1e-9")], ids=repr)
def test_splitting_keeps_the_sum_exactly(budget: Budget) -> None:
    assert compose(*budget.split(*[0.1] * 10)) == budget
    assert compose(*budget.split("1/3", "1/3", "1/3")) == budget
    assert compose(*budget.split(Fraction(1, 7), Fraction(2, 7))) == budget.share("3/7")
    assert budget.split(1) == [budget]


@pytest.mark.parametrize("parts", [(0.5, 0.5, 1e-300), (0.34, 0.33, 0.34), (2,), (1, "1e-30")])
def test_splitting_more_than_the_whole_is_refused(parts: tuple[float, ...]) -> None:
    with pytest.raises(ParameterError, match=r"^parts must add up to at most 1"):
        ZCDP(1).split(*parts)


@pytest.mark.parametrize("part", [0, -0.5, 1.0000001, math.nan, None, True])
def test_a_part_is_above_zero_and_at_most_one(part: float) -> None:
    with pytest.raises(ParameterError, match=r"^part must be"):
        ZCDP(1).share(part)


def test_a_negative_part_does_not_buy_a_larger_one() -> None:
    with pytest.raises(ParameterError, match=r"^part must be"):
        ZCDP(1).split(-1, 1, 1)


def test_a_budget_covers_what_is_no_larger_in_every_amount() -> None:
    assert ZCDP(1).covers(compose(*ZCDP(1).split(*[0.1] * 10)))
    assert not ZCDP(1).covers(compose(ZCDP(1), ZCDP("1e-300")))
    assert not ZCDP(1).covers(PureDP("1e-300"))
    assert ApproxDP(1, 0.1).covers(ApproxDP(1, 0.1))
    assert not ApproxDP(1, 0.1).covers(ApproxDP("1e-300", 0.2))
    assert not ApproxDP(1, 0.1).covers(ApproxDP(2, "1e-300"))


def test_repr_is_short_and_exact() -> None:
    assert repr(ZCDP(0.1)) == "ZCDP(rho=0.1)"
    assert repr(ZCDP("1/3")) == "ZCDP(rho=1/3)"
    assert repr(PureDP(2)) == "PureDP(epsilon=2)"
    assert repr(ApproxDP(1.5, 1e-9)) == "ApproxDP(epsilon=1.5, delta=1e-09)"
    assert ApproxDP(1.5, 1e-9).to_json() == {"notion": "approx", "epsilon": "3/2", "delta": "1/1000000000"}
    for value in [Fraction(1, 3), Fraction(1, 10), Fraction(10**22), Fraction(1, 10**400)]:
        assert read_exact("value", decimal_text(value)) == value


@pytest.mark.parametrize(
    "amount", ["1e301", "1e400", 10**400, "1e999999999", "1e-999999999", 10**5000, Fraction(1, 2**3001)], ids=range(7)
)
def test_numbers_too_long_to_keep_are_refused_at_once(amount: float) -> None:
    """Written out, some would fill the memory; others would overflow a float in the middle of a release."""
    with pytest.raises(ParameterError, match=r"^rho must be .*\. Hint: .*\.$"):
        ZCDP(amount)


@pytest.mark.parametrize("rho", ["1e300", "1e-400", 1e-300])
def test_the_largest_and_smallest_amounts_work_throughout(rho: float) -> None:
    budget = ZCDP(rho)
    assert read_exact("rho", repr(budget)[len("ZCDP(rho=") : -1]) == budget.rho
    assert budget.epsilon(1e-6) >= 0
    assert 0 < budget.delta(1) <= 1


def test_the_reference_value_of_the_tight_conversion() -> None:
    """The textbook formula ρ + 2·√(ρ·log(1/δ)) would give 2.451."""
    assert ZCDP(0.1).epsilon(1e-6) == pytest.approx(2.141939, abs=1e-6)


@pytest.mark.parametrize(("rho", "delta"), GRID)
def test_epsilon_errs_upwards_and_hardly(rho: float, delta: float) -> None:
    with mpmath.workdps(50):
        truth = max(mpmath.mpf(0), true_epsilon(read_exact("rho", rho), read_exact("delta", delta)))
        found = mpmath.mpf(ZCDP(rho).epsilon(delta))
        assert truth <= found <= truth + TIGHT * max(1, truth)
        assert truth == 0 or found >= truth + SPARED * max(1, truth)


@pytest.mark.parametrize(("rho", "epsilon"), list(product(RHOS, [0, *EPSILONS])))
def test_delta_errs_upwards_and_hardly(rho: float, epsilon: float) -> None:
    with mpmath.workdps(50):
        log_truth = true_log_delta(read_exact("rho", rho), read_exact("epsilon", epsilon))
        if log_truth > -700:  # below, float64 runs out of digits: see the next test
            found = mpmath.mpf(ZCDP(rho).delta(epsilon))
            assert min(1, mpmath.exp(log_truth)) <= found
            assert mpmath.log(found) <= log_truth + TIGHT * max(1, -log_truth)
            assert found == 1 or mpmath.log(found) >= log_truth + SPARED * max(1, -log_truth)


@pytest.mark.parametrize(("rho", "epsilon"), [(0.1, 17.0), (0.1, 17.2), (0.1, 17.3), (0.1, 20.0), (1e-6, 100.0)])
def test_a_delta_below_float64_is_not_rounded_to_zero(rho: float, epsilon: float) -> None:
    """δ = 0 would be a promise of pure differential privacy, which zCDP does not make."""
    with mpmath.workdps(50):
        assert ZCDP(rho).delta(epsilon) >= mpmath.exp(true_log_delta(read_exact("rho", rho), Fraction(str(epsilon))))


@pytest.mark.parametrize(
    ("epsilon", "delta"), [*product(EPSILONS, DELTAS), (1e-9, 1e-6), (1, "1e-400"), (1e6, 1e-6), (1e6, 1e-300)]
)
def test_rho_errs_downwards_and_hardly(epsilon: float, delta: float) -> None:
    """The returned ρ implies (ε, δ), and a ρ larger by 1e-9 does not."""
    budget = ApproxDP(epsilon, delta)
    rho = budget.to_zcdp().rho
    with mpmath.workdps(50):
        assert true_epsilon(rho, budget.delta) <= _mp(budget.epsilon)
        assert true_epsilon(rho * (1 + Fraction(1, 10**9)), budget.delta) > _mp(budget.epsilon)


@pytest.mark.parametrize(("rho", "delta"), GRID)
def test_epsilon_delta_and_rho_undo_each_other(rho: float, delta: float) -> None:
    """Three minimisations of one formula; each error is amplified at most by |log δ| and by 1/ε."""
    epsilon = ZCDP(rho).epsilon(delta)
    if epsilon == 0:  # δ is then more than enough
        assert ZCDP(rho).delta(0) <= delta
        return
    tolerance = 100 * ROUNDING * max(1, 1 / epsilon) * (1 + epsilon / rho) ** 2
    assert math.log(ZCDP(rho).delta(epsilon)) == pytest.approx(math.log(delta), abs=tolerance)
    assert float(ApproxDP(epsilon, delta).to_zcdp().rho) == pytest.approx(rho, rel=tolerance)


def test_epsilon_grows_with_rho_and_falls_with_delta() -> None:
    table = np.array([[ZCDP(rho).epsilon(delta) for delta in DELTAS] for rho in RHOS])
    assert np.all(np.diff(table, axis=0) >= 0)
    assert np.all(np.diff(table, axis=1) <= 0)


@pytest.mark.parametrize("epsilon", [1e-3, 0.5, 2, "1/3"])
def test_pure_privacy_becomes_half_its_square(epsilon: float) -> None:
    assert PureDP(epsilon).to_zcdp().rho == PureDP(epsilon).epsilon ** 2 / 2


@pytest.mark.parametrize(("rho", "delta"), GRID)
def test_epsilon_agrees_with_dp_accounting(rho: float, delta: float) -> None:
    """It minimises the same bound over a list of orders: ours is never above, and 5000 orders come within 1e-5."""
    orders = 1 + np.geomspace(0.0101, 1e9, 5000)
    theirs, _ = rdp_privacy_accountant.compute_epsilon(orders, rho * orders, delta)
    ours = ZCDP(rho).epsilon(delta)
    if delta**2 > -math.expm1(-rho * orders[0]):  # it then uses the total-variation bound and says 0
        assert theirs == 0
        return
    assert ours - TIGHT * max(1, ours) <= theirs <= ours + 1e-5 * max(1, ours)


@pytest.mark.parametrize("rho", RHOS)
def test_epsilon_and_delta_agree_with_opendp(rho: float) -> None:
    dp.enable_features("contrib")
    gaussian = dp.m.make_gaussian(dp.atom_domain(T="i64"), dp.absolute_distance(T="f64"), scale=1.0)
    converted: Any = dp.c.make_zCDP_to_approxDP(gaussian)
    profile = converted.map(math.sqrt(2 * rho))
    for delta in DELTAS:
        assert ZCDP(rho).epsilon(delta) == pytest.approx(profile.epsilon(delta), rel=TIGHT, abs=TIGHT)
    for epsilon in EPSILONS:
        theirs = profile.delta(epsilon)
        if 1e-300 < theirs < 1:  # it tries no order below 1.01, and so says 1 too early
            assert math.log(ZCDP(rho).delta(epsilon)) == pytest.approx(math.log(theirs), rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("delta", ["0.999999999", "0.999999999999999"])
def test_a_delta_next_to_one_does_not_cancel(delta: str) -> None:
    """The logarithm of δ as a difference of two would err by 1e-16/(1 − δ) relative, in the unsafe direction."""
    with mpmath.workdps(50):
        exact = mpmath.log(mpmath.mpf(delta))
    ours = _log(Fraction(delta))
    assert abs(ours - exact) <= 1e-15 * abs(exact)
