"""coinpress for centred rows: a centre moves only by what is not noise, and no square of a mean is taken off on the way."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from dpcov import Release
from dpcov.kernel.answer import Answer
from dpcov.mechanisms.coinpress.covariance import COINPRESS
from dpcov.mechanisms.running import released
from dpcov.verify.testing import scripted as scripted_curator
from tests.helpers.quiet import Floats, quiet_curator
from tests.mechanisms.test_coinpress import HALF, ROWS, UPPER, D, frame, moments, rotated, whitened, whitener

N = len(ROWS)
CENTRED: dict[str, Any] = {"upper": UPPER, "centring": "mean", "radius": 1e4, "rounds": 2}
SHAPE = rotated(0.3, 0.2, 0.1, 0.05)
ALONG = np.array([0.6, 0.0, -0.8, 0.0])  # of norm 1
RUN = released(COINPRESS, quiet_curator(ROWS, HALF), HALF, **CENTRED)
APPROACHES = [answer.question.name for answer in RUN.answers].index("second moment") - 1


def scripted(first: Floats) -> Release:
    """Return a release whose first round finds this mean, in the coordinates of its frame; all others are 0."""
    answers: list[Any] = [np.zeros(D)] * APPROACHES + [N * first, N * SHAPE, np.zeros(D), N * SHAPE, 0.0]
    return released(COINPRESS, scripted_curator(answers, n=N, d=D, budget=HALF), HALF, **CENTRED)


def deviation(answer: Answer) -> float:
    """Return that of the noise of a mean, in the coordinates of the frame."""
    return math.sqrt(answer.law.spread().diagonal_variance) * 2.0**-answer.unit_bits / N


BLUR = deviation(scripted(np.zeros(D)).answers[APPROACHES])


@pytest.mark.parametrize("size", [0.0, 0.5, 1.0, 1.5, 3.0, 100.0])
def test_a_centre_moves_by_what_is_not_noise(size: float) -> None:
    """James and Stein: 1 − d·σ²/‖m‖² of a mean m with noise σ in each of d columns, and not at all where that is negative."""
    first = size * math.sqrt(D) * BLUR * ALONG
    release = scripted(first)
    told, following = release.answers[APPROACHES : APPROACHES + 3 : 2]
    assert (told.question.name, following.question.name) == ("sum", "sum")
    believed = max(0.0, 1 - 1 / size**2) if size else 0.0
    assert np.allclose(frame(following).centre, frame(told).point(believed * told.values / N), rtol=1e-6, atol=1e-9)
    assert bool(np.any(frame(following).centre)) == (size > 1)


@pytest.mark.parametrize("size", [0.0, 0.3, 0.9])
def test_no_square_of_the_mean_is_taken_off(size: float) -> None:
    """The second moment about the old centre bounds that about the new one; far rows that were all cut would leave nothing."""
    asked = moments(scripted(size * ALONG))
    turned = whitener(asked[1]) @ np.linalg.inv(whitener(asked[0]))
    found = np.linalg.inv(turned @ turned)
    extra = found - whitened(asked[0], N)  # widened alike in all directions
    assert np.allclose(extra, extra[0, 0] * np.eye(D), rtol=0, atol=1e-5 * np.abs(found).max())
    assert 0 < extra[0, 0] < 0.1 * np.abs(found).max()
