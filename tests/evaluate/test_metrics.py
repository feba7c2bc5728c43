"""The errors that people report: closed forms, what they must not depend on, and what they refuse.

Tolerances are rounding: 1e-12 relatively where numbers are of one size, 1e-7 for angles between spans of any bases, and a
condition number's worth of 1e-16 for whitened ones. The matrices are literal draws; nothing here is random.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from dpcov.errors import ParameterError
from dpcov.evaluate import metrics

Floats = NDArray[np.float64]
RNG = np.random.default_rng(21)


def definite(d: int, condition: float = 100.0) -> Floats:
    rotation = np.linalg.qr(RNG.normal(size=(d, d)))[0]
    return np.asarray((rotation * np.geomspace(1, condition, d)) @ rotation.T)


def symmetric(d: int) -> Floats:
    matrix = RNG.normal(size=(d, d))
    return np.asarray(matrix + matrix.T)


def test_frobenius_and_spectral_of_known_differences() -> None:
    truth = symmetric(2)
    assert metrics.frobenius(truth, truth) == metrics.spectral(truth, truth) == 0
    off = truth + np.diag([3.0, -4.0])
    assert metrics.frobenius(off, truth) == pytest.approx(5)
    assert metrics.spectral(off, truth) == pytest.approx(4)
    assert metrics.frobenius([[1, 2], [2, 1]], [[0, 0], [0, 0]]) == pytest.approx(math.sqrt(10))
    assert metrics.spectral([[1, 2], [2, 1]], [[0, 0], [0, 0]]) == pytest.approx(3)
    assert metrics.frobenius([[2]], [[5]]) == metrics.spectral([[2]], [[5]]) == 3


@pytest.mark.parametrize("d", [1, 2, 7])
@pytest.mark.parametrize("metric", [metrics.frobenius, metrics.spectral])
def test_norms_do_not_depend_on_the_coordinates_nor_on_the_order(metric: Callable[..., float], d: int) -> None:
    one, other, rotation = symmetric(d), symmetric(d), np.linalg.qr(RNG.normal(size=(d, d)))[0]
    turned = metric(rotation @ one @ rotation.T, rotation @ other @ rotation.T)
    assert turned == pytest.approx(metric(one, other)) == pytest.approx(metric(other, one))
    assert metric(one, other) <= metric(one, 0 * one) + metric(0 * one, other) + 1e-12
    assert metrics.spectral(one, other) <= metrics.frobenius(one, other) * (1 + 1e-12)
    assert metrics.frobenius(one, other) <= math.sqrt(d) * metrics.spectral(one, other) * (1 + 1e-12)


def test_mahalanobis_of_known_covariances() -> None:
    assert metrics.mahalanobis(np.diag([1.1, 4.4]), np.diag([1.0, 4.0])) == pytest.approx(0.1 * math.sqrt(2))
    assert metrics.mahalanobis([[2.0, 1.0], [1.0, 2.0]], np.eye(2)) == pytest.approx(2)
    truth = definite(5)
    assert metrics.mahalanobis(truth, truth) < 1e-12
    assert metrics.mahalanobis(0 * truth, truth) == pytest.approx(math.sqrt(5))
    assert metrics.mahalanobis(3 * truth, truth) == pytest.approx(2 * math.sqrt(5))
    estimate = symmetric(5)  # negative eigenvalues are allowed in an estimate; the norm is that of Σ⁻¹Σ̂ − 1 up to similarity
    whitened = np.linalg.solve(truth, estimate) - np.eye(5)
    assert metrics.mahalanobis(estimate, truth) ** 2 == pytest.approx(np.trace(whitened @ whitened))


@pytest.mark.parametrize("d", [1, 2, 6])
def test_mahalanobis_does_not_depend_on_affine_maps(d: int) -> None:
    """Under x → Ax + b a covariance becomes AΣAᵀ, a mean Aμ + b."""
    truth, estimate = definite(d), definite(d)
    mean, other, shift = RNG.normal(size=(3, d))
    for mix in (np.diag(np.geomspace(1e-9, 1e9, d)), RNG.normal(size=(d, d)) + 3 * np.eye(d)):
        after = metrics.mahalanobis(mix @ estimate @ mix.T, mix @ truth @ mix.T)
        assert after == pytest.approx(metrics.mahalanobis(estimate, truth), rel=1e-9)
    for mix in (np.diag(np.geomspace(1e-3, 1e3, d)), RNG.normal(size=(d, d)) + 3 * np.eye(d)):
        moved = metrics.mahalanobis_mean(mix @ mean + shift, mix @ other + shift, mix @ truth @ mix.T)
        assert moved == pytest.approx(metrics.mahalanobis_mean(mean, other, truth), rel=1e-9)


def test_means() -> None:
    assert metrics.euclidean([4, 6], [1, 2]) == 5
    assert metrics.mahalanobis_mean([4, 6], [1, 2], [[9, 0], [0, 16]]) == pytest.approx(math.sqrt(2))
    assert metrics.mahalanobis_mean([4, 6], [1, 2], np.eye(2)) == pytest.approx(5)
    truth, difference = definite(4), RNG.normal(size=4)
    quadratic = difference @ np.linalg.solve(truth, difference)
    assert metrics.mahalanobis_mean(difference, np.zeros(4), truth) ** 2 == pytest.approx(quadratic)
    assert metrics.mahalanobis_mean(difference, difference, truth) == 0


@pytest.mark.parametrize("angle", [0.0, 1e-6, 0.3, 1.0, math.pi / 2])
def test_angles_of_known_planes(angle: float) -> None:
    """Two planes of ℝ⁴ that share nothing: turned by one angle in the first two axes, by another in the last two."""
    second = 0.7
    first = [[1, 0, 0, 0], [0, 0, 1, 0]]
    other = [[math.cos(angle), math.sin(angle), 0, 0], [0, 0, math.cos(second), math.sin(second)]]
    found = metrics.principal_angles(first, other)
    assert found == pytest.approx(sorted([angle, second]), abs=1e-7)
    assert metrics.principal_angles(other, first) == pytest.approx(found, abs=1e-7)


@pytest.mark.parametrize("angle", [1e-15, 1e-12, 1e-9, 1e-4])
def test_small_angles_are_resolved(angle: float) -> None:
    """Their cosines are 1 to the last digit, or nearly so; the sines are not: 1e-16 is rounding."""
    found = metrics.principal_angles([[1, 0, 0]], [[math.cos(angle), math.sin(angle), 0]])
    assert found == pytest.approx([angle], rel=1e-7, abs=1e-16)
    two = metrics.principal_angles(np.eye(4)[:2], [[1, 0, angle, 0], [0, math.cos(0.7), 0, math.sin(0.7)]])
    assert two[0] == pytest.approx(angle, rel=1e-3, abs=1e-15)
    assert two[1] == pytest.approx(0.7, rel=1e-12)


def test_angles_are_of_spans_not_of_bases() -> None:
    one, other = RNG.normal(size=(2, 6)), RNG.normal(size=(3, 6))
    expected = metrics.principal_angles(one, other)
    assert expected.shape == (2,)
    assert np.all(np.diff(expected) >= 0)
    mixed = metrics.principal_angles(RNG.normal(size=(2, 2)) @ one, RNG.normal(size=(3, 3)) @ other)
    rotation = np.linalg.qr(RNG.normal(size=(6, 6)))[0]
    assert mixed == pytest.approx(expected)
    assert metrics.principal_angles(one @ rotation, other @ rotation) == pytest.approx(expected)
    assert metrics.principal_angles(one, np.vstack([one, other])) == pytest.approx([0, 0], abs=1e-7)
    assert metrics.principal_angles([1.0, 0.0], [-5.0, 0.0]) == pytest.approx([0.0])  # one direction, either way round


def test_captured_variance() -> None:
    moment = np.diag([5.0, 3.0, 1.0])
    assert metrics.captured_variance([1, 0, 0], moment) == pytest.approx(5)
    assert metrics.captured_variance([[0, 10, 0], [0, 1, 1]], moment) == pytest.approx(4)  # a span: lengths do not count
    assert metrics.captured_variance(np.eye(3), moment) == pytest.approx(9)
    assert metrics.captured_variance([1, 1, 0], moment) == pytest.approx(4)
    full = definite(6)
    values, vectors = np.linalg.eigh(full)
    best = metrics.captured_variance(vectors.T[3:], full)
    assert best == pytest.approx(values[3:].sum())
    for _ in range(20):
        directions = RNG.normal(size=(3, 6))
        captured = metrics.captured_variance(directions, full)
        assert captured <= best * (1 + 1e-12)
        assert metrics.captured_variance(RNG.normal(size=(3, 3)) @ directions, full) == pytest.approx(captured)


EYE, NOT_FINITE = np.eye(2), np.diag([1.0, np.nan])
NO_NUMBERS: list[tuple[str, Any]] = [
    ("text", ["1", "2"]),
    ("ragged lists", [[1.0], [1.0, 2.0]]),
    ("complex numbers", [1j, 1.0]),
    ("truth", [True, False]),
    ("nothing", [None, 1.0]),
]
REFUSED: dict[str, tuple[str, Callable[[], Any]]] = {
    "no matrix": ("estimate", lambda: metrics.frobenius([1, 2], EYE)),
    "not square": ("estimate", lambda: metrics.spectral(np.ones((2, 3)), np.ones((2, 3)))),
    "another size": ("truth", lambda: metrics.frobenius(EYE, np.eye(3))),
    "not finite": ("estimate", lambda: metrics.spectral(NOT_FINITE, EYE)),
    "a truth that is not finite": ("truth", lambda: metrics.frobenius(EYE, NOT_FINITE)),
    "no covariance": ("truth", lambda: metrics.mahalanobis(EYE, np.diag([1.0, 0.0]))),
    "negative": ("truth", lambda: metrics.mahalanobis(EYE, np.diag([1.0, -1.0]))),
    "singular": ("truth", lambda: metrics.mahalanobis(EYE, np.ones((2, 2)))),
    "indefinite": ("truth", lambda: metrics.mahalanobis(EYE, [[1, 2], [2, 1]])),
    "an estimate of another size": ("estimate", lambda: metrics.mahalanobis(np.eye(3), EYE)),
    "means of two lengths": ("truth", lambda: metrics.euclidean([1, 2], [1])),
    "matrix for a mean": ("estimate", lambda: metrics.euclidean(EYE, EYE)),
    "infinite mean": ("estimate", lambda: metrics.euclidean([np.inf], [1])),
    "covariance of another size": ("covariance", lambda: metrics.mahalanobis_mean([1, 2], [1, 2], np.eye(3))),
    "singular covariance": ("covariance", lambda: metrics.mahalanobis_mean([1, 2], [1, 2], 0 * EYE)),
    "spaces of other columns": ("second", lambda: metrics.principal_angles(EYE, [[1, 0, 0]])),
    "too many directions": ("first", lambda: metrics.principal_angles(np.ones((3, 2)), EYE)),
    "directions that are one": ("first", lambda: metrics.principal_angles([[1, 2], [2, 4]], EYE)),
    "no direction": ("first", lambda: metrics.principal_angles([[0, 0]], EYE)),
    "three dimensions": ("second", lambda: metrics.principal_angles(EYE, np.ones((1, 1, 2)))),
    "directions of other columns": ("directions", lambda: metrics.captured_variance([1, 0, 0], EYE)),
    "moment that is no matrix": ("second_moment", lambda: metrics.captured_variance([1, 0], [1, 0])),
    "no directions": ("directions", lambda: metrics.captured_variance(np.zeros((0, 2)), EYE)),
    "no columns": ("second_moment", lambda: metrics.captured_variance(np.zeros((0, 0)), np.zeros((0, 0)))),
    "directions without columns": ("first", lambda: metrics.principal_angles(np.zeros((1, 0)), np.zeros((1, 0)))),
    "empty matrices": ("estimate", lambda: metrics.frobenius(np.zeros((0, 0)), np.zeros((0, 0)))),
    "empty means": ("estimate", lambda: metrics.euclidean([], [])),
    "asymmetric truth": ("truth", lambda: metrics.mahalanobis(EYE, [[2, 1], [0, 2]])),
    "asymmetric covariance": ("covariance", lambda: metrics.mahalanobis_mean([1, 2], [1, 2], [[2, 1], [0, 2]])),
    **{f"{case} for a matrix": ("estimate", partial(metrics.spectral, [bad, bad], EYE)) for case, bad in NO_NUMBERS},
    **{f"{case} for a truth": ("truth", partial(metrics.mahalanobis, EYE, [bad, bad])) for case, bad in NO_NUMBERS},
    **{f"{case} for a mean": ("truth", partial(metrics.euclidean, [1, 2], bad)) for case, bad in NO_NUMBERS},
    **{f"{case} for a direction": ("second", partial(metrics.principal_angles, EYE, bad)) for case, bad in NO_NUMBERS},
}


@pytest.mark.parametrize("case", REFUSED)
def test_refusals(case: str) -> None:
    name, compute = REFUSED[case]
    with pytest.raises(ParameterError, match=rf"^{name} must .*, got .*\. Hint: .*\.$"):
        compute()
