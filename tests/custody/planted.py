"""Planted bugs in the ledger, and in what empties a purse."""

from __future__ import annotations

from tests.mutation.form import mutant

ACCOUNT = "kernel/account.py"
ADDING = "custody/adding.py"
APPROVING = "custody/approving.py"
CLAIM = "custody/claim.py"
CURATOR = "kernel/curator.py"
LEDGER = "custody/ledger.py"
PEOPLE = "custody/people.py"
PLACE = "custody/place.py"
PROMISE = "promise.py"
REQUEST = "request.py"
STATE = "custody/state.py"
STORE = "custody/store.py"
VERIFYING = "custody/verifying.py"

TEST_ADDING = "tests/custody/test_adding.py::"
TEST_CLAIM = "tests/custody/test_claim.py::"
TEST_LEDGER = "tests/custody/test_ledger.py::"
TEST_ORDER = "tests/custody/test_order.py::"
TEST_POLICY = "tests/custody/test_policy.py::"
TEST_RACES = "tests/custody/test_races.py::"
TEST_STORE = "tests/custody/test_store.py::"
EMPTIED = TEST_LEDGER + "TestTheOrder::test_the_purse_is_emptied_between_reading_and_drawing"
EVERY = TEST_ORDER + "test_every_mechanism_pays_between_its_first_reading_and_its_first_draw"
DOUBLE = TEST_ADDING + "TestNeighbours::test_adding_and_removing_counts_double_for_replacing"
BROKEN = TEST_POLICY + "TestRules::test_what_breaks_one_is_refused_before_reading"

NOTED = '            writing.add("failed", self.name, self.who, self.why, facts, attempt.time)\n'
REFUND = """
            if facts["spent"]:
                from dpcov.custody.adding import Sum

                none = Sum.empty(State.of(writing, self.name).total).to_json()
                spent = writing.last(self.name, "spent")
                writing.add("spent", self.name, self.who, self.why, {**spent.facts, "after": none}, attempt.time)
"""

PLANTED = {
    "a purse that is emptied after the draw": mutant(
        (CURATOR, "            self._account.commit()\n", ""),
        (
            ACCOUNT,
            "            self._answers.append(answer)\n",
            "            self._answers.append(answer)\n        self.commit()\n",
        ),
        by=(EMPTIED + "[noisy]", EVERY + "[covariance gaussian replace]"),
    ),
    "a peel that empties no purse": mutant(
        (
            CURATOR,
            "        exact = to_floats(self._read(question), question.moment)\n        spectrum",
            "        exact = to_floats(self._sums.read(question), question.moment)\n        spectrum",
        ),
        by=(EMPTIED + "[peel]", EVERY + "[covariance eigenvectors replace]"),
    ),
    "a subspace that empties no purse": mutant(
        (
            CURATOR,
            "        exact = to_floats(self._read(question), question.moment)\n        basis",
            "        exact = to_floats(self._sums.read(question), question.moment)\n        basis",
        ),
        by=EMPTIED + "[subspace]",
    ),
    "a purse that is emptied for every question": mutant(
        (ACCOUNT, "                self._taken = True\n", "                self._taken = False\n"),
        by=EMPTIED + "[choose]",
    ),
    "a ledger that is read before its lock is held": mutant(
        (
            STORE,
            'self._transaction(connection, "IMMEDIATE"):\n            writing',
            'self._transaction(connection, "DEFERRED"):\n            writing',
        ),
        by=TEST_RACES + "test_racing_charges_never_overspend",
    ),
    "a commit that does not wait for the disk": mutant(
        (STORE, 'synchronous = FULL"', 'synchronous = NORMAL"'),
        by=TEST_STORE + "test_a_commit_waits_for_the_disk",
    ),
    "sums of budgets in floats": mutant(
        (
            ADDING,
            "amounts = tuple(amount + one for amount, one in zip(self.amounts, added, strict=True))",
            "amounts = tuple(Fraction(float(amount) + float(one)) for amount, one in zip(self.amounts, added, strict=True))",
        ),
        by=TEST_ADDING + "test_ten_tenths_are_one",
    ),
    "a spend that an interrupt hides": mutant(
        (LEDGER, '"spent": next(paid, 0)', '"spent": 0'),
        by=TEST_LEDGER + "TestFailures::test_an_interrupt_just_after_the_spend_is_noted_as_spent",
    ),
    "a refund after an error": mutant(
        (LEDGER, NOTED, REFUND.lstrip("\n") + NOTED),
        by=TEST_LEDGER + "TestFailures::test_what_was_spent_stays_spent_when_a_draw_fails",
    ),
    "a tail that is not counted": mutant(
        (ADDING, "TAIL if isinstance(counted, PureDP) else Fraction(0)", "Fraction(0)"),
        by=TEST_ADDING + "TestTails::test_every_pure_release_counts_one",
    ),
    "tails on top of a converted delta": mutant(
        (ADDING, "total.amounts()[1] - tails).to_zcdp()", "total.amounts()[1]).to_zcdp()"),
        by=TEST_ADDING + "TestNotions::test_an_epsilon_and_delta_total_that_begins_with_rho_is_held_as_rho",
    ),
    "adding and removing that counts once for replacing": mutant(
        (ADDING, "counted = budget if neighbors == of_total else _twice(budget)", "counted = budget"),
        by=(DOUBLE + "[budget0-counted0]", DOUBLE + "[budget1-counted1]"),
    ),
    "rho that only doubles for replaced rows": mutant(
        (ADDING, "ZCDP(4 * budget.rho)", "ZCDP(2 * budget.rho)"), by=DOUBLE + "[budget1-counted1]"
    ),
    "a delta that does not grow for replaced rows": mutant(
        (ADDING, "grown = (1 + _power_up(budget.epsilon)) * budget.delta if", "grown = 2 * budget.delta if"),
        by=TEST_ADDING + "TestNeighbours::test_delta_grows_by_one_and_e_to_epsilon",
    ),
    "a digest that is not compared": mutant(
        (VERIFYING, "or kept not in (None, digest(release))", ""),
        by=TEST_LEDGER + "TestARelease::test_an_edited_release_shows",
    ),
    "a release that is handed over unrecorded": mutant(
        (REQUEST, "return purse.recorded(made)", "return made"),
        by=TEST_LEDGER + "TestARelease::test_it_is_charged_in_whole_and_carries_its_entry",
    ),
    "a chain that is not checked": mutant(
        (STORE, "return self.hash == _hash(previous, self.body)", "return True"),
        by=(
            TEST_STORE + "TestTheChain::test_an_edited_entry_shows[5]",
            TEST_STORE + "TestTheChain::test_nothing_is_added_after_an_edited_entry[9]",
        ),
    ),
    "sums that verify believes": mutant(
        (VERIFYING, "or not told.fits:", "or not told.fits) and False:"),
        (VERIFYING, "if (grown.adds, grown.amounts, grown.tails) !=", "if ((grown.adds, grown.amounts, grown.tails) !="),
        by=TEST_STORE + "TestTheChain::test_whoever_computes_the_hashes_anew_is_found_by_the_sums",
    ),
    "a ledger that is put back unseen": mutant(
        (VERIFYING, "elif entry.hash != mark.head or", "elif"),
        by=TEST_LEDGER + "TestOldCopies::test_one_that_was_put_back_and_used_again_shows",
    ),
    "entries that confirm guesses": mutant(
        (STORE, '"salt": random_digits(),', '"salt": "0" * 32,'),
        by=TEST_LEDGER + "TestWhatIsKept::test_a_hash_confirms_no_guess",
    ),
    "entries that tell how long a draw took": mutant(
        (LEDGER, "self.why, told, attempt.time)", "self.why, told)"), by=TEST_LEDGER + "TestWhatIsKept::test_no_durations"
    ),
    "a seeded release that is charged": mutant(
        (PROMISE, "if ledger is not None and seed is not None:", "if False:"),
        by=TEST_LEDGER + "TestARelease::test_a_seeded_one_is_refused",
    ),
    "a Markov chain that is charged": mutant(
        (ACCOUNT, 'if law.numerics == "markov chain":', "if False:"),
        by=TEST_LEDGER + "TestARelease::test_a_markov_chain_is_refused_before_anything_is_read",
    ),
    "attempts without end": mutant(
        (STATE, ">= MOST_ATTEMPTS:", "> 10**9:"), by=TEST_LEDGER + "TestFailures::test_too_many_in_a_row_are_no_accident"
    ),
    "a policy that is not looked at when the budget is taken": mutant(
        (
            LEDGER,
            'state.refuse_by_policy(cost, facts["neighbors"], facts["what"])',
            "pass",
        ),
        by=TEST_POLICY + "TestRules::test_a_policy_that_is_changed_during_a_release_holds",
    ),
    "a policy that is not looked at": mutant(
        (STATE, "        self.policy.refuse(cost.budget, neighbors, what)\n", "        return\n"),
        by=(BROKEN + "[rho]", BROKEN + "[another schema]"),
    ),
    "a policy for what is asked, not for what it counts": mutant(
        (
            STATE,
            "        self.refuse_by_policy(cost, neighbors, what)\n",
            "        self.policy.refuse(budget, neighbors, what)\n",
        ),
        by=BROKEN + "[counted twice]",
    ),
    "a policy that an alias gets around": mutant(
        (REQUEST, "self.what(found.mechanism), whom)", "self.what(), whom)"), by=BROKEN + "[alias]"
    ),
    "an approval of one's own": mutant(
        (APPROVING, "not is_same_person(entry.user, user) and fits_release", "fits_release"),
        by=TEST_POLICY + "TestTwoPeople::test_nobody_releases_alone",
    ),
    "an approval that is used twice": mutant(
        (APPROVING, "entry.sequence not in used and ", ""), by=TEST_POLICY + "TestTwoPeople::test_an_approval_is_used_once"
    ),
    "a user whom the environment names": mutant(
        (PEOPLE, "pwd.getpwuid(os.getuid()).pw_name", "getpass.getuser()"),
        by=TEST_POLICY + "TestTwoPeople::test_a_name_of_ones_own_does_not_help",
    ),
    "a claim that a folder gets around": mutant(
        (CLAIM, "for place in (path, *local_files(path)):", "for place in (path,):"),
        by=TEST_CLAIM + "test_other_ways_to_the_same_file_are_refused_too",
    ),
    "a claim that is written over another": mutant(
        ("paths.py", "hint, target.hardlink_to)", "hint, lambda partial: partial.replace(target))"),
        by=TEST_CLAIM + "test_of_two_that_claim_it_at_once_one_gets_it",
    ),
    "a fork while a connection is open": mutant(
        (STORE, 'if hasattr(os, "register_at_fork"):', "if False:"),
        by=TEST_STORE + "test_a_fork_waits_until_no_connection_is_open",
    ),
    "a connection that a fork does not wait for": mutant(
        (STORE, "        with CONNECTED:\n", "        if True:\n"),
        by=TEST_STORE + "test_a_fork_waits_until_no_connection_is_open",
    ),
    "an export that keeps the file open": mutant(
        (
            LEDGER,
            "            for entry in some:\n                yield",
            "                for entry in some:\n                    yield",
        ),
        (
            LEDGER,
            "            if not some:\n                return\n",
            "                if not some:\n                    return\n",
        ),
        by=TEST_STORE + "test_whoever_takes_an_export_slowly_keeps_nobody_waiting",
    ),
    "a log that belongs to whoever looked": mutant(
        (PLACE, "if not os.access(path, os.R_OK | os.W_OK):", "if False:"),
        by=TEST_STORE + "TestFiles::test_a_folder_or_file_that_may_not_be_written[511-292]",
    ),
    "a spend that an index has lost is spent again": mutant(
        (STATE, 'writing.refuse_hidden(self.name, "spent", self.last)', "pass"),
        by=TEST_STORE + "TestFiles::test_a_spend_that_a_damaged_index_has_lost_is_not_spent_again",
    ),
    "an entry without its fields": mutant(
        (STORE, " or not told.keys() >= FIELDS or", " or"),
        by=TEST_STORE + "test_an_entry_without_its_fields_is_named",
    ),
    "triggers that drop entries": mutant(
        (STORE, "            if not writing.has_its_tables():\n", "            if False:\n"),
        by=TEST_STORE + "TestTheChain::test_other_tables_or_triggers_show_and_nothing_is_charged[a trigger that drops entries]",
    ),
    "triggers that verify does not look at": mutant(
        (VERIFYING, "if not reading.has_its_tables():", "if False:"),
        by=TEST_STORE + "TestTheChain::test_other_tables_or_triggers_show_and_nothing_is_charged[no trigger]",
    ),
    "an entry that is found as another's": mutant(
        (STORE, " or not entry.is_in_place:", ":"),
        by=TEST_STORE + "TestTheChain::test_a_spend_of_another_data_set_is_not_taken_for_ones_own",
    ),
    "two releases whose sum promises nothing, in silence": mutant(
        (ADDING, "        return None, Fraction(1), of_both\n", "        raise\n"),
        by=TEST_ADDING + "test_two_releases_whose_sum_promises_nothing[first0-second0]",
    ),
    "a delta that two releases add up to without": mutant(
        (ADDING, "compose(*map(_as_rho, costs)), deltas, of_both", "compose(*map(_as_rho, costs)), Fraction(0), of_both"),
        by=TEST_ADDING + "test_two_releases_of_which_one_has_a_delta_and_one_a_rho",
    ),
    "a data set that looks like another": mutant(
        (PEOPLE, "if not text.isprintable() or text != text.strip():", "if False:"),
        by="tests/cli/test_ledger.py::test_what_is_refused_at_the_beginning_leaves_no_file",
    ),
    "a rule that steers a terminal": mutant(
        ("cli/ledger_acts.py", "printable(line, MOST_CHARACTERS) for line", "line for line"),
        by="tests/cli/test_ledger.py::test_a_rule_cannot_steer_a_terminal",
    ),
    "a ledger's file that is mounted alone": mutant(
        (PLACE, "if mounted is not None and mounted.is_file():", "if False:"),
        by=TEST_STORE + "TestFiles::test_a_file_that_is_mounted_by_itself_is_refused",
    ),
    "a ledger that all may read": mutant(
        ("paths.py", "os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600", "os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o644"),
        by=TEST_STORE + "TestFiles::test_a_new_one_is_its_owners_alone_with_its_log",
    ),
}
