"""Planted bugs in replay, audit and retracing."""

from __future__ import annotations

from tests.mutation.form import mutant

RETRACE = "verify/retrace.py"

TEST_AUDIT = "tests/audit/test_audit.py::"
TEST_RETRACE = "tests/verify/test_retrace.py::"
RETRACED = TEST_RETRACE + "TestWhatAnswersLeadTo::"

REPLAY, AUDITING = "verify/replay.py", "verify/auditing.py"
TEST_MECHANISM = "tests/verify/test_audit_mechanism.py::"
WRONG = TEST_MECHANISM + "test_what_is_wrong_in_the_kernel_is_found"

BY_NAME = "zip(*(sorted(each, key=lambda answer: answer.question.name) for each in (made, known)), strict=False)"

AUDITED = "tests/verify/test_audit_people.py::"

PLANTED = {
    "an audit of rows where people were asked for": mutant(
        ("verify/mechanism_audit.py", '(People(kind, said), "person") if said.unit else (kind, "row")', '(kind, "row")'),
        by=AUDITED + "TestChosenPairs::test_tables",
    ),
    "an audit of seeded releases": mutant(
        ("verify/audit.py", "    seed: int | None = None,\n", "    seed: int | None = 0,\n"),
        by=TEST_AUDIT + "test_black_box_audits_what_is_released",
    ),
    "a replay that takes any concentration": mutant(
        ("verify/recording.py", "before.law == law and before.columns.shape", "before.columns.shape"),
        by="tests/audit/test_subspace.py::test_a_mechanism_that_peeks_is_caught[concentration]",
    ),
    "an exact number in the options": mutant(
        ("verify/replay.py", "if text_of(release) != text_of(again):", "if False:"),
        by=TEST_AUDIT + "test_replay_catches_a_mechanism_that_writes_an_exact_number_into_its_file",
    ),
    "a draw that is in no answer": mutant(
        (REPLAY, "if pairs.left():", "if False:"),
        by=TEST_MECHANISM + "test_a_draw_that_no_answer_was_charged_for_is_found",
    ),
    "a replay of charges beyond the budget": mutant(
        (REPLAY, "if steps and not pays_for(", "if False and not pays_for("),
        by=WRONG + "[a question for nothing]",
    ),
    "an error for one of two neighbours": mutant(
        (REPLAY, "if error is not None and type(raised) is type(error):", "if raised:"),
        (REPLAY, "            raise error from None", "            raise raised"),
        by=TEST_MECHANISM + "test_both_ways_of_an_error_for_one_neighbour",
    ),
    "an audit whose bits can be guessed": mutant(
        ("verify/mechanism_audit.py", "SystemBits() if seed is None else SeededBits(seed)", "SeededBits(seed or 0)"),
        by=TEST_MECHANISM + "test_without_a_seed_no_audit_repeats",
    ),
    "a price above its charge": mutant((AUDITING, "if share > 1 + SLACK", "if share > 9"), by=WRONG + "[half a sensitivity]"),
    "equal noise that an audit does not look for": mutant(
        (AUDITING, "if runs > most:", "if False:"), by=WRONG + "[the same noise twice]"
    ),
    "noise that may be anywhere": mutant(
        ("verify/noise_check.py", "math.log(2 / alpha) / (2 * len(upto))", "math.log(2 / alpha) / len(upto) * 4"),
        by=WRONG + "[95 % of the noise]",
    ),
    "a search that forgets what was dear": mutant(
        (
            "verify/neighbours.py",
            "return changed_pair(self._kind, best, self._dice)",
            "return any_pair(self._kind, self._neighbors, self._dice)",
        ),
        by=TEST_MECHANISM + "test_the_search_finds_what_costs_most",
    ),
    "a likelihood of the wrong sign": mutant(
        (AUDITING, "second.append(-log_ratio(other.both))", "second.append(log_ratio(other.both))"),
        by=WRONG + "[a quarter of the noise]",
    ),
    "a file's radius not compared with its choice": mutant(
        (RETRACE, "sorted({*one, *other}):", 'sorted({*one, *other} - {"rows"}):'),
        by=(
            RETRACED + "test_a_radius_that_was_not_chosen[wishart]",
            RETRACED + "test_rows_that_were_clipped_elsewhere[rescaled]",
        ),
    ),
    "a file's questions taken in any order": mutant(
        (RETRACE, "if isinstance(one[1].question, Directions) == drawn)", "if type(one[1].question) is type(question))"),
        (RETRACE, "zip(made, known, strict=False)", BY_NAME),
        by="tests/release/test_framed_files.py::test_what_only_the_mechanism_knows_is_a_verdict[questions in another order]",
    ),
    "columns that were not asked for": mutant(
        (RETRACE, "sorted({*one, *other}):", 'sorted({*one, *other} - {"columns"}):'),
        by=RETRACED + "test_columns_that_were_not_kept",
    ),
    "a file of another radius": mutant(
        (RETRACE, "COORDINATES = 1e-6", "COORDINATES = 1e-2"),
        by=(
            "tests/release/test_screened_files.py::test_what_only_the_mechanism_knows_is_a_verdict[all_of_another_radius]",
            RETRACED + "test_rows_that_were_clipped_elsewhere[gaussian]",
        ),
    ),
    "a file of a budget that its mechanism would refuse": mutant(
        (RETRACE, "        rehearsed(mechanism, curator, release.privacy, again.options)", "        pass"),
        by=TEST_RETRACE + "test_a_budget_that_the_mechanism_would_have_refused",
    ),
    "more noise than the mechanism adds, and nobody sees it": mutant(
        (RETRACE, "if not all(_same_law(", "if False and not all(_same_law("),
        by=TEST_RETRACE + "TestAnyAnswer::test_more_noise_than_the_mechanism_adds[gaussian-replace]",
    ),
    "a charge that was moved, and nobody sees it": mutant(
        (RETRACE, "if one.charges != other.charges:", "if False:"),
        by=TEST_RETRACE + "TestAnyAnswer::test_a_charge_that_was_moved[rescaled-replace]",
    ),
    "an answer that nobody asked for": mutant(
        (RETRACE, "if len(made) < len(known):", "if False:"),
        by=TEST_RETRACE + "TestAnyAnswer::test_an_answer_that_nobody_asked_for[gaussian-replace]",
    ),
    "notes that no mechanism made": mutant(
        (RETRACE, "if not _alike(dict(again.notes), dict(release.notes)):", "if False:"),
        by=TEST_RETRACE + "TestHeader::test_notes",
    ),
    "one state for the directions of all peels": mutant(
        (
            RETRACE,
            "return _RecordedDirections(self._recorded.directions()).draw",
            "return _RecordedDirections(self._recorded.__dict__.setdefault('first', self._recorded.directions())).draw",
        ),
        by=TEST_RETRACE + "test_two_peels_at_a_time[Values-True]",
    ),
    "a drawn direction retraced in any number of columns": mutant(
        (RETRACE, "answer.question.d > MOST_DRAWN", "False"),
        by="tests/release/test_file_sizes.py::test_uses_of_invented_columns[random]",
    ),
}
