"""Planted bugs in estimators."""

from __future__ import annotations

from tests.mutation.form import mutant

RIDGE = "estimators/ridge.py"

TEST_RIDGE_NOISE_OFF = "tests/estimators/test_ridge_noise_off.py::"
AGREES = TEST_RIDGE_NOISE_OFF + "TestNoiseOff::test_scikit_learn_agrees"

PLANTED = {
    "an estimator's penalty over row_norm": mutant(
        (RIDGE, "return alpha / longest / longest", "return alpha / longest"), by=AGREES + "[True-3.0]"
    ),
    "a target that is not clipped": mutant(
        (RIDGE, "np.clip(target, -largest, largest)", "target"),
        by=TEST_RIDGE_NOISE_OFF + "TestNoiseOff::test_targets_are_clipped_alone_first[gaussian]",
    ),
    "an intercept in units of coefficients": mutant(
        (RIDGE, "model.intercept * largest", "model.intercept * (largest / longest)"), by=AGREES + "[True-0.1]"
    ),
    "clones spend in silence": mutant(
        ("estimators/common.py", "_families[made] = _families.setdefault(self, [0])", "_families[made] = [0]"),
        by="tests/estimators/test_spending.py::test_a_cross_validation_warns",
    ),
    "a warning after the budget is gone": mutant(
        ("estimators/common.py", "        self._warn_of_spending()\n        settings", "        settings"),
        (
            "estimators/common.py",
            "        self._keep(self.release_)\n",
            "        self._warn_of_spending()\n        self._keep(self.release_)\n",
        ),
        by="tests/estimators/test_spending.py::test_nothing_is_spent_where_warnings_are_errors[PrivateMean]",
    ),
}
