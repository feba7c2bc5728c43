r"""One ridge regression with noise on its coefficients: a baseline, for a single target, features and penalty.

Paper    Chaudhuri, Monteleoni, Sarwate (JMLR 2011), Algorithm 1; a baseline in Amin et al. (NeurIPS 2019), Appendix C.
Proof    docs/mechanisms/output-perturbation.md
Differs  squared loss, whose gradient their bound does not cover; a smaller sensitivity; discrete Laplace noise on each
         coefficient under pure DP, where the paper's has density ∝ exp(−ε‖·‖/Δ); Gaussian noise under the other notions.
"""

from __future__ import annotations

from dpcov.errors import ParameterError, check_real, shown
from dpcov.kernel.budget import ApproxDP, Budget
from dpcov.kernel.curator import Curator
from dpcov.kernel.questions.calibrated import calibrated, is_analytic, noise_for
from dpcov.kernel.questions.moments import REPLACE
from dpcov.kernel.questions.solution import Solution, unit_alpha
from dpcov.release.record import Release

LARGEST = 1e300  # of alpha; what counts is alpha/row_norm²


def output_perturbation(curator: Curator, budget: Budget, *, target: int, alpha: float) -> Release:
    """Release the coefficients of one ridge regression.

    Parameters
    ----------
    target : int
        The position of the column that is predicted, from all the others.
    alpha : float
        The penalty: (1/n)·Σ(y − w·x)² + alpha·‖w‖² is least, in the units of the rows (with a schema: encoded).

    Privacy
    -------
    ``budget`` (any notion), under replace: one vector of coefficients.

    Utility
    -------
    Noise of Euclidean norm about √(2)·(d−1)·Δ/ε, or √((d−1)/(2ρ))·Δ, Δ = √(1 + 1/(4a(1+a)))/(n·a), a = alpha/row_norm².
    """
    if curator.neighbors != REPLACE:
        raise ParameterError(
            "neighbors must be 'replace' for mechanism 'output-perturbation', got 'add-remove'. Hint: dpcov.covariance."
        )
    if curator.grid.center:
        raise ParameterError("center must be False for mechanism 'output-perturbation', got True. Hint: dpcov.covariance.")
    if curator.d < 2:
        raise ParameterError(f"data must have two columns or more, a target and a feature, got {curator.d}. Hint: add one.")
    if type(target) is not int or not 0 <= target < curator.d:
        raise ParameterError(f"target must be a position from 0 to {curator.d - 1}, got {shown(target)}. Hint: count from 0.")
    penalty = check_real("alpha", alpha, "positive and finite", 1 / LARGEST, LARGEST, "a number; 'auto' needs a covariance")
    if not curator.knows_n:
        curator.hold()
    asked = Solution(curator.second_moment(), curator.n, target, unit_alpha(penalty, curator.grid.row_norm))
    served = budget
    if isinstance(budget, ApproxDP) and not is_analytic(asked, budget, curator.neighbors):
        served = budget.to_zcdp()
    calibrated(asked, served, curator.neighbors, noise_for(served))  # a budget too small is refused before rows are read
    curator.noisy(asked, served, noise=noise_for(served))
    return curator.release("ridge", "output-perturbation", postprocess="none", target=target, alpha=penalty)
