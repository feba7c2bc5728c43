"""Planted bugs in what runs, rehearses and names mechanisms."""

from __future__ import annotations

from tests.mutation.form import mutant

MECHANISMS = "mechanisms/__init__.py"
BASE = "mechanisms/base.py"
REHEARSING = "mechanisms/rehearsing.py"
RUNNING = "mechanisms/running.py"

TEST_HOSTILE_MECHANISMS = "tests/audit/test_hostile_mechanisms.py::"
TEST_RECORDS = "tests/mechanisms/test_records.py::"
TEST_STRANGERS = "tests/release/test_strangers.py::"
TEST_REHEARSAL = "tests/api/test_rehearsal.py::"
KEPT = TEST_HOSTILE_MECHANISMS + "TestWhatIsKept::"

PLANTED = {
    "a stranger's rehearsal that ends where all is spent": mutant(
        (REHEARSING, "if is_own(mechanism) else Still()", "if True else Still()"),
        by=TEST_REHEARSAL + "TestAfterAllIsSpent::test_what_is_refused_then_is_refused_before[asks again-replace]",
    ),
    "a rehearsal that does not end as a run does": mutant(
        (REHEARSING, "        _ = curator.n  # as after a run\n        curator.close()\n", "        pass\n"),
        by=(
            TEST_REHEARSAL + "TestAfterAllIsSpent::test_what_is_refused_then_is_refused_before[never counts-add-remove]",
            TEST_REHEARSAL + "TestAfterAllIsSpent::test_what_is_refused_then_is_refused_before[leaves directions open-replace]",
        ),
    ),
    "True taken for 1 by a rehearsal": mutant(
        (REHEARSING, "(name, type(value), value) for name", "(name, object, value) for name"),
        by=TEST_REHEARSAL + "test_options_that_are_equal_are_not_the_same",
    ),
    "a resolved option that hides a requested one": mutant(
        (RUNNING, "for written in (kept_as_asked, kept):", "for written in ({**kept_as_asked, **kept},):"),
        by=TEST_HOSTILE_MECHANISMS + "test_options_of_an_alias_are_what_a_file_can_hold[NaN]",
    ),
    "a stranger under the name of another": mutant(
        (MECHANISMS, "    if known is not None and known is not mechanism:\n", "    if False:\n"),
        by="tests/mechanisms/test_own_mechanism.py::TestRefusals::test_the_name_of_a_built_in_everywhere",
    ),
    "a stranger under a name of the library": mutant(
        (MECHANISMS, "if known is not None and known is not mechanism:", "if False:"),
        by=TEST_STRANGERS + "TestWithTheMechanism::test_a_stranger_may_not_take_a_name_of_the_library",
    ),
    "centred rows drawn from": mutant(
        (BASE, 'if center and self.centring != "homogeneous":', "if False:"),
        by="tests/mechanisms/test_components.py::TestOptions::test_centred_rows",
    ),
    "a file with options that no regression has": mutant(
        (BASE, "if missing or not set(options) <= set(self.options):", "if missing:"),
        by="tests/release/test_output_perturbation_files.py::test_what_only_the_mechanism_knows_is_a_verdict[rank=1]",
    ),
    "an option by position": mutant(
        (BASE, " and set(kinds[2:]) <= {inspect.Parameter.KEYWORD_ONLY}", ""),
        by=TEST_RECORDS + "test_a_fault_is_refused_when_the_record_is_made[ask any_options]",
    ),
    "an estimate without an option of what asks": mutant(
        (BASE, "right = _are_two(kinds) and whole and needed", "right = _are_two(kinds) and needed"),
        by=TEST_RECORDS + "test_a_fault_is_refused_when_the_record_is_made[estimate without_options]",
    ),
    "facts that least shares are told by, shared with the run": mutant(
        (REHEARSING, "mechanism.least(public.apart(), copied(left),", "mechanism.least(public, left,"),
        by=TEST_HOSTILE_MECHANISMS + "TestEncodings::test_nor_is_what_its_least_shares_are_told_by",
    ),
    "a sum of charges that must be a budget": mutant(
        (
            REHEARSING,
            "min(_left(account.budget, account.charged)) <= 0",
            "remaining(account.budget, account.charged) is None",
        ),
        by=TEST_REHEARSAL + "test_charges_of_more_digits_together_than_a_budget_has_are_served",
    ),
    "lists that a rehearsal leaves empty": mutant(
        (REHEARSING, "copied(left), **_own(options))  #", "copied(left), **options)  #"),
        (REHEARSING, "whole=curator.budget, options=_own(options))", "whole=curator.budget, options=options)"),
        by=TEST_REHEARSAL + "TestListsAmongOptions::test_what_a_rehearsal_takes_out_of_them_is_there_in_the_run",
    ),
    "lists that one rehearsal leaves empty for the next": mutant(
        (REHEARSING, "copied(left), **_own(options))  #", "copied(left), **options)  #"),
        by=TEST_REHEARSAL + "TestListsAmongOptions::test_also_after_the_reading_that_tells_how_many_rows_there_are",
    ),
    "lists that the run has written into, rehearsed with": mutant(
        (REHEARSING, "whole=curator.budget, options=_own(options))", "whole=curator.budget, options=options)"),
        by=TEST_REHEARSAL + "TestListsAmongOptions::test_also_after_the_reading_that_tells_how_many_rows_there_are",
    ),
    "seed not stamped": mutant(
        (RUNNING, "seeded=curator.seeded", "seeded=False"),
        by="tests/audit/test_numbers.py::test_two_releases_differ_and_only_seeded_ones_repeat",
    ),
    "noise beyond what float64 can subtract": mutant(
        (RUNNING, "if rehearse:", "if False:"),
        by="tests/kernel/calibration/test_float_steps.py::TestNoiseThatIsSubtracted::test_small_budgets_are_refused_before_anything_is_read",
    ),
    "exact sums that outlive a run that failed": mutant(
        (RUNNING, "        curator.forget()", "        pass"),
        by="tests/kernel/test_let_go.py::test_whoever_keeps_the_curator_keeps_no_sums[interrupted]",
    ),
    "facts that a name is resolved by, shared with the run": mutant(
        (RUNNING, "named.resolve(public.apart(), copied(budget),", "named.resolve(public, budget,"),
        by=TEST_HOSTILE_MECHANISMS + "TestEncodings::test_nor_is_what_a_name_is_resolved_by",
    ),
    "a mechanism that holds its caller's budget": mutant(
        (RUNNING, "mechanism.ask(Face(curator), copied(left), **asked)", "mechanism.ask(Face(curator), left, **asked)"),
        by=KEPT + "test_nor_does_that_of_the_caller",
    ),
    "notes that lead to the rows": mutant(
        (RUNNING, "notes=_noted(notes)", "notes=notes or {}"),
        by=(
            TEST_HOSTILE_MECHANISMS + "test_notes_are_what_a_file_can_hold[an object]",
            TEST_HOSTILE_MECHANISMS + "test_notes_are_what_a_file_can_hold[long]",
        ),
    ),
    "other options for what asks than for what retraces": mutant(
        (RUNNING, "asked = _plain(kept)  #", "pass  #"),
        by=TEST_STRANGERS + "TestOptionsArePlain::test_in_every_place[{'weights': (1, 2)}-(0.5, [1, 2])]",
    ),
    "a run that is not rehearsed": mutant(
        (RUNNING, "if rehearse:", "if False:"),
        by=TEST_REHEARSAL + "test_a_mechanism_that_asks_for_too_much_spends_nothing",
    ),
    "options as a mechanism leaves them": mutant(
        (RUNNING, "options=kept,", "options=_plain(asked),"),
        by=TEST_REHEARSAL + "TestListsAmongOptions::test_what_a_rehearsal_takes_out_of_them_is_there_in_the_run",
    ),
    "a rehearsal in as many columns as a file says": mutant(
        (RUNNING, "None, options, rehearse=False)", "None, options)"),
        by="tests/verify/test_retrace.py::test_a_small_file_of_many_columns_takes_no_matrices",
    ),
    "options that no file can hold, found out too late": mutant(
        (RUNNING, "_check_written(written)", "pass"),
        by=TEST_HOSTILE_MECHANISMS + "test_options_are_what_a_file_can_hold[an object]",
    ),
    "a stranger's release that is not looked at": mutant(
        (RUNNING, "        check_made(release)\n", "        pass\n"), by=KEPT + "test_a_release_that_no_file_would_hold"
    ),
}
