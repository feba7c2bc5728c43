"""Planted bugs in releases and their files."""

from __future__ import annotations

from tests.mutation.form import mutant

PATHS = "paths.py"
FILE = "release/file.py"
INTEGERS = "release/integers.py"
JSON = "strict_json.py"
RECORD = "release/record.py"
STATEMENT = "release/statement.py"

TEST_CALIBRATED = "tests/kernel/calibration/test_calibrated.py::"
TEST_COMPONENTS_FILES = "tests/release/test_components_files.py::"
TEST_FILE_SIZES = "tests/release/test_file_sizes.py::"
TEST_FORGED = "tests/release/test_forged.py::"
TEST_FRAMED_FILES = "tests/release/test_framed_files.py::"
TEST_FUZZED_FILES = "tests/release/test_fuzzed_files.py::"
TEST_HOSTILE = "tests/release/test_hostile.py::"
TEST_RELEASE_FILE = "tests/release/test_release_file.py::"
TEST_STRANGERS = "tests/release/test_strangers.py::"
TEST_WRITTEN_FILES = "tests/release/test_written_files.py::"
BOMBS = TEST_FILE_SIZES + "TestManyIntegers::"
FORGED = TEST_FORGED + "test_a_forged_file_is_refused"
FRAMED = TEST_FRAMED_FILES + "test_a_forged_file_is_refused"
ENDS = TEST_HOSTILE + "test_it_loads_and_every_use_ends"
DAMAGED = TEST_RELEASE_FILE + "TestDamage::"

MAKE = 'tempfile.mkstemp(prefix=".dpcov-", suffix=".partial", dir=target.parent)'
OPEN = "(os.open(name := str(target.parent / {name}), os.O_WRONLY | os.O_CREAT | os.O_TRUNC{flags}, 0o600), name)"
LISTED = '        listed = each(fields.take("integers", list), int, "integers")\n'

PLANTED = {
    "a temporary name that can be guessed": mutant(
        (PATHS, MAKE, OPEN.format(name='f".dpcov-{os.getpid()}-0.partial"', flags="")),
        by=TEST_WRITTEN_FILES + "TestLinks::test_a_link_under_a_guessed_name_leads_nowhere",
    ),
    "a temporary file that may be there already": mutant(
        (PATHS, MAKE, OPEN.format(name='f".dpcov-{os.urandom(8).hex()}.partial"', flags=" | os.O_NOFOLLOW")),
        by=TEST_WRITTEN_FILES + "TestLinks::test_files_are_new_private_and_never_twice_of_one_name",
    ),
    "a new file for everybody": mutant(
        (PATHS, "return 0o666 & ~umask", "return 0o666"),
        by=TEST_WRITTEN_FILES + "TestPermissions::test_a_new_file_has_what_the_umask_leaves[18-420]",
    ),
    "a file that others may read after it was replaced": mutant(
        (PATHS, "    if stat.S_ISREG(found):\n        return found & 0o777\n", ""),
        by=TEST_WRITTEN_FILES + "TestPermissions::test_a_file_that_is_replaced_keeps_its_own[384]",
    ),
    "permissions of what a link leads to": mutant(
        (PATHS, "target.lstat().st_mode", "target.stat().st_mode"),
        by=TEST_WRITTEN_FILES + "TestPermissions::test_a_link_lends_no_permissions",
    ),
    "a file that is opened to all before it is whole": mutant(
        (
            PATHS,
            "                file.flush()\n",
            "                os.fchmod(number, _permissions(target))\n                file.flush()\n",
        ),
        by=TEST_WRITTEN_FILES + "TestPermissions::test_nobody_else_reads_half_a_file",
    ),
    "a matrix of any size from a few directions": mutant(
        ("release/estimate.py", "if d > MOST_ASSEMBLED:", "if False:"),
        by=TEST_FILE_SIZES + "test_uses_of_invented_columns[eigenvectors, rank 1]",
    ),
    "a file with columns of anything": mutant(
        (FILE, "    asked.end()\n", ""),
        by=(
            "tests/release/test_screened_files.py::test_forged_files_are_refused[columns_of_the_squares]",
            TEST_FORGED + "TestKeys::test_an_unknown_key",
        ),
    ),
    "room made for an answer before its size is looked at": mutant(
        (INTEGERS, LISTED, LISTED + "        _ = np.zeros(size, dtype=np.int64)\n"),
        by=TEST_FILE_SIZES + "test_invented_columns[separate-1500]",
    ),
    "answers of any length": mutant(
        (INTEGERS, "if len(listed) != size or any(", "if any("),
        ("kernel/questions/measure.py", "return integers.shape == (self.size,)", "return True"),
        by=(
            FORGED + "[an integer too many]",
            FORGED + "[an integer too few]",
            TEST_FUZZED_FILES + "test_forged_files_are_loaded_or_refused",
        ),
    ),
    "more unpacked than there is": mutant(
        (JSON, "unpacker.decompress(packed, size + 1)", "unpacker.decompress(packed)"),
        by=BOMBS + "test_a_bomb_as_long_as_the_answer",
    ),
    "a size that is looked at after unpacking": mutant(
        (JSON, ' if len(packed) >= least else b""', ""), by=TEST_FRAMED_FILES + "TestLargeMatrices::test_a_bomb"
    ),
    "lowest bytes that are too few": mutant(
        (INTEGERS, ' if len(text) == (size + 2) // 3 * 4 else b""', ""),
        (INTEGERS, "return found if len(found) == size else", "return found.ljust(size)[:size] if True else"),
        by=BOMBS + "test_too_short_or_too_long[lowest-1]",
    ),
    "an integer of nine bytes": mutant(
        (INTEGERS, "1 <= width <= WORD and 0 <= shift <= 8 * (WORD - width)", "1 <= width <= WORD and 0 <= shift"),
        by=BOMBS + "test_other_fields[{'shift': 64}]",
    ),
    "integers without their sign": mutant(
        (INTEGERS, "largest.bit_length() // 8 + 1", "(largest.bit_length() + 7) // 8"),
        by=BOMBS + "test_the_largest_integers_and_the_smallest",
    ),
    "a negative integer as long as its positive": mutant(
        (INTEGERS, "max(int(integers.max()), ~int(integers.min()))", "int(integers.max())"),
        by=BOMBS + "test_the_largest_integers_and_the_smallest",
    ),
    "packed integers without their end": mutant((JSON, " or not unpacker.eof or", " or"), by=BOMBS + "test_cut_off[1]"),
    "something after packed integers": mutant(
        (JSON, " or unpacker.unused_data:", ":"), by=BOMBS + "test_something_after_the_end[more]"
    ),
    "coordinates that no question is about": mutant(
        (FILE, "    if len(reading.used) < len(frames):\n", "    if False:\n"), by=FRAMED + "[a frame of nobody]"
    ),
    "coordinates of nobody": mutant(
        (FILE, "if len(reading.used) < len(frames):", "if False:"), by=FRAMED + "[a frame of nobody]"
    ),
    "an answer with noise that nobody paid for": mutant(
        (FILE, "if len(noise) != len(question.names) or question.size < 1:", "if len(noise) < len(question.names):"),
        by=FORGED + "[noise twice]",
    ),
    "an answer as long as the file likes": mutant(
        (INTEGERS, "if len(listed) != size or any(", "if any("), by=FORGED + "[an integer too few]"
    ),
    "numerics that a law does not have": mutant(
        (FILE, 'fields.choice("numerics", [kind.numerics])', 'fields.take("numerics", str)'), by=FORGED + "[other numerics]"
    ),
    "a file that was damaged": mutant(
        (FILE, 'if record.pop("checksum", None) != _checksum(record):', 'if not record.pop("checksum", None):'),
        by=DAMAGED + "test_any_digit_changed",
    ),
    "a file of a version to come": mutant(
        (FILE, "if version > FORMAT_VERSION:", "if False:"), by=TEST_RELEASE_FILE + "test_a_newer_version_says_so"
    ),
    "integers beyond 64 bits": mutant(
        (INTEGERS, "or any(not -(2**63) <= value < 2**63 for value in listed)", ""), by=FORGED + "[integers that are none]"
    ),
    "text that no terminal can show": mutant(
        (FILE, "return text if not is_broken(text) else", "return text if True else"),
        by=TEST_STRANGERS + "TestWithoutTheMechanism::test_text_that_cannot_be_written",
    ),
    "offset forgotten on the way back": mutant(
        (RECORD, "mean = self.offsets + self.units * encoded", "mean = self.units * encoded"),
        by="tests/sources/test_noise_off.py::TestPandas::test_mean_and_covariance",
    ),
    "an origin left out of the second moment": mutant(
        (RECORD, "covariance + np.outer(self.units * origin, self.units * origin)", "covariance"),
        by="tests/mechanisms/test_coinpress.py::TestCentred::test_a_public_origin_is_part_of_the_second_moment",
    ),
    "centred rows of rescaled": mutant(
        (RECORD, "self.encoding.constant, groups=bool(self.groups))", "False, groups=bool(self.groups))"),
        by=TEST_FUZZED_FILES + "test_rows_of_rescaled_are_not_centred",
    ),
    "twice as many rows as pairs": mutant(
        ("release/statement.py", 'of = f"any one row of the {n} pairs" if', 'of = f"any one of the {2 * n} rows" if'),
        by="tests/cli/test_pairs.py::test_pairs_are_told_by_their_number_and_without_a_mean",
    ),
    "options of any depth": mutant(
        ("release/options.py", "return depth > 0 and all(", "return all("),
        by=DAMAGED + "test_options_are_lists_of_lists_at_most",
    ),
    "an answer that was not asked for is taken": mutant(
        (RECORD, "        if not found:\n            names =", "        if False:\n            names ="),
        by=ENDS + "[all answers left out]",
    ),
    "a note of any size": mutant(
        (
            RECORD,
            "if isinstance(value, bool) or not isinstance(value, int | float) or not least <= value <= most:",
            "if False:",
        ),
        by=ENDS + "[other notes]",
    ),
    "options that its mechanism does not have": mutant(
        (RECORD, "        record.refuse_unknown(self.options)\n", ""),
        by=TEST_STRANGERS + "TestWithTheMechanism::test_options_that_were_edited[{'other': 1}]",
    ),
    "the name of a mechanism that writes on the terminal": mutant(
        (RECORD, 'self.neighbors, printable(self.mechanism), f"n', 'self.neighbors, self.mechanism, f"n'),
        by="tests/cli/test_show.py::test_a_file_cannot_write_on_the_terminal[mechanism]",
    ),
    "shares of levels that are more than 1 together": mutant(
        (RECORD, "mean[place] = project_simplex(mean[place], 1.0)", "pass"),
        by="tests/schema/test_shares.py::test_one_by_one_they_would_be_more",
    ),
    "a chain that does not say that it is one": mutant(
        (STATEMENT, 'if any(law.numerics == "markov chain" for law in laws):', "if False:"),
        by=(
            TEST_COMPONENTS_FILES + "test_round_trip[ppca-2-replace]",
            "tests/mechanisms/test_components.py::TestDraws::test_a_subspace_has_the_whole_for_any_k",
        ),
    ),
    "a delta that is a quarter of what is proved": mutant(
        (STATEMENT, "/ math.log(2) - 1e-9)", "/ math.log(2) - 1e-9) + 2"),
        by=(
            TEST_CALIBRATED + "TestStatedDelta::test_it_covers_all_tails",
            TEST_CALIBRATED + "TestStatedDelta::test_known_values",
        ),
    ),
    "a delta without its factor": mutant(
        (STATEMENT, "_bits(tail) - (epsilon + math.log1p(math.exp(-epsilon))) / math.log(2) - 1e-9", "_bits(tail) - 1e-9"),
        by=TEST_CALIBRATED + "TestStatedDelta::test_it_covers_all_tails",
    ),
    "a chain for floats as for real numbers": mutant(
        (STATEMENT, "isinstance(law, Bingham | MatrixBingham)", "isinstance(law, Bingham)"),
        by=TEST_COMPONENTS_FILES + "test_round_trip[ppca-2-replace]",
    ),
    "a cache that keeps releases": mutant(
        (
            "release/uses.py",
            "    @cached_property\n    def noise_level(",
            "    @property\n    @__import__('functools').lru_cache\n    def noise_level(",
        ),
        by="tests/uses/test_penalty.py::test_what_was_computed_goes_with_its_release[gaussian]",
    ),
    "messages as long as a file likes": mutant(
        ("strict_json.py", '{sorted(choices)}", shown(value))', '{sorted(choices)}", repr(value))'),
        by=TEST_FILE_SIZES + "test_messages_stay_short",
    ),
}
