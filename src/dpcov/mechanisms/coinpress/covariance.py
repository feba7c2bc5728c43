r"""Covariance from rounds that whiten the rows by the last estimate, so that noise follows the data and not the public bounds.

With lower ⪯ Σ ⪯ upper a first whitener makes Σ at most 1 in every direction, but in some it may be far smaller, and drowned
in noise. A noisy second moment Z of the whitened rows, widened by its noise to U, bounds it better: W ← U^{-1/2}W. After a few
rounds no direction is far from 1, rows are clipped where they are, and the last round's noise is small in all of them.

Paper    Biswas, Dong, Kamath, Ullman (NeurIPS 2020), MVCRec; their "practical" constants are those of their program.
Proof    docs/mechanisms/coinpress.md
Differs  whiteners are multiplied from the left throughout and undone from both sides (the authors' program mixes two
         conventions, and errs from three rounds on); isometric noise; a projection onto the cone, not absolute values; each
         radius from the private trace of the round before, so that the public bounds matter in the first round only; number of
         rounds and prices by a public rule; rows of heavy tails, which the last clip shortens, get their scale back by one more
         number; means and covariances together.

==============  ====================================================================================
code            mathematics
==============  ====================================================================================
``whitener``    :math:`W`, so that :math:`y = W(x - c)`
``clip``        :math:`\gamma`
``noisy``       :math:`Z`, the noisy second moment of y
``widened``     the eigenvalues of :math:`U`
==============  ====================================================================================
"""

from __future__ import annotations

import dataclasses

from numpy.typing import ArrayLike

from dpcov.bounds import COVARIANCE_EVENTS, round_beta, sampling_gap
from dpcov.errors import ParameterError, check_choice, check_real
from dpcov.kernel.budget import ZCDP, Budget
from dpcov.kernel.curator import Curator
from dpcov.mechanisms.coinpress.bounds import checked_bounds
from dpcov.mechanisms.coinpress.whitening import Whitening, check_whitening
from dpcov.mechanisms.shared.clipping import check_rereadable
from dpcov.mechanisms.shared.means import (
    Origin,
    ask_count,
    check_provable,
    check_two_rows,
    checked_origin,
    checked_rounds,
    left_after_count,
)
from dpcov.mechanisms.shared.shares import by_way_of_rho
from dpcov.release.record import Release
from dpcov.release_framed import FINISHED


def coinpress(
    curator: Curator,
    budget: Budget,
    *,
    postprocess: str | None = None,
    upper: ArrayLike | None = None,
    lower: ArrayLike | None = None,
    radius: float | None = None,
    origin: Origin = 0.0,
    centring: str = "none",
    rounds: str | int = "auto",
    constants: str = "practical",
    beta: float = 0.1,
) -> Release:
    """Release the covariance by rounds of whitening, from weak bounds.

    Parameters
    ----------
    upper, lower : number, list or matrix, optional
        Public bounds of the covariance, lower ⪯ Σ ⪯ upper: a variance, one for each column, or a matrix. By default upper is
        row_norm², or 1 in the units of a schema, and lower is a millionth of it; where upper is given, lower is 1. They
        may be far too wide: the price is logarithmic.
    radius : float, optional
        Where rows are centred, the mean lies within this distance of origin; row_norm by default.
    origin : number or list of numbers
        A public guess of the mean; 0 by default. Rows that are not centred are taken to have this mean. Not for pairs.
    centring : {"none", "mean", "pairs"}
        "mean" (what center=True means) asks for the mean as well, in each round. "pairs" takes differences of rows 1 and 2,
        3 and 4, and so on: no mean is needed, half of the rows are lost; for ordered data and replace only.
    rounds : "auto" or int
        How often rows are whitened; "auto" is found from public numbers.
    constants : {"practical", "proved"}
        "proved" clips where no row of Gaussian data is cut, and widens by what noise and sampling can hide, but for a
        probability beta; more noise.
    beta : float
        The probability that the confidence ellipsoids may fail with.

    Privacy
    -------
    ``budget`` (ZCDP, or ApproxDP by way of ρ): in each round one noisy second moment, from the second on one noisy trace, one
    noisy sum where the mean is asked for; under add-remove one count.

    Utility
    -------
    Theorem 2.4 of the paper, for Gaussian rows with ``constants="proved"``: `Release.confidence`.
    """
    check_choice("constants", constants, ("practical", "proved"), "'proved' has more noise")
    check_choice("centring", centring, ("none", "mean", "pairs"), "center=True asks for the mean as well")
    beta = check_real("beta", beta, "above 0 and below 1", 1e-12, 1 - 1e-12, "0.1 is the default")
    chosen = "project" if postprocess is None else postprocess
    if constants == "proved" and centring == "mean":
        raise ParameterError(
            "centring must be 'none' or 'pairs' for proved constants, got 'mean'. Hint: constants='practical'."
        )
    check_choice("postprocess", chosen, FINISHED, "'project' takes away negative eigenvalues, 'clip' keeps to the bounds")
    count, point = checked_rounds(rounds), checked_origin(curator, origin)
    if centring == "pairs" and point.any():
        raise ParameterError("origin must be left out for pairs, got one. Hint: differences of rows have mean 0.")
    bounds = checked_bounds(upper, lower, curator.grid.row_norm, curator.d)
    whole = _checked_budget(budget)
    check_rereadable(curator, "rounds")
    reach = _checked_radius(curator, radius, centring)
    left = left_after_count(curator, whole)
    assert isinstance(left, ZCDP)
    check_whitening(curator, left, bounds, point, reach, count)
    check_provable(curator, whole, constants)
    check_two_rows(curator, read=True)
    if constants == "proved":
        _check_enough_rows(curator, beta, count or 1)  # "auto" takes as many rounds as can be proved
    ask_count(curator, whole)
    state = Whitening(curator, left, bounds, point, reach, count, constants, beta)
    state.ask()
    options: dict[str, str | float | int] = {"constants": constants, "beta": beta, "condition": bounds.condition}
    release = curator.release(
        "covariance", "coinpress", postprocess=chosen, centring=centring, rounds=len(state.plan.shares), **options
    )
    return dataclasses.replace(release, center=centring == "mean")


def _check_enough_rows(curator: Curator, beta: float, rounds: int) -> None:
    """Refuse proved constants where they prove nothing: a covariance needs several times more rows than columns."""
    if sampling_gap(curator.n, curator.d, round_beta(beta, 1, rounds, COVARIANCE_EVENTS)) >= 1:
        raise ParameterError("data must have more rows for proved constants, got too few. Hint: constants='practical'.")


def _checked_budget(budget: Budget) -> ZCDP:
    whole = by_way_of_rho(budget)
    if not isinstance(whole, ZCDP):
        raise ParameterError(f"budget of mechanism 'coinpress' must be ZCDP or ApproxDP, got {budget!r}. Hint: ZCDP(0.5).")
    return whole


def _checked_radius(curator: Curator, radius: float | None, centring: str) -> float:
    """Return how far the mean may lie from the origin: 0 where it is not asked for."""
    if centring != "mean":
        if radius is not None:
            raise ParameterError("radius must be left out where rows are not centred, got one. Hint: center=True.")
        return 0.0
    if radius is None:
        return curator.grid.row_norm
    return check_real("radius", radius, "a positive number", 1e-150, 1e150, "how far the mean may lie from the origin")
