"""Planted bugs in the curator: what it reads, charges, draws and passes on."""

from __future__ import annotations

from tests.mutation.form import mutant

ACCOUNT = "kernel/account.py"
ANSWER = "kernel/answer.py"
CURATOR = "kernel/curator.py"
FACE = "kernel/face.py"
PEEL = "kernel/peel.py"
PUBLIC = "kernel/public.py"
SUMS = "kernel/sums.py"

TEST_HOSTILE_MECHANISMS = "tests/audit/test_hostile_mechanisms.py::"
TEST_NUMBERS = "tests/audit/test_numbers.py::"
TEST_AUDIT_SUBSPACE = "tests/audit/test_subspace.py::"
TEST_FLOAT_STEPS = "tests/kernel/calibration/test_float_steps.py::"
TEST_CALIBRATION_SUBSPACE = "tests/kernel/calibration/test_subspace.py::"
TEST_DOORS = "tests/kernel/laws/test_doors.py::"
TEST_SPECTRAL = "tests/kernel/laws/test_spectral.py::"
TEST_LAWS_SUBSPACE = "tests/kernel/laws/test_subspace.py::"
TEST_CURATOR = "tests/kernel/test_curator.py::"
TEST_LET_GO = "tests/kernel/test_let_go.py::"
TEST_LATE_ROWS = "tests/kernel/test_late_rows.py::"
TEST_EIGENVECTORS = "tests/mechanisms/test_eigenvectors.py::"
TEST_FILE_SIZES = "tests/release/test_file_sizes.py::"
KEPT = TEST_HOSTILE_MECHANISMS + "TestWhatIsKept::"
OWN_DOOR = TEST_DOORS + "test_each_type_has_its_own_door"

LAWS_TOO = "amounts | {_ratio(text) for law in laws for text in law.to_json().values()}"
CHARGE = "        self._account.charge(budget)\n"
DRAWN = "        columns = self._sampler.subspace(exact, basis, question.count, law)\n"
RELATION = "bingham_concentration(budget, self.public.neighbors), MAX"
SIZED = "return question.among(self.public.most_rows)"

PLANTED = {
    "a number of rows, known late, that nothing is rehearsed with": mutant(
        (CURATOR, "self._looks[-1](self.public)", "pass"),
        by="tests/api/test_rehearsal.py::test_a_number_of_rows_that_a_file_tells_late_is_rehearsed_with",
    ),
    "a rehearsal that asks the curator of the run": mutant(
        (CURATOR, "        if self._looking:", "        if False:"),
        by=TEST_LATE_ROWS + "test_a_rehearsal_cannot_ask_the_curator_of_the_run",
    ),
    "a refusal that may be caught once": mutant(
        (CURATOR, "self._looks[-1](self.public)", "self._looks.pop()(self.public); self._looks.append(print)"),
        by=TEST_LATE_ROWS + "test_who_catches_the_refusal_is_refused_again",
    ),
    "a number of rows that an answer tells, and nothing is rehearsed with": mutant(
        (
            CURATOR,
            "exact = self._sums.read(question)\n        try:\n            self._look_again()",
            "exact = self._sums.read(question)\n        try:\n            pass",
        ),
        by=TEST_LATE_ROWS + "test_the_first_answer_may_be_what_tells_n",
    ),
    "a number of rows that is looked at when something is charged": mutant(
        (CURATOR, "self.public.knows_n and not self._account.charged:", "self.public.knows_n:"),
        by=TEST_LATE_ROWS + "test_after_a_charge_nothing_is_looked_at",
    ),
    "an exact sum in the traceback of a refusal": mutant(
        (CURATOR, "            del exact  #", "            pass  #"), by=TEST_LATE_ROWS + "test_a_refusal_keeps_no_exact_sum"
    ),
    "overspending allowed": mutant(
        (ACCOUNT, "if not pays_for(self._budget, charges):", "if False:"),
        by=TEST_CURATOR + "TestRefusedBeforeReading::test_more_than_is_left",
    ),
    "charges of any number of digits": mutant(
        (ACCOUNT, "bits_of(numbers) > MOST_BITS:", "bits_of(numbers) > 2**99:"),
        by=TEST_FILE_SIZES + "test_charges_of_too_many_digits",
    ),
    "noise of any number of digits": mutant(
        (ACCOUNT, LAWS_TOO, "amounts"), by=TEST_FILE_SIZES + "test_scales_of_too_many_digits"
    ),
    "a charge without its lock": mutant(
        (ACCOUNT, "        with self._lock:  # two threads must", "        if True:  # two threads must"),
        by=TEST_CURATOR + "test_a_charge_and_its_verdict_are_one_step",
    ),
    "n from a foreign answer": mutant(
        (ACCOUNT, "        self._answers: list[Answer] = []\n", ""),
        (ACCOUNT, "    def __init__(self, budget", "    _answers: list[Answer] = []\n\n    def __init__(self, budget"),
        by=TEST_CURATOR + "test_n_is_taken_from_this_curators_own_answer",
    ),
    "charges that are in others' hands": mutant(
        (ACCOUNT, "extend(map(copied, budgets))", "extend(budgets)"), by=KEPT + "test_nor_one_in_an_answer"
    ),
    "an account whose budget is in others' hands": mutant(
        (ACCOUNT, "= copied(budget), purse", "= budget, purse"), by=KEPT + "test_an_account_has_a_budget_of_its_own"
    ),
    "charges that no file can hold": mutant(
        (ACCOUNT, "            if why := unwritten(new, analytic, self._bits):", "            if why := '':"),
        by=(
            TEST_CURATOR + "TestFilesCanHoldIt::test_charges_in_epsilon_and_delta",
            TEST_CURATOR + "TestFilesCanHoldIt::test_digits",
        ),
    ),
    "eigenvectors of an SVD": mutant(
        (ANSWER, "np.ascontiguousarray(self.decomposition[1][:, ::-1])", "np.linalg.svd(self.matrix)[0]"),
        by="tests/mechanisms/test_separate.py::TestEstimate::test_the_largest_eigenvalue_goes_to_the_largest_one_of_an_indefinite_matrix",
    ),
    "the smallest eigenvalues": mutant(
        (ANSWER, "self.decomposition[1][:, ::-1]", "self.decomposition[1]"),
        by="tests/mechanisms/test_screened.py::test_a_rotated_subspace_comes_back_in_its_columns",
    ),
    "a cache that keeps answers": mutant(
        (
            ANSWER,
            "    @cached_property\n    def decomposition(",
            "    @property\n    @__import__('functools').lru_cache\n    def decomposition(",
        ),
        by="tests/uses/test_penalty.py::test_what_was_computed_goes_with_its_release[rescaled]",
    ),
    "n of the corner where it was counted": mutant(
        (ANSWER, 'answer.question.name != "count"', 'answer.question.name == "count"'),
        by=(
            "tests/kernel/laws/test_questions.py::TestGivesN::test_a_count_goes_before_a_corner",
            "tests/release/test_forged.py::test_a_forged_file_is_refused[another n]",
        ),
    ),
    "charge after the draw": mutant(
        (
            CURATOR,
            "        self._account.charge(budget)\n"
            "        return self._account.record(Answer(question, (law,), (budget,), self._sampler.noisy(question, law, exact)",
            "        drawn = self._sampler.noisy(question, law, exact)\n        self._account.charge(budget)\n"
            "        return self._account.record(Answer(question, (law,), (budget,), drawn",
        ),
        by=TEST_CURATOR + "TestOrder::test_a_failed_draw_has_been_charged",
    ),
    "charge before the read": mutant(
        (
            CURATOR,
            "        exact = self._read(question)\n        self._account.charge(budget)\n",
            "        self._account.charge(budget)\n        exact = self._read(question)\n",
        ),
        by=TEST_CURATOR + "TestOrder::test_a_failed_read_costs_nothing",
    ),
    "one draw for all entries": mutant(
        (CURATOR, "if made is None or not made.fits(public):", "if made is None:"),
        by=TEST_CURATOR + "TestStatisticsThatDoNotFit::test_another_shape_or_grid",
    ),
    "true n under add-remove": mutant(
        (
            CURATOR,
            "        if not self.public.hides_n:\n            rows = self._sums.n\n",
            "        if True:\n            rows = self._sums.n\n",
        ),
        by=TEST_NUMBERS + "test_the_number_of_rows_is_private_under_add_remove",
    ),
    "n of centred rows from the data": mutant(
        (CURATOR, "told = n_of(self.answers)", "told = self._sums.n if self.public.grid.center else n_of(self.answers)"),
        by=TEST_NUMBERS + "test_the_number_of_rows_is_private_under_add_remove[True]",
    ),
    "a peel that is not charged": mutant(
        (CURATOR, "        self._account.charge(*charges)\n", ""),
        by=TEST_SPECTRAL + "TestDoor::test_the_whole_peel_is_charged_at_once",
    ),
    "query noise halved where it is calibrated": mutant(
        (CURATOR, "max(query_noise * scale, MIN_SCALE)", "max(query_noise * scale / 2, MIN_SCALE)"),
        by=(
            "tests/mechanisms/test_adaptive.py::TestSpending::test_noise_of_the_searches",
            "tests/audit/test_clipped.py::TestReplay::test_no_pair_costs_more_than_was_charged",
        ),
    ),
    "charge after the choice": mutant(
        (
            CURATOR,
            "        self._account.charge(budget)\n"
            "        return self._account.record(_indexed(question, law, budget, self._sampler.choice(question, law, counts)",
            "        index = self._sampler.choice(question, law, counts)\n        self._account.charge(budget)\n"
            "        return self._account.record(_indexed(question, law, budget, index",
        ),
        by=TEST_CURATOR + "TestOrder::test_choices_and_searches_keep_the_order_too",
    ),
    "charge after the search": mutant(
        (
            CURATOR,
            "        self._account.charge(budget)\n"
            "        return self._account.record(_indexed(question, law, budget, self._sampler.search(question, law, counts)",
            "        index = self._sampler.search(question, law, counts)\n        self._account.charge(budget)\n"
            "        return self._account.record(_indexed(question, law, budget, index",
        ),
        by=TEST_CURATOR + "TestOrder::test_choices_and_searches_keep_the_order_too",
    ),
    "choices at twice the rate": mutant(
        (CURATOR, "min(exponential_rate(budget), MAX_RATE, bound) / question.moved", "2 * exponential_rate(budget)"),
        by=(
            "tests/kernel/distribution/test_rank.py::test_choices_have_their_law[rank, zCDP]",
            "tests/audit/test_frames.py::TestMeans::test_pairs_cost_what_was_charged_and_no_more[symq-zCDP-add-remove]",
        ),
    ),
    "a rate that a mechanism may raise": mutant(
        (
            CURATOR,
            "Exponential(min(exponential_rate(budget), MAX_RATE, bound) / question.moved)",
            "Exponential(min(exponential_rate(budget), MAX_RATE) if at_most is None else bound)",
        ),
        by="tests/kernel/test_choosing.py::TestAtMost::test_it_lowers_the_rate_and_never_raises_it",
    ),
    "a subspace that is not charged": mutant(
        (CURATOR, CHARGE + DRAWN, DRAWN), by=TEST_LAWS_SUBSPACE + "TestSubspace::test_order_charge_and_record"
    ),
    "a subspace charged after its draw": mutant(
        (CURATOR, CHARGE + DRAWN, DRAWN + CHARGE), by=TEST_LAWS_SUBSPACE + "TestSubspace::test_order_charge_and_record"
    ),
    "a subspace twice as concentrated": mutant(
        (CURATOR, "min(" + RELATION, "min(2 * " + RELATION),
        by=(
            TEST_CALIBRATION_SUBSPACE + "TestConcentration::test_pure",
            TEST_AUDIT_SUBSPACE + "test_the_worst_pair_uses_the_draws_budget[ppca, two-pure-replace]",
            TEST_AUDIT_SUBSPACE + "test_black_box_of_a_column",
        ),
    ),
    "the concentration of the other relation": mutant(
        (CURATOR, "min(" + RELATION, "min(" + RELATION.replace("self.public.neighbors", '"add-remove"')),
        by=(
            TEST_CALIBRATION_SUBSPACE + "TestConcentration::test_pure",
            TEST_AUDIT_SUBSPACE + "test_no_pair_costs_more_than_was_charged[ppca, two-pure-replace]",
        ),
    ),
    "at_most that takes noise away": mutant(
        (
            CURATOR,
            "concentration = min(bingham_concentration(budget, self.public.neighbors), MAX_CONCENTRATION, bound)",
            "concentration = bound",
        ),
        by=TEST_CALIBRATION_SUBSPACE + "TestConcentration::test_at_most_only_adds_noise",
    ),
    "a chain that is called uniform": mutant(
        (
            CURATOR,
            "Answer(question, (law,), (budget,), rows.reshape(-1))",
            "Answer(question, (Uniform(),), (budget,), rows.reshape(-1))",
        ),
        by=(
            TEST_CALIBRATION_SUBSPACE + "TestConcentration::test_pure",
            "tests/release/test_components_files.py::test_round_trip[ppca-2-replace]",
        ),
    ),
    "a curator that keeps exact sums": mutant(
        (CURATOR, "        self.forget()\n", ""),
        ("mechanisms/running.py", "        curator.forget()", "        pass"),
        by=TEST_LET_GO + "test_a_curator_and_a_peel_that_are_kept_hold_nothing",
    ),
    "a mechanism says of how many rows": mutant(
        (CURATOR, SIZED, "return question"),
        ("kernel/questions/spectral.py", " and self.rows >= public.most_rows", ""),
        by=TEST_FLOAT_STEPS + "TestCurator::test_noise_is_that_of_the_public_number[1-add-remove-3]",
    ),
    "a peel with noise beyond what float64 can subtract": mutant(
        (CURATOR, "            question.values.check_noise(law)\n", "            pass\n"),
        by=TEST_FLOAT_STEPS + "TestNoiseThatIsSubtracted::test_a_curator_refuses_it_too",
    ),
    "the tail of the last answer only": mutant(
        (
            CURATOR,
            "check_tail([*(law for answer in self.answers for law in answer.laws), law], self.budget)",
            "check_tail([law], self.budget)",
        ),
        by="tests/kernel/calibration/test_calibrated.py::TestStatedDelta::test_a_curator_takes_the_sum_too",
    ),
    "a stranger's measure that says how many rows there are": mutant(
        (
            CURATOR,
            "self._sized(remade(question, public.encoding.aside)) if type(question) in known else None",
            "self._sized(question)",
        ),
        by=TEST_FLOAT_STEPS + "TestCurator::test_a_measure_of_another_type_says_nothing_of_rows",
    ),
    "a basis that is checked when the sum is there": mutant(
        (CURATOR, "            _ = made.basis.columns  # refuses", "            # refuses"),
        by=TEST_HOSTILE_MECHANISMS + "TestBases::test_a_basis_is_refused_before_anything_is_read",
    ),
    "sweeps whose truth is asked for beside the exact sum": mutant(
        (CURATOR, "if type(sweeps) is not int:", "if False:"),
        by=TEST_HOSTILE_MECHANISMS + "TestBases::test_what_a_draw_is_told_is_checked_before_anything_is_read",
    ),
    "a basis of a stranger's answer": mutant(
        (CURATOR, "told is not None and not any(told is answer for answer in self.answers)", "False"),
        by=TEST_HOSTILE_MECHANISMS + "TestBases::test_answers_of_others_are_no_basis",
    ),
    "rows that nobody has counted": mutant(
        (CURATOR, SIZED, "return question"),
        by=TEST_FLOAT_STEPS + "TestCurator::test_noise_is_that_of_the_public_number[1073741824-replace-2]",
    ),
    "numbers chosen from as if they were counts": mutant(
        (CURATOR, "self._checked(question, CHOSEN), _pure", "question, _pure"), by=OWN_DOOR + "[norms-choose-face]"
    ),
    "searches among what is no search": mutant(
        (CURATOR, "self._checked(question, SEARCHED), _pure", "question, _pure"), by=OWN_DOOR + "[radius-first_above-face]"
    ),
    "directions of what has none": mutant(
        (CURATOR, "self._checked(question, (Directions,)), _pure", "question, _pure"), by=OWN_DOOR + "[subspace-peel-face]"
    ),
    "a subspace of directions": mutant(
        (CURATOR, "self._checked(question, (Subspace,)), _pure", "question, _pure"), by=OWN_DOOR + "[directions-subspace-face]"
    ),
    "what is drawn kept as a sum": mutant(
        (CURATOR, "[self._checked(question, SUMMED) for question in questions]", "questions"),
        by=OWN_DOOR + "[spectrum-prefetch-face]",
    ),
    "a record of charges that are in others' hands": mutant(
        (CURATOR, "(*SUMMED, *DERIVED)), copied(budget)", "(*SUMMED, *DERIVED)), budget"),
        by=KEPT + "test_a_budget_that_shrinks_after_it_was_charged",
    ),
    "directions at a price that is in others' hands": mutant(
        (CURATOR, "    return copied(budget)\n", "    return budget\n"), by=KEPT + "test_nor_directions"
    ),
    "a sensitivity that is in others' hands": mutant(
        (CURATOR, "self._sized(remade(question, public.encoding.aside)) if", "self._sized(question) if"),
        by=(KEPT + "test_a_question_with_a_sensitivity_of_its_own", KEPT + "test_numbers_that_are_others_by_now"),
    ),
    "questions after the release": mutant(
        (CURATOR, "        self._account.close()\n", ""),
        by=TEST_LET_GO + "test_whoever_keeps_the_face_asks_nothing_more[released]",
    ),
    "the exact n of a table": mutant(
        (
            CURATOR,
            "if not self.public.hides_n:\n            rows = self._sums.n",
            "if True:\n            rows = self._sums.n",
        ),
        by=(
            "tests/audit/test_standardized.py::TestReplay::test_nor_of_few_rows[PureDP(epsilon=400)-add-remove]",
            "tests/mechanisms/test_standardized.py::TestUnits::test_decisions_follow_the_noisy_number_of_rows",
        ),
    ),
    "the exact matrix in the hands of a mechanism": mutant(
        (FACE, "lambda *asked, **paid: PeelFace(curator.peel(*asked, **paid))", "curator.peel"),
        by=(
            TEST_HOSTILE_MECHANISMS + "TestDirections::test_the_matrix_is_not_to_be_had",
            TEST_DOORS + "TestFace::test_directions_lead_nowhere_either",
        ),
    ),
    "an encoding that a mechanism shares with its curator": mutant(
        (FACE, "pass_on, curator.so_far.apart()", "pass_on, curator.so_far"),
        by=TEST_HOSTILE_MECHANISMS + "TestEncodings::test_it_is_not_that_of_the_curator[replace]",
    ),
    "a mechanism that holds the curator": mutant(
        (
            FACE,
            "self._pass_on, public = pass_on, curator.so_far",
            "self._pass_on, self.curator, public = pass_on, curator, curator.so_far",
        ),
        by=TEST_DOORS + "TestFace::test_nothing_leads_to_the_rows[replace]",
    ),
    "a way to the exact sums": mutant(
        (FACE, '"n": lambda: curator.n,', '"n": lambda: curator.n, "_sums": lambda: curator._sums,'),
        by=TEST_DOORS + "TestFace::test_its_one_function_passes_on_these_names_only[replace]",
    ),
    "a reflector of the wrong sign": mutant(
        (PEEL, "reflector[0] += 1.0 if vector[0] >= 0 else -1.0", "reflector[0] += -1.0 if vector[0] >= 0 else 1.0"),
        by=TEST_SPECTRAL + "TestPeel::test_projection",
    ),
    "not deflated": mutant(
        (PEEL, "matrix[1:, 1:] - np.outer(tail, half_tail) - np.outer(half_tail, tail)", "matrix[1:, 1:]"),
        by=(
            TEST_SPECTRAL + "TestPeel::test_projection",
            TEST_EIGENVECTORS + "TestEigenvectors::test_noise_off_gives_the_truth",
        ),
    ),
    "not subtracted": mutant(
        (PEEL, "self._matrix = self._matrix - value * np.outer(vector, vector)", "pass"),
        by=(
            TEST_SPECTRAL + "TestPeel::test_subtraction",
            TEST_EIGENVECTORS + "TestKapralovTalwar::test_noise_off_gives_the_truth",
        ),
    ),
    "shares beyond the whole": mutant(
        (PEEL, "not 0 < share <= self._left", "not 0 < share <= 1"),
        by=TEST_SPECTRAL + "TestPeel::test_shares_beyond_the_whole_are_refused",
    ),
    "a peel that keeps its curator": mutant(
        (PEEL, "        self._answer = self._draw = self._record = self._reserve = _forgotten\n", ""),
        (
            CURATOR,
            "draw = partial(self._sampler.direction, fixed=fixed)",
            "draw = lambda *one: self._sampler.direction(*one, fixed=fixed)",
        ),
        by=TEST_LET_GO + "test_a_curator_and_a_peel_that_are_kept_hold_nothing",
    ),
    "a peel that keeps the exact matrix": mutant(
        (PEEL, "        self._matrix = self._guess = np.zeros(0)\n", ""),
        by=TEST_LET_GO + "test_a_curator_and_a_peel_that_are_kept_hold_nothing",
    ),
    "a share that leaves all of the budget": mutant(
        (PEEL, "type(share) is not Fraction or", "not isinstance(share, Fraction) or"),
        by=TEST_HOSTILE_MECHANISMS + "TestDirections::test_shares_are_exact_fractions",
    ),
    "a bound on the concentration that binds nothing": mutant(
        (PEEL, 'else exact_fraction("at_most", at_most)', "else at_most"),
        by=TEST_HOSTILE_MECHANISMS + "TestDirections::test_bounds_are_exact_fractions",
    ),
    "a peel that is closed before all are drawn": mutant(
        (PEEL, "self._taken != self._question.count or len", "len"),
        by=TEST_HOSTILE_MECHANISMS + "TestDirections::test_all_are_drawn_and_valued",
    ),
    "a value that was paid for and not asked": mutant(
        (PEEL, " or len(self._values) != (0 if self._value_law is None else self._taken)", ""),
        by=TEST_SPECTRAL + "TestPeel::test_a_value_that_was_paid_for_is_not_skipped",
    ),
    "shares of directions that no file can hold": mutant(
        (PEEL, "        self._reserve(concentration.as_integer_ratio())\n", ""),
        by=TEST_CURATOR + "TestFilesCanHoldIt::test_shares_of_directions",
    ),
    "a schema that a mechanism shares with its curator": mutant(
        (PUBLIC, "schema=deepcopy(whole.schema)", "schema=whole.schema"),
        by=TEST_HOSTILE_MECHANISMS + "TestEncodings::test_nor_its_schema",
    ),
    "encoded rows where rows by column are wanted": mutant(
        (SUMS, "for question in questions if _given(question) == given)", "for question in questions)"),
        by="tests/sources/test_by_column.py::test_sums_of_both_kinds_of_rows_can_be_read_ahead",
    ),
    "what float64 loses of the exact n": mutant(
        (SUMS, "self._open is None or self._neighbors != REPLACE else", "self._open is None else"),
        (PUBLIC, "n = None if self.hides_n else self.known_n", "n = self.known_n"),
        by=(
            TEST_FLOAT_STEPS + "TestCurator::test_rows_that_are_public",
            TEST_FLOAT_STEPS + "TestCurator::test_noise_is_that_of_the_public_number[1-add-remove-3]",
        ),
    ),
    "fewer columns than the source has": mutant(
        (SUMS, "if encoding.feature_names != source.feature_names:", "if False:"),
        by=TEST_HOSTILE_MECHANISMS + "test_columns_are_those_of_the_source",
    ),
    "n that is known where it is private": mutant(
        (SUMS, "self._open is None or self._neighbors != REPLACE else", "self._open is None else"),
        by=TEST_DOORS + "TestFace::test_a_private_n_is_what_was_told[add-remove]",
    ),
    "rows that can be read after the release": mutant(
        (SUMS, "        self._open = None\n", "        pass\n"),
        by=TEST_LET_GO + "test_whoever_keeps_the_face_asks_nothing_more[failed]",
    ),
}
