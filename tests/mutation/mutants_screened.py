"""Planted bugs in `screened`: edits, and the tests that must fail because of them."""

from __future__ import annotations

Edits = list[tuple[str, str, str]]

COLUMNS, SCREENED, SCREENING = "kernel/questions/columns.py", "mechanisms/pca/screened.py", "mechanisms/pca/screening.py"
LAWS, SCRIPTED = "tests/kernel/laws/test_columns.py::", "tests/mechanisms/test_screened.py::"
RETRACED = "tests/verify/test_retrace.py::TestWhatAnswersLeadTo::"
REFUSED, AUDIT = "tests/mechanisms/test_screened_refusals.py::", "tests/audit/test_screened.py::"
REACHED, WORST = LAWS + "test_the_bounds_are_reached", AUDIT + "TestReplay::test_no_answer_costs_more_than_its_charge"
L1 = "return Fraction({REPLACE: 2 if self.d > 1 else 1, ADD_REMOVE: 1}[neighbors] * self.grid.reach)"
EXPLAINED = SCRIPTED + "TestExplained::"
COMES_BACK = SCRIPTED + "test_a_rotated_subspace_comes_back_in_its_columns"

SCREENED_MUTANTS: dict[str, tuple[Edits, tuple[str, ...]]] = {
    "squares that move by one where a row is replaced": (
        [(COLUMNS, L1, L1.replace("2 if self.d > 1 else 1", "1"))],
        (REACHED + "[replace]", WORST),
    ),
    "squares of two columns that move by one in L2": (
        [(COLUMNS, "{REPLACE: 2 if self.d > 1 else 1, ADD_REMOVE: 1}[neighbors] * self.grid.reach**2", "self.grid.reach**2")],
        (REACHED + "[replace]",),
    ),
    "a block of neighbouring columns": (
        [(COLUMNS, "kept = np.array(self.columns)", "kept = np.arange(self.d)")],
        (LAWS + "TestLaws::test_they_are_parts_of_the_exact_matrix[5]",),
    ),
    "a block with columns twice": (
        [(COLUMNS, "all(a < b for a, b", "all(a <= b for a, b")],
        (LAWS + "test_other_columns_are_refused",),
    ),
    "a block of numpy's integers": (
        [(COLUMNS, "all(type(column) is int for column in self.columns)", "True")],
        (LAWS + "test_other_columns_are_refused",),
    ),
    "a block of a wider table": (
        [(COLUMNS, "rows_fit(self.grid, self.whole, public)", "rows_fit(self.grid, public.d, public)")],
        (LAWS + "test_a_curator_answers_blocks_of_its_own_rows_only",),
    ),
    "components in the first columns": (
        [("kernel/questions/basis.py", "columns[list(self._moment.columns)] = vectors", "columns[: self._moment.d] = vectors")],
        (COMES_BACK,),
    ),
    "the smallest eigenvalues": (
        [("kernel/answer.py", "self.decomposition[1][:, ::-1]", "self.decomposition[1]")],
        (COMES_BACK,),
    ),
    "columns that hold least": (
        [(SCREENING, 'np.argsort(-squares, kind="stable")', 'np.argsort(squares, kind="stable")')],
        (COMES_BACK, SCRIPTED + "TestColumns::test_columns_that_hold_little_are_dropped_where_noise_is_large"),
    ),
    "components as strong in fewer columns": (
        [(SCREENING, "held = along * total * part", "held = along * total * np.ones_like(part)")],
        (SCRIPTED + "TestColumns::test_where_all_hold_alike_none_is_dropped",),
    ),
    "as many columns as components": (
        [(SCREENING, "k + 1\n", "k\n")],
        (SCRIPTED + "TestColumns::test_there_are_always_more_than_components",),
    ),
    "squares that are not paid for": (
        [(SCREENED, "        left -= share\n", "")],
        (SCRIPTED + "test_the_questions_and_their_prices_add_up",),
    ),
    "screening under zCDP": (
        [(SCREENED, "isinstance(noise.budget, PureDP) and noise.d", "noise.d")],
        (SCRIPTED + "test_under_zcdp_nothing_is_screened",),
    ),
    "variances of rows clipped at the inner radius": (
        [(SCREENED, "min(1.0, inner * noise.reach)", "inner")],
        (SCRIPTED + "test_rows_are_clipped_where_the_radius_says",),
    ),
    "the count before what can be refused": (
        [(SCREENED, "    least=least,\n", "")],
        (REFUSED + "test_a_budget_is_refused_whole_or_served_whole",),
    ),
    "no room for shares": (
        [("mechanisms/shared/shares.py", "    budget.share(Fraction(STEPS**2 - 1, STEPS**2))\n", "")],
        ("tests/test_rehearsal.py::test_digits_leave_room_for_shares_of_shares",),
    ),
    "a block whose size counts as it likes": (
        [(COLUMNS, "type(self.d) is int and type(self.whole) is int and type", "type")],
        (LAWS + "test_sizes_are_plain_integers",),
    ),
    "columns that were not asked for": (
        [("verify/retrace.py", "sorted({*one, *other}):", 'sorted({*one, *other} - {"columns"}):')],
        (RETRACED + "test_columns_that_were_not_kept",),
    ),
    "a file with columns of anything": (
        [("release/file.py", "    asked.end()\n", "")],
        (
            REFUSED + "test_forged_files_are_refused[columns_of_the_squares]",
            "tests/release/test_forged.py::TestKeys::test_an_unknown_key[many columns]",
        ),
    ),
    "a file of another radius": (
        [("verify/retrace.py", "COORDINATES = 1e-6", "COORDINATES = 1e-2")],
        (
            REFUSED + "test_what_only_the_mechanism_knows_is_a_verdict[all_of_another_radius]",
            RETRACED + "test_rows_that_were_clipped_elsewhere[gaussian]",
        ),
    ),
    "components in the order of what was asked apart": (
        [
            (
                SCREENED,
                "with_variances(basis.columns.T, told",
                "with_variances(basis.columns.T[np.argsort(-asked.values[:-1])], told",
            )
        ],
        (EXPLAINED + "test_components_are_in_the_order_of_the_block",),
    ),
    "variances as they were asked apart": (
        [(SCREENED, "(CLEAR * deviation / excess) ** 2) if excess > CLEAR * deviation else 0.0", "0.0)")],
        (
            EXPLAINED + "test_noise_in_what_is_asked_apart_changes_nothing",
            EXPLAINED + "test_strong_directions_are_not_exchanged_where_the_bound_is_loose",
        ),
    ),
    "what clipping took is lost": (
        [(SCREENED, "if excess > CLEAR * deviation else 0.0", "if False else 0.0")],
        (EXPLAINED + "test_what_clipping_clearly_took_is_given_back",),
    ),
    "a block in the units of the other radius": (
        [(SCREENED, "scaled(1 / n), 1.0)[::-1] * unit", "scaled(1 / n), 1.0)[::-1]")],
        (EXPLAINED + "test_they_are_in_the_units_of_the_block",),
    ),
}
