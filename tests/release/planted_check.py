"""Planted bugs in what is checked of a file that is read."""

from __future__ import annotations

from tests.mutation.form import mutant

CHECK = "release/check.py"

TEST_COMPONENTS_FILES = "tests/release/test_components_files.py::"
TEST_FILE_SIZES = "tests/release/test_file_sizes.py::"
TEST_FORGED = "tests/release/test_forged.py::"
FORGED = TEST_FORGED + "test_a_forged_file_is_refused"

TAILS = "check_tail([law for answer in transcript.answers for law in answer.laws], transcript.privacy)\n"

PLANTED = {
    "concentrations of a file not added up": mutant(
        (CHECK, "return sum(exponents) <= charge.epsilon", "return max(exponents) <= charge.epsilon"),
        by=FORGED + "[less noise than the charge buys]",
    ),
    "a file's rate not checked": mutant(
        (CHECK, "enough = law.rate <= exponential_rate(charge)", "enough = True"),
        by=FORGED + "[less noise than the charge buys]",
    ),
    "a file's quantile not compared with its price": mutant(
        (
            CHECK,
            "enough = law.rate <= exponential_rate(charge)",
            "enough = question.is_local or law.rate <= exponential_rate(charge)",
        ),
        by="tests/release/test_framed_files.py::test_a_forged_file_is_refused[less noise in the last answer]",
    ),
    "a file's concentration not checked": mutant(
        (CHECK, "return sum(exponents) <= charge.epsilon", "return True"),
        by=TEST_COMPONENTS_FILES + "test_a_forged_file_is_refused[more concentrated]",
    ),
    "a file with any number of columns": mutant(
        (
            CHECK,
            "if not 1 <= encoding.d <= MAX_FEATURES - encoding.midpoints or encoding.width > MAX_FEATURES:",
            "if not 1 <= encoding.d:",
        ),
        by=TEST_FILE_SIZES + "test_as_many_columns_as_can_be_released[False-32768]",
    ),
    "a file with a column too many when centred": mutant(
        (CHECK, "MAX_FEATURES - encoding.midpoints or encoding.width > MAX_FEATURES", "MAX_FEATURES"),
        by=TEST_FILE_SIZES + "test_as_many_columns_as_can_be_released[True-32767]",
    ),
    "any number of charges that are slow to check": mutant(
        (
            CHECK,
            "sum(isinstance(charge, ApproxDP) for charge in charges)",
            "sum(isinstance(one, ApproxDP) for one in {*charges})",
        ),
        by=TEST_FILE_SIZES + "test_too_many_charges[True]",
    ),
    "a tail that is made a float unchecked": mutant(
        (
            CHECK,
            "    _check_charges(transcript)\n    for",
            "    _check_charges(transcript)\n    if isinstance(transcript.privacy, ApproxDP):\n        " + TAILS + "    for",
        ),
        by=(FORGED + "[another lattice]", "tests/release/test_fuzzed_files.py::test_a_tail_beyond_floats"),
    ),
    "a file about other rows": mutant(
        (CHECK, "if not answer.question.fits(public):", "if False:"),
        by=(FORGED + "[a radius beyond the encoding]", FORGED + "[fewer rows than there may be]"),
    ),
    "a file with answers that no question has": mutant(
        (CHECK, "if not answer.question.admits(answer.integers):", "if False:"),
        by=(FORGED + "[an index beyond the candidates]", FORGED + "[no unit vectors]"),
    ),
    "a file that spends more than it promises": mutant(
        (CHECK, "if charges and not pays_for(transcript.privacy, charges):", "if False:"),
        by=(FORGED + "[a charge beyond the promise]", FORGED + "[a promise of less]"),
    ),
    "the noise of a file's first answer only": mutant(
        (CHECK, "transcript.answers:\n        _check_noise", "transcript.answers[:1]:\n        _check_noise"),
        by=FORGED + "[less noise than the charge buys]",
    ),
    "the tails of a file not looked at": mutant(
        (CHECK, "    if isinstance(transcript.privacy, ApproxDP):\n", "    if False:\n"),
        by=TEST_FORGED + "TestTails::test_they_add_up[1]",
    ),
    "the tails of a file one by one": mutant(
        (
            CHECK,
            "        check_tail([law for answer in transcript.answers for law in answer.laws], transcript.privacy)\n",
            "        for answer in transcript.answers:\n            check_tail(answer.laws, transcript.privacy)\n",
        ),
        by=TEST_FORGED + "TestTails::test_they_add_up[2]",
    ),
    "any n in a file": mutant(
        (CHECK, "if hides_n(transcript) and transcript.n != n_of(transcript.answers):", "if False:"),
        by=FORGED + "[another n]",
    ),
    "values along directions with any noise": mutant(
        (CHECK, "        _check_law(question.values, answer.laws[1], answer.charges[1], neighbors)\n", ""),
        by=FORGED + "[less noise than the charge buys]",
    ),
    "directions with values drawn by any law": mutant(
        (
            CHECK,
            "        _check_law(question, answer.laws[0], answer.charges[0], neighbors)\n        _check_law",
            "        _check_law",
        ),
        by=FORGED + "[less noise than the charge buys]",
    ),
    "a file's integers between the points of their lattice": mutant(
        (CHECK, "not np.array_equal(answer.law.settle(answer.integers), answer.integers)", "False"),
        by=FORGED + "[off the lattice]",
    ),
    "a law that no sum has": mutant(
        (CHECK, "if law.law not in KIND_OF_NOISE:", "if False:"), by=FORGED + "[a law of another question]"
    ),
    "any scale in a file": mutant(
        (CHECK, "enough = is_enough(law, question, charge, neighbors)", "enough = True"),
        by=FORGED + "[less noise than the charge buys]",
    ),
    "a search with noise on its threshold only": mutant(
        (CHECK, "min(law.threshold, law.query) >=", "law.threshold >="), by=FORGED + "[less noise than the charge buys]"
    ),
    "a search with any noise on its threshold": mutant(
        (CHECK, "min(law.threshold, law.query) >=", "law.query >="), by=FORGED + "[less noise than the charge buys]"
    ),
    "directions that nobody paid for": mutant(
        (CHECK, "if [name for name, _ in law.concentrations] != [str(i + 1) for i in range(question.drawn)]:", "if False:"),
        by=FORGED + "[other parts]",
    ),
    "squared concentrations of a file not added up": mutant(
        (CHECK, "sum(exponent**2 for exponent in exponents) <=", "max(exponent**2 for exponent in exponents) <="),
        by=FORGED + "[less noise than the charge buys]",
    ),
    "a subspace at any concentration": mutant(
        (CHECK, "enough = _is_affordable([law.concentration], charge, neighbors)", "enough = True"),
        by=FORGED + "[less noise than the charge buys]",
    ),
    "a chain of one direction": mutant(
        (CHECK, " and question.count > 1", ""), by=TEST_COMPONENTS_FILES + "test_a_chain_of_one_direction_is_none"
    ),
    "a file of more rows than sums can hold": mutant(
        (CHECK, " or (not hides_n(transcript) and transcript.n > encoding.most_rows)", ""), by=FORGED + "[another n]"
    ),
    "a column that stands twice": mutant(
        (CHECK, "len(set(encoding.feature_names)) < encoding.d or any", "any"), by=FORGED + "[names that are none]"
    ),
    "a column whose name is no text": mutant(
        (CHECK, " or any(is_broken(name) for name in encoding.feature_names)", ""), by=FORGED + "[names that are none]"
    ),
    "pairs of rows that may be added": mutant(
        (CHECK, "if encoding.pairs and (encoding.constant or transcript.neighbors != REPLACE):", "if False:"),
        by=FORGED + "[pairs of others]",
    ),
    "a file of no rows": mutant((CHECK, "if not 1 <= transcript.n < 2**63 or", "if"), by=FORGED + "[another n]"),
    "a file of no grid": mutant(
        (CHECK, "    _ = encoding.grid  # refuses a norm or bits that no grid has\n", ""),
        by=TEST_FORGED + "test_a_norm_is_checked_where_no_question_has_one",
    ),
    "columns that are not those of the schema": mutant(
        (CHECK, " or encoding.feature_names != encoding.schema.feature_names", ""),
        by="tests/release/test_release_encoding.py::test_forged_encodings[columns in another order-replace]",
    ),
}
