"""What clipping at a privately chosen radius may have taken: with few rows the choice itself is noise.

The radius and the law of its choice are in the release. A public radius, public bounds and the rounds of `coinpress` are the
custodian's own, and `rescaled` buys the scale back: nothing is said of them here.
"""

from __future__ import annotations

import math

from dpcov.kernel.noise.choice import Exponential
from dpcov.release.record import Release

MANY_RADII = 1000  # that a private choice is among, at least, the likelier ones counted more than once


def clipped_share(release: Release) -> float:
    """Return about which share of the rows, at most, is longer than a privately chosen radius; 0 where none was chosen so.

    The exponential mechanism is typically off by ln(radii)/rate rows, and e times as rarely by 1/rate rows more.
    """
    chosen = release.answer("radius")
    if chosen is None or not isinstance(chosen.noise, Exponential) or release.answer("overlap") is not None:
        return 0.0
    off = math.log(MANY_RADII) / float(chosen.noise.rate)
    return min(1.0, (int(chosen.integers[2]) + off) / release.n)


def most_lost(release: Release, *, squared: bool = False) -> float:
    """Return the largest part of a mean, or of a second moment, that such clipping may have taken."""
    share, longer = clipped_share(release), release.row_norm / release.clip_radius  # a row was at most so many times as long
    return share * ((longer * longer if squared else longer) - 1) if share > 0 else 0.0
