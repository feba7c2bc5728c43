"""A mechanism of your own, in one file: the second moments of columns, with all products between columns taken to be 0.

d numbers have far less noise than a matrix. Run it: ``python examples/own_mechanism.py``.
"""

from __future__ import annotations

import tempfile

import numpy as np

import dpcov
from dpcov.errors import check_real
from dpcov.kernel.face import Face
from dpcov.kernel.noise.laws import Spread
from dpcov.kernel.questions.calibrated import noise_for
from dpcov.kernel.questions.columns import Squares
from dpcov.release.estimate import Along, Estimate, NoisyMatrix
from dpcov.release.record import Transcript


def ask(curator: Face, budget: dpcov.PureDP | dpcov.ZCDP, *, floor: float = 0.0) -> None:
    """Release the second moment of each column, and nothing between columns; ``floor``·row_norm² bounds them from below.

    Privacy: ``budget``, for one vector of squares (docs/mechanisms/screened.md has its sensitivity).
    """
    check_real("floor", floor, "between 0 and 1", 0.0, 1.0, "0 is the default")
    curator.noisy(Squares(curator.second_moment()), budget, noise=noise_for(budget))


def estimate(transcript: Transcript, postprocess: str, *, floor: float = 0.0) -> Estimate:
    """Put the noisy squares on a diagonal, and tell their noise; a file may have any floor, so it is checked again."""
    least = check_real("floor", floor, "between 0 and 1", 0.0, 1.0, "0 is the default")
    asked, n, unit = transcript.take(Squares), transcript.n, transcript.encoding.row_norm
    raw, deviation = asked.values / n, asked.deviation / n
    found = raw if postprocess == "none" else np.clip(raw, least, 1.0)
    noise = NoisyMatrix(np.diag(raw), Spread(deviation**2, 0.0), np.diag(found))
    along, error = Along(asked.law, deviation, np.eye(len(raw)), raw), deviation * len(raw) ** 0.5
    return Estimate(covariance=np.diag(found) * unit**2, radius=unit, noise=noise, seen=along, expected_error=error)


COLUMNS_ONLY = dpcov.Mechanism(
    target="covariance",
    name="columns-only",
    serves=(dpcov.PureDP, dpcov.ZCDP),
    neighbors=("replace",),
    ask=ask,
    estimate=estimate,
    postprocess=("clip", "none"),
)

if __name__ == "__main__":
    rows = np.random.default_rng(0).normal(size=(5000, 4)) * [0.5, 0.3, 0.2, 0.1]
    with tempfile.TemporaryDirectory() as folder:
        dpcov.covariance(rows, dpcov.PureDP(1), row_norm=1, mechanism=COLUMNS_ONLY, floor=0.001).save(f"{folder}/own.json")
        release = dpcov.load(f"{folder}/own.json", mechanisms=[COLUMNS_ONLY])
    print(release.how(), release.covariance.diagonal().round(3))
