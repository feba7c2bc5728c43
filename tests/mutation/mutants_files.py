"""Planted bugs in reading forged files, and in writing files where others can write too."""

from __future__ import annotations

Edits = list[tuple[str, str, str]]

CHECK, FILE, PATHS = "release/check.py", "release/file.py", "paths.py"
FILING, BASIS, DERIVED, CHOICES = (
    "kernel/questions/filing.py",
    "kernel/questions/basis.py",
    "kernel/questions/derived.py",
    "kernel/questions/choices.py",
)
SIZES, WRITTEN, FUZZED = (
    "tests/release/test_file_sizes.py::",
    "tests/release/test_written_files.py::",
    "tests/release/test_fuzzed_files.py::",
)
FORGED, FRAMED = (
    "tests/release/test_forged.py::test_a_forged_file_is_refused",
    "tests/release/test_framed_files.py::test_a_forged_file_is_refused",
)
DAMAGED = "tests/release/test_release_file.py::TestDamage::"
BOMBS = SIZES + "TestManyIntegers::"
INVENTED = SIZES + "test_invented_columns"
PLACE = SIZES + "test_a_place_is_checked_before_it_is_an_exponent"
MAKE = 'tempfile.mkstemp(prefix=".dpcov-", suffix=".partial", dir=target.parent)'
OPEN = "(os.open(name := str(target.parent / {name}), os.O_WRONLY | os.O_CREAT | os.O_TRUNC{flags}, 0o600), name)"
LISTED = '        listed = each(fields.take("integers", list), int, "integers")\n'
LAWS_TOO = "amounts | {_ratio(text) for law in laws for text in law.to_json().values()}"
TAILS = "check_tail([law for answer in transcript.answers for law in answer.laws], transcript.privacy)\n"

FILES_MUTANTS: dict[str, tuple[Edits, tuple[str, ...]]] = {
    "room made for an answer before its size is looked at": (
        [(FILE, LISTED, LISTED + "        _ = np.zeros(size, dtype=np.int64)\n")],
        (INVENTED + "[separate-1500]",),
    ),
    "a matrix of all columns for few components": (
        [
            (
                "kernel/questions/directions.py",
                "np.abs(rows @ rows.T - np.eye(self.count)).max()",
                "np.abs(rows.T @ rows @ rows.T - rows.T).max()",
            )
        ],
        (SIZES + "test_many_columns_still_load",),
    ),
    "a ball that is whitened by a matrix": (
        [
            (
                FILING,
                "    return of_frame(Frame(centre, extent, deviations))\n",
                "    frame = Frame(centre, extent, deviations)\n"
                "    assert frame.extent.ndim == 2 or np.isfinite(frame.unwhitener).all()\n"
                "    return of_frame(frame)\n",
            )
        ],
        (INVENTED + "[coinpress-1500]",),
    ),
    "a basis with more columns than coordinates": (
        [
            (BASIS, " or len(rows[0]) > len(rows):", ":"),
            (DERIVED, "    if not 1 <= count <= d:", "    if False:"),
        ],
        (SIZES + "test_a_basis_of_too_many_columns",),
    ),
    "a file with any number of columns": (
        [
            (
                CHECK,
                "if not 1 <= encoding.d <= MAX_FEATURES - encoding.midpoints or encoding.width > MAX_FEATURES:",
                "if not 1 <= encoding.d:",
            )
        ],
        (SIZES + "test_as_many_columns_as_can_be_released[False-32768]",),
    ),
    "a file with a column too many when centred": (
        [(CHECK, "MAX_FEATURES - encoding.midpoints or encoding.width > MAX_FEATURES", "MAX_FEATURES")],
        (SIZES + "test_as_many_columns_as_can_be_released[True-32767]",),
    ),
    "a place that is an exponent unchecked": (
        [(CHOICES, " and 0 <= int(integers[0]) < self.candidates", "")],
        (
            FORGED + "[an index beyond the candidates]",
            PLACE + "[adaptive--1000000000000000000]",
            PLACE + "[rescaled--1000000000000000000]",
        ),
    ),
    "weights that a file leaves out": (
        [(CHOICES, "        if not weights:\n", "        if False:\n")],
        (FORGED + "[weights that are none]",),
    ),
    "answers of any length": (
        [
            (FILE, "if len(listed) != size or any(", "if any("),
            ("kernel/questions/measure.py", "return integers.shape == (self.size,)", "return True"),
        ],
        (FORGED + "[an integer too many]", FORGED + "[an integer too few]", FUZZED + "test_forged_files_are_loaded_or_refused"),
    ),
    "more integers unpacked than there are": (
        [(FILE, "unpacker.decompress(packed, 8 * size + 1)", "unpacker.decompress(packed)")],
        (BOMBS + "test_a_bomb_as_long_as_the_answer",),
    ),
    "a size that is looked at after unpacking": (
        [(FILE, ' if len(packed) >= size else b""', "")],
        (BOMBS + "test_a_bomb_of_zeros[1]",),
    ),
    "packed integers without their end": (
        [(FILE, " or not unpacker.eof or", " or")],
        (BOMBS + "test_cut_off[1]",),
    ),
    "something after packed integers": (
        [(FILE, " or unpacker.unused_data:", ":")],
        (BOMBS + "test_something_after_the_end[more]",),
    ),
    "bins of any number of octaves": (
        [("kernel/questions/norms.py", "not 1 <= self.per_octave <= 1024 or not 1 <= self.octaves <= 2048", "False")],
        (SIZES + "test_numbers_of_questions_are_checked_before_they_are_sizes[octaves--1000000000000000000]",),
    ),
    "coordinates in other units": (
        [("kernel/questions/measure.py", "not whole.center and rows.bits == whole.bits and", "not whole.center and")],
        (FORGED + "[other bits than its frames have]",),
    ),
    "charges of any number of digits": (
        [("kernel/account.py", "bits_of(numbers) > MOST_BITS:", "bits_of(numbers) > 2**99:")],
        (SIZES + "test_charges_of_too_many_digits",),
    ),
    "noise of any number of digits": (
        [
            (
                "kernel/account.py",
                LAWS_TOO,
                "amounts",
            )
        ],
        (SIZES + "test_scales_of_too_many_digits",),
    ),
    "any number of charges that are slow to check": (
        [
            (
                CHECK,
                "sum(isinstance(charge, ApproxDP) for charge in charges)",
                "sum(isinstance(one, ApproxDP) for one in {*charges})",
            )
        ],
        (SIZES + "test_too_many_charges[True]",),
    ),
    "a tail that is made a float unchecked": (
        [
            (
                CHECK,
                "    _check_charges(transcript)\n    for",
                "    _check_charges(transcript)\n    if isinstance(transcript.privacy, ApproxDP):\n        "
                + TAILS
                + "    for",
            )
        ],
        (FORGED + "[another lattice]", FUZZED + "test_a_tail_beyond_floats"),
    ),
    "coordinates that no question is about": (
        [(FILE, "    if len(reading.used) < len(frames):\n", "    if False:\n")],
        (FRAMED + "[a frame of nobody]",),
    ),
    "a stranger under the name of another": (
        [("mechanisms/__init__.py", "    if known is not None and known is not mechanism:\n", "    if False:\n")],
        ("tests/mechanisms/test_own_mechanism.py::TestRefusals::test_the_name_of_a_built_in_everywhere",),
    ),
    "centred rows of rescaled": (
        [("release/record.py", "            record.check_served(self.privacy, self.neighbors, self.encoding.constant)\n", "")],
        (FUZZED + "test_rows_of_rescaled_are_not_centred",),
    ),
    "an interval around a scale of nothing": (
        [("mechanisms/covariance/rescaled.py", "if overlap is not None and eigenvalues[-1] > 0:", "if overlap is not None:")],
        (FUZZED + "test_a_scale_of_nothing",),
    ),
    "messages as long as a file likes": (
        [("strict_json.py", '{sorted(choices)}", shown(value))', '{sorted(choices)}", repr(value))')],
        (SIZES + "test_messages_stay_short",),
    ),
    "a temporary name that can be guessed": (
        [(PATHS, MAKE, OPEN.format(name='f".dpcov-{os.getpid()}-0.partial"', flags=""))],
        (WRITTEN + "TestLinks::test_a_link_under_a_guessed_name_leads_nowhere",),
    ),
    "a temporary file that may be there already": (
        [(PATHS, MAKE, OPEN.format(name='f".dpcov-{os.urandom(8).hex()}.partial"', flags=" | os.O_NOFOLLOW"))],
        (WRITTEN + "TestLinks::test_files_are_new_private_and_never_twice_of_one_name",),
    ),
    "a new file for everybody": (
        [(PATHS, "return 0o666 & ~umask", "return 0o666")],
        (WRITTEN + "TestPermissions::test_a_new_file_has_what_the_umask_leaves[18-420]",),
    ),
    "a file that others may read after it was replaced": (
        [(PATHS, "    if stat.S_ISREG(found):\n        return found & 0o777\n", "")],
        (WRITTEN + "TestPermissions::test_a_file_that_is_replaced_keeps_its_own[384]",),
    ),
    "permissions of what a link leads to": (
        [(PATHS, "target.lstat().st_mode", "target.stat().st_mode")],
        (WRITTEN + "TestPermissions::test_a_link_lends_no_permissions",),
    ),
    "a file that is opened to all before it is whole": (
        [
            (
                PATHS,
                "                file.flush()\n",
                "                os.fchmod(number, _permissions(target))\n                file.flush()\n",
            )
        ],
        (WRITTEN + "TestPermissions::test_nobody_else_reads_half_a_file",),
    ),
}
