"""Planted bugs that a review found no test for: edits, and the tests that must fail because of them."""

from __future__ import annotations

Edits = list[tuple[str, str, str]]

NUMBERS, RECORDED = "tests/audit/test_numbers.py::", "tests/distribution/test_recorded.py::"
FEW = "tests/audit/test_few_rows.py::test_few_rows_ask_and_release_nothing_else"
PRIVATE = "tests/test_architecture.py::test_a_mechanism_reaches_into_nothing_private"
CURATOR, CALIBRATED = "tests/scripted/test_curator.py::", "tests/calibration/test_calibrated.py::"
STEPS = "tests/calibration/test_float_steps.py::"
LET_GO = "tests/scripted/test_let_go.py::"
SYMQ, ADAPTIVE, RESCALED = "mechanisms/mean/symq.py", "mechanisms/covariance/adaptive.py", "mechanisms/covariance/rescaled.py"

REVIEW_MUTANTS: dict[str, tuple[Edits, tuple[str, ...]]] = {
    "one noise for all values of a peel": (
        [("kernel/drawing.py", "int(noise[number])", "int(noise[0])")],
        (NUMBERS + "test_each_value_of_a_peel_has_its_own_noise", RECORDED + "TestAdded::test_values_of_a_peel_too"),
    ),
    "the same noise for the same question": (
        [
            (
                "kernel/drawing.py",
                "        return law.draw([part.size for part in statistic.parts], self._bits)\n",
                "        kept = self.__dict__.setdefault('kept', {})\n"
                "        if (statistic.name, law) not in kept:\n"
                "            kept[statistic.name, law] = law.draw([part.size for part in statistic.parts], self._bits)\n"
                "        return kept[statistic.name, law]\n",
            )
        ],
        (NUMBERS + "test_a_question_asked_twice_has_other_noise",),
    ),
    "the rank of symq from the exact n": (
        [(SYMQ, "min(round(level * curator.n), curator.n)", "min(round(level * curator._source.n), curator.n)")],
        (PRIVATE + "[mechanisms/mean/symq.py]", FEW + "[mean symq 25-ZCDP(rho=8)-add-remove]"),
    ),
    "the trace of adaptive capped at the exact n": (
        [
            (
                ADAPTIVE,
                "    if curator.neighbors == REPLACE:\n        trace = min(trace, float(curator.n))\n",
                "    trace = min(trace, float(curator._source.n))\n",
            )
        ],
        (PRIVATE + "[mechanisms/covariance/adaptive.py]", FEW + "[covariance adaptive 10-PureDP(epsilon=8)-add-remove]"),
    ),
    "half of the exact n outside the radius of rescaled": (
        [(RESCALED, "rows_outside(noise, robust), curator.n / 2", "rows_outside(noise, robust), curator._source.n / 2")],
        (PRIVATE + "[mechanisms/covariance/rescaled.py]", FEW + "[covariance rescaled 12-PureDP(epsilon=8)-add-remove]"),
    ),
    "an exact number in the options": (
        [("verify/replay.py", "if text_of(released) != text_of(again):", "if False:")],
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
        ("tests/distribution/test_bits.py::test_system_words_are_the_operating_systems",),
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
        [("kernel/curator.py", "question.weights, law.rate, self._bits", "question.weights, law.rate * 21 / 20, self._bits")],
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
        [("kernel/drawing.py", "bingham(matrix, concentration, guess", "bingham(matrix, 1.05 * concentration, guess")],
        (RECORDED + "TestDrawn::test_directions",),
    ),
    "subspaces that are more concentrated": (
        [
            (
                "kernel/drawing.py",
                "k, float_below(law.concentration), sweeps",
                "k, 1.05 * float_below(law.concentration), sweeps",
            )
        ],
        (RECORDED + "TestDrawn::test_subspaces",),
    ),
    "a charge without its lock": (
        [("kernel/account.py", "        with self._lock:  # two threads must", "        if True:  # two threads must")],
        (CURATOR + "test_a_charge_and_its_verdict_are_one_step",),
    ),
    "n from a foreign answer": (
        [("kernel/curator.py", " or not any(moment is a for a in self._answers):", ":")],
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
                "sensitivity = sqrt_up(Fraction(statistic.sensitivity_squared(neighbors)))",
                "sensitivity = sqrt_up(Fraction(statistic.sensitivity_squared(neighbors))) - Fraction(1, 2**40)",
            )
        ],
        (CALIBRATED + "test_the_frobenius_sensitivity_is_rounded_up",),
    ),
    "floats that decide too close to a boundary": (
        [("kernel/noise/discrete.py", "DOUBT = 2.0**-34", "DOUBT = 2.0**-41")],
        ("tests/distribution/test_discrete.py::test_a_poor_logarithm_changes_no_draw",),
    ),
    "a peel that keeps its curator": (
        [("kernel/peel.py", "        self._answer = self._sample = self._record = _forgotten\n", "")],
        (LET_GO + "test_a_curator_and_a_peel_that_are_kept_hold_nothing",),
    ),
    "a curator that keeps exact sums": (
        [("kernel/curator.py", "        self.forget()\n", ""), ("request.py", "        curator.forget()", "        pass")],
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
        [("kernel/sums.py", "MAX_ROWS if self.neighbors != REPLACE or n is None else n", "MAX_ROWS if n is None else n")],
        (
            STEPS + "TestCurator::test_rows_that_are_public",
            STEPS + "TestCurator::test_noise_is_that_of_the_public_number[1-add-remove-3]",
        ),
    ),
    "a mechanism says of how many rows": (
        [("kernel/curator.py", "statistic.among(self.most_rows) if isinstance(statistic, Values) else statistic", "statistic")],
        (STEPS + "TestCurator::test_noise_is_that_of_the_public_number[1-add-remove-3]",),
    ),
    "what is left of the trace as if it were one number": (
        [("kernel/questions/spectral.py", "steps_lost(measure.d + 2, measure.rows, times=measure.count) - each", "0")],
        (STEPS + "TestFormula::test_what_is_left_of_the_trace",),
    ),
    "noise beyond what float64 can subtract": (
        [("mechanisms/shared/directions.py", "measure.check_noise(calibrated(", "(calibrated(")],
        (STEPS + "TestNoiseThatIsSubtracted::test_small_budgets_are_refused_before_anything_is_read",),
    ),
    "a peel with noise beyond what float64 can subtract": (
        [("kernel/drawing.py", "            measure.check_noise(law)\n", "            pass\n")],
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
                "kernel/drawing.py",
                "check_tail([*(answer.noise for answer in self._answers), law], self.budget)",
                "check_tail([law], self.budget)",
            )
        ],
        (CALIBRATED + "TestStatedDelta::test_a_curator_takes_the_sum_too",),
    ),
    "a chain for floats as for real numbers": (
        [("release/statement.py", "isinstance(law, Bingham | MatrixBingham)", "isinstance(law, Bingham)")],
        ("tests/refusals/test_subspace.py::test_round_trip[ppca-2-replace]",),
    ),
    "twice as many rows as pairs": (
        [("release/record.py", 'f"row of the {self.n} pairs" if', 'f"of the {2 * self.n} rows" if')],
        ("tests/cli/test_pairs.py::test_pairs_are_told_by_their_number_and_without_a_mean",),
    ),
    "proposals until one is accepted": (
        [("kernel/noise/choice.py", "count = PROPOSALS if bits.seeded else max(enough, PROPOSALS)", "count = PROPOSALS")],
        ("tests/distribution/test_choice.py::test_the_number_of_proposals_is_public",),
    ),
    "norms without their highest digits": (
        [("kernel/rows/lengths.py", "for place in range(3)]", "for place in (0, 1, 1)]")],
        ("tests/laws/test_norms.py::TestBins::test_exact_integers_count_as_fractions_do",),
    ),
    "the best candidate at a second look": (
        [
            (
                "kernel/noise/choice.py",
                "            return int(proposed[np.argmax(accepted)])\n",
                "            return int(proposed[np.argmax(accepted)])\n        return int(np.argmax(scores))\n",
            )
        ],
        ("tests/distribution/test_choice.py::test_choices_without_a_seed_have_their_law_at_a_second_look_too[one dominates]",),
    ),
    "a file's own n for what float64 loses": (
        [("release_check.py", "isinstance(measure, Values) and release.neighbors == REPLACE", "isinstance(measure, Values)")],
        ("tests/refusals/test_file_sizes.py::test_a_file_cannot_lower_the_rows_that_float64_is_counted_for[1]",),
    ),
    "a stranger's measure that says how many rows there are": (
        [("kernel/curator.py", "        check_measure(statistic, self.second_moment(), ANSWERED)\n", "")],
        (STEPS + "TestCurator::test_a_measure_of_another_type_says_nothing_of_rows",),
    ),
    "exact sums that outlive a run that failed": (
        [("request.py", "        curator.forget()", "        pass")],
        (LET_GO + "test_exact_sums_are_gone_after_a_run_that_failed[eigenvectors]",),
    ),
}
