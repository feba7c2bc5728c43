"""The automatic choice for a mean: `coinpress`, whatever is known of the covariance."""

from __future__ import annotations

import dataclasses

from numpy.typing import ArrayLike

from dpcov.kernel.budget import Budget
from dpcov.kernel.curator import Curator
from dpcov.mechanisms.coinpress.mean import coinpress
from dpcov.mechanisms.mean.clipped import clipped
from dpcov.mechanisms.shared.means import Origin
from dpcov.release.record import Release


def auto(
    curator: Curator,
    budget: Budget,
    *,
    postprocess: str | None = None,
    origin: Origin = 0.0,
    covariance: ArrayLike | None = None,
) -> Release:
    """Release the mean by the mechanism that does best on most data.

    Parameters
    ----------
    origin : number or list of numbers
        The mean lies within ``radius`` of this public point.
    covariance : number, list or matrix, optional
        The public covariance of rows; None where it is not known.

    Privacy
    -------
    ``budget``: that of the chosen mechanism, `coinpress`; for streams, which can be read only once, `clipped`.
    """
    run = coinpress if curator.rereadable else clipped
    release = run(curator, budget, postprocess=postprocess, origin=origin, covariance=covariance)
    return dataclasses.replace(release, requested="auto")
