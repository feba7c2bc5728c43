"""Planted bugs in sums on devices: integers still, and wrong; values that can be seen; devices that are not looked at."""

from __future__ import annotations

from importlib.util import find_spec

from tests.mutation.form import Mutant, mutant

CHECK = "sources/device_check.py"
SUMS = "sources/device_sums.py"
TORCH = "sources/torch.py"
ON_DEVICE = "sources/on_device.py"

TEST_TORCH = "tests/engines/test_torch.py::"
TEST_NUMBERS = TEST_TORCH + "test_every_question_about_plain_numbers_has_the_same_integers"
TEST_STRANGE = TEST_TORCH + "test_rows_that_try_to_break_things"
TEST_DIFFER = TEST_TORCH + "TestDevicesThatDiffer::"
TEST_ERRORS = TEST_TORCH + "TestErrors::"

OF_TORCH = {
    "rows that are left to the kernel counted twice": mutant(
        (SUMS, "np.where(left, 0.0, factors)", "factors"), by=TEST_STRANGE + "[16-1.0-False-cpu]"
    ),
    "the constant of rows that are left to the kernel counted twice": mutant(
        (SUMS, "np.where(left, 0.0, float(grid.constant))", "np.full(len(left), float(grid.constant))"),
        by=TEST_STRANGE + "[16-1.0-True-cpu]",
    ),
    "rows that are left to the kernel forgotten": mutant(
        (SUMS, "            if len(left):\n", "            if False:\n"), by=TEST_STRANGE + "[16-1.0-False-cpu]"
    ),
    "lengths near a radius decided by floats": mutant(
        (SUMS, "asked.last - longer[sure]", "asked.last - longer"),
        (SUMS, "    return ~sure\n", "    return NOBODY\n"),
        by=TEST_STRANGE + "[16-1.0-False-cpu]",
    ),
    "rows on a device longer than the radius": mutant(
        (SUMS, "x.masked_fill_(~(squares(x) <= radius_squared)[:, None], 0.0)", "x.nan_to_num_(0.0, 0.0, 0.0)"),
        by=TEST_DIFFER + "test_a_row_that_is_still_too_long_counts_as_nothing",
    ),
    "sums on a device beyond what is exact": mutant(
        (SUMS, "if self._rows + len(rows) > self.max_block:", "if False:"),
        by=TEST_TORCH + "test_sums_of_more_rows_than_float64_adds_exactly[cpu]",
    ),
    "sums that stay on a device added again": mutant(
        (SUMS, "        self._there.zero_()\n", ""),
        by=TEST_TORCH + "test_sums_of_more_rows_than_float64_adds_exactly[cpu]",
    ),
    "what clipping leaves counted as taken on a device": mutant(
        (
            SUMS,
            "scale(beyond, annulus.shortening(norms, False), left, annulus.reach, device)",
            "scale(beyond, shrinkage(norms, annulus.inner.radius_squared), left, annulus.reach, device)",
        ),
        by=TEST_STRANGE + "[16-1.0-False-cpu]",
    ),
    "a value that becomes a warning on the way": mutant(
        (SUMS, 'with np.errstate(all="ignore"):  # a caller', "with np.errstate():  # a caller"),
        by=TEST_ERRORS + "test_values_are_no_errors[False]",
    ),
    "a device that nobody looked at": mutant(
        (TORCH, "        _check_once(self.name)\n", ""), by=TEST_DIFFER + "test_before_anything_is_read_or_spent"
    ),
    "products that nobody looked at": mutant(
        (TORCH, "        _check_products_once(self.name, d)\n", ""), by=TEST_DIFFER + "test_by_products_alone"
    ),
    "a device that is looked at each time": mutant(
        (TORCH, "@cache\ndef _check_once", "def _check_once"), by=TEST_DIFFER + "test_each_device_is_tried_once"
    ),
    "small numbers that nobody looked at": mutant(
        (CHECK, "if not (_converts(device) and _encodes(device)):", "if not _encodes(device):"),
        by=TEST_DIFFER + "test_by_flushing_the_smallest_numbers",
    ),
    "freed memory read on": mutant(
        (TORCH, "if one.numel() and (last + 1)", "if False and (last + 1)"),
        by=TEST_TORCH + "TestErrors::test_a_tensor_whose_memory_was_given_back",
    ),
    "words of torch": mutant(
        (
            TORCH,
            "        with reading(HINT):\n            there = sums_of(self._rows, self.d, statistic)",
            "        if True:\n            there = sums_of(self._rows, self.d, statistic)",
        ),
        by=TEST_ERRORS + "test_a_device_out_of_memory",
    ),
    "a record that shows its rows": mutant(
        (ON_DEVICE, "field(repr=False)", "field()"), by=TEST_TORCH + "TestRefused::test_a_record_shows_no_cell"
    ),
    "columns of a tensor in another order": mutant(
        (TORCH, "whole[:, self._places]", "whole[:, sorted(self._places)]"),
        by=TEST_TORCH + "test_some_columns[gaussian-columns0-cpu]",
    ),
    "a tensor that is still learning": mutant(
        (TORCH, "self._tensor = tensor.detach()", "self._tensor = tensor"),
        by=TEST_NUMBERS + "[tensor that learns-False-cpu]",
    ),
    "whole numbers as float32": mutant(
        (TORCH, "rows = rows.astype(np.float64)", "rows = rows.astype(np.float32)"),
        by=TEST_TORCH + "test_numbers_that_only_one_of_the_two_has[cpu]",
    ),
}

PLANTED: dict[str, Mutant] = OF_TORCH if find_spec("torch") else {}
"""Where torch is not installed nothing could catch them."""
