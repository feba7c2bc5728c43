"""Planted bugs in the coefficients of one regression, their sensitivity, their files, and `PrivateRidge`."""

from __future__ import annotations

Edits = list[tuple[str, str, str]]

SOLUTION, MECHANISM, ESTIMATOR = (
    "kernel/questions/solution.py",
    "mechanisms/ridge/output_perturbation.py",
    "estimators/ridge.py",
)
LAWS, CALIBRATION = "tests/kernel/laws/test_solution.py::", "tests/kernel/calibration/test_solution.py::"
REFUSED, ESTIMATED = "tests/mechanisms/test_output_perturbation_refusals.py::", "tests/estimators/test_ridge_noise_off.py::"
HIDDEN = REFUSED + "test_what_only_the_mechanism_knows_is_a_verdict"
ATTAINED = LAWS + "TestNeighbours::test_the_bounds_are_attained"
PINNED = CALIBRATION + "TestClosedForms::test_pinned"
AGREES = ESTIMATED + "TestNoiseOff::test_scikit_learn_agrees"
LARGEST = "sqrt_up(1 / (4 * self.alpha * (1 + self.alpha)))"
MOVED = "sqrt_up(1 + self._largest**2) / (self.rows * self.alpha)"

RIDGE_MUTANTS: dict[str, tuple[Edits, tuple[str, ...]]] = {
    "coefficients of half the norm": (
        [(SOLUTION, LARGEST, LARGEST.replace("(4 *", "(16 *"))],
        (ATTAINED + "[0.01-10000]",),
    ),
    "a norm of coefficients without its root": (
        [(SOLUTION, LARGEST, LARGEST.removeprefix("sqrt_up"))],
        (PINNED,),
    ),
    "a norm of coefficients for small penalties only": (
        [(SOLUTION, LARGEST, "sqrt_up(1 / (4 * self.alpha))")],
        (PINNED,),
    ),
    "a residual without the target": (
        [(SOLUTION, MOVED, MOVED.replace("1 + ", ""))],
        (ATTAINED + "[1000.0-2]",),
    ),
    "a distance without its root": (
        [(SOLUTION, MOVED, MOVED.replace("sqrt_up", ""))],
        (PINNED,),
    ),
    "coefficients that move in one place": (
        [(SOLUTION, "return self._distance(neighbors) * sqrt_up(Fraction(self.d - 1))", "return self._distance(neighbors)")],
        (ATTAINED + "[0.1-1000]",),
    ),
    "rounding that is not counted": (
        [(SOLUTION, "return moved + sqrt_up(Fraction(self.d - 1))", "return moved")],
        (CALIBRATION + "test_rounding_is_counted_where_steps_are_coarse",),
    ),
    "a penalty that is the same for any n": (
        [(SOLUTION, "+= float(self.rows * self.alpha)", "+= float(self.alpha)")],
        (LAWS + "TestNumbers::test_they_are_those_of_exact_numbers[3-1/3]",),
    ),
    "the target among its features": (
        [(SOLUTION, "np.delete(np.arange(self.d), self.target)", "np.arange(self.d - 1)")],
        (LAWS + "TestNumbers::test_they_are_in_the_order_of_the_other_columns",),
    ),
    "a penalty over row_norm": (
        [(SOLUTION, "Fraction(alpha) / Fraction(row_norm) ** 2", "Fraction(alpha) / Fraction(row_norm)")],
        (LAWS + "test_penalties_of_rows_of_norm_one",),
    ),
    "coefficients of more rows than there are": (
        [(SOLUTION, " and self.rows == public.known_n", "")],
        (REFUSED + "TestBeforeCharging::test_another_number_of_rows[6000]",),
    ),
    "coefficients of rows in an annulus": (
        [(SOLUTION, "= (Grid,)  # rows of norm 1", "= OfMoment.shapes  # rows of norm 1")],
        (LAWS + "TestRefusals::test_a_curator_answers_its_own_rows_and_this_class_only",),
    ),
    "a regression of centred rows": (
        [(MECHANISM, "    neighbors=(REPLACE,),\n", '    neighbors=(REPLACE,),\n    centring="homogeneous",\n')],
        (REFUSED + "TestBeforeReading::test_rows_that_it_does_not_serve",),
    ),
    "a penalty in other units": (
        [(MECHANISM, "unit_alpha(alpha, encoding.row_norm)", "unit_alpha(alpha, 1.0)")],
        ("tests/mechanisms/test_output_perturbation.py::TestNoiseOff::test_rows_of_another_norm[7.0]",),
    ),
    "a file's coefficients not compared with its options": (
        [(MECHANISM, "answer.question != _regression(encoding, transcript.n, place, penalty)", "False")],
        (HIDDEN + "[target=0]", HIDDEN + "[alpha=0.99]", HIDDEN + "[another norm]"),
    ),
    "a file with options that no regression has": (
        [("mechanisms/base.py", "if missing or not set(options) <= set(self.options):", "if missing:")],
        (HIDDEN + "[rank=1]",),
    ),
    "an estimator's penalty over row_norm": (
        [(ESTIMATOR, "return alpha / longest / longest", "return alpha / longest")],
        (AGREES + "[True-3.0]",),
    ),
    "a target that is not clipped": (
        [(ESTIMATOR, "np.clip(target, -largest, largest)", "target")],
        (ESTIMATED + "TestNoiseOff::test_targets_are_clipped_alone_first[gaussian]",),
    ),
    "an intercept in units of coefficients": (
        [(ESTIMATOR, "model.intercept * largest", "model.intercept * (largest / longest)")],
        (AGREES + "[True-0.1]",),
    ),
}
