"""Planted bugs in principal components: edits, and the tests that must fail because of them."""

from __future__ import annotations

Edits = list[tuple[str, str, str]]

DISTRIBUTION, LAWS, BOUNDS = (
    "tests/kernel/distribution/test_subspace.py::",
    "tests/kernel/laws/test_subspace.py::",
    "tests/bounds/test_principal.py::",
)
CALIBRATION, REFUSALS, SCRIPTED = (
    "tests/kernel/calibration/test_subspace.py::",
    "tests/mechanisms/test_components_refusals.py::",
    "tests/mechanisms/test_components.py::",
)
AUDIT, ESTIMATOR = "tests/audit/test_subspace.py::", "tests/estimators/test_pca.py::"
KERNEL, CURATOR, PRINCIPAL = "kernel/noise/subspace.py", "kernel/curator.py", "bounds/principal.py"
COMPONENTS, DIRECTIONS, CHECK = "mechanisms/shared/components.py", "kernel/questions/directions.py", "release/check.py"
SHARES = DISTRIBUTION + "TestColumn::test_every_direction_has_its_share"
SWEEP = "        yield state.copy()\n        for r in range(k):\n"
DRAWN = "        columns = self._sampler.subspace(exact, basis, question.count, law)\n"
CHARGE = "        self._account.charge(budget)\n"
RELATION = "bingham_concentration(budget, self.public.neighbors), MAX"

SUBSPACES: dict[str, tuple[Edits, tuple[str, ...]]] = {
    "a sweep of stale columns": (
        [
            (KERNEL, SWEEP, "        yield state.copy()\n        old = state.copy()\n        for r in range(k):\n"),
            (KERNEL, "np.delete(state, r", "np.delete(old, r"),
        ],
        (DISTRIBUTION + "TestSweep::test_columns_stay_orthonormal",),
    ),
    "a sweep that leaves out a column": (
        [(KERNEL, "        for r in range(k):\n", "        for r in range(k - 1):\n")],
        (
            DISTRIBUTION + "TestConvergence::test_it_falls_from_one",
            DISTRIBUTION + "TestSweep::test_restarts_reach_the_law",
        ),
    ),
    "a transposed null space": (
        [(KERNEL, "[0][:, top:]  # what the constraint leaves", "[0][top:].T")],
        (SHARES,),
    ),
    "the wrong block of the factor": (
        [(KERNEL, "[0][:, top:]  # what the constraint leaves", "[0][:, :-top]")],
        (SHARES,),
    ),
    "the sign before a column's logarithm": (
        [(KERNEL, "(s - m) / 2 - m / 2 * np.log(s / m)", "(s - m) / 2 + m / 2 * np.log(s / m)")],
        (SHARES, DISTRIBUTION + "TestColumn::test_it_is_the_law_of_the_sphere_on_the_complement"),
    ),
    "a column's logarithm without m/2": (
        [(KERNEL, "- m / 2 * np.log(s / m)", "- np.log(s / m)")],
        (DISTRIBUTION + "TestColumn::test_every_direction_has_its_share[10-2-strong]",),
    ),
    "every column accepted": (
        [(KERNEL, "exponential >= (s - m) / 2", "exponential >= -1e9 + (s - m) / 2")],
        (DISTRIBUTION + "TestColumn::test_a_concentration_off_by_five_percent_would_be_seen",),
    ),
    "gaps with c in place of 2c": (
        [(KERNEL, "_Column(2 * concentration *", "_Column(concentration *")],
        (
            DISTRIBUTION + "TestSweep::test_one_sweep_keeps_the_law",
            DISTRIBUTION + "TestSweep::test_a_thinned_chain_has_the_law",
        ),
    ),
    "a diagonal that is not raised": (
        [(KERNEL, "        raised[:top] = np.maximum(diagonal[:top], 1.0)\n", "")],
        (DISTRIBUTION + "test_any_spectrum_gives_orthonormal_columns",),
    ),
    "the ratio left out of the proposal": (
        [(KERNEL, "(ratio[:, None] * free[:top])", "free[:top]")],
        (DISTRIBUTION + "TestColumn::test_every_direction_has_its_share[6-3-strong]",),
    ),
    "the ratio left out of the acceptance": (
        [(KERNEL, "squared[:, :top] @ ratio + ", "squared[:, :top].sum(axis=1) + ")],
        (DISTRIBUTION + "TestColumn::test_every_direction_has_its_share[6-3-strong]",),
    ),
    "the free part along the others": (
        [(KERNEL, "(bound[:, top:] - rest @ basis) @ basis.T", "(bound[:, top:] + rest @ basis) @ basis.T")],
        (SHARES,),
    ),
    "the last column accepted": (
        [(KERNEL, "vectors[int(np.argmax(accepted))]", "vectors[int(np.flatnonzero(accepted)[-1])]")],
        (DISTRIBUTION + "TestColumn::test_the_first_accepted_is_taken",),
    ),
    "normal numbers given out twice": (
        [
            (
                KERNEL,
                "        self._used += count\n        return self._stock[self._used - count : self._used]\n",
                "        return self._stock[:count]\n",
            )
        ],
        (DISTRIBUTION + "TestColumn::test_normal_numbers_are_used_once",),
    ),
    "signs of a triangle in place of chance": (
        [(KERNEL, "square * np.where(triangle.diagonal() < 0, -1.0, 1.0)", "square")],
        (DISTRIBUTION + "TestUniform::test_without_concentration[drawn]",),
    ),
    "a subspace led back by the transposed eigenvectors": (
        [("kernel/noise/sampler.py", "np.asarray(vectors @ state)", "np.asarray(vectors.T @ state)")],
        (LAWS + "TestSubspace::test_columns_are_in_the_coordinates_of_the_rows",),
    ),
    "a subspace that is not charged": (
        [(CURATOR, CHARGE + DRAWN, DRAWN)],
        (LAWS + "TestSubspace::test_order_charge_and_record",),
    ),
    "a subspace charged after its draw": (
        [(CURATOR, CHARGE + DRAWN, DRAWN + CHARGE)],
        (LAWS + "TestSubspace::test_order_charge_and_record",),
    ),
    "a subspace twice as concentrated": (
        [(CURATOR, "min(" + RELATION, "min(2 * " + RELATION)],
        (
            CALIBRATION + "TestConcentration::test_pure",
            AUDIT + "test_the_worst_pair_uses_the_draws_budget[ppca, two-pure-replace]",
            AUDIT + "test_black_box_of_a_column",
        ),
    ),
    "the concentration of the other relation": (
        [(CURATOR, "min(" + RELATION, "min(" + RELATION.replace("self.public.neighbors", '"add-remove"'))],
        (
            CALIBRATION + "TestConcentration::test_pure",
            AUDIT + "test_no_pair_costs_more_than_was_charged[ppca, two-pure-replace]",
        ),
    ),
    "at_most that takes noise away": (
        [
            (
                CURATOR,
                "concentration = min(bingham_concentration(budget, self.public.neighbors), MAX_CONCENTRATION, bound)",
                "concentration = bound",
            )
        ],
        (CALIBRATION + "TestConcentration::test_at_most_only_adds_noise",),
    ),
    "a chain that is called uniform": (
        [
            (
                CURATOR,
                "Answer(question, (law,), (budget,), rows.reshape(-1))",
                "Answer(question, (Uniform(),), (budget,), rows.reshape(-1))",
            )
        ],
        (CALIBRATION + "TestConcentration::test_pure", REFUSALS + "test_round_trip[ppca-2-replace]"),
    ),
    "a chain that does not say that it is one": (
        [("release/statement.py", 'if any(law.numerics == "markov chain" for law in laws):', "if False:")],
        (REFUSALS + "test_round_trip[ppca-2-replace]", SCRIPTED + "TestDraws::test_a_subspace_has_the_whole_for_any_k"),
    ),
    "what is explained without what is not": (
        [("kernel/questions/along.py", "np.trace(matrix) - along.sum()", "np.trace(matrix)")],
        (
            LAWS + "TestExplained::test_they_are_tight",
            LAWS + "TestExplained::test_numbers",
        ),
    ),
    "values that move half as far": (
        [
            (
                "kernel/questions/spectral.py",
                "return moved * self.reach + each * self.count + more",
                "return moved * self.reach / 2 + each * self.count + more",
            )
        ],
        (
            LAWS + "TestExplained::test_they_are_tight",
            LAWS + "TestExplained::test_extremal_rows",
            AUDIT + "test_what_is_explained_uses_its_budget[replace]",
        ),
    ),
    "as many components as columns": (
        [(COMPONENTS, "not 1 <= k < d", "not 1 <= k <= d")],
        ("tests/mechanisms/test_every_mechanism.py::TestBeforeReading::test_bad_options[pca gaussian replace]",),
    ),
    "centred rows drawn from": (
        [("mechanisms/base.py", 'if center and self.centring != "homogeneous":', "if False:")],
        (REFUSALS + "TestOptions::test_centred_rows",),
    ),
    "a chain without consent": (
        [("mechanisms/pca/ppca.py", "if count > 1 and not approximate:", "if False:")],
        (REFUSALS + "TestOptions::test_a_chain_needs_consent",),
    ),
    "explained with the budget of the draw": (
        [("mechanisms/pca/ppca.py", "DirectionsOf(drawn), left.share(EXPLAINED)", "DirectionsOf(drawn), for_directions")],
        (SCRIPTED + "TestMechanisms::test_the_budget_is_spent_exactly[ppca-pure-replace]",),
    ),
    "directions that leave some of their budget": (
        [
            (
                "mechanisms/pca/eigenvectors.py",
                "even = Fraction(STEPS // count, STEPS)",
                "even = Fraction(STEPS // (count + 1), STEPS)",
            )
        ],
        (SCRIPTED + "TestDraws::test_shares_of_directions",),
    ),
    "equation (5) with d for d + 1": (
        [(PRINCIPAL, "((d + 1) / epsilon *", "(d / epsilon *")],
        (
            CALIBRATION + "TestModSulq::test_beta_is_that_of_the_paper",
            BOUNDS + "TestTheorem15::test_against_the_paper_at_every_phi",
        ),
    ),
    "equation (5) without its last term": (
        [(PRINCIPAL, " + 1 / math.sqrt(epsilon)) / n", ") / n")],
        (CALIBRATION + "TestModSulq::test_beta_is_that_of_the_paper",),
    ),
    "a standard deviation for a variance": (
        [("mechanisms/pca/mod_sulq.py", "variance = Fraction(deviation) ** 2", "variance = Fraction(deviation)")],
        (CALIBRATION + "TestModSulq::test_every_entry_has_it_and_no_less_than_ours",),
    ),
    "Theorem 7 with d for d - 1": (
        [(PRINCIPAL, "2 * (d - 1) * log, epsilon", "2 * d * log, epsilon")],
        (BOUNDS + "TestTheorem7::test_the_last_line_of_its_proof",),
    ),
    "Theorem 7 with a sixteenth of the rows": (
        [(PRINCIPAL, "(d - 1) * log, epsilon * gap * miss)", "(d - 1) * log, 16 * epsilon * gap * miss)")],
        (
            BOUNDS + "TestTheorem7::test_the_correlation_holds_by_quadrature",
            BOUNDS + "TestTheorem7::test_the_correlation_holds_in_draws",
        ),
    ),
    "Theorem 8 as misprinted": (
        [(PRINCIPAL, "return 1 - math.sqrt(-math.expm1(", "return math.exp(0.0) - (-math.expm1(")],
        (BOUNDS + "TestTheorem8::test_the_packing_holds_exp_d_directions",),
    ),
    "Theorem 15 at a quarter": (
        [(PRINCIPAL, "1 - away / 4 *", "1 - away / 2 *")],
        (BOUNDS + "TestTheorem15::test_against_the_paper_at_every_phi",),
    ),
    "a file's concentration not checked": (
        [(CHECK, "return sum(exponents) <= charge.epsilon", "return True")],
        (REFUSALS + "test_a_forged_file_is_refused[more concentrated]",),
    ),
    "a file's directions not orthogonal": (
        [(DIRECTIONS, "return not self.orthogonal or bool(", "return True or bool(")],
        (REFUSALS + "test_a_forged_file_is_refused[not orthogonal]",),
    ),
    "a file's chain of any length": (
        [("kernel/noise/drawn.py", "not 1 <= self.sweeps <= MOST_SWEEPS", "False")],
        (REFUSALS + "test_a_forged_file_is_refused[sweeps beyond all]",),
    ),
    "components in the order of drawing": (
        [(COMPONENTS, 'order = np.argsort(-along, kind="stable")', "order = np.arange(len(along))")],
        (SCRIPTED + "TestDraws::test_directions_are_sorted_by_what_lies_along_them",),
    ),
    "directions in the order of their noisy variances": (
        [(COMPONENTS, "if isinstance(drawn.question, Subspace):", "if isinstance(drawn.question, Directions | Subspace):")],
        (SCRIPTED + "TestDraws::test_directions_drawn_one_by_one_keep_their_order[replace]",),
    ),
    "components of either sign": (
        [("uses/pca.py", "components * np.where(largest < 0, -1.0, 1.0)", "components * 1.0")],
        (SCRIPTED + "TestMechanisms::test_noise_off_gives_the_truth", SCRIPTED + "TestOfCovariances"),
    ),
    "rows that come back without units": (
        [("uses/pca.py", "@ self.components * self.scales + self.offsets", "@ self.components + self.offsets")],
        (SCRIPTED + "TestUnits::test_encoded_in_transform_and_out_in_its_inverse", ESTIMATOR + "test_schema_with_categories"),
    ),
    "a mean that is not taken off": (
        [("uses/prediction.py", "(kept - self._centre) @", "kept @")],
        (ESTIMATOR + "test_transform_and_its_inverse",),
    ),
    "a replay that takes any concentration": (
        [("verify/recording.py", "before.law == law and before.columns.shape", "before.columns.shape")],
        (AUDIT + "test_a_mechanism_that_peeks_is_caught[concentration]",),
    ),
    "F_k of k columns at once": (
        [("uses/convergence.py", " / (t + 1) / math.sqrt(k)", " / (t + 1)")],
        (DISTRIBUTION + "TestConvergence::test_it_falls_from_one",),
    ),
}
