"""Laws of rows in public coordinates: integers of bounded norm, a function of their row alone, of the map that is recorded."""

from __future__ import annotations

import math
import warnings
from fractions import Fraction
from typing import Any, Literal

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpcov.errors import ParameterError
from dpcov.kernel.rows import frames
from dpcov.kernel.rows.frames import Ball, Box, Ellipsoid, Frame
from dpcov.kernel.rows.grid import SHRINK
from tests.helpers.rows import Floats, fuzz, squared_norms, tables

R = 2**16
Shape = Ball | Box | Ellipsoid
EXAMPLES = settings(max_examples=40)
KINDS = ["ball", "box", "ellipsoid", "wide ellipsoid", "narrow ellipsoid"]
SIZES = {"wide ellipsoid": 1e140, "narrow ellipsoid": 1e-140}

each_kind = pytest.mark.parametrize("kind", KINDS)
each_d = pytest.mark.parametrize("d", [1, 2, 5, 13])


def whitener(seed: int, d: int, condition: float = 1e3) -> Floats:
    """Anisotropic, rotated on both sides, of columns with scales 1e-6 to 1e6."""
    generator = np.random.default_rng(seed)
    left, right = (np.linalg.qr(generator.standard_normal((d, d)))[0] for _ in range(2))
    scales = 10.0 ** generator.uniform(-6, 6, d)
    return np.asarray(left @ np.diag(np.geomspace(1, 1 / condition, d)) @ right / scales)


def made(kind: str, d: int) -> Shape:
    size = SIZES.get(kind, 1.0)
    centre = tuple((size * (0.1 * np.arange(d) - 0.3)).tolist())
    if kind == "ball":
        return Ball(centre, 0.7)
    if kind == "box":
        return Box(centre, tuple((10.0 ** np.linspace(-3, 3, d)).tolist()))
    return Ellipsoid(centre, whitener(801, d) / size)


def coordinates(shape: Shape, rows: Floats) -> Floats:
    """y = W(x − centre) in float64, not clipped."""
    away, extent = rows - shape.frame.centre, shape.frame.extent
    return np.asarray(away @ extent.T if extent.ndim == 2 else away / extent)


def around(seed: int, shape: Shape, n: int, longest: float = 3.0) -> Floats:
    """Rows whose coordinates have all lengths up to ``longest``; a third lie half way between integers: float sums decide."""
    generator = np.random.default_rng(seed)
    y = generator.standard_normal((n, len(shape.centre)))
    y *= generator.uniform(0, longest, (n, 1)) / np.linalg.norm(y, axis=1, keepdims=True)
    y[::3] = (np.rint(y[::3] * R / 4) + 0.5) / R
    return np.array([shape.frame.point(row) for row in y])


class TestBounds:
    def check(self, shape: Shape, z: Floats) -> None:
        assert z.dtype == np.float64
        assert np.array_equal(z, np.rint(z))
        assert max(squared_norms(z), default=0) <= shape.reach
        assert shape.reach == (len(shape.centre) * R**2 if isinstance(shape, Box) else 4**16)
        assert not isinstance(shape, Box) or np.abs(z).max(initial=0.0) <= R

    @each_kind
    @each_d
    def test_rows_stay_inside(self, kind: str, d: int) -> None:
        shape = made(kind, d)
        for rows in (fuzz(802, 500, d), around(802, shape, 500), around(803, shape, 500, 1e9)):
            self.check(shape, shape.encode(rows))
        assert max(squared_norms(shape.encode(around(803, shape, 500, 1e9)))) >= 0.99 * R**2

    @each_kind
    @pytest.mark.parametrize("d", [1, 2, 5])
    @given(data=st.data())
    @EXAMPLES
    def test_any_floats_stay_inside(self, kind: str, d: int, data: st.DataObject) -> None:
        shape = made(kind, d)
        self.check(shape, shape.encode(data.draw(tables(d))))

    @pytest.mark.parametrize("d", [1, 2, 3, 32, 33, 500])
    def test_products_of_integers_are_exact(self, d: int) -> None:
        """Σ |Mᵢⱼzⱼ| ≤ ‖Mᵢ‖·2^{k₀} ≤ 2⁵³, in Python's integers; also for a matrix whose entries are all as large as can be."""
        worst = (1 - 2.0**-26) * (np.ones((d, d)) - 2 * np.tri(d, k=-1))
        for wanted in (whitener(804, d), worst):
            shape = Ellipsoid((0.0,) * d, wanted)
            lengths = squared_norms(shape._matrix)
            assert np.array_equal(shape._matrix, np.rint(shape._matrix))
            assert math.isqrt(max(lengths) - 1) + 1 <= 2 ** (53 - shape._fine.bits)
            z = shape._fine.encode(np.concatenate([fuzz(805, 50, d), np.ones((1, d))]))
            assert max(squared_norms(z)) <= 4**shape._fine.bits
        assert max(lengths) >= 0.9 * d * 4**26


class TestLocality:
    @each_kind
    @each_d
    def test_integers_depend_on_their_row_alone(self, kind: str, d: int) -> None:
        shape = made(kind, d)
        rows = np.concatenate([fuzz(806, 60, d), around(806, shape, 70)])
        alone = np.concatenate([shape.encode(row[None]) for row in rows])
        for size in range(1, 131):
            parts = [shape.encode(rows[start : start + size]) for start in range(0, len(rows), size)]
            assert np.array_equal(np.concatenate(parts), alone)
        order = np.random.default_rng(807).permutation(len(rows))
        assert np.array_equal(shape.encode(rows[order]), alone[order])
        assert np.array_equal(shape.encode(np.concatenate([fuzz(808, 45, d), rows]))[45:], alone)

    @each_kind
    @pytest.mark.parametrize("order", ["C", "F"])
    def test_layout_and_scratch_change_nothing(self, kind: str, order: Literal["C", "F"]) -> None:
        shape = made(kind, 13)
        rows = np.concatenate([fuzz(809, 100, 13), around(809, shape, 100)])
        expected, padded = shape.encode(rows), np.zeros((400, 26), order=order)
        padded[::-2, 1::2] = rows
        assert np.array_equal(shape.encode(padded[::-2, 1::2]), expected)
        for scratch in (False, True):
            assert np.array_equal(shape.encode(np.array(rows, order=order), scratch=scratch), expected)

    @each_kind
    def test_neither_error_settings_nor_the_callers_rows_change(self, kind: str) -> None:
        shape, rows = made(kind, 5), fuzz(810, 300, 5)
        rows.flags.writeable = False
        expected = shape.encode(rows)
        with np.errstate(all="raise"), warnings.catch_warnings():
            warnings.simplefilter("error")
            assert np.array_equal(shape.encode(rows), expected)

    @each_kind
    def test_missing_entries_count_as_the_centres(self, kind: str) -> None:
        shape = made(kind, 5)
        for missing in (np.nan, np.inf, -np.inf):
            rows = around(811, shape, 50)
            rows[:, 2] = missing
            filled = np.where(np.isfinite(rows), rows, shape.frame.centre)
            assert np.array_equal(shape.encode(rows), shape.encode(filled))


def clipped(entries: list[float], grid_one: int, steps: Fraction) -> list[int]:
    """Round to multiples of 1/steps and clip to norm ``grid_one`` as `Grid` documents it: Python's numbers, one by one."""
    z = [round(Fraction(entry) * steps) for entry in entries]
    if not sum(entry**2 for entry in z) < 2**52:  # far outside: the largest entry becomes the radius
        scale = grid_one / max(abs(entry) for entry in entries)
        z = [round(entry * scale) for entry in entries]
    square = sum(entry**2 for entry in z)
    factor = grid_one / math.sqrt(square) * SHRINK if square > grid_one**2 else 1.0
    return [math.trunc(entry * factor) for entry in z]


def reference(shape: Ellipsoid, row: list[float]) -> list[int]:
    """The four steps, with the recorded whitener in Fractions; no sum is a sum of floats."""
    d, one = len(row), 2**shape._fine.bits
    side, scales = Fraction(shape._fine.row_norm), [Fraction(scale) for scale in shape._scales.tolist()]
    placed = [(x - c) * float(s) for x, c, s in zip(row, shape.centre, scales, strict=True)]
    z = clipped([u if math.isfinite(u) else 0.0 for u in placed], one, one / side)
    W = [[Fraction(entry) for entry in line] for line in shape.frame.extent.tolist()]
    back = [Fraction(z[j]) * side / one / scales[j] for j in range(d)]
    y = [round(sum(W[i][j] * back[j] for j in range(d)) * R) for i in range(d)]
    return clipped([float(entry) for entry in y], R, Fraction(1))


def test_a_box_rounds_to_the_nearest_integer() -> None:
    rows = np.array([[0.6], [0.4], [-0.6], [-0.4]]) / R
    assert Box((0.0,), (1.0,)).encode(rows).tolist() == [[1.0], [0.0], [-1.0], [0.0]]


class TestEllipsoid:
    @pytest.mark.parametrize("kind", KINDS[2:])
    @pytest.mark.parametrize("d", [1, 2, 3, 5, 33])
    def test_it_equals_its_four_steps_in_fractions(self, kind: str, d: int) -> None:
        shape = made(kind, d)
        assert isinstance(shape, Ellipsoid)
        rows = np.concatenate([fuzz(812, 40, d), around(812, shape, 40), around(813, shape, 20, 1e4)])
        assert shape.encode(rows).tolist() == [reference(shape, row) for row in rows.tolist()]

    @pytest.mark.parametrize("d", [1, 2, 5, 32])
    @pytest.mark.parametrize("longest", [0.9, 3.0, 1e3])
    def test_it_is_the_map_clipped_to_norm_one(self, d: int, longest: float) -> None:
        """Within ‖W/s‖·√d·h + 2√d/2¹⁶: u is off by √d steps h of the fine grid at most, truncated, y by √d/2 and √d steps.

        Clipping is a projection onto a ball, which moves no two points apart; rows that the fine grid clips stay outside.
        """
        shape = made("ellipsoid", d)
        assert isinstance(shape, Ellipsoid)
        rows = around(814, shape, 300, longest)
        y = coordinates(shape, rows)
        y /= np.maximum(np.linalg.norm(y, axis=1, keepdims=True), 1.0)
        slope = float(np.linalg.norm(shape.whitener / shape._scales, 2))
        step = shape._fine.row_norm / shape._fine.one
        tolerance = np.sqrt(d) * (slope * step + 2 / R)
        assert tolerance < 0.02
        assert np.linalg.norm(shape.encode(rows) / R - y, axis=1).max() <= tolerance

    @each_d
    def test_the_recorded_whitener_is_near_the_one_asked_for(self, d: int) -> None:
        """Entries are off by 2⁻²⁶ of the largest, columns in units of the ellipsoid's own widths."""
        wanted = whitener(801, d)
        shape = Ellipsoid((0.0,) * d, wanted)
        error = np.abs(shape.whitener - wanted) / shape._scales
        assert error.max() <= 2.0**-26 * np.abs(wanted / shape._scales).max()
        assert Ellipsoid((0.0,) * d, np.array(shape.whitener)) == shape
        assert hash(Ellipsoid((0.0,) * d, np.array(shape.whitener))) == hash(shape)
        assert Ellipsoid((1.0,) * d, wanted) != shape != Ellipsoid((0.0,) * d, wanted, 2.0)
        wanted[0, 0] += 1.0  # the caller's array may change, what was asked does not
        assert Ellipsoid((0.0,) * d, wanted) != shape

    @pytest.mark.parametrize("corner", [1 - 2**-29, 2 - 2**-29, 0.3])
    def test_a_whitener_is_read_as_it_was_asked(self, corner: float) -> None:
        """Also where the largest entry is rounded up to a power of two, from which on integers of 26 bits are coarser."""
        asked = Ellipsoid((0.0, 0.0), np.array([[corner, 1 / 3], [0.1, 0.7]]))
        again = Ellipsoid(asked.centre, np.array(asked.whitener))
        assert again == asked
        rows = np.random.default_rng(3).normal(size=(50, 2))
        assert np.array_equal(again.encode(rows), asked.encode(rows))

    def test_one_rounding_is_not_enough_for_that(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(frames, "ROUNDINGS", 1)
        asked = Ellipsoid((0.0, 0.0), np.array([[2 - 2**-29, 1 / 3], [0.1, 0.7]]))
        assert Ellipsoid(asked.centre, np.array(asked.whitener)) != asked

    @pytest.mark.parametrize("d", [2, 3, 5, 17])
    def test_the_corner_of_the_box_is_inside_the_ball(self, d: int) -> None:
        """A thin ellipsoid along the diagonal ends near a corner, √d from the centre: its end is not cut off."""
        along = np.full((d, d), 1 / d)
        shape = Ellipsoid((0.0,) * d, along / (0.99 * math.sqrt(d)) + 100 * (np.eye(d) - along))
        end = np.full((1, d), 0.98)  # 98/99 of the way
        assert np.linalg.norm(shape.encode(end)) == pytest.approx(98 / 99 * R, rel=1e-3)

    def test_a_mirrored_whitener_mirrors_the_integers(self) -> None:
        rows = np.array([[0.3, -0.2], [5.0, 1.0]])
        plain, mirrored = (Ellipsoid((0.0, 0.0), sign * np.eye(2)).encode(rows) for sign in (1.0, -1.0))
        assert np.array_equal(mirrored, -plain)


class TestFrame:
    @each_kind
    def test_a_point_has_the_coordinates_that_it_was_made_from(self, kind: str) -> None:
        """Of rows inside: the recorded frame leads back to them, to what rounding loses."""
        shape = made(kind, 5)
        y = np.random.default_rng(815).uniform(-0.4, 0.4, (50, 5))
        rows = np.array([shape.frame.point(row) for row in y])
        assert np.abs(shape.encode(rows) / R - y).max() < 0.01
        assert coordinates(shape, rows) == pytest.approx(y, abs=1e-9)
        assert shape.frame.kind == kind.split()[-1]
        assert not any(array.flags.writeable for array in (shape.frame.centre, shape.frame.extent))

    @pytest.mark.parametrize("kind", KINDS[:3])
    def test_shape_and_unwhitener_lead_back(self, kind: str) -> None:
        """Σ = UMUᵀ where x = centre + Uy; a transposed factor would show, as W is not symmetric."""
        frame, generator = made(kind, 4).frame, np.random.default_rng(816)
        y = generator.standard_normal((500, 4)) @ generator.standard_normal((4, 4))
        rows = np.array([frame.point(row) for row in y])
        centred = (rows - frame.centre) / np.abs(frame.unwhitener).max(axis=1)
        units = np.outer(*[np.abs(frame.unwhitener).max(axis=1)] * 2)
        assert frame.shape(y.T @ y) / units == pytest.approx(centred.T @ centred, rel=1e-9)
        assert frame.centre + frame.unwhitener @ y[0] == pytest.approx(frame.point(y[0]), rel=1e-9)
        assert np.array_equal(frame.shape(y.T @ y), frame.shape(y.T @ y).T)
        turned = Frame(np.array(frame.centre), frame.extent.T.copy())
        assert kind != "ellipsoid" or turned.shape(y.T @ y) / units != pytest.approx(centred.T @ centred, rel=0.1)


@pytest.mark.parametrize("deviations", [0.0, -1.0, 1e150, math.inf, math.nan, 1, None])
def test_labels_are_those_that_a_file_can_have(deviations: Any) -> None:
    """Otherwise a question could be answered, and paid for, and its file could not be read."""
    for shape in (lambda: Ball((0.0,) * 2, 1.0, deviations), lambda: Ellipsoid((0.0,) * 2, np.eye(2), deviations)):
        with pytest.raises(ParameterError, match="deviations must be a float above 0"):
            shape()
