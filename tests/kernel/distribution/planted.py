"""Planted bugs in noise and in the bits it is made of."""

from __future__ import annotations

from tests.mutation.form import mutant

CHOICE = "kernel/noise/choice.py"
DISCRETE = "kernel/noise/discrete.py"
LAWS = "kernel/noise/laws.py"
MATRIX = "kernel/noise/matrix.py"
SAMPLER = "kernel/noise/sampler.py"
SPHERE = "kernel/noise/sphere.py"
SUBSPACE = "kernel/noise/subspace.py"

TEST_NUMBERS = "tests/audit/test_numbers.py::"
TEST_PURE_AUDIT = "tests/audit/test_pure_audit.py::"
TEST_CALIBRATED = "tests/kernel/calibration/test_calibrated.py::"
TEST_CHOICE = "tests/kernel/distribution/test_choice.py::"
TEST_CHOICE_MANY = "tests/kernel/distribution/test_choice_many.py::"
TEST_DISCRETE = "tests/kernel/distribution/test_discrete.py::"
TEST_MATRIX = "tests/kernel/distribution/test_matrix.py::"
TEST_RECORDED = "tests/kernel/distribution/test_recorded.py::"
TEST_SPHERE = "tests/kernel/distribution/test_sphere.py::"
TEST_SUBSPACE = "tests/kernel/distribution/test_subspace.py::"
TEST_FORGED = "tests/release/test_forged.py::"
ENOUGH = TEST_CALIBRATED + "TestIsEnough::"
SHARES = TEST_SUBSPACE + "TestColumn::test_every_direction_has_its_share"
FORGED = TEST_FORGED + "test_a_forged_file_is_refused"

SWEEP = "        yield state.copy()\n        for r in range(k):\n"

PLANTED = {
    "the system's bits expanded from a few": mutant(
        (
            "kernel/bits.py",
            "np.frombuffer(os.urandom(8 * count), dtype=np.uint64)",
            'np.asarray(np.random.PCG64(int.from_bytes(os.urandom(16), "little")).random_raw(count))',
        ),
        by="tests/kernel/distribution/test_bits.py::test_system_words_are_the_operating_systems",
    ),
    "query noise halved where it is drawn": mutant(
        (CHOICE, "discrete_laplace(law.query, len(values), bits)", "discrete_laplace(law.query / 2, len(values), bits)"),
        by=TEST_CHOICE + "test_searches_have_their_law",
    ),
    "candidates that share a bucket": mutant(
        (CHOICE, "bits = apart.bit_length() - 1", "bits = apart.bit_length() + 1"),
        by=TEST_CHOICE + "TestEndsUpTo::test_it_counts_as_a_search_does_at_every_edge_and_between[mixed]",
    ),
    "a place that belongs to the candidate before": mutant(
        (CHOICE, "[found] <= inside", "[found] < inside"),
        by=TEST_CHOICE + "TestEndsUpTo::test_it_counts_as_a_search_does_at_every_edge_and_between[mixed]",
    ),
    "no noise on the threshold": mutant(
        (CHOICE, "threshold + int(discrete_laplace(law.threshold, 1, bits)[0])", "threshold"),
        by=TEST_CHOICE + "test_searches_have_their_law",
    ),
    "proposals that are no upper bound": mutant(
        (CHOICE, "np.floor(gamma / math.log(2)) - 1", "np.floor(gamma / math.log(2)) + 1"),
        by=(
            TEST_CHOICE_MANY + "test_choices_have_their_law[all kinds of gaps]",
            TEST_CHOICE_MANY + "TestByHand::test_one_word_decides[7/5]",
        ),
    ),
    "proposals that are not taken back": mutant(
        (CHOICE, "gap * rate, bits, first)", "gap * rate, bits)"),
        by=TEST_CHOICE_MANY + "test_choices_have_their_law[all kinds of gaps]",
    ),
    "candidates proposed all alike": mutant(
        (CHOICE, "np.cumsum(np.int64(1) << (MOST_ZEROS - zeros))", "np.cumsum(np.ones(len(zeros), dtype=np.int64))"),
        by=TEST_CHOICE_MANY + "test_choices_have_their_law[a few among far ones]",
    ),
    "a place beyond all that is the last candidate": mutant(
        (
            CHOICE,
            "lambda gap, _: gap * rate, bits, first)\n        accepted &= place < ends[-1]\n",
            "lambda gap, _: gap * rate, bits, first)\n",
        ),
        by=TEST_CHOICE_MANY + "test_a_place_beyond_all_is_no_candidate",
    ),
    "proposals that the scores tell": mutant(
        (CHOICE, "words = bits.words(2 * MANY_PROPOSALS)", "words = bits.words(2 * MANY_PROPOSALS + 2 * int(zeros.max()))"),
        by=TEST_CHOICE_MANY + "test_the_number_of_proposals_is_public[of all scores-1024]",
    ),
    "a search with less noise on its queries": mutant(
        (CHOICE, "discrete_laplace(law.query, len(values)", "discrete_laplace(law.query * 19 / 20, len(values)"),
        by=TEST_RECORDED + "TestDrawn::test_searches",
    ),
    "proposals until one is accepted": mutant(
        (CHOICE, "count = PROPOSALS if bits.seeded else max(enough, PROPOSALS)", "count = PROPOSALS"),
        by=TEST_CHOICE + "test_the_number_of_proposals_is_public",
    ),
    "the best candidate at a second look": mutant(
        (
            CHOICE,
            "            return int(proposed[np.argmax(accepted)])\n\n\ndef ends_up_to",
            "            return int(proposed[np.argmax(accepted)])\n        return int(np.argmax(scores))\n\n\ndef ends_up_to",
        ),
        by=TEST_CHOICE + "test_choices_without_a_seed_have_their_law_at_a_second_look_too[one dominates]",
    ),
    "zero drawn twice": mutant(
        (DISCRETE, "        accepted &= ~(negative & (magnitude == 0))\n", ""), by=TEST_DISCRETE + "test_laplace_has_its_law"
    ),
    "acceptance without the low bits": mutant(
        (DISCRETE, "low * inverse + distance", "distance"), by=TEST_DISCRETE + "test_the_computed_gamma_is_within_its_bound"
    ),
    "a zero more in a comparison": mutant(
        (DISCRETE, "margin = margin + zeros * math.log(2)", "margin = margin + (zeros + 1) * math.log(2)"),
        by=(
            TEST_CHOICE_MANY + "TestCompare::test_by_its_law[False]",
            TEST_CHOICE_MANY + "test_filter_and_exact_path_choose_the_same[all kinds of gaps]",
        ),
    ),
    "a zero less on the exact path": mutant(
        (
            DISCRETE,
            "self._value, self._length, self._bits = word, zeros + 64, bits",
            "self._value, self._length, self._bits = word, zeros + 63, bits",
        ),
        by=(
            TEST_CHOICE_MANY + "TestCompare::test_by_its_law[True]",
            TEST_CHOICE_MANY + "TestByHand::test_further_words_decide[1/3]",
        ),
    ),
    "no zeros on the exact path": mutant(
        (DISCRETE, "0 if zeros is None else int(zeros[index])", "0"),
        by=(
            TEST_CHOICE_MANY + "TestCompare::test_words_that_floats_do_not_decide",
            TEST_CHOICE_MANY + "test_choices_by_the_exact_path_alone_have_their_law",
        ),
    ),
    "floats that decide too close to a boundary": mutant(
        (DISCRETE, "DOUBT = 2.0**-34", "DOUBT = 2.0**-41"), by=TEST_DISCRETE + "test_a_poor_logarithm_changes_no_draw"
    ),
    "a file's chain of any length": mutant(
        ("kernel/noise/drawn.py", "not 1 <= self.sweeps <= MOST_SWEEPS", "False"),
        by="tests/release/test_components_files.py::test_a_forged_file_is_refused[sweeps beyond all]",
    ),
    "float noise": mutant(
        (
            LAWS,
            "discrete_gaussian(variance, size, bits) for",
            "np.rint(np.random.default_rng().normal(0, float(variance) ** 0.5, size)).astype(np.int64) for",
        ),
        by=TEST_NUMBERS + "test_answer_is_the_exact_sum_plus_integer_noise_from_the_bits",
    ),
    "Laplace at 95 percent of its record": mutant(
        (LAWS, "discrete_laplace(self.scale, sum(sizes)", "discrete_laplace(self.scale * 19 / 20, sum(sizes)"),
        by=TEST_RECORDED + "TestAdded::test_laplace",
    ),
    "Gaussian at 95 percent of its record": mutant(
        (LAWS, "discrete_gaussian(variance, size, bits) for", "discrete_gaussian(variance * 9 / 10, size, bits) for"),
        by=TEST_RECORDED + "TestAdded::test_gaussian_by_part",
    ),
    "a variance that is nearly large enough": mutant(
        (LAWS, "all(a >= b for (_, a)", "all(a >= b * Fraction(10**12 - 1, 10**12) for (_, a)"), by=ENOUGH + "test_variances"
    ),
    "one Wishart only": mutant(
        (MATRIX, "plus @ plus.T - minus @ minus.T", "plus @ plus.T"),
        by=TEST_MATRIX + "TestWishart::test_one_column_is_laplace",
    ),
    "Wishart scale halved": mutant(
        (MATRIX, "        Fraction(nuclear, 2),\n", "        Fraction(nuclear, 4),\n"),
        by=(
            TEST_CALIBRATED + "TestLaws::test_wishart_and_frobenius",
            TEST_PURE_AUDIT + "TestReplay::test_no_pair_costs_more_than_was_charged",
        ),
    ),
    "d degrees of freedom": mutant(
        (MATRIX, "shape = (2, self.d, self.d + 1)", "shape = (2, self.d, self.d)"),
        by=TEST_MATRIX + "TestWishart::test_one_column_is_laplace",
    ),
    "radius Gamma(D-1)": mutant(
        (MATRIX, "math.fsum(exponentials(count, bits))", "math.fsum(exponentials(count - 1, bits))"),
        by=TEST_MATRIX + "TestFrobenius::test_the_radius_is_gamma",
    ),
    "Wishart at 95 percent of its record": mutant(
        (MATRIX, "minus @ minus.T) * float(self.scale)", "minus @ minus.T) * float(self.scale) * 0.95"),
        by=TEST_RECORDED + "TestAdded::test_wishart",
    ),
    "Frobenius at 95 percent of its record": mutant(
        (MATRIX, "exponentials(count, bits)) * float(self.scale)", "exponentials(count, bits)) * 0.95 * float(self.scale)"),
        by=TEST_RECORDED + "TestAdded::test_frobenius",
    ),
    "Wishart's tail of half of its event": mutant(
        (MATRIX, "tail=blocks * (2 * d * math.exp(-TAIL)", "tail=blocks * (2 * d * math.exp(-2 * TAIL)"),
        by=TEST_CALIBRATED + "test_tails_cover_their_event",
    ),
    "rounded noise whose scale and excess do not fit into ε": mutant(
        (MATRIX, " and terms.sensitivity / law.scale + law.excess <= epsilon", ""),
        by=(ENOUGH + "test_rounded_noise", FORGED + "[less noise than the charge buys]"),
    ),
    "rounded noise with an excess that covers nothing": mutant(
        (MATRIX, "Fraction(excess) <= law.excess and ", ""), by=(ENOUGH + "test_rounded_noise", FORGED + "[another lattice]")
    ),
    "rounded noise that may overflow, or with another tail": mutant(
        (MATRIX, "return fits and Fraction", "return Fraction"), by=ENOUGH + "test_rounded_noise"
    ),
    "float addition": mutant(
        (
            SAMPLER,
            "law.settle(exact + self._draw(question, law))",
            "(exact.astype(np.float64) + self._draw(question, law)).astype(np.int64)",
        ),
        by=TEST_NUMBERS + "test_noise_does_not_depend_on_the_data",
    ),
    "noise rounded alone": mutant(
        (SAMPLER, "law.settle(exact + self._draw(question, law))", "exact + law.settle(self._draw(question, law))"),
        by=TEST_MATRIX + "TestLattice::test_the_sum_is_rounded_not_the_noise",
    ),
    "the radius at the true quantile": mutant(
        (SAMPLER, "choose(scores, question.weights, law.rate, self._bits)", "int(np.argmax(scores))"),
        by="tests/audit/test_clipped.py::test_a_private_radius_is_drawn",
    ),
    "a subspace led back by the transposed eigenvectors": mutant(
        (SAMPLER, "np.asarray(vectors @ state)", "np.asarray(vectors.T @ state)"),
        by="tests/kernel/laws/test_subspace.py::TestSubspace::test_columns_are_in_the_coordinates_of_the_rows",
    ),
    "one noise for all values of a peel": mutant(
        (SAMPLER, "int(noise[place])", "int(noise[0])"),
        by=(
            TEST_NUMBERS + "test_each_value_of_a_peel_has_its_own_noise",
            TEST_RECORDED + "TestAdded::test_values_of_a_peel_too",
        ),
    ),
    "the same noise for the same question": mutant(
        (
            SAMPLER,
            "        return law.draw([part.size for part in question.parts], self._bits)\n",
            "        kept = self.__dict__.setdefault('kept', {})\n"
            "        if (question.name, law) not in kept:\n"
            "            kept[question.name, law] = law.draw([part.size for part in question.parts], self._bits)\n"
            "        return kept[question.name, law]\n",
        ),
        by=TEST_NUMBERS + "test_a_question_asked_twice_has_other_noise",
    ),
    "a choice that follows its scores more closely": mutant(
        (SAMPLER, "question.weights, law.rate, self._bits", "question.weights, law.rate * 21 / 20, self._bits"),
        by=TEST_RECORDED + "TestDrawn::test_choices",
    ),
    "directions that are more concentrated": mutant(
        (SAMPLER, "bingham(matrix, concentration, guess", "bingham(matrix, 1.05 * concentration, guess"),
        by=TEST_RECORDED + "TestDrawn::test_directions",
    ),
    "subspaces that are more concentrated": mutant(
        (SAMPLER, "k, float_below(law.concentration), law", "k, 1.05 * float_below(law.concentration), law"),
        by=TEST_RECORDED + "TestDrawn::test_subspaces",
    ),
    "the acceptance's sign inverted": mutant(
        (SPHERE, "-(ratio - m) / 2 + m / 2 * np.log(ratio / m)", "-(ratio - m) / 2 - m / 2 * np.log(ratio / m)"),
        by=TEST_SPHERE + "TestCheckValues::test_mean_square",
    ),
    "the best proposal instead of the first": mutant(
        (
            SPHERE,
            "int(np.argmax(accepted))",
            'int(np.argmax(np.where(accepted, np.einsum("ij,ij->j", vectors, matrix @ vectors), -np.inf)))',
        ),
        by=TEST_SPHERE + "TestFirstAccepted::test_it_is_taken",
    ),
    "a sweep of stale columns": mutant(
        (SUBSPACE, SWEEP, "        yield state.copy()\n        old = state.copy()\n        for r in range(k):\n"),
        (SUBSPACE, "np.delete(state, r", "np.delete(old, r"),
        by=TEST_SUBSPACE + "TestSweep::test_columns_stay_orthonormal",
    ),
    "a sweep that leaves out a column": mutant(
        (SUBSPACE, "        for r in range(k):\n", "        for r in range(k - 1):\n"),
        by=(
            TEST_SUBSPACE + "TestConvergence::test_it_falls_from_one",
            TEST_SUBSPACE + "TestSweep::test_restarts_reach_the_law",
        ),
    ),
    "a transposed null space": mutant((SUBSPACE, "[0][:, top:]  # what the constraint leaves", "[0][top:].T"), by=SHARES),
    "the wrong block of the factor": mutant(
        (SUBSPACE, "[0][:, top:]  # what the constraint leaves", "[0][:, :-top]"), by=SHARES
    ),
    "the sign before a column's logarithm": mutant(
        (SUBSPACE, "(s - m) / 2 - m / 2 * np.log(s / m)", "(s - m) / 2 + m / 2 * np.log(s / m)"),
        by=(SHARES, TEST_SUBSPACE + "TestColumn::test_it_is_the_law_of_the_sphere_on_the_complement"),
    ),
    "a column's logarithm without m/2": mutant(
        (SUBSPACE, "- m / 2 * np.log(s / m)", "- np.log(s / m)"), by=SHARES + "[10-2-strong]"
    ),
    "every column accepted": mutant(
        (SUBSPACE, "exponential >= (s - m) / 2", "exponential >= -1e9 + (s - m) / 2"),
        by=TEST_SUBSPACE + "TestColumn::test_a_concentration_off_by_five_percent_would_be_seen",
    ),
    "gaps with c in place of 2c": mutant(
        (SUBSPACE, "_Column(2 * concentration *", "_Column(concentration *"),
        by=(
            TEST_SUBSPACE + "TestSweep::test_one_sweep_keeps_the_law",
            TEST_SUBSPACE + "TestSweep::test_a_thinned_chain_has_the_law",
        ),
    ),
    "a diagonal that is not raised": mutant(
        (SUBSPACE, "        raised[:top] = np.maximum(diagonal[:top], 1.0)\n", ""),
        by=TEST_SUBSPACE + "test_any_spectrum_gives_orthonormal_columns",
    ),
    "the ratio left out of the proposal": mutant(
        (SUBSPACE, "(ratio[:, None] * free[:top])", "free[:top]"), by=SHARES + "[6-3-strong]"
    ),
    "the ratio left out of the acceptance": mutant(
        (SUBSPACE, "squared[:, :top] @ ratio + ", "squared[:, :top].sum(axis=1) + "), by=SHARES + "[6-3-strong]"
    ),
    "the free part along the others": mutant(
        (SUBSPACE, "(bound[:, top:] - rest @ basis) @ basis.T", "(bound[:, top:] + rest @ basis) @ basis.T"), by=SHARES
    ),
    "the last column accepted": mutant(
        (SUBSPACE, "vectors[int(np.argmax(accepted))]", "vectors[int(np.flatnonzero(accepted)[-1])]"),
        by=TEST_SUBSPACE + "TestColumn::test_the_first_accepted_is_taken",
    ),
    "normal numbers given out twice": mutant(
        (
            SUBSPACE,
            "        self._used += count\n        return self._stock[self._used - count : self._used]\n",
            "        return self._stock[:count]\n",
        ),
        by=TEST_SUBSPACE + "TestColumn::test_normal_numbers_are_used_once",
    ),
    "signs of a triangle in place of chance": mutant(
        (SUBSPACE, "square * np.where(triangle.diagonal() < 0, -1.0, 1.0)", "square"),
        by=TEST_SUBSPACE + "TestUniform::test_without_concentration[drawn]",
    ),
}
