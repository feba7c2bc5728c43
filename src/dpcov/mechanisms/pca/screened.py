r"""Components of the columns that hold most: rows are clipped at a private radius, columns are screened by their noisy squares,
and the noise falls on the block of those that are kept.

Noise on a matrix grows with its size, noise on its diagonal does not. Tables with many levels, where most columns hold little,
lose little by dropping them and gain much: of 513 columns a hundred may be left. (Under zCDP the noise on an entry does not
depend on the size of its matrix, and all columns are kept.) What is clipped points the same way, and a
component has no length, so no scale need be bought back; a last share tells how much lies along the components.

Proof    docs/mechanisms/screened.md, with figures for the constants

==============  ==================================================================================
code            mathematics
==============  ==================================================================================
``inner``       :math:`\tau`, the private radius; clipped rows make :math:`S_\tau`
``squares``     noisy diagonal of :math:`S_\tau`
``columns``     :math:`C`, those that are kept; the components are eigenvectors of noisy :math:`S_{\tau,CC}`
``outer``       :math:`u`, at which rows are clipped for the variance along the components
==============  ==================================================================================
"""  # noqa: D205 - one sentence

from __future__ import annotations

import math
from fractions import Fraction
from functools import partial

import numpy as np
from numpy.typing import NDArray

from dpcov.errors import ParameterError, check_choice, shown
from dpcov.estimate import block_vectors
from dpcov.kernel.budget import Budget, PureDP
from dpcov.kernel.curator import Curator
from dpcov.kernel.noise.laws import DiscreteLaplace
from dpcov.kernel.questions.calibrated import LAPLACE, WISHART, calibrated, noise_for
from dpcov.kernel.questions.columns import Squares, block_of
from dpcov.kernel.questions.moments import REPLACE
from dpcov.kernel.questions.spectral import AlongBasis, Explained
from dpcov.mechanisms.covariance.rescaled import rows_outside
from dpcov.mechanisms.pca.screening import deconvolved, kept_columns
from dpcov.mechanisms.shared.clipping import PARTS, hold_norms, plan_radius, radius_of
from dpcov.mechanisms.shared.components import EXPLAINED, checked_k, explain, refuse_centred
from dpcov.mechanisms.shared.matrix_noise import MatrixNoise, best_noise
from dpcov.mechanisms.shared.shares import check_room
from dpcov.options import OPTIONS
from dpcov.release.record import Release
from dpcov.release_drawn import are_many

Floats = NDArray[np.float64]

RADIUS_SHARES = (Fraction(5, PARTS), Fraction(100, PARTS))
SQUARES_SHARES = (Fraction(100, PARTS), Fraction(500, PARTS))


def screened(curator: Curator, budget: Budget, *, k: int, screen: bool = True, numerics: str = "rounded") -> Release:
    """Release k components of the columns that hold most, of rows clipped privately.

    Parameters
    ----------
    k : int
        How many components.
    screen : bool
        False keeps all columns: for dense ones that hold about alike, such as rotated or whitened rows.
    numerics : {"rounded", "exact"}
        "exact" leaves out noise that is rounded (docs/guarantee.md): at a price in error under pure DP.

    Privacy
    -------
    ``budget`` (PureDP, ZCDP, or ApproxDP as the better of the two): a choice of radius, under pure DP the squares of columns
    where there are many, one block of the second moment, k + 1 variances, and under add-remove one count.

    Utility
    -------
    No bound is proved; figures are in docs/mechanisms/screened.md.
    """
    count = checked_k(k, curator.d)
    refuse_centred(curator, "screened")
    check_choice("numerics", numerics, OPTIONS["numerics"], "'exact' leaves out wishart and frobenius")
    if not isinstance(screen, bool):
        raise ParameterError(f"screen must be True or False, got {shown(screen)}. Hint: False keeps all columns.")
    noise = best_noise(curator, budget, numerics)
    if noise is None:
        raise ParameterError(f"budget must be large enough for some noise, got {budget!r}. Hint: spend more.")
    _ask(curator, noise, count, screen and _is_screened(noise, count))
    return curator.release("pca", "screened", postprocess="clip", k=count, screen=screen, numerics=numerics)


def _ask(curator: Curator, noise: MatrixNoise, k: int, screens: bool) -> None:
    whole, left = noise.budget, 1 - EXPLAINED
    _check_affordable(curator, noise, k, screens)
    hold_norms(curator)
    if curator.neighbors != REPLACE:
        curator.ask_n(whole.share(noise.count_share()))
        left -= noise.count_share()
    # As few rows outside as `rescaled` has where it is robust: no scale is bought back, and long rows may point elsewhere.
    plan = plan_radius(whole, min(rows_outside(noise, robust=True), curator.n / 2), RADIUS_SHARES)
    inner = radius_of(plan.ask(curator, whole))
    left -= plan.share
    moment = curator.second_moment(inner)
    curator.hold(moment)
    columns = tuple(range(curator.d))
    if screens:
        share = _squares_share(curator.d / (curator.n * float(whole.amounts()[0])))
        left -= share
        squares = curator.noisy(Squares(moment), whole.share(share), noise=LAPLACE)
        assert isinstance(squares.noise, DiscreteLaplace)
        denoised = deconvolved(squares.values, float(squares.noise.scale) * 2.0**-squares.unit_bits)
        columns = kept_columns(denoised, k, partial(_variance, noise, float(left)))
    block = curator.noisy(block_of(moment, columns), whole.share(left), noise=noise.kind)
    explain(curator, block_vectors(block, curator.d)[:k], whole.share(EXPLAINED), min(1.0, inner * noise.reach))


def _is_screened(noise: MatrixNoise, k: int) -> bool:
    """Whether columns are screened: not few of them, and not under zCDP, whose noise on an entry is the same for any size."""
    return isinstance(noise.budget, PureDP) and are_many(noise.d, k)


def _squares_share(columns_per_row: float) -> Fraction:
    """Return the share for the squares: the fewer rows there are for a column, times epsilon, the more of the budget."""
    return max(min(Fraction(math.floor(math.sqrt(columns_per_row) * PARTS), PARTS), SQUARES_SHARES[1]), SQUARES_SHARES[0])


def _variance(noise: MatrixNoise, share: float, size: Floats) -> Floats:
    """Return the variance of an entry above the diagonal where so many columns are kept, at a share of the budget."""
    smaller = (size + 1) / (noise.d + 1) if noise.kind == WISHART else (size / noise.d) ** 2
    return np.asarray(noise.deviation**2 * smaller / share**2)


def _check_affordable(curator: Curator, noise: MatrixNoise, k: int, screens: bool) -> None:
    """Refuse a budget that is too small for some question at its smallest share, before anything is spent."""
    moment, whole = curator.second_moment(), noise.budget
    check_room(whole)
    left = 1 - EXPLAINED - RADIUS_SHARES[1] - (0 if curator.neighbors == REPLACE else noise.count_share())
    calibrated(AlongBasis(moment, k + 1, Explained.name), whole.share(EXPLAINED), curator.neighbors, noise_for(whole))
    if screens:
        left -= SQUARES_SHARES[1]
        calibrated(Squares(moment), whole.share(SQUARES_SHARES[0]), curator.neighbors, LAPLACE)
    calibrated(moment, whole.share(left), curator.neighbors, noise.kind)
