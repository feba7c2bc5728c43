r"""Second moment with independent Laplace noise on the triangle.

One row moves the d(d+1)/2 entries by at most B(d) in total, so discrete Laplace noise of scale B(d)/ε is ε-DP. Its r.m.s. error
grows like d²/ε: `wishart` is better from d = 2 on, but this noise is exact where that one is rounded.

Paper    baseline L of Amin, Dick, Kulesza, Muñoz Medina, Vassilvitskii (2018, 2019).
Proof    docs/mechanisms/laplace.md
Differs  B(d) = 2 + √((d−1)(d−2)/2) against the papers' 2d (``constants="paper"``); discrete noise on integers.
"""

from __future__ import annotations

from dataclasses import replace

from dpcov.curator import Curator
from dpcov.mechanisms.additive import question, release_additive, wants_paper
from dpcov.privacy.budget import Budget, PureDP
from dpcov.release import Release
from dpcov.statistics.calibrated import LAPLACE


def laplace(curator: Curator, budget: Budget, *, postprocess: str | None = None, constants: str = "tight") -> Release:
    """Release the second moment with Laplace noise.

    Parameters
    ----------
    constants : {"tight", "paper"}
        "paper" uses the papers' sensitivity 2d.

    Privacy
    -------
    ``budget`` (PureDP, or ApproxDP with δ unused): one second moment, and under add-remove, unless rows are
    centred, one count.

    Utility
    -------
    The raw error of n times the second moment has r.m.s. Frobenius norm √2·d·B(d)/ε, in units of row_norm².
    """
    paper = wants_paper(constants)
    asked = question(LAPLACE, budget, curator.second_moment(), curator.neighbors)
    if paper and isinstance(asked.moment_budget, PureDP):
        asked = replace(asked, at_least=2 * curator.d / asked.moment_budget.epsilon)
    return release_additive(curator, asked, postprocess=postprocess, constants=constants)
