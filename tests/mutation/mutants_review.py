"""Planted bugs that a review found no test for: edits, and the tests that must fail because of them."""

from __future__ import annotations

Edits = list[tuple[str, str, str]]

NUMBERS, RECORDED = "tests/audit/test_numbers.py::", "tests/kernel/distribution/test_recorded.py::"
FEW = "tests/audit/test_few_rows.py::test_few_rows_ask_and_release_nothing_else"
PRIVATE = "tests/test_architecture.py::test_a_mechanism_reaches_into_nothing_private"
CURATOR, CALIBRATED = "tests/kernel/test_curator.py::", "tests/kernel/calibration/test_calibrated.py::"
STEPS, AMOUNTS = "tests/kernel/calibration/test_float_steps.py::", "tests/kernel/calibration/test_amounts.py::"
LET_GO, CHOICE = "tests/kernel/test_let_go.py::", "tests/kernel/distribution/test_choice.py::"
CURATED, SAMPLER, SPECTRAL = "kernel/curator.py", "kernel/noise/sampler.py", "kernel/questions/spectral.py"
RUNNING = "mechanisms/running.py"
EXACT_N = 'curator._pass_on.__closure__[0].cell_contents["n"].__closure__[0].cell_contents._sums.n'
SIZED = "return question.among(self.public.most_rows)"
HOSTILE, CHECK, FILE = "tests/audit/test_hostile_mechanisms.py::", "release/check.py", "release/file.py"
FORGED = "tests/release/test_forged.py::test_a_forged_file_is_refused"
QUESTIONS, DOORS, RETRACE = (
    "tests/kernel/laws/test_questions.py::",
    "tests/kernel/laws/test_doors.py::",
    "tests/verify/test_retrace.py::",
)
OWN_DOOR, MADE_OF = DOORS + "test_each_type_has_its_own_door", DOORS + "TestStrangers::test_what_a_question_is_made_of"
ENDS, OTHER_NAME = (
    "tests/release/test_hostile.py::test_it_loads_and_every_use_ends",
    "tests/release/test_hostile.py::test_the_answers_of_any_mechanism_under_the_name_of_any_other",
)
LESS = (FORGED + "[less noise than the charge buys]",)
SYMQ, ADAPTIVE, RESCALED = "mechanisms/mean/symq.py", "mechanisms/covariance/adaptive.py", "mechanisms/covariance/rescaled.py"

REVIEW_MUTANTS: dict[str, tuple[Edits, tuple[str, ...]]] = {
    "one noise for all values of a peel": (
        [(SAMPLER, "int(noise[place])", "int(noise[0])")],
        (NUMBERS + "test_each_value_of_a_peel_has_its_own_noise", RECORDED + "TestAdded::test_values_of_a_peel_too"),
    ),
    "the same noise for the same question": (
        [
            (
                SAMPLER,
                "        return law.draw([part.size for part in question.parts], self._bits)\n",
                "        kept = self.__dict__.setdefault('kept', {})\n"
                "        if (question.name, law) not in kept:\n"
                "            kept[question.name, law] = law.draw([part.size for part in question.parts], self._bits)\n"
                "        return kept[question.name, law]\n",
            )
        ],
        (NUMBERS + "test_a_question_asked_twice_has_other_noise",),
    ),
    "the rank of symq from the exact n": (
        [(SYMQ, "min(round(level * curator.n), curator.n)", f"min(round(level * {EXACT_N}), curator.n)")],
        (PRIVATE + "[mechanisms/mean/symq.py]", FEW + "[mean symq 0-ZCDP(rho=8)-add-remove]"),
    ),
    "the trace of adaptive capped at the exact n": (
        [
            (
                ADAPTIVE,
                "    if curator.neighbors == REPLACE:\n        trace = min(trace, float(curator.n))\n",
                f"    trace = min(trace, float({EXACT_N}))\n",
            )
        ],
        (PRIVATE + "[mechanisms/covariance/adaptive.py]", FEW + "[covariance adaptive 0-PureDP(epsilon=8)-add-remove]"),
    ),
    "half of the exact n outside the radius of rescaled": (
        [(RESCALED, "rows_to_clip(noise, robust), curator.n / 2", f"rows_to_clip(noise, robust), {EXACT_N} / 2")],
        (PRIVATE + "[mechanisms/covariance/rescaled.py]", FEW + "[covariance rescaled 0-PureDP(epsilon=8)-add-remove]"),
    ),
    "an exact number in the options": (
        [("verify/replay.py", "if text_of(release) != text_of(again):", "if False:")],
        ("tests/audit/test_audit.py::test_replay_catches_a_mechanism_that_writes_an_exact_number_into_its_file",),
    ),
    "the system's bits expanded from a few": (
        [
            (
                "kernel/bits.py",
                "np.frombuffer(os.urandom(8 * count), dtype=np.uint64)",
                'np.asarray(np.random.PCG64(int.from_bytes(os.urandom(16), "little")).random_raw(count))',
            )
        ],
        ("tests/kernel/distribution/test_bits.py::test_system_words_are_the_operating_systems",),
    ),
    "an audit of seeded releases": (
        [("verify/audit.py", "    seed: int | None = None,\n", "    seed: int | None = 0,\n")],
        ("tests/audit/test_audit.py::test_black_box_audits_what_is_released",),
    ),
    "Laplace at 95 percent of its record": (
        [
            (
                "kernel/noise/laws.py",
                "discrete_laplace(self.scale, sum(sizes)",
                "discrete_laplace(self.scale * 19 / 20, sum(sizes)",
            )
        ],
        (RECORDED + "TestAdded::test_laplace",),
    ),
    "Gaussian at 95 percent of its record": (
        [
            (
                "kernel/noise/laws.py",
                "discrete_gaussian(variance, size, bits) for",
                "discrete_gaussian(variance * 9 / 10, size, bits) for",
            )
        ],
        (RECORDED + "TestAdded::test_gaussian_by_part",),
    ),
    "Wishart at 95 percent of its record": (
        [("kernel/noise/matrix.py", "minus @ minus.T) * float(self.scale)", "minus @ minus.T) * float(self.scale) * 0.95")],
        (RECORDED + "TestAdded::test_wishart",),
    ),
    "Frobenius at 95 percent of its record": (
        [
            (
                "kernel/noise/matrix.py",
                "exponentials(count, bits)) * float(self.scale)",
                "exponentials(count, bits)) * 0.95 * float(self.scale)",
            )
        ],
        (RECORDED + "TestAdded::test_frobenius",),
    ),
    "a choice that follows its scores more closely": (
        [(SAMPLER, "question.weights, law.rate, self._bits", "question.weights, law.rate * 21 / 20, self._bits")],
        (RECORDED + "TestDrawn::test_choices",),
    ),
    "a search with less noise on its queries": (
        [
            (
                "kernel/noise/choice.py",
                "discrete_laplace(law.query, len(values)",
                "discrete_laplace(law.query * 19 / 20, len(values)",
            )
        ],
        (RECORDED + "TestDrawn::test_searches",),
    ),
    "directions that are more concentrated": (
        [(SAMPLER, "bingham(matrix, concentration, guess", "bingham(matrix, 1.05 * concentration, guess")],
        (RECORDED + "TestDrawn::test_directions",),
    ),
    "subspaces that are more concentrated": (
        [(SAMPLER, "k, float_below(law.concentration), law", "k, 1.05 * float_below(law.concentration), law")],
        (RECORDED + "TestDrawn::test_subspaces",),
    ),
    "a charge without its lock": (
        [("kernel/account.py", "        with self._lock:  # two threads must", "        if True:  # two threads must")],
        (CURATOR + "test_a_charge_and_its_verdict_are_one_step",),
    ),
    "n from a foreign answer": (
        [
            ("kernel/account.py", "        self._answers: list[Answer] = []\n", ""),
            (
                "kernel/account.py",
                "    def __init__(self, budget",
                "    _answers: list[Answer] = []\n\n    def __init__(self, budget",
            ),
        ],
        (CURATOR + "test_n_is_taken_from_this_curators_own_answer",),
    ),
    "Wishart's tail of half of its event": (
        [("kernel/noise/matrix.py", "tail=2 * d * math.exp(-TAIL)", "tail=2 * d * math.exp(-2 * TAIL)")],
        (CALIBRATED + "test_tails_cover_their_event",),
    ),
    "delta lowered without the weights": (
        [("kernel/questions/calibrated.py", "sum(part.weight * part.size for", "sum(part.size for")],
        (CALIBRATED + "test_delta_is_lowered_by_what_discrete_noise_differs",),
    ),
    "the Frobenius sensitivity rounded down": (
        [
            (
                "kernel/questions/calibrated.py",
                "return sqrt_up(Fraction(statistic.sensitivity_squared(neighbors)))",
                "return sqrt_up(Fraction(statistic.sensitivity_squared(neighbors))) - Fraction(1, 2**40)",
            )
        ],
        (CALIBRATED + "test_the_frobenius_sensitivity_is_rounded_up",),
    ),
    "floats that decide too close to a boundary": (
        [("kernel/noise/discrete.py", "DOUBT = 2.0**-34", "DOUBT = 2.0**-41")],
        ("tests/kernel/distribution/test_discrete.py::test_a_poor_logarithm_changes_no_draw",),
    ),
    "a peel that keeps its curator": (
        [
            ("kernel/peel.py", "        self._answer = self._draw = self._record = self._reserve = _forgotten\n", ""),
            (
                CURATED,
                "draw = partial(self._sampler.direction, fixed=fixed)",
                "draw = lambda *one: self._sampler.direction(*one, fixed=fixed)",
            ),
        ],
        (LET_GO + "test_a_curator_and_a_peel_that_are_kept_hold_nothing",),
    ),
    "a curator that keeps exact sums": (
        [(CURATED, "        self.forget()\n", ""), (RUNNING, "        curator.forget()", "        pass")],
        (LET_GO + "test_a_curator_and_a_peel_that_are_kept_hold_nothing",),
    ),
    "a peel that keeps the exact matrix": (
        [("kernel/peel.py", "        self._matrix = self._guess = np.zeros(0)\n", "")],
        (LET_GO + "test_a_curator_and_a_peel_that_are_kept_hold_nothing",),
    ),
    "float64 errs for one of two neighbours": (
        [("kernel/questions/derived.py", "Fraction(4 * times * work * max", "Fraction(2 * times * work * max")],
        (STEPS + "TestFormula::test_an_error_of_both_neighbours_is_in_it",),
    ),
    "what float64 loses of the exact n": (
        [
            (
                "kernel/sums.py",
                "self._open is None or self._neighbors != REPLACE else",
                "self._open is None else",
            ),
            (
                "kernel/public.py",
                "MAX_ROWS if self.neighbors != REPLACE or self.known_n is None",
                "MAX_ROWS if self.known_n is None",
            ),
        ],
        (
            STEPS + "TestCurator::test_rows_that_are_public",
            STEPS + "TestCurator::test_noise_is_that_of_the_public_number[1-add-remove-3]",
        ),
    ),
    "a mechanism says of how many rows": (
        [(CURATED, SIZED, "return question"), (SPECTRAL, " and self.rows >= public.most_rows", "")],
        (STEPS + "TestCurator::test_noise_is_that_of_the_public_number[1-add-remove-3]",),
    ),
    "what is left of the trace as if it were one number": (
        [("kernel/questions/along.py", "steps_lost(self.d + 2, self.rows, times=self.count) - each", "0")],
        (STEPS + "TestFormula::test_what_is_left_of_the_trace",),
    ),
    "noise beyond what float64 can subtract": (
        [
            (
                "mechanisms/running.py",
                "door = rehearsed(mechanism, curator, budget, asked) if rehearse else curator",
                "door = curator",
            )
        ],
        (STEPS + "TestNoiseThatIsSubtracted::test_small_budgets_are_refused_before_anything_is_read",),
    ),
    "a peel with noise beyond what float64 can subtract": (
        [(CURATED, "            question.values.check_noise(law)\n", "            pass\n")],
        (STEPS + "TestNoiseThatIsSubtracted::test_a_curator_refuses_it_too",),
    ),
    "a delta that is a quarter of what is proved": (
        [("release/statement.py", "/ math.log(2) - 1e-9)", "/ math.log(2) - 1e-9) + 2")],
        (CALIBRATED + "TestStatedDelta::test_it_covers_all_tails", CALIBRATED + "TestStatedDelta::test_known_values"),
    ),
    "a delta without its factor": (
        [("release/statement.py", "bits - (epsilon + math.log1p(math.exp(-epsilon))) / math.log(2) - 1e-9", "bits - 1e-9")],
        (CALIBRATED + "TestStatedDelta::test_it_covers_all_tails",),
    ),
    "the tail of the last answer only": (
        [
            (
                CURATED,
                "check_tail([*(law for answer in self.answers for law in answer.laws), law], self.budget)",
                "check_tail([law], self.budget)",
            )
        ],
        (CALIBRATED + "TestStatedDelta::test_a_curator_takes_the_sum_too",),
    ),
    "a chain for floats as for real numbers": (
        [("release/statement.py", "isinstance(law, Bingham | MatrixBingham)", "isinstance(law, Bingham)")],
        ("tests/mechanisms/test_components_refusals.py::test_round_trip[ppca-2-replace]",),
    ),
    "twice as many rows as pairs": (
        [("release/record.py", 'f"row of the {self.n} pairs" if', 'f"of the {2 * self.n} rows" if')],
        ("tests/cli/test_pairs.py::test_pairs_are_told_by_their_number_and_without_a_mean",),
    ),
    "proposals until one is accepted": (
        [("kernel/noise/choice.py", "count = PROPOSALS if bits.seeded else max(enough, PROPOSALS)", "count = PROPOSALS")],
        ("tests/kernel/distribution/test_choice.py::test_the_number_of_proposals_is_public",),
    ),
    "norms without their highest digits": (
        [("kernel/rows/lengths.py", "for place in range(3)]", "for place in (0, 1, 1)]")],
        ("tests/kernel/laws/test_norms.py::TestBins::test_exact_integers_count_as_fractions_do",),
    ),
    "the best candidate at a second look": (
        [
            (
                "kernel/noise/choice.py",
                "            return int(proposed[np.argmax(accepted)])\n\n\ndef choose_among_many",
                "            return int(proposed[np.argmax(accepted)])\n        return int(np.argmax(scores))\n\n\n"
                "def choose_among_many",
            )
        ],
        (CHOICE + "test_choices_without_a_seed_have_their_law_at_a_second_look_too[one dominates]",),
    ),
    "a file's own n for what float64 loses": (
        [(SPECTRAL, "self.rows >= public.most_rows", "self.rows >= (public.known_n or 1)")],
        ("tests/release/test_file_sizes.py::test_a_file_cannot_lower_the_rows_that_float64_is_counted_for[1]",),
    ),
    "a stranger's measure that says how many rows there are": (
        [(CURATED, "self._sized(remade(question)) if type(question) in known else None", "self._sized(question)")],
        (STEPS + "TestCurator::test_a_measure_of_another_type_says_nothing_of_rows",),
    ),
    "exact sums that outlive a run that failed": (
        [(RUNNING, "        curator.forget()", "        pass")],
        (LET_GO + "test_whoever_keeps_the_curator_keeps_no_sums[interrupted]",),
    ),
}

REVIEW_MUTANTS |= {
    "a radius among sums": (
        [("kernel/questions/choices.py", "type(self.norms) is Norms and ", "")],
        (HOSTILE + "test_choices_are_made_from_proved_counts[a radius among sums]",),
    ),
    "a rank among directions": (
        [("kernel/questions/bins.py", "type(self.bins) is Bins and ", "")],
        (HOSTILE + "test_choices_are_made_from_proved_counts[a rank among directions]",),
    ),
    "a basis that grows after it was checked": (
        [("kernel/questions/remade.py", "made = GivenBasis(asked.columns)", "made = asked")],
        (HOSTILE + "TestBases::test_what_is_used_is_what_was_checked",),
    ),
    "a basis that is checked when the sum is there": (
        [(CURATED, "            _ = made.basis.columns  # refuses", "            # refuses")],
        (HOSTILE + "TestBases::test_a_basis_is_refused_before_anything_is_read",),
    ),
    "sweeps whose truth is asked for beside the exact sum": (
        [(CURATED, "if type(sweeps) is not int:", "if False:")],
        (HOSTILE + "TestBases::test_what_a_draw_is_told_is_checked_before_anything_is_read",),
    ),
    "a mechanism that looks at frames": (
        [
            (
                SYMQ,
                "min(round(level * curator.n), curator.n)",
                "min(round(level * curator.n), curator.n) if ValueError().with_traceback(None).tb_frame else 0",
            )
        ],
        (PRIVATE + "[mechanisms/mean/symq.py]",),
    ),
    "a basis of a stranger's answer": (
        [(CURATED, "told is not None and not any(told is answer for answer in self.answers)", "False")],
        (HOSTILE + "TestBases::test_answers_of_others_are_no_basis",),
    ),
    "a share that leaves all of the budget": (
        [("kernel/peel.py", "type(share) is not Fraction or", "not isinstance(share, Fraction) or")],
        (HOSTILE + "TestDirections::test_shares_are_exact_fractions",),
    ),
    "a bound on the concentration that binds nothing": (
        [("kernel/peel.py", 'else exact_fraction("at_most", at_most)', "else at_most")],
        (HOSTILE + "TestDirections::test_bounds_are_exact_fractions",),
    ),
    "a peel that is closed before all are drawn": (
        [("kernel/peel.py", "self._taken != self._question.count or len", "len")],
        (HOSTILE + "TestDirections::test_all_are_drawn_and_valued",),
    ),
    "a value that was paid for and not asked": (
        [("kernel/peel.py", " or len(self._values) != (0 if self._value_law is None else self._taken)", "")],
        ("tests/kernel/laws/test_spectral.py::TestPeel::test_a_value_that_was_paid_for_is_not_skipped",),
    ),
    "the exact matrix in the hands of a mechanism": (
        [("kernel/face.py", "lambda *asked, **paid: PeelFace(curator.peel(*asked, **paid))", "curator.peel")],
        (
            HOSTILE + "TestDirections::test_the_matrix_is_not_to_be_had",
            DOORS + "TestFace::test_directions_lead_nowhere_either",
        ),
    ),
    "fewer columns than the source has": (
        [("kernel/sums.py", "if encoding.feature_names != source.feature_names:", "if False:")],
        (HOSTILE + "test_columns_are_those_of_the_source",),
    ),
    "an encoding that a mechanism shares with its curator": (
        [("kernel/face.py", "pass_on, curator.public.apart()", "pass_on, curator.public")],
        (HOSTILE + "TestEncodings::test_it_is_not_that_of_the_curator[replace]",),
    ),
    "a schema that a mechanism shares with its curator": (
        [("kernel/public.py", "schema=deepcopy(self.encoding.schema)", "schema=self.encoding.schema")],
        (HOSTILE + "TestEncodings::test_nor_its_schema",),
    ),
    "facts that least shares are told by, shared with the run": (
        [("mechanisms/rehearsing.py", "mechanism.least(public.apart(), copied(budget),", "mechanism.least(public, budget,")],
        (HOSTILE + "TestEncodings::test_nor_is_what_its_least_shares_are_told_by",),
    ),
    "facts that a name is resolved by, shared with the run": (
        [(RUNNING, "named.resolve(public.apart(), copied(budget),", "named.resolve(public, budget,")],
        (HOSTILE + "TestEncodings::test_nor_is_what_a_name_is_resolved_by",),
    ),
    "a mechanism that holds its caller's budget": (
        [(RUNNING, "mechanism.ask(Face(door), copied(budget), **asked)", "mechanism.ask(Face(door), budget, **asked)")],
        (HOSTILE + "TestWhatIsKept::test_nor_does_that_of_the_caller",),
    ),
    "notes that lead to the rows": (
        [(RUNNING, "notes=_noted(notes)", "notes=notes or {}")],
        (HOSTILE + "test_notes_are_what_a_file_can_hold[an object]", HOSTILE + "test_notes_are_what_a_file_can_hold[long]"),
    ),
    "other options for what asks than for what retraces": (
        [(RUNNING, "        asked = _plain(asked)\n", "        _plain(asked)\n")],
        ("tests/release/test_strangers.py::TestOptionsArePlain::test_in_every_place[{'weights': (1, 2)}-(0.5, [1, 2])]",),
    ),
    "an option by position": (
        [("mechanisms/base.py", " and set(kinds[2:]) <= {inspect.Parameter.KEYWORD_ONLY}", "")],
        ("tests/mechanisms/test_records.py::test_a_fault_is_refused_when_the_record_is_made[ask any_options]",),
    ),
    "an estimate without an option of what asks": (
        [("mechanisms/base.py", "right = _are_two(kinds) and whole and needed", "right = _are_two(kinds) and needed")],
        ("tests/mechanisms/test_records.py::test_a_fault_is_refused_when_the_record_is_made[estimate without_options]",),
    ),
    "a run that is not rehearsed": (
        [
            (
                "mechanisms/running.py",
                "door = rehearsed(mechanism, curator, budget, asked) if rehearse else curator",
                "door = curator",
            )
        ],
        ("tests/test_rehearsal.py::test_a_mechanism_that_asks_for_too_much_spends_nothing",),
    ),
    "the end of a rehearsal, taken for an error": (
        [("mechanisms/rehearsing.py", "class _AllSpent(BaseException):", "class _AllSpent(Exception):")],
        ("tests/test_rehearsal.py::test_a_mechanism_that_catches_errors_is_rehearsed_as_it_runs",),
    ),
    "a sum of charges that must be a budget": (
        [
            (
                "mechanisms/rehearsing.py",
                "min(_left(self.budget, self.charged)) <= 0",
                "remaining(self.budget, self.charged) is None",
            )
        ],
        ("tests/test_rehearsal.py::test_charges_of_more_digits_together_than_a_budget_has_are_served",),
    ),
    "lists that a rehearsal leaves empty": (
        [
            ("mechanisms/rehearsing.py", "copied(budget), **_own(options))  #", "copied(budget), **options)  #"),
            (
                "mechanisms/rehearsing.py",
                "whole=curator.budget, options=_own(options))",
                "whole=curator.budget, options=options)",
            ),
        ],
        ("tests/test_rehearsal.py::TestListsAmongOptions::test_what_a_rehearsal_takes_out_of_them_is_there_in_the_run",),
    ),
    "lists that one rehearsal leaves empty for the next": (
        [("mechanisms/rehearsing.py", "copied(budget), **_own(options))  #", "copied(budget), **options)  #")],
        ("tests/test_rehearsal.py::TestListsAmongOptions::test_also_after_the_reading_that_tells_how_many_rows_there_are",),
    ),
    "lists that the run has written into, rehearsed with": (
        [
            (
                "mechanisms/rehearsing.py",
                "whole=curator.budget, options=_own(options))",
                "whole=curator.budget, options=options)",
            )
        ],
        ("tests/test_rehearsal.py::TestListsAmongOptions::test_also_after_the_reading_that_tells_how_many_rows_there_are",),
    ),
    "options as a mechanism leaves them": (
        [(RUNNING, "options=kept,", "options=_plain(asked),")],
        ("tests/test_rehearsal.py::TestListsAmongOptions::test_what_a_rehearsal_takes_out_of_them_is_there_in_the_run",),
    ),
    "flags counted as columns of a table": (
        [("sources/fitting.py", "sum(name not in used for name in table.names)", "len(table.names) - len(used)")],
        ("tests/sources/test_fitting.py::test_columns_that_are_not_used_are_counted",),
    ),
    "a rehearsal in as many columns as a file says": (
        [("mechanisms/running.py", "None, options, rehearse=False)", "None, options)")],
        ("tests/verify/test_retrace.py::test_a_small_file_of_many_columns_takes_no_matrices",),
    ),
    "a file of a budget that its mechanism would refuse": (
        [("verify/retrace.py", "        rehearsed(mechanism, curator, release.privacy, again.options)", "        pass")],
        ("tests/verify/test_retrace.py::test_a_budget_that_the_mechanism_would_have_refused",),
    ),
    "a number of rows, known late, that nothing is rehearsed with": (
        [("mechanisms/rehearsing.py", "            self._checks.pop()(self.public)", "            pass")],
        ("tests/test_rehearsal.py::test_a_number_of_rows_that_a_file_tells_late_is_rehearsed_with",),
    ),
    "what may be asked last that is not declared": (
        [("mechanisms/covariance/adaptive.py", "    least=least,\n", "")],
        ("tests/test_rehearsal.py::test_what_depends_on_answers_is_refused_at_its_least_share[covariance-adaptive]",),
    ),
    "a seed that is looked at before the mechanism": (
        [
            ("request.py", "    check_budget(budget)\n    named", "    check_seed(seed)\n    check_budget(budget)\n    named"),
        ],
        ("tests/test_request.py::test_of_several_faults_the_first_in_one_order_is_told[covariance]",),
    ),
    "a rehearsal that forgets what is asked last": (
        [("rehearsal.py", "(*asked, *added)", "asked")],
        ("tests/mechanisms/test_own_mechanism.py::TestTools::test_a_rehearsal_counts_what_may_be_asked_last",),
    ),
    "options that no file can hold, found out too late": (
        [(RUNNING, "        asked = _plain(asked)\n", "        pass\n")],
        (HOSTILE + "test_options_are_what_a_file_can_hold[an object]",),
    ),
    "n of the corner where it was counted": (
        [("kernel/answer.py", 'answer.question.name != "count"', 'answer.question.name == "count"')],
        (QUESTIONS + "TestGivesN::test_a_count_goes_before_a_corner", FORGED + "[another n]"),
    ),
    "rows that nobody has counted": (
        [(CURATED, SIZED, "return question")],
        (STEPS + "TestCurator::test_noise_is_that_of_the_public_number[1073741824-replace-2]",),
    ),
    "a file about other rows": (
        [(CHECK, "if not answer.question.fits(public):", "if False:")],
        (FORGED + "[a radius beyond the encoding]", FORGED + "[fewer rows than there may be]"),
    ),
    "a file with answers that no question has": (
        [(CHECK, "if not answer.question.admits(answer.integers):", "if False:")],
        (FORGED + "[an index beyond the candidates]", FORGED + "[no unit vectors]"),
    ),
    "a file that spends more than it promises": (
        [(CHECK, "if charges and not pays_for(transcript.privacy, charges):", "if False:")],
        (FORGED + "[a charge beyond the promise]", FORGED + "[a promise of less]"),
    ),
    "the noise of a file's first answer only": (
        [(CHECK, "transcript.answers:\n        _check_noise", "transcript.answers[:1]:\n        _check_noise")],
        LESS,
    ),
    "the tails of a file not looked at": (
        [(CHECK, "    if isinstance(transcript.privacy, ApproxDP):\n", "    if False:\n")],
        ("tests/release/test_forged.py::TestTails::test_they_add_up[1]",),
    ),
    "the tails of a file one by one": (
        [
            (
                CHECK,
                "        check_tail([law for answer in transcript.answers for law in answer.laws], transcript.privacy)\n",
                "        for answer in transcript.answers:\n            check_tail(answer.laws, transcript.privacy)\n",
            )
        ],
        ("tests/release/test_forged.py::TestTails::test_they_add_up[2]",),
    ),
    "any n in a file": (
        [(CHECK, "if transcript.neighbors != REPLACE and transcript.n != n_of(transcript.answers):", "if False:")],
        (FORGED + "[another n]",),
    ),
    "values along directions with any noise": (
        [(CHECK, "        _check_law(question.values, answer.laws[1], answer.charges[1], neighbors)\n", "")],
        LESS,
    ),
    "directions with values drawn by any law": (
        [
            (
                CHECK,
                "        _check_law(question, answer.laws[0], answer.charges[0], neighbors)\n        _check_law",
                "        _check_law",
            )
        ],
        LESS,
    ),
    "a file's integers between the points of their lattice": (
        [(CHECK, "not np.array_equal(answer.law.settle(answer.integers), answer.integers)", "False")],
        (FORGED + "[off the lattice]",),
    ),
    "a law that no sum has": (
        [(CHECK, "if law.law not in KIND_OF_NOISE:", "if False:")],
        (FORGED + "[a law of another question]",),
    ),
    "any scale in a file": (
        [(CHECK, "enough = is_enough(law, question, charge, neighbors)", "enough = True")],
        LESS,
    ),
    "a search with noise on its threshold only": (
        [(CHECK, "min(law.threshold, law.query) >=", "law.threshold >=")],
        LESS,
    ),
    "a search with any noise on its threshold": (
        [(CHECK, "min(law.threshold, law.query) >=", "law.query >=")],
        LESS,
    ),
    "directions that nobody paid for": (
        [(CHECK, "if [name for name, _ in law.concentrations] != [str(i + 1) for i in range(question.drawn)]:", "if False:")],
        (FORGED + "[other parts]",),
    ),
    "squared concentrations of a file not added up": (
        [(CHECK, "sum(exponent**2 for exponent in exponents) <=", "max(exponent**2 for exponent in exponents) <=")],
        LESS,
    ),
    "a subspace at any concentration": (
        [(CHECK, "enough = _is_affordable([law.concentration], charge, neighbors)", "enough = True")],
        LESS,
    ),
    "a chain of one direction": (
        [(CHECK, " and question.count > 1", "")],
        ("tests/mechanisms/test_components_refusals.py::test_a_chain_of_one_direction_is_none",),
    ),
    "coordinates of nobody": (
        [(FILE, "if len(reading.used) < len(frames):", "if False:")],
        ("tests/release/test_framed_files.py::test_a_forged_file_is_refused[a frame of nobody]",),
    ),
    "a file of more rows than sums can hold": (
        [(CHECK, " or (transcript.neighbors == REPLACE and transcript.n > MAX_ROWS)", "")],
        (FORGED + "[another n]",),
    ),
    "a column that stands twice": (
        [(CHECK, "len(set(encoding.feature_names)) < encoding.d or any", "any")],
        (FORGED + "[names that are none]",),
    ),
    "a column whose name is no text": (
        [(CHECK, " or any(is_broken(name) for name in encoding.feature_names)", "")],
        (FORGED + "[names that are none]",),
    ),
    "pairs of rows that may be added": (
        [(CHECK, "if encoding.pairs and (encoding.constant or transcript.neighbors != REPLACE):", "if False:")],
        (FORGED + "[pairs of others]",),
    ),
    "an answer with noise that nobody paid for": (
        [(FILE, "if len(noise) != len(question.names) or question.size < 1:", "if len(noise) < len(question.names):")],
        (FORGED + "[noise twice]",),
    ),
    "an answer as long as the file likes": (
        [(FILE, "if len(listed) != size or any(", "if any(")],
        (FORGED + "[an integer too few]",),
    ),
    "numerics that a law does not have": (
        [(FILE, 'fields.choice("numerics", [kind.numerics])', 'fields.take("numerics", str)')],
        (FORGED + "[other numerics]",),
    ),
    "a basis counted from the end": (
        [
            (
                "kernel/questions/filing.py",
                "self.answers[place] if 0 <= place < len(self.answers)",
                "self.answers[place] if place < len(self.answers)",
            )
        ],
        (FORGED + "[a basis of a later answer]",),
    ),
    "coordinates counted from the end": (
        [
            (
                "kernel/questions/filing.py",
                "self.frames[place] if 0 <= place < len(self.frames)",
                "self.frames[place] if place < len(self.frames)",
            )
        ],
        (FORGED + "[a frame that does not stand there]",),
    ),
    "rows clipped farther out than they are encoded": (
        [("kernel/questions/measure.py", " and grid.row_norm <= whole.row_norm", "")],
        (FORGED + "[a radius beyond the encoding]", CURATOR + "TestStatisticsThatDoNotFit::test_another_shape_or_grid"),
    ),
    "coordinates of another grid": (
        [("kernel/questions/measure.py", "not whole.center and rows.bits == whole.bits and", "not whole.center and")],
        (FORGED + "[other bits than its frames have]",),
    ),
    "an index beyond the candidates": (
        [("kernel/questions/choices.py", " and 0 <= int(integers[0]) < self.candidates", "")],
        (FORGED + "[an index beyond the candidates]",),
    ),
    "a direction twice": (
        [("kernel/questions/directions.py", "return not self.orthogonal or bool(", "return True or bool(")],
        (FORGED + "[not orthogonal]",),
    ),
    "directions of any length": (
        [("kernel/questions/directions.py", "if not np.all(np.abs(np.linalg.norm(rows, axis=1) - 1) <= slack):", "if False:")],
        (FORGED + "[no unit vectors]",),
    ),
}

REVIEW_MUTANTS |= {
    "numbers chosen from as if they were counts": (
        [(CURATED, "self._checked(question, CHOSEN), _pure", "question, _pure")],
        (OWN_DOOR + "[norms-choose-face]",),
    ),
    "searches among what is no search": (
        [(CURATED, "self._checked(question, SEARCHED), _pure", "question, _pure")],
        (OWN_DOOR + "[radius-first_above-face]",),
    ),
    "directions of what has none": (
        [(CURATED, "self._checked(question, (Directions,)), _pure", "question, _pure")],
        (OWN_DOOR + "[subspace-peel-face]",),
    ),
    "a subspace of directions": (
        [(CURATED, "self._checked(question, (Subspace,)), _pure", "question, _pure")],
        (OWN_DOOR + "[directions-subspace-face]",),
    ),
    "what is drawn kept as a sum": (
        [(CURATED, "[self._checked(question, SUMMED) for question in questions]", "questions")],
        (OWN_DOOR + "[spectrum-prefetch-face]",),
    ),
    "numbers of a second moment of a stranger": (
        [("kernel/questions/derived.py", "type(self.moment) is SecondMoment and super()", "super()")],
        (QUESTIONS + "TestFitsExactly::test_a_moment_is_a_whole_one",),
    ),
    "directions of a second moment of a stranger": (
        [("kernel/questions/directions.py", "type(self.moment) is SecondMoment and type(self.count)", "type(self.count)")],
        (QUESTIONS + "TestFitsExactly::test_a_moment_is_a_whole_one",),
    ),
    "a stranger's values along directions": (
        [("kernel/questions/directions.py", "type(self.values) in VALUED.values()\n            and ", "")],
        (QUESTIONS + "TestFitsExactly::test_values_are_those_of_the_directions",),
    ),
    "values of other directions": (
        [
            (
                "kernel/questions/directions.py",
                "and (self.values.moment, self.values.count) == (self.moment, self.count)\n            ",
                "",
            )
        ],
        (QUESTIONS + "TestFitsExactly::test_values_are_those_of_the_directions",),
    ),
    "a stranger's basis": (
        [("kernel/questions/along.py", " or type(self.basis) not in BASES:", ":")],
        (QUESTIONS + "TestFitsExactly::test_bases_are_those_that_are_proved",),
    ),
    "a stranger's basis of an overlap": (
        [("kernel/questions/overlap.py", "type(self.basis) in BASES and ", "")],
        (QUESTIONS + "TestFitsExactly::test_bases_are_those_that_are_proved",),
    ),
    "a count of its own for columns": (
        [("kernel/questions/measure.py", "if type(d) is not int or d != public.d:", "if d != public.d:")],
        (QUESTIONS + "TestFitsExactly::test_columns",),
    ),
    "a mechanism that holds the curator": (
        [
            (
                "kernel/face.py",
                "self._pass_on, public = pass_on, curator.public",
                "self._pass_on, self.curator, public = pass_on, curator, curator.public",
            )
        ],
        (DOORS + "TestFace::test_nothing_leads_to_the_rows[replace]",),
    ),
    "a way to the exact sums": (
        [("kernel/face.py", '"n": lambda: curator.n,', '"n": lambda: curator.n, "_sums": lambda: curator._sums,')],
        (DOORS + "TestFace::test_its_one_function_passes_on_these_names_only[replace]",),
    ),
    "n that is known where it is private": (
        [
            (
                "kernel/sums.py",
                "self._open is None or self._neighbors != REPLACE else",
                "self._open is None else",
            )
        ],
        (DOORS + "TestFace::test_a_private_n_is_what_was_told[add-remove]",),
    ),
    "a stranger under a name of the library": (
        [("mechanisms/__init__.py", "if known is not None and known is not mechanism:", "if False:")],
        ("tests/release/test_strangers.py::TestWithTheMechanism::test_a_stranger_may_not_take_a_name_of_the_library",),
    ),
    "a file of no rows": (
        [(CHECK, "if not 1 <= transcript.n < 2**63 or", "if")],
        (FORGED + "[another n]",),
    ),
    "a file of no grid": (
        [(CHECK, "    _ = encoding.grid  # refuses a norm or bits that no grid has\n", "")],
        ("tests/release/test_forged.py::test_a_norm_is_checked_where_no_question_has_one",),
    ),
    "columns that are not those of the schema": (
        [(CHECK, " or encoding.feature_names != encoding.schema.feature_names", "")],
        ("tests/release/test_release_encoding.py::test_forged_encodings[columns in another order-replace]",),
    ),
    "a file that was damaged": (
        [(FILE, 'if record.pop("checksum", None) != _checksum(record):', 'if not record.pop("checksum", None):')],
        ("tests/release/test_release_file.py::TestDamage::test_any_digit_changed",),
    ),
    "a file of a version to come": (
        [(FILE, "if version > FORMAT_VERSION:", "if False:")],
        ("tests/release/test_release_file.py::test_a_newer_version_says_so",),
    ),
    "options of any depth": (
        [("release/record.py", "return depth > 0 and all(", "return all(")],
        ("tests/release/test_release_file.py::TestDamage::test_options_are_lists_of_lists_at_most",),
    ),
    "integers beyond 64 bits": (
        [(FILE, "or any(not -(2**63) <= value < 2**63 for value in listed)", "")],
        (FORGED + "[integers that are none]",),
    ),
    "more noise than the mechanism adds, and nobody sees it": (
        [("verify/retrace.py", "if not all(_same_law(", "if False and not all(_same_law(")],
        (RETRACE + "TestAnyAnswer::test_more_noise_than_the_mechanism_adds[gaussian-replace]",),
    ),
    "a charge that was moved, and nobody sees it": (
        [("verify/retrace.py", "if one.charges != other.charges:", "if False:")],
        (RETRACE + "TestAnyAnswer::test_a_charge_that_was_moved[rescaled-replace]",),
    ),
    "an answer that nobody asked for": (
        [("verify/retrace.py", "if len(made) < len(known):", "if False:")],
        (RETRACE + "TestAnyAnswer::test_an_answer_that_nobody_asked_for[gaussian-replace]",),
    ),
    "notes that no mechanism made": (
        [("verify/retrace.py", "if not _alike(dict(again.notes), dict(release.notes)):", "if False:")],
        (RETRACE + "TestHeader::test_notes",),
    ),
    "a second moment of rows that were clipped elsewhere": (
        [
            (
                "mechanisms/shared/moment.py",
                "if not isinstance(moment.question, SecondMoment) or type(moment.question.grid) is not Grid:",
                "if False:",
            )
        ],
        (OTHER_NAME,),
    ),
    "an answer that was not asked for is taken": (
        [("release/record.py", "        if not found:\n            names =", "        if False:\n            names =")],
        (ENDS + "[all answers left out]",),
    ),
    "a note of any size": (
        [
            (
                "release/record.py",
                "if isinstance(value, bool) or not isinstance(value, int | float) or not least <= value <= most:",
                "if False:",
            )
        ],
        (ENDS + "[other notes]",),
    ),
    "options that its mechanism does not have": (
        [("release/record.py", "        record.refuse_unknown(self.options)\n", "")],
        ("tests/release/test_strangers.py::TestWithTheMechanism::test_options_that_were_edited[{'other': 1}]",),
    ),
}

KEPT = HOSTILE + "TestWhatIsKept::"

REVIEW_MUTANTS |= {
    "charges that are in others' hands": (
        [("kernel/account.py", "extend(map(copied, budgets))", "extend(budgets)")],
        (KEPT + "test_nor_one_in_an_answer",),
    ),
    "a record of charges that are in others' hands": (
        [(CURATED, "(*SUMMED, *DERIVED)), copied(budget)", "(*SUMMED, *DERIVED)), budget")],
        (KEPT + "test_a_budget_that_shrinks_after_it_was_charged",),
    ),
    "directions at a price that is in others' hands": (
        [(CURATED, "    return copied(budget)\n", "    return budget\n")],
        (KEPT + "test_nor_directions",),
    ),
    "an account whose budget is in others' hands": (
        [("kernel/account.py", "self._budget = copied(budget)", "self._budget = budget")],
        (KEPT + "test_a_budget_that_grows",),
    ),
    "a sensitivity that is in others' hands": (
        [(CURATED, "self._sized(remade(question)) if", "self._sized(question) if")],
        (KEPT + "test_a_question_with_a_sensitivity_of_its_own", KEPT + "test_numbers_that_are_others_by_now"),
    ),
    "numbers in a question that are in others' hands": (
        [("kernel/questions/remade.py", "name: remade(getattr(asked, name)) for", "name: getattr(asked, name) for")],
        (KEPT + "test_numbers_that_are_others_by_now",),
    ),
    "a type that says it is another": (
        [("kernel/questions/remade.py", "if type(kind) is not type and type(kind) is not ABCMeta:", "if False:")],
        ("tests/audit/test_types_that_pretend.py::test_a_question_of_a_type_that_says_it_is_another",),
    ),
    "numbers of a type that says it is another": (
        [("kernel/questions/measure.py", "all(map(is_, map(type, values), repeat(kind)))", "set(map(type, values)) == {kind}")],
        ("tests/audit/test_types_that_pretend.py::test_a_number_of_a_type_that_says_it_is_another",),
    ),
    "few charges of which the first is free": (
        [("kernel/budget.py", "return sum(amounts[1:], start=amounts[0])", "return sum(amounts[1:], start=Fraction(0))")],
        (AMOUNTS + "test_sums_are_exact",),
    ),
    "equal charges that count once": (
        [("kernel/budget.py", "amount * count for amount, count in Counter", "amount for amount, _ in Counter")],
        (AMOUNTS + "test_sums_are_exact",),
    ),
    "a second moment of a stranger, made anew": (
        [
            ("kernel/questions/remade.py", "elif kind in MADE:", 'elif hasattr(kind, "__dataclass_fields__"):'),
            ("kernel/questions/derived.py", "type(self.moment) is SecondMoment and super()", "super()"),
        ],
        (MADE_OF + "[face-replace]",),
    ),
    "a concentration that is in others' hands": (
        [("kernel/budget.py", "    return Fraction(value.numerator, value.denominator)\n", "    return value\n")],
        (KEPT + "test_a_fraction_that_changes",),
    ),
    "a stranger's release that is not looked at": (
        [(RUNNING, "        check_made(release)\n", "        pass\n")],
        (KEPT + "test_a_release_that_no_file_would_hold",),
    ),
    "questions after the release": (
        [("kernel/curator.py", "        self._account.close()\n", "")],
        (LET_GO + "test_whoever_keeps_the_face_asks_nothing_more[released]",),
    ),
    "rows that can be read after the release": (
        [("kernel/sums.py", "        self._open = None\n", "        pass\n")],
        (LET_GO + "test_whoever_keeps_the_face_asks_nothing_more[failed]",),
    ),
}

ENOUGH = CALIBRATED + "TestIsEnough::"

REVIEW_MUTANTS |= {
    "a variance that is nearly large enough": (
        [("kernel/noise/laws.py", "all(a >= b for (_, a)", "all(a >= b * Fraction(10**12 - 1, 10**12) for (_, a)")],
        (ENOUGH + "test_variances",),
    ),
    "variances in (ε, δ) with too little of what calibration adds": (
        [("kernel/questions/calibrated.py", "Fraction(10**12 - 1, 10**12)", "Fraction(10**11 - 3, 10**11)")],
        (ENOUGH + "test_variances_that_are_found_with_logarithms",),
    ),
    "rounded noise whose scale and excess do not fit into ε": (
        [("kernel/noise/matrix.py", " and terms.sensitivity / law.scale + law.excess <= epsilon", "")],
        (ENOUGH + "test_rounded_noise", LESS[0]),
    ),
    "rounded noise with an excess that covers nothing": (
        [("kernel/noise/matrix.py", "Fraction(excess) <= law.excess and ", "")],
        (ENOUGH + "test_rounded_noise", FORGED + "[another lattice]"),
    ),
    "rounded noise that may overflow, or with another tail": (
        [("kernel/noise/matrix.py", "return fits and Fraction", "return Fraction")],
        (ENOUGH + "test_rounded_noise",),
    ),
    "coordinates with a label that no file has": (
        [("kernel/rows/frames.py", "not 0 < deviations < LARGEST", "not deviations < 10 * LARGEST")],
        ("tests/kernel/laws/test_frames.py::test_labels_are_those_that_a_file_can_have",),
    ),
    "charges that no file can hold": (
        [("kernel/account.py", "            if why := unwritten(new, analytic, self._bits):", "            if why := '':")],
        (CURATOR + "TestFilesCanHoldIt::test_charges_in_epsilon_and_delta", CURATOR + "TestFilesCanHoldIt::test_digits"),
    ),
    "shares of directions that no file can hold": (
        [("kernel/peel.py", "        self._reserve(concentration.as_integer_ratio())\n", "")],
        (CURATOR + "TestFilesCanHoldIt::test_shares_of_directions",),
    ),
    "one state for the directions of all peels": (
        [
            (
                "verify/retrace.py",
                "return _RecordedDirections(self._recorded.directions()).draw",
                "return _RecordedDirections(self._recorded.__dict__.setdefault('first', self._recorded.directions())).draw",
            ),
        ],
        (RETRACE + "test_two_peels_at_a_time[Values-True]",),
    ),
    "the name of a mechanism that writes on the terminal": (
        [("release/record.py", 'self.neighbors, printable(self.mechanism), f"n', 'self.neighbors, self.mechanism, f"n')],
        ("tests/cli/test_show.py::test_a_file_cannot_write_on_the_terminal[mechanism]",),
    ),
    "a note that writes on the terminal": (
        [("report/release_lines.py", "printable(str(value))", "value")],
        ("tests/cli/test_show.py::test_a_file_cannot_write_on_the_terminal[note]",),
    ),
    "text that no terminal can show": (
        [("release/file.py", "return text if not is_broken(text) else", "return text if True else")],
        ("tests/release/test_strangers.py::TestWithoutTheMechanism::test_text_that_cannot_be_written",),
    ),
    "a matrix of nothing": (
        [
            (
                "mechanisms/shared/components.py",
                "            values=told[:-1],\n",
                "            values=told[:-1],\n            errors=np.zeros((basis.d, basis.d)),\n",
            )
        ],
        ("tests/release/test_file_sizes.py::test_uses_of_invented_columns[random]",),
    ),
    "a matrix of any size from a few directions": (
        [("release/estimate.py", "if d > MOST_ASSEMBLED:", "if False:")],
        ("tests/release/test_file_sizes.py::test_uses_of_invented_columns[eigenvectors, rank 1]",),
    ),
    "a matrix for one variance": (
        [
            (
                "mechanisms/coinpress/mean.py",
                "        checked_variances(covariance, d)\n",
                "        _known([1.0, 2.0] * (d // 2), d)\n",
            )
        ],
        ("tests/release/test_file_sizes.py::test_uses_of_invented_columns[coinpress]",),
    ),
    "a drawn direction retraced in any number of columns": (
        [("verify/retrace.py", "answer.question.d > MOST_DRAWN", "False")],
        ("tests/release/test_file_sizes.py::test_uses_of_invented_columns[random]",),
    ),
}
