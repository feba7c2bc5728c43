"""Planted bugs in estimators."""

from __future__ import annotations

from tests.mutation.form import mutant

RIDGE = "estimators/ridge.py"

TEST_RIDGE_NOISE_OFF = "tests/estimators/test_ridge_noise_off.py::"
AGREES = TEST_RIDGE_NOISE_OFF + "TestNoiseOff::test_scikit_learn_agrees"

PEOPLE = "tests/estimators/test_people.py::"

PLANTED = {
    "estimators that fit rows where people were asked for": mutant(
        ("estimators/common.py", "for name in self._settings} | self._whose", "for name in self._settings}"),
        by=PEOPLE + "TestFits::test_they_are_the_functions_in_another_form[people-pandas]",
    ),
    "a regression whose people are dropped": mutant(
        (RIDGE, "            **self._whose,\n            **options,\n        )\n\n", "            **options,\n        )\n\n"),
        by=PEOPLE + "TestFits::test_clones_and_pickles_are_about_people_too[PrivateRidge]",
    ),
    "identifiers of an array that a target makes floats": mutant(
        (RIDGE, "            refuse_merging(X, y)\n", "            pass\n"),
        by=PEOPLE + "TestRefused::test_identifiers_that_a_target_would_make_floats",
    ),
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
