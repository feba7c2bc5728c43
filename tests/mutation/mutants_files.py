"""Planted bugs in reading forged files, and in writing files where others can write too."""

from __future__ import annotations

Edits = list[tuple[str, str, str]]

CHECK, CLIPPED, PATHS = "release_check.py", "release_clipped.py", "paths.py"
SIZES, WRITTEN, FORGED = (
    "tests/refusals/test_file_sizes.py::",
    "tests/refusals/test_written_files.py::",
    "tests/fuzz/test_forged_files.py::",
)
INVENTED = SIZES + "test_invented_columns"
PLACE = SIZES + "test_a_place_is_checked_before_it_is_an_exponent"
EYE = '__import__("numpy").eye(moment.d)'
MAKE = 'tempfile.mkstemp(prefix=".dpcov-", suffix=".partial", dir=target.parent)'
LOOK = "    for measure, answer in zip(expected, release.answers, strict=True):\n        _check_size(measure, answer)\n"
OPEN = "(os.open(name := str(target.parent / {name}), os.O_WRONLY | os.O_CREAT | os.O_TRUNC{flags}, 0o600), name)"

FILES_MUTANTS: dict[str, tuple[Edits, tuple[str, ...]]] = {
    "a basis built before sizes are looked at": (
        [(CLIPPED, "AlongBasis(within, moment.d, Diagonal.name)", f"Diagonal(within, moment.d, {EYE})")],
        (INVENTED + "[separate-1500]",),
    ),
    "a matrix as large as the names of components say": (
        [
            (
                "release_drawn.py",
                "[*count, drawn, AlongBasis(moment, k + 1, Explained.name)]",
                "[*count, drawn, Explained(moment, k + 1, np.eye(moment.d)[:, :k])]",
            )
        ],
        (INVENTED + "[random-1500]",),
    ),
    "a ball that is whitened by a matrix": (
        [
            (
                "release_proved.py",
                "np.array([[frame.deviations / float(frame.extent)]])",
                "np.eye(len(frame.centre)) * frame.deviations / float(frame.extent)",
            )
        ],
        (INVENTED + "[coinpress-1500]",),
    ),
    "a file with any number of columns": (
        [(CHECK, "if not 1 <= release.d <= MAX_FEATURES - release.about_midpoints:", "if not 1 <= release.d:")],
        (SIZES + "test_as_many_columns_as_can_be_released[False-32768]",),
    ),
    "a file with a column too many when centred": (
        [(CHECK, "MAX_FEATURES - release.about_midpoints", "MAX_FEATURES")],
        (SIZES + "test_as_many_columns_as_can_be_released[True-32767]",),
    ),
    "a place that is an exponent unchecked": (
        [(CLIPPED, "or not 0 <= place <= DEEPEST * per_octave or", "or")],
        (PLACE + "[adaptive-0--1000000000000000000]", PLACE + "[rescaled-0--1000000000000000000]"),
    ),
    "proofs before sizes": (
        [(CHECK, LOOK, "    if framed:\n        check_proved(release)\n" + LOOK)],
        (SIZES + "test_sizes_come_before_proofs[mean]", SIZES + "test_sizes_come_before_proofs[covariance]"),
    ),
    "answers of any length": (
        [(CHECK, "if len(answer.integers) != size or answer.unit_bits", "if answer.unit_bits")],
        (SIZES + "test_sizes_come_before_proofs[mean]", FORGED + "test_forged_files_are_loaded_or_refused"),
    ),
    "answers in any units": (
        [
            (
                CHECK,
                "if len(answer.integers) != size or answer.unit_bits != measure.unit_bits:",
                "if len(answer.integers) != size:",
            )
        ],
        (SIZES + "test_units_beyond_all[mod-sulq-4611686018427387904]",),
    ),
    "rounds that can be read in many ways": (
        [("release_framed.py", 'r"S{t}|[RS]*RS"', 'r"S{t}|((R?S|R)*RS)"')],
        (SIZES + "test_rounds_that_could_be_read_in_too_many_ways",),
    ),
    "spends of any number of digits": (
        [(CHECK, "for amount in amounts) > MOST_BITS:", "for amount in amounts) > 2**99:")],
        (SIZES + "test_spends_of_too_many_digits",),
    ),
    "a tail that is made a float unchecked": (
        [
            (
                CHECK,
                "    if not answer.noise.is_at_least(calibrated(",
                "    if isinstance(promise, ApproxDP):\n        check_tail(answer.noise, promise)\n"
                "    if not answer.noise.is_at_least(calibrated(",
            )
        ],
        (FORGED + "test_a_tail_beyond_floats",),
    ),
    "centred rows of rescaled": (
        [(CLIPPED, 'if release.mechanism == "rescaled" and release.center:', "if False:")],
        (FORGED + "test_rows_of_rescaled_are_not_centred",),
    ),
    "an interval around a scale of nothing": (
        [("uses/raw.py", "    if values[-1] <= 0:", "    if False:")],
        (FORGED + "test_a_scale_of_nothing",),
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
