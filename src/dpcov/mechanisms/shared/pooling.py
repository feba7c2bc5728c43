r"""A group's moment drawn towards that of all groups together, entry by entry, by how much larger noise is than differences.

With :math:`M_g` the noisy moment of a row of group g, and P that of all groups together, let

.. math:: M_g - P \sim N(0, \tau^2_g\,h + u_g), \qquad h_{ij} = P_{ii}P_{jj} + P_{ij}^2,

:math:`u_g` the variance of the noise of the difference, and :math:`\tau^2_g = \omega^2 + 1/n_g`: rows of one population differ
by 1/n. :math:`\omega^2` is found from all groups and entries of a kind: means, squares, products. The estimate is
:math:`P + w_g(M_g - P)`, :math:`w_g = \tau^2_g h/(\tau^2_g h + u_g)`: empirical Bayes (Efron and Morris 1973). Where groups
differ by more than noise it is :math:`M_g`, where noise hides everything P.

It is post-processing, and uses noisy numbers only: docs/groups.md has what it gains.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpcov.kernel.noise.laws import Spread

Floats = NDArray[np.float64]

ROUNDS = 4  # of reweighting: differences settle in two or three
LEAST = 1e-300
SURELY = 3.0  # standard errors of noise by which one group must differ to be taken for another kind than the others


@dataclass(frozen=True, eq=False)
class Noisy:
    """Noisy moments of a row by group, and what is known of their noise.

    Attributes
    ----------
    moments : array of shape (groups, d, d)
        Second moments of a row; of centred rows with the constant in front.
    noise : Spread
        Of the sum over the rows of one group, which is the same for all.
    rows : array
        The noisy number of rows of each group.
    of_rows : float
        The standard deviation of the noise of that number.
    """

    moments: Floats
    noise: Spread
    rows: Floats
    of_rows: float


@dataclass(frozen=True, eq=False)
class Drawn:
    """What one group's moment becomes.

    Attributes
    ----------
    moment : array
        The moment of a row.
    noise : Spread
        What is left of its noise, on average over entries.
    own : array
        Which part of each entry is the group's own.
    standard_error : array
        Of each entry: of noise, and of what is not known of the difference.
    """

    moment: Floats
    noise: Spread
    own: Floats
    standard_error: Floats


def drawn_together(noisy: Noisy, group: int) -> Drawn:
    """Draw the moment of one group towards that of all."""
    d = noisy.moments.shape[1]
    entries = np.full((d, d), noisy.noise.off_diagonal_variance)
    np.fill_diagonal(entries, noisy.noise.diagonal_variance)
    n = noisy.rows[:, None, None]
    centre = (n**2 * noisy.moments).sum(axis=0) / (n**2).sum()  # the best where groups do not differ
    noise = (entries + (noisy.of_rows * centre) ** 2) / n**2  # a noisy number of rows divides all entries
    between = np.zeros((d, d))
    for _ in range(ROUNDS):
        diagonal = centre.diagonal()
        differ = np.maximum(np.outer(diagonal, diagonal), LEAST) + centre**2  # of a product of two normal numbers
        precision = 1 / (noise + (between + 1 / n) * differ)
        weight = precision / precision.sum(axis=0)
        centre = (weight * noisy.moments).sum(axis=0)
        between = _between(noisy.moments - centre, noise, differ, 1 / n, weight)
    apart = noisy.moments[group] - centre
    alone = _between(apart[None], noise[group][None], differ, 1 / n[group][None], np.zeros((1, d, d)), sure=SURELY)
    own = (np.maximum(between, alone) + 1 / noisy.rows[group]) * differ
    part = own / (own + noise[group])
    of_centre = 1 / precision.sum(axis=0)
    error = np.sqrt(part * noise[group] + (1 - part) ** 2 * of_centre)
    of_noise = (weight**2 * noise).sum(axis=0)
    shared = weight[group] * noise[group]
    left = part**2 * noise[group] + 2 * part * (1 - part) * shared + (1 - part) ** 2 * of_noise
    above = ~np.eye(d, dtype=np.bool_)
    off = float(left[above].mean()) if d > 1 else float(left.mean()) / 2
    spread = Spread(float(left.diagonal().mean()), off, noisy.noise.wishart)
    return Drawn(centre + part * apart, spread, part, error)


def _between(apart: Floats, noise: Floats, differ: Floats, drawn: Floats, weight: Floats, sure: float = 0.0) -> Floats:
    """Return ω² for each entry: that of its kind, by weighted least squares of squared differences, less their noise, on h.

    Groups are part of the centre: of differences, and of noise, that takes away the more the larger a group's weight is.
    ``sure`` is how many standard errors, of noise alone, are taken off.
    """
    d = differ.shape[0]
    first = np.zeros((d, d), dtype=np.bool_)
    first[0] = first[:, 0] = True
    on = np.eye(d, dtype=np.bool_)
    found = np.zeros((d, d))
    known = _apart(noise + drawn * differ, weight)
    scale = _apart(np.broadcast_to(differ, noise.shape), weight)
    for kind in (first & ~on, on, ~first & ~on):
        h, u, squares = scale[:, kind], known[:, kind], apart[:, kind] ** 2
        omega = 0.0
        for _ in range(ROUNDS):
            trust = h / np.maximum(u + omega * h, LEAST) ** 2
            total = max(float((trust * h).sum()), LEAST)
            error = math.sqrt(2 * float(((trust * u) ** 2).sum())) / total if sure else 0.0
            omega = max(float((trust * (squares - u)).sum()) / total - sure * error, 0.0)
        found[kind] = omega
    return found


def _apart(variance: Floats, weight: Floats) -> Floats:
    """Return the variances of differences from a weighted average, of which each is a part."""
    return np.asarray((1 - 2 * weight) * variance + (weight**2 * variance).sum(axis=0))
