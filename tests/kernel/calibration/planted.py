"""Planted bugs in budgets and in what noise a price buys."""

from __future__ import annotations

from tests.mutation.form import mutant

BUDGET = "kernel/budget.py"
CALIBRATE = "kernel/calibrate.py"
CALIBRATED = "kernel/questions/calibrated.py"

TEST_AUDIT = "tests/audit/test_audit.py::"
TEST_AUDIT_DIRECTIONS = "tests/audit/test_directions.py::"
TEST_AMOUNTS = "tests/kernel/calibration/test_amounts.py::"
TEST_CALIBRATED = "tests/kernel/calibration/test_calibrated.py::"
TEST_CALIBRATION_DIRECTIONS = "tests/kernel/calibration/test_directions.py::"

PLANTED = {
    "Laplace noise under zCDP at twice the price": mutant(
        (CALIBRATE, "sqrt_up(sensitivity_squared / (2 * budget.rho))", "sqrt_up(sensitivity_squared / (4 * budget.rho))"),
        by=(
            TEST_CALIBRATED + "TestLaws::test_laplace_under_zcdp",
            "tests/audit/test_frames.py::TestMeans::test_pairs_cost_what_was_charged_and_no_more"
            "[coordinatewise, paper-zCDP-replace]",
        ),
    ),
    "the first number of a vector for all of it, under zCDP": mutant(
        (
            CALIBRATED,
            "concentrated_laplace_scale(Fraction(statistic.sensitivity_squared(neighbors)), budget)",
            "concentrated_laplace_scale(Fraction(statistic.sensitivity_squared(neighbors), statistic.parts[0].size), budget)",
        ),
        by=TEST_CALIBRATED + "TestLaws::test_laplace_under_zcdp",
    ),
    "rho rounded up": mutant(
        (BUDGET, "_log(self.delta)) * (1 - ROUNDING)", "_log(self.delta)) * (1 + ROUNDING)"),
        by="tests/kernel/calibration/test_budget.py::test_rho_errs_downwards_and_hardly",
    ),
    "few charges of which the first is free": mutant(
        (BUDGET, "return sum(amounts[1:], start=amounts[0])", "return sum(amounts[1:], start=Fraction(0))"),
        by=TEST_AMOUNTS + "test_sums_are_exact",
    ),
    "equal charges that count once": mutant(
        (BUDGET, "Fraction(up * count, down) for", "Fraction(up, down) for"),
        by=TEST_AMOUNTS + "test_sums_are_exact",
    ),
    "a concentration that is in others' hands": mutant(
        (BUDGET, "    return Fraction(value.numerator, value.denominator)\n", "    return value\n"),
        by="tests/audit/test_hostile_mechanisms.py::TestWhatIsKept::test_a_fraction_that_changes",
    ),
    "scale halved": mutant(
        (CALIBRATE, "return sensitivity_squared / (2 * budget.rho)", "return sensitivity_squared / (8 * budget.rho)"),
        by=(
            TEST_AUDIT + "test_replay_never_costs_more_than_was_charged",
            TEST_AUDIT + "test_black_box_stays_under_the_promise[e1 by e2]",
        ),
    ),
    "variance 5 percent too small": mutant(
        (CALIBRATE, "return sensitivity_squared / (2 * budget.rho)", "return sensitivity_squared * 19 / (40 * budget.rho)"),
        by=(
            TEST_AUDIT + "test_replay_never_costs_more_than_was_charged",
            "tests/kernel/calibration/test_calibrate.py::test_gaussian_variance_is_exact",
        ),
    ),
    "exponent epsilon in place of its half": mutant(
        (CALIBRATE, 'SPAN = {"replace": 2, "add-remove": 1}', 'SPAN = {"replace": 1, "add-remove": 1}'),
        by=(
            TEST_CALIBRATION_DIRECTIONS + "TestConcentration::test_pure",
            TEST_CALIBRATION_DIRECTIONS + "TestConcentration::test_zcdp",
            TEST_AUDIT_DIRECTIONS + "TestReplay::test_no_pair_costs_more_than_was_charged",
        ),
    ),
    "bounded range as pure in zCDP": mutant(
        (CALIBRATE, "sqrt_down(8 * budget.rho) / SPAN", "sqrt_down(16 * budget.rho) / SPAN"),
        by=(
            TEST_CALIBRATION_DIRECTIONS + "TestConcentration::test_zcdp",
            TEST_AUDIT_DIRECTIONS + "test_the_worst_pair_uses_the_directions_budget",
        ),
    ),
    "rate doubled": mutant(
        (
            CALIBRATE,
            "(budget.epsilon if isinstance(budget, PureDP) else sqrt_down(8 * budget.rho)) / 2",
            "budget.epsilon if isinstance(budget, PureDP) else sqrt_down(8 * budget.rho)",
        ),
        by="tests/audit/test_clipped.py::TestReplay::test_no_pair_costs_more_than_was_charged",
    ),
    "off-diagonal variance doubled": mutant(
        (CALIBRATED, "max(variance / part.weight, least)", "max(variance, least)"),
        by=(
            TEST_AUDIT + "test_the_worst_neighbours_use_the_whole_budget",
            "tests/mechanisms/test_gaussian.py::TestNoise::test_replace",
        ),
    ),
    "delta not lowered": mutant(
        (CALIBRATED, "budget.delta - Fraction(gap * 1.01)", "budget.delta + Fraction(gap * 1.01)"),
        by=TEST_CALIBRATED + "TestDiscreteUnderApproximateDP::test_the_true_delta_of_a_count[0.0005-0.0001]",
    ),
    "delta lowered without the weights": mutant(
        (CALIBRATED, "sum(part.weight * part.size for", "sum(part.size for"),
        by=TEST_CALIBRATED + "test_delta_is_lowered_by_what_discrete_noise_differs",
    ),
    "the Frobenius sensitivity rounded down": mutant(
        (
            CALIBRATED,
            "return sqrt_up(Fraction(statistic.sensitivity_squared(neighbors)))",
            "return sqrt_up(Fraction(statistic.sensitivity_squared(neighbors))) - Fraction(1, 2**40)",
        ),
        by=TEST_CALIBRATED + "test_the_frobenius_sensitivity_is_rounded_up",
    ),
    "variances in (ε, δ) with too little of what calibration adds": mutant(
        (CALIBRATED, "Fraction(10**12 - 1, 10**12)", "Fraction(10**11 - 3, 10**11)"),
        by=TEST_CALIBRATED + "TestIsEnough::test_variances_that_are_found_with_logarithms",
    ),
}
