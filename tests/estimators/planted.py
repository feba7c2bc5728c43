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
}
