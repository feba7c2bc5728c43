"""The automatic choice for a mean: `coinpress`, whatever is known of the covariance."""

from __future__ import annotations

from numpy.typing import ArrayLike

from dpcov.kernel.budget import ZCDP, ApproxDP, Budget, PureDP
from dpcov.kernel.public import Facts
from dpcov.mechanisms.base import Alias, Resolved
from dpcov.mechanisms.coinpress.mean import COINPRESS_MEAN
from dpcov.mechanisms.mean.clipped import CLIPPED
from dpcov.mechanisms.shared.means import Origin


def resolve(
    public: Facts,
    budget: Budget,  # noqa: ARG001
    postprocess: str | None,
    *,
    origin: Origin = 0.0,
    covariance: ArrayLike | None = None,
) -> Resolved:
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
    chosen = COINPRESS_MEAN if public.rereadable else CLIPPED
    return chosen, postprocess, {"origin": origin, "covariance": covariance}


AUTO_MEAN = Alias(
    target="mean",
    name="auto",
    serves=(PureDP, ZCDP, ApproxDP),
    resolve=resolve,
    postprocess=("project", "none"),
    bound="radius",
    covariances=("covariance",),
    places=("origin",),
)
