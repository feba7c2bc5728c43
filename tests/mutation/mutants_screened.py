"""Planted bugs in `screened`: edits, and the tests that must fail because of them."""

from __future__ import annotations

Edits = list[tuple[str, str, str]]

COLUMNS, SCREENED, SCREENING = "kernel/questions/columns.py", "mechanisms/pca/screened.py", "mechanisms/pca/screening.py"
LAWS, SCRIPTED = "tests/laws/test_columns.py::", "tests/scripted/test_screened.py::"
REFUSED, AUDIT = "tests/refusals/test_screened.py::", "tests/audit/test_screened.py::"
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
        [
            (
                "kernel/questions/spectral.py",
                "d = measure.whole if isinstance(measure, Block) else",
                "d = moment.d if isinstance(measure, Block) else",
            )
        ],
        (LAWS + "test_a_curator_answers_blocks_of_its_own_rows_only",),
    ),
    "components in the first columns": (
        [("estimate.py", "rows[:, list(block.columns)] = eigenbasis", "rows[:, : len(block.columns)] = eigenbasis")],
        (COMES_BACK,),
    ),
    "the smallest eigenvalues": (
        [
            (
                "estimate.py",
                "np.linalg.eigh(unpack(moment.values, width))[1][:, ::-1]",
                "np.linalg.eigh(unpack(moment.values, width))[1]",
            )
        ],
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
        [(SCREENED, "isinstance(noise.budget, PureDP) and are_many", "are_many")],
        (SCRIPTED + "test_under_zcdp_nothing_is_screened",),
    ),
    "variances of rows clipped at the inner radius": (
        [(SCREENED, "min(1.0, inner * noise.reach)", "inner")],
        (SCRIPTED + "test_rows_are_clipped_where_the_radius_says",),
    ),
    "the count before what can be refused": (
        [
            (
                SCREENED,
                "    _check_affordable(curator, noise, k, screens)\n    hold_norms(curator)\n",
                "    hold_norms(curator)\n",
            )
        ],
        (REFUSED + "test_a_budget_is_refused_whole_or_served_whole",),
    ),
    "no room for shares": (
        [("mechanisms/shared/shares.py", "    budget.share(Fraction(STEPS**2 - 1, STEPS**2))\n", "")],
        (REFUSED + "test_budgets_with_many_digits_are_refused_whole",),
    ),
    "a block whose size counts as it likes": (
        [(COLUMNS, "type(self.d) is int and type(self.whole) is int and type", "type")],
        (LAWS + "test_sizes_are_plain_integers",),
    ),
    "columns that were not asked for": (
        [("release_drawn.py", "if not squares and len(block.columns) < release.d:", "if False:")],
        (REFUSED + "test_columns_chosen_without_a_question_are_refused",),
    ),
    "a file with columns of anything": (
        [("release_check.py", "if answer.columns != (measure.columns if isinstance(measure, Block) else ()):", "if False:")],
        (REFUSED + "test_forged_files_are_refused[columns_of_the_squares]",),
    ),
    "a file of another radius": (
        [
            (
                "release_drawn.py",
                "clipped_moment(release, moment, Block.name), of_radii",
                "of_radii(moment, block.radii), of_radii",
            )
        ],
        (REFUSED + "test_forged_files_are_refused[all_of_another_radius]",),
    ),
    "components in the order of what was asked apart": (
        [
            (
                "uses/pca.py",
                "        told = _of_block(release, block, asked, (release.clip_radius / radius) ** 2)\n",
                "        rows = rows[np.argsort(-told[:-1])]\n"
                "        told = _of_block(release, block, asked, (release.clip_radius / radius) ** 2)\n",
            )
        ],
        (EXPLAINED + "test_components_are_in_the_order_of_the_block",),
    ),
    "variances as they were asked apart": (
        [("uses/pca.py", "(CLEAR * deviation / excess) ** 2) if excess > CLEAR * deviation else 0.0", "0.0)")],
        (
            EXPLAINED + "test_noise_in_what_is_asked_apart_changes_nothing",
            EXPLAINED + "test_strong_directions_are_not_exchanged_where_the_bound_is_loose",
        ),
    ),
    "what clipping took is lost": (
        [("uses/pca.py", "if excess > CLEAR * deviation else 0.0", "if False else 0.0")],
        (EXPLAINED + "test_what_clipping_clearly_took_is_given_back",),
    ),
    "a block in the units of the other radius": (
        [("uses/pca.py", "noise, 1.0)[::-1] * unit", "noise, 1.0)[::-1]")],
        (EXPLAINED + "test_they_are_in_the_units_of_the_block",),
    ),
}
