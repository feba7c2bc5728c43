"""Laws of the encoding: rows end inside the ball, and a row's integers depend on nothing but that row."""

from __future__ import annotations

import tracemalloc
import warnings
from fractions import Fraction
from typing import Any, Literal

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpcov.errors import ParameterError
from dpcov.kernel.rows import grid as grid_module
from dpcov.kernel.rows.grid import Grid, Longer, batched, shrunk
from tests.helpers.rows import Floats, fuzz, squared_norms, tables

DIMENSIONS = (1, 2, 13, 50)
ROW_NORMS = (1.0, 0.3, 7.0, 1e-150, 1e150)
ONE = 2**16

repeatable = settings(max_examples=80)
each_dimension = pytest.mark.parametrize("d", DIMENSIONS)


def ball(seed: int, n: int, d: int, radius: float) -> Floats:
    """Rows of exactly that length, up to rounding."""
    rows = np.random.default_rng(seed).standard_normal((n, d))
    return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True) * radius)


def assert_in_ball(z: Floats) -> None:
    assert np.array_equal(z, np.rint(z))
    assert max(squared_norms(z), default=0) <= 4**16


@each_dimension
@given(data=st.data())
@repeatable
def test_any_floats_become_integers_inside_the_ball(d: int, data: st.DataObject) -> None:
    row_norm = data.draw(st.sampled_from(ROW_NORMS))
    assert_in_ball(Grid(row_norm).encode(data.draw(tables(d))))


@each_dimension
@pytest.mark.parametrize("row_norm", ROW_NORMS)
def test_fuzzed_rows_end_inside_the_ball(d: int, row_norm: float) -> None:
    assert_in_ball(Grid(row_norm).encode(fuzz(1, 1000, d)))


@each_dimension
def test_rows_near_the_boundary_end_inside_the_ball(d: int) -> None:
    # Lengths within a few grid steps of 1, where rounding alone can leave the ball.
    lengths = 1 + np.linspace(-4, 4, 2001)[:, None] / ONE
    assert_in_ball(Grid(1.0).encode(ball(2, 2001, d, 1.0) * lengths))


@each_dimension
@pytest.mark.parametrize("row_norm", [1.0, 2.0**-40, 2.0**90])
def test_rows_inside_the_ball_are_only_rounded(d: int, row_norm: float) -> None:
    # Rounding moves a row by at most √d/2 steps, so from here it cannot leave the ball.
    rows = ball(3, 200, d, (1 - np.sqrt(d) / ONE) * row_norm)
    for row, integers in zip(rows.tolist(), Grid(row_norm).encode(rows).tolist(), strict=True):
        for value, integer in zip(row, integers, strict=True):
            assert abs(Fraction(value) / Fraction(row_norm) * ONE - int(integer)) <= Fraction(1, 2)


@each_dimension
def test_rows_on_the_boundary_move_by_rounding_and_truncation_only(d: int) -> None:
    rows = ball(4, 2000, d, 1.0)
    moved = np.linalg.norm(Grid(1.0).encode(rows) - rows * ONE, axis=1)
    # Rounding √d/2, the way back to the sphere as much again, truncation √d.
    assert moved.max() <= 2 * np.sqrt(d)


@each_dimension
@pytest.mark.parametrize("row_norm", [1.0, 0.3, 1e-150, 1e150])
def test_clipped_rows_keep_their_direction_and_get_length_one(d: int, row_norm: float) -> None:
    rows = fuzz(5, 2000, d)
    rows = rows[np.isfinite(rows).all(axis=1)]
    peaks = np.abs(rows).max(axis=1, keepdims=True)
    with np.errstate(all="ignore"):  # by the peak first: 1e308 squared would overflow
        directions = rows / peaks
        directions /= np.linalg.norm(directions, axis=1, keepdims=True)
        clipped = (peaks > row_norm).ravel()
    assert clipped.sum() > 100
    z = Grid(row_norm).encode(rows[clipped]) / ONE
    cosines = (z * directions[clipped]).sum(axis=1) / np.linalg.norm(z, axis=1)
    # Rounding and truncation move a row by at most 2√d steps: the chord; a cosine loses half the chord's square.
    assert np.linalg.norm(z, axis=1).min() >= 1 - 2 * np.sqrt(d) / ONE
    assert cosines.min() >= 1 - 2 * d / ONE**2 - 1e-12


@each_dimension
@pytest.mark.parametrize("row_norm", [1.0, 0.3])
def test_blocks_of_every_size_give_the_same_integers(d: int, row_norm: float) -> None:
    grid, rows = Grid(row_norm), fuzz(6, 131, d)
    alone = np.concatenate([grid.encode(row[None]) for row in rows])
    for size in range(1, 131):
        blocks = [grid.encode(rows[start : start + size]) for start in range(0, len(rows), size)]
        assert np.concatenate(blocks).tobytes() == alone.tobytes()


@each_dimension
def test_permuting_and_removing_rows_leaves_the_others_alone(d: int) -> None:
    grid, rows = Grid(1.0), fuzz(7, 130, d)
    z = grid.encode(rows)
    order = np.random.default_rng(7).permutation(len(rows))
    assert grid.encode(rows[order]).tobytes() == z[order].tobytes()
    for gone in range(len(rows)):
        kept = np.arange(len(rows)) != gone
        assert grid.encode(rows[kept]).tobytes() == z[kept].tobytes()


@pytest.mark.parametrize("chunk", [1, 13, 100, 2**10])
def test_the_chunks_inside_encode_cannot_be_seen(chunk: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = fuzz(8, 500, 13)
    whole = Grid(1.0).encode(rows)
    monkeypatch.setattr(grid_module, "CHUNK", chunk)
    assert Grid(1.0).encode(rows).tobytes() == whole.tobytes()


@pytest.mark.parametrize("batches", [1, 3, 32, 2**20])
def test_the_rows_that_fill_a_batch_cannot_be_seen(batches: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = fuzz(8, 500, 13)
    whole = Grid(1.0).encode(rows)
    monkeypatch.setattr(grid_module, "BATCHES", batches)
    assert Grid(1.0).encode(rows).tobytes() == whole.tobytes()


# lists of any length alike: left to itself, hypothesis draws hardly any that are long enough for batches of two rows
@given(marked=st.integers(0, 200).flatmap(lambda n: st.lists(st.booleans(), min_size=n, max_size=n)))
@repeatable
def test_batches_hold_every_marked_row_once(marked: list[bool]) -> None:
    found = batched(np.array(marked, dtype=np.bool_)).tolist()
    assert len(set(found)) == len(found)
    assert {place for place, mark in enumerate(marked) if mark} <= set(found)
    batch = max(grid_module.LEAST_BATCH, len(marked) // grid_module.BATCHES)
    assert len(found) % batch == 0 or len(found) == len(marked)
    assert len(found) > sum(marked) or all(marked)


def test_a_first_row_that_is_marked_changes_no_number_of_rows() -> None:
    """Nor do the next ones, but for one in a batch: what goes the long way is the same without any such row as with one."""
    counts = [len(batched(np.arange(6400) < marked)) for marked in range(400)]
    assert counts == [64 * (1 + marked // 64) for marked in range(400)]
    small = [len(batched(np.arange(50) < marked)) for marked in range(51)]
    assert small == [50] * 51


def test_rows_go_the_long_way_in_public_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of what is not finite, of what is beyond exact sums, and of what is longer than the radius."""
    seen: list[tuple[int, int]] = []
    tamed, shrunken = Grid._tamed, grid_module.shrunk

    def see_tamed(grid: Grid, rows: Any) -> Any:
        seen.append((0, len(rows)))
        return tamed(grid, rows)

    def see_shrunk(rows: Any, *others: Any) -> Any:
        seen.append((1, len(rows)))
        return shrunken(rows, *others)

    monkeypatch.setattr(Grid, "_tamed", see_tamed)
    monkeypatch.setattr(grid_module, "shrunk", see_shrunk)
    rows = np.full((3200, 3), 0.1)
    expected = [(0, 64), (1, 64)]
    for cell in (0.1, np.nan, np.inf, 1e308, 3.0, 0.0, 5e-324):
        rows[7, 1] = cell
        Grid(1.0).encode(rows)
        assert seen == expected
        seen.clear()


@pytest.mark.parametrize("d", [1, 3])
@pytest.mark.parametrize("order", ["C", "F"])
def test_scratch_rows_give_the_same_integers(d: int, order: Literal["C", "F"]) -> None:
    rows = fuzz(13, 300, d)
    for grid in (Grid(1.0), Grid(1.0, center=True)):
        assert grid.encode(np.array(rows, order=order), scratch=True).tobytes() == grid.encode(rows).tobytes()


def test_memory_layout_cannot_be_seen() -> None:
    rows = fuzz(9, 300, 13)
    padded = np.zeros((600, 26))
    padded[::-2, 1::2] = rows
    expected = Grid(1.0).encode(rows).tobytes()
    assert Grid(1.0).encode(np.asfortranarray(rows)).tobytes() == expected
    assert Grid(1.0).encode(padded[::-2, 1::2]).tobytes() == expected


@each_dimension
@pytest.mark.parametrize("power", [-400, -1, 1, 10, 400])
def test_scaling_rows_and_row_norm_by_a_power_of_two_changes_nothing(d: int, power: int) -> None:
    # Entries whose scaled form is exact, from far inside the ball to far outside it.
    generator = np.random.default_rng(10)
    rows = generator.standard_normal((500, d)) * 2.0 ** generator.integers(-30, 30, (500, d))
    scaled = np.ldexp(rows, power)
    assert Grid(0.3).encode(rows).tobytes() == Grid(float(np.ldexp(0.3, power))).encode(scaled).tobytes()


@each_dimension
def test_a_callers_error_settings_change_nothing(d: int) -> None:
    rows = fuzz(11, 300, d)
    expected = Grid(0.3).encode(rows).tobytes()
    with np.errstate(all="raise"), warnings.catch_warnings():
        warnings.simplefilter("error")
        assert Grid(0.3).encode(rows).tobytes() == expected
    with np.errstate(all="warn"), warnings.catch_warnings():
        warnings.simplefilter("error")
        assert Grid(0.3).encode(rows).tobytes() == expected


@pytest.mark.parametrize("order", ["C", "F"])
def test_rows_that_may_be_written_to_need_little_more_memory(order: Literal["C", "F"]) -> None:
    """32 MB are encoded where they are: a few passes of 2 MB, and some numbers for each row."""
    rows = np.array(np.random.default_rng(14).uniform(-1, 1, (2**14, 256)), order=order)
    before = rows.copy(order="K")
    tracemalloc.start()
    z = Grid(20.0).encode(rows, scratch=True)
    needed = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert z is rows
    assert needed < rows.nbytes / 4
    assert z.tobytes() == Grid(20.0).encode(before).tobytes()


@each_dimension
def test_clipped_rows_end_strictly_inside(d: int) -> None:
    """Also along an axis, where what a square root and a product lose could leave a row on the sphere, or just beyond."""
    axes = np.concatenate([np.eye(d), -np.eye(d)])
    rows = np.concatenate([length * axes for length in (1.0001, 2.0, 3.0, 1000.0)])
    z = Grid(1.0).encode(rows)
    assert (np.abs(z).max(axis=1) == 2**16 - 1).all()


def test_the_input_is_not_modified() -> None:
    rows = fuzz(12, 300, 13)
    before = rows.tobytes()
    rows.flags.writeable = False
    Grid(1.0).encode(rows)
    assert rows.tobytes() == before


def test_rows_that_are_not_finite_lose_only_those_entries() -> None:
    rows = np.array([[np.nan, 0.5], [np.inf, -0.25], [-np.inf, np.nan]])
    assert Grid(1.0).encode(rows).tolist() == [[0, ONE / 2], [0, -ONE / 4], [0, 0]]


def test_only_rows_beyond_a_thousand_radii_are_scaled_by_their_largest_entry() -> None:
    """Shorter ones are rounded as they are, so that their length is known to a step."""
    rows = np.array([[3.0, 4.0], [1023.0, 8.0], [1024.0, 8.0], [1e308, 1e308], [0.25, 0.5]])
    seen: list[Longer] = []
    Grid(1.0).encode_both(rows, False, lambda longer: seen.append(longer._replace(rows=longer.rows.copy())))
    assert seen[0].far.tolist() == [False, False, True, True, False]
    moved = [[3 * ONE, 4 * ONE], [1023 * ONE, 8 * ONE], [ONE, ONE // 128], [ONE, ONE], [ONE // 4, ONE // 2]]
    assert seen[0].rows.tolist() == moved
    assert seen[0].norms.tolist() == squared_norms(seen[0].rows)


def test_shrink_zeroes_a_row_that_still_breaks_the_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(grid_module, "SHRINK", 1.01)
    z = np.array([[3.0 * ONE, 4.0 * ONE], [3.0, 4.0]])
    shrunk(z, np.array(squared_norms(z), dtype=np.float64), ONE**2)
    assert z.tolist() == [[0.0, 0.0], [3.0, 4.0]]


@pytest.mark.parametrize(
    ("bits", "center"), [(np.int8(16), False), (16.0, False), (True, False), (16, 1), (16, np.bool_(False))]
)
def test_what_would_wrap_in_a_sensitivity_is_refused(bits: Any, center: Any) -> None:
    with pytest.raises(ParameterError, match=r"bits must be an int and center True or False, got other types\. Hint: "):
        Grid(1.0, bits, center)
