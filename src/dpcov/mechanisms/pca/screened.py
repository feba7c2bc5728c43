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
from collections.abc import Iterator
from fractions import Fraction
from functools import partial

import numpy as np
from numpy.typing import NDArray

from dpcov.errors import ParameterError, check_choice, shown
from dpcov.kernel.answer import Answer
from dpcov.kernel.budget import ZCDP, ApproxDP, Budget, PureDP
from dpcov.kernel.face import Face
from dpcov.kernel.noise.laws import DiscreteLaplace
from dpcov.kernel.public import Facts
from dpcov.kernel.questions.basis import EigenvectorsOf
from dpcov.kernel.questions.calibrated import LAPLACE, WISHART, noise_for
from dpcov.kernel.questions.columns import Block, Squares, block_of
from dpcov.kernel.rows.grid import Grid
from dpcov.mechanisms.base import RAW, Least, Mechanism
from dpcov.mechanisms.pca.screening import deconvolved, kept_columns
from dpcov.mechanisms.shared.clipping import PARTS, chosen_radius, plan_radius, prefetch_norms
from dpcov.mechanisms.shared.components import (
    EXPLAINED,
    along_axes,
    checked_k,
    explain,
    refuse_components,
    take_explained,
    with_variances,
)
from dpcov.mechanisms.shared.matrix_noise import NUMERICS, MatrixNoise, best_noise, rows_to_clip
from dpcov.mechanisms.shared.moment import rows_longer
from dpcov.mechanisms.shared.shares import check_room
from dpcov.release.estimate import Estimate, InMatrix
from dpcov.release.record import Option, Transcript
from dpcov.spectra import shrink_spectrum

Floats = NDArray[np.float64]

RADIUS_SHARES = (Fraction(5, PARTS), Fraction(100, PARTS))
SQUARES_SHARES = (Fraction(100, PARTS), Fraction(500, PARTS))
MIN_COLUMNS_TO_SCREEN = 12  # and twice as many as components: of fewer columns none is worth dropping
CLEAR = 3.0  # standard deviations: what was asked apart counts from there; 2 was worse, 4 alike (docs/mechanisms/screened.md)


def ask(curator: Face, budget: Budget, *, k: int, screen: bool = True, numerics: str = "rounded") -> None:
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
    check_choice("numerics", numerics, NUMERICS, "'exact' leaves out wishart and frobenius")
    if not isinstance(screen, bool):
        raise ParameterError(f"screen must be True or False, got {shown(screen)}. Hint: False keeps all columns.")
    noise = best_noise(curator, budget, numerics)
    if noise is None:
        raise ParameterError(f"budget must be larger, got {budget!r}, too little for any noise. Hint: spend more.")
    screens = screen and _is_screened(noise, count)
    whole, left = noise.budget, 1 - EXPLAINED
    prefetch_norms(curator)
    if curator.hides_n:
        curator.ask_n(whole.share(noise.count_share()))
        left -= noise.count_share()
    # As few rows outside as `rescaled` has where it is robust: no scale is bought back, and long rows may point elsewhere.
    plan = plan_radius(whole, min(rows_to_clip(noise, robust=True), curator.n / 2), RADIUS_SHARES)
    inner = chosen_radius(plan.ask(curator, whole))
    left -= plan.share
    moment = curator.second_moment(inner)
    curator.prefetch(moment)
    columns = tuple(range(curator.d))
    if screens:
        share = _squares_share(curator.d / (curator.n * float(whole.amounts()[0])))
        left -= share
        squares = curator.noisy(Squares(moment), whole.share(share), noise=LAPLACE)
        assert isinstance(squares.law, DiscreteLaplace)
        denoised = deconvolved(squares.values, float(squares.law.scale) * 2.0**-squares.unit_bits)
        columns = kept_columns(denoised, count, partial(_variance, noise, float(left)))
    block = curator.noisy(block_of(moment, columns), whole.share(left), noise=noise.kind)
    explain(curator, EigenvectorsOf(block, count), whole.share(EXPLAINED), min(1.0, inner * noise.reach))


def least(public: Facts, budget: Budget, *, k: int, screen: bool, numerics: str) -> Iterator[Least]:
    """Yield the questions at their smallest shares, which depend on the number of rows; a block is no larger than the whole."""
    noise = best_noise(public, budget, numerics)
    assert noise is not None  # refused before
    moment, whole = public.second_moment(), noise.budget
    check_room(whole)
    left = 1 - EXPLAINED - RADIUS_SHARES[1] - (noise.count_share() if public.hides_n else 0)
    yield Least(along_axes(moment, k), whole.share(EXPLAINED), noise_for(whole))
    if screen and _is_screened(noise, k):
        left -= SQUARES_SHARES[1]
        yield Least(Squares(moment), whole.share(SQUARES_SHARES[0]), LAPLACE)
    yield Least(moment, whole.share(left), noise.kind)


def estimate(transcript: Transcript, postprocess: str, *, k: Option, **_options: Option) -> Estimate:
    """Return the first eigenvectors of the block, in its own order, and what lies along them."""
    count = checked_k(k, transcript.encoding.d)
    asked, basis, outer = take_explained(transcript, count)
    block = transcript.take(Block)
    assert isinstance(block.question, Block)
    grid, columns = block.question.grid, block.question.columns
    if (
        not isinstance(basis, EigenvectorsOf)
        or basis.answer is not block
        or not isinstance(grid, Grid)
        or grid.row_norm > outer
    ):
        refuse_components("which are eigenvectors of its block of rows clipped no farther out")
    told = asked.values / transcript.n
    if postprocess != RAW:
        told = _variances(transcript, block, asked, (grid.row_norm / outer) ** 2)
    return Estimate(
        k=count,
        components=with_variances(basis.columns.T, told, outer, postprocess),
        radius=grid.row_norm,
        longer=rows_longer(transcript),
        seen=InMatrix(
            matrix=block.matrix / transcript.n,
            spread=block.spread.scaled(1 / transcript.n),
            back=np.eye(transcript.encoding.d)[:, list(columns)],
        ),
    )


def _variances(transcript: Transcript, block: Answer, asked: Answer, unit: float) -> Floats:
    """Return the variance along the eigenvectors of a block and beside them, as a part of the squared radius that was asked.

    ``unit`` is the block's squared radius, as such a part. The block had nearly all of the budget, and its noise is in units
    of the smaller radius: its denoised eigenvalues are far better numbers than those that were asked apart, of rows clipped
    farther out (docs/mechanisms/screened.md). These say what clipping took, where they say it clearly: along the components
    one factor for all, beside them a number.
    """
    n, squares = transcript.n, transcript.find(Squares)
    held = shrink_spectrum(block.decomposition[0] / n, block.spread.scaled(1 / n), 1.0)[::-1] * unit
    told, deviation = asked.values / n, asked.deviation / n
    along, trace = held[: len(told) - 1], float(held.sum())
    if squares is not None:  # dropped columns are in them, too
        assert isinstance(squares.question, Squares)
        assert isinstance(block.question, Block)
        if squares.question.moment != block.question.moment:
            refuse_components("with squares of the same rows")
        trace = max(trace, float(squares.values.sum()) / n * unit)
    beside, size = trace - float(along.sum()), float(np.linalg.norm(along))
    if size > 0:
        along = along * (1 + _clear(float((told[:-1] - along) @ along) / size, deviation) / size)  # least squares
    return np.append(along, beside + _clear(float(told[-1]) - beside, deviation))


def _clear(excess: float, deviation: float) -> float:
    """Return what is left of a number seen through noise, 0 below some standard deviations: the positive part of Stein's."""
    return excess * (1 - (CLEAR * deviation / excess) ** 2) if excess > CLEAR * deviation else 0.0


def _is_screened(noise: MatrixNoise, k: int) -> bool:
    """Whether columns are screened: not few of them, and not under zCDP, whose noise on an entry is the same for any size."""
    return isinstance(noise.budget, PureDP) and noise.d > max(2 * k, MIN_COLUMNS_TO_SCREEN)


def _squares_share(columns_per_row: float) -> Fraction:
    """Return the share for the squares: the fewer rows there are for a column, times epsilon, the more of the budget."""
    return max(min(Fraction(math.floor(math.sqrt(columns_per_row) * PARTS), PARTS), SQUARES_SHARES[1]), SQUARES_SHARES[0])


def _variance(noise: MatrixNoise, share: float, size: Floats) -> Floats:
    """Return the variance of an entry above the diagonal where so many columns are kept, at a share of the budget."""
    smaller = (size + 1) / (noise.d + 1) if noise.kind == WISHART else (size / noise.d) ** 2
    return np.asarray(noise.deviation**2 * smaller / share**2)


SCREENED = Mechanism(
    target="pca",
    name="screened",
    serves=(PureDP, ZCDP, ApproxDP),
    ask=ask,
    estimate=estimate,
    postprocess=("clip", "none"),
    least=least,
)
