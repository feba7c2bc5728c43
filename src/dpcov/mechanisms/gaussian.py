r"""Second moment with isometric Gaussian noise.

Under the Frobenius inner product the diagonal entries and √2 times the upper entries are orthonormal coordinates, and
one row moves the matrix by at most Δ in that norm. So noise of variance σ² on the diagonal and σ²/2 above it is enough.

Paper    Dwork, Talwar, Thakurta, Zhang (STOC 2014); GaussCov of Dong, Liang, Yi (NeurIPS 2022).
Proof    docs/mechanisms/gaussian.md
Differs  half the variance above the diagonal (``constants="paper"`` restores the paper's i.i.d. triangle); discrete
         noise on integers; also for add-remove neighbours.

================  =================================================  =========
code              mathematics                                        paper
================  =================================================  =========
``at_least``      :math:`1/\rho` (replace), :math:`1/(2\rho)`        1/ρ
``count_share``   share of ρ spent on n, add-remove only             –
================  =================================================  =========
"""

from __future__ import annotations

from fractions import Fraction

from dpcov.curator import GAUSSIAN, Curator
from dpcov.errors import ParameterError, check_choice
from dpcov.privacy.budget import ZCDP, Budget
from dpcov.privacy.calibrate import gaussian_variance
from dpcov.release import Release
from dpcov.statistics.moments import REPLACE

NOTIONS = (ZCDP,)
POSTPROCESSES = ("project", "clip", "none")
"""The first is the default; ``constants="paper"`` defaults to the papers' clip."""


def gaussian(curator: Curator, budget: Budget, *, postprocess: str | None = None, constants: str = "tight") -> Release:
    """Release the second moment with Gaussian noise.

    Parameters
    ----------
    constants : {"tight", "paper"}
        "paper" gives every entry of the triangle the variance of the diagonal, as in Dong et al.

    Privacy
    -------
    ``budget``: one second moment, and under add-remove one count.

    Utility
    -------
    The raw error of n times the second moment has r.m.s. Frobenius norm √(d(d+1)/2)·σ, σ² = 1/ρ in units of row_norm⁴
    (add-remove: 1/(2ρ)); "paper": d·σ.
    """
    check_choice("constants", constants, ("tight", "paper"), "'paper' only to reproduce figures; it adds noise")
    if not isinstance(budget, NOTIONS):
        raise ParameterError(
            f"budget of mechanism 'gaussian' must be ZCDP, got {budget!r}. Hint: pass dpcov.ZCDP(rho)."
        )
    default = "clip" if constants == "paper" else POSTPROCESSES[0]
    chosen = default if postprocess is None else postprocess
    check_choice("postprocess", chosen, POSTPROCESSES, f"leave it out for {default!r}")

    count_share = Fraction(0) if curator.neighbors == REPLACE else Fraction(1, 2 * curator.d + 2)
    moment_budget = budget.share(1 - count_share)
    at_least = paper_variance(moment_budget, curator.neighbors) if constants == "paper" else None
    curator.noisy(curator.second_moment(), moment_budget, noise=GAUSSIAN, at_least=at_least)
    if count_share:
        curator.ask_n(budget.share(count_share))  # last: a budget too small is refused before anything is spent
    return curator.release("covariance", "gaussian", postprocess=chosen, constants=constants)


def paper_variance(budget: ZCDP, neighbors: str) -> Fraction:
    """Return the variance that the paper gives to every entry: Δ_F²/(2ρ) with Δ_F² = 2, or 1 for add-remove."""
    return gaussian_variance(Fraction(2 if neighbors == REPLACE else 1), budget)
