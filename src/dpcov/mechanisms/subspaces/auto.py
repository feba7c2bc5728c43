"""The automatic choice for components: eigenvectors of a noisy second moment of rows that are clipped privately."""

from __future__ import annotations

import dataclasses

from dpcov.curator import Curator
from dpcov.mechanisms.subspaces.noisy import gaussian, wishart
from dpcov.privacy.budget import ZCDP, Budget
from dpcov.release import Release


def auto(curator: Curator, budget: Budget, *, k: int) -> Release:
    """Release k components by the mechanism that captures most variance on most data.

    Parameters
    ----------
    k : int
        How many components.

    Privacy
    -------
    ``budget``: that of the chosen mechanism.
    """
    run = gaussian if isinstance(budget, ZCDP) else wishart
    clip = "private" if curator.rereadable else "none"
    return dataclasses.replace(run(curator, budget, k=k, clip=clip), requested="auto")
