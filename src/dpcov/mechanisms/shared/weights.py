r"""What is asked of weights before a mechanism asks: which of them counts as 1, and how much they cost.

*Which counts as 1.* Noise is that of one row of the largest weight c, so all rows together are Σ min(1, w/c) of it: a smaller c
makes them more, and cuts more weights. With N(c) rows beyond c the noise costs ν·c/Σ min(w, c), and what is cut (κ times) the
part Σ (w − c)⁺/Σ w; the sum is least where N(c) is about ν/κ, a number of rows that depends on neither the weights nor how
loose their bound is. Figures: docs/people.md.

*How much they cost.* The sum of squares, for the effective size of the sample: `dpcov.uses.sampling`.
"""

from __future__ import annotations

from collections.abc import Collection
from fractions import Fraction

from dpcov.errors import ParameterError
from dpcov.kernel.budget import ZCDP, ApproxDP, Budget, PureDP
from dpcov.kernel.face import Face
from dpcov.kernel.questions.calibrated import noise_for
from dpcov.kernel.questions.weights import HeavyWeight, SquaredWeights
from dpcov.mechanisms.shared.clipping import check_rereadable, plan_radius

PURE_BEYOND, ZCDP_BEYOND = 500, 120
"""Rows beyond the weight that counts as 1, for each feature: over ε, over √ρ. A third and three times as many are near."""

PART = 10  # of all rows one in so many is cut at most: where weights go with values that moves estimates, as no interval says
FOR_SQUARES = Fraction(1, 100)  # of the budget: the effective size is then off by less than noise is in all else


def after_weights(curator: Face, budget: Budget, serves: Collection[type[Budget]]) -> Budget:
    """Ask what weights need, and return what is left for the mechanism, in a notion that it serves.

    Privacy
    -------
    A choice of the weight that counts as 1, where it is searched; and a hundredth of the budget for the sum of squares, where
    rows can be read again. An (ε, δ) budget is not mixed with others: with a choice it is spent by way of ρ, or of ε, and
    without one there are no squares.
    """
    aside = curator.encoding.aside
    if aside is None or not aside.weight:
        return budget
    if aside.searched:
        check_rereadable(curator, "clip_weight='private'")
        if isinstance(budget, ApproxDP):
            if not {ZCDP, PureDP} & {*serves}:
                raise ParameterError(
                    "clip_weight must be 'none' for a mechanism that spends (epsilon, delta) only, got 'private'. "
                    "Hint: another mechanism, or a max_weight that is not far too large."
                )
            budget = budget.to_zcdp() if ZCDP in serves else PureDP(budget.epsilon)
    if isinstance(budget, ApproxDP) or not curator.rereadable:
        return budget
    whole, left = budget, Fraction(1)
    if aside.searched:
        each = PURE_BEYOND / float(whole.epsilon) if isinstance(whole, PureDP) else ZCDP_BEYOND / float(whole.rho) ** 0.5
        plan = plan_radius(whole, each * curator.encoding.d)
        curator.choose(HeavyWeight(plan.rows, PART), whole.share(plan.share))
        left -= plan.share
    curator.noisy(SquaredWeights(), whole.share(FOR_SQUARES), noise=noise_for(whole))
    return whole.share(left - FOR_SQUARES)
