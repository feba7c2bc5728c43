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

REFUND = """
            if event == "failed" and facts["spent"]:
                from dpcov.custody.adding import Sum

                none = Sum.empty(State.of(writing, self.name).total).to_json()
                spent = writing.last(self.name, "spent")
                writing.add("spent", self.name, self.who, self.why, {**spent.facts, "after": none}, time)
            return writing.add(event, self.name, self.who, self.why, facts, time)
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
            'self._transaction(connection, "IMMEDIATE"):\n            yield',
            'self._transaction(connection, "DEFERRED"):\n            yield',
        ),
        by=TEST_RACES + "test_racing_charges_never_overspend",
    ),
    "a commit that does not wait for the disk": mutant(
        (STORE, "PRAGMA synchronous = FULL", "PRAGMA synchronous = NORMAL"),
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
    "a refund after an error": mutant(
        (LEDGER, "            return writing.add(event, self.name, self.who, self.why, facts, time)\n", REFUND.lstrip("\n")),
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
    "a ledger that all may read": mutant(
        ("paths.py", "os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600", "os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o644"),
        by=TEST_STORE + "TestFiles::test_a_new_one_is_its_owners_alone_with_its_log",
    ),
}
