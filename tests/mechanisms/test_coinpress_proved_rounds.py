"""What is called proved holds where rounds cannot help, where units differ, and only for the rounds that were really asked."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dpcov
from dpcov.errors import ParameterError
from dpcov.kernel.budget import ZCDP
from dpcov.kernel.rows.frames import Ball, Ellipsoid
from dpcov.release.file import _checksum, parse, text_of

RUNS = 60
MOST_MISSES = 23  # of 60 at beta = 0.1: more of them come by chance with probability 4e-9


def data(run: int) -> np.random.Generator:
    return np.random.default_rng((1, run))


@pytest.mark.parametrize(("n", "d", "rho", "rounds"), [(10, 1, "0.01", 30), (10, 1, "0.01", 2), (100, 3, "0.001", 10)])
def test_rounds_that_cannot_help_leave_the_centre(n: int, d: int, rho: str, rounds: int) -> None:
    """A centre that moved by such noise would leave the rows outside: 32 to 100 % of the balls would miss."""
    truth = np.full(d, 0.99 / d**0.5)
    misses = 0
    for run in range(RUNS):
        rows = truth + data(run).standard_normal((n, d))
        options: dict[str, Any] = {"covariance": 1.0, "mechanism": "coinpress", "constants": "proved", "rounds": rounds}
        release = dpcov.mean(rows, ZCDP(rho), radius=1.0, seed=run, **options)
        assert len(release.spent) == rounds
        misses += not release.confidence.contains(truth)
    assert misses <= MOST_MISSES


def test_columns_of_very_different_units() -> None:
    """Deviations from 1e-5 to 1e5: the smallest eigenvalue of such a matrix, as floats have it, may be negative."""
    misses = 0
    for run in range(20):
        generator = data(run)
        turn = np.linalg.qr(generator.standard_normal((4, 4)))[0]
        scales = np.geomspace(1e-5, 1e5, 4)
        covariance = scales * ((turn * [1, 2, 3, 4]) @ turn.T) * scales[:, None]
        rows = (generator.standard_normal((500, 4)) * np.sqrt([1, 2, 3, 4])) @ turn.T * scales
        options: dict[str, Any] = {"covariance": covariance, "mechanism": "coinpress", "constants": "proved"}
        release = dpcov.mean(rows, ZCDP(1), radius=1e5, seed=run, **options)
        misses += not release.confidence.contains(np.zeros(4))
    assert misses <= 14  # of 20 at beta = 0.1: probability below 1e-9


def test_pairs_have_no_origin() -> None:
    with pytest.raises(ParameterError, match="origin must be left out with centring='pairs'"):
        dpcov.covariance(np.ones((100, 2)), ZCDP(1), mechanism="coinpress", upper=4, centring="pairs", origin=10.0)


def test_equal_bounds_that_are_ill_conditioned() -> None:
    turn = np.linalg.qr(data(0).standard_normal((3, 3)))[0]
    bound = (turn * [1.0, 1e5, 1e10]) @ turn.T
    bound = (bound + bound.T) / 2
    rows = (data(1).standard_normal((500, 3)) * [1, 10**2.5, 1e5]) @ turn.T
    release = dpcov.covariance(rows, ZCDP(1), mechanism="coinpress", upper=bound, lower=bound, seed=0)
    assert np.isfinite(release.covariance).all()


def test_rounding_is_bounded() -> None:
    """Rows inside are no farther from their integers than the frames say, and not a hundred times nearer."""
    generator = data(2)
    turn = np.linalg.qr(generator.standard_normal((4, 4)))[0]
    for frame in (Ball((0.5,) * 4, 3.0), Ellipsoid((0.5,) * 4, (turn * [1, 10, 100, 1e4]) @ turn.T)):
        y = generator.standard_normal((400, 4)) / 10
        rows = np.array([frame.frame.point(one) for one in y])
        off = np.linalg.norm(frame.encode(rows) / 2**16 - y, axis=1)
        assert off.max() <= frame.rounding * (1 + 1e-6)
        assert off.max() >= frame.rounding / 100


ROWS = data(3).standard_normal((600, 2))
PROVED: dict[str, Any] = {"mechanism": "coinpress", "constants": "proved", "rounds": 2, "seed": 1}
MEAN = dpcov.mean(ROWS, ZCDP(1), radius=50.0, covariance=1.0, **PROVED)
COVARIANCE = dpcov.covariance(ROWS, ZCDP(1), upper=10.0, **PROVED)

FORGED: list[tuple[str, dpcov.Release, Callable[[dict[str, Any]], Any]]] = [
    ("a second round elsewhere", MEAN, lambda r: r["frames"][1].update(centre=[1000.0, 0.0])),
    ("a larger ball", MEAN, lambda r: r["encoding"].update(row_norm=1e9)),
    ("a smaller last radius", MEAN, lambda r: r["frames"][1].update(extent=r["frames"][1]["extent"] / 1000)),
    ("rows clipped closer", MEAN, lambda r: r["frames"][0].update(deviations=5.0)),
    ("a mean of another place", MEAN, lambda r: r["mechanism"]["options"].update(origin=3.0)),
    ("the second round first", MEAN, lambda r: r["answers"].reverse()),
    ("too few rows", COVARIANCE, lambda r: r.update(n=3)),
    ("a whitener that nothing proves", COVARIANCE, lambda r: _stretch(r["frames"][1], 3.0)),
]


def _stretch(frame: dict[str, Any], factor: float) -> None:
    frame["extent"] = [[factor * entry for entry in row] for row in frame["extent"]]


def _sealed(record: dict[str, Any]) -> dpcov.Release:
    record["checksum"] = _checksum(record)
    return parse(json.dumps(record))


@pytest.mark.parametrize(("release", "forge"), [case[1:] for case in FORGED], ids=[case[0] for case in FORGED])
def test_other_rounds_prove_nothing(release: dpcov.Release, forge: Callable[[dict[str, Any]], Any]) -> None:
    """Each answer is paid for, so the file is read; its region, computed when it is asked for, does not say proved.

    And the mechanism would not have asked for these.
    """
    record = json.loads(text_of(release))
    record.pop("checksum")
    kept = _sealed(copy.deepcopy(record))
    assert kept.confidence.proved
    assert kept.retrace().agrees
    forge(record)
    forged = _sealed(record)
    assert not forged.confidence.proved
    assert not forged.retrace().agrees
