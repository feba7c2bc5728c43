"""Planted bugs in how a weight that counts as 1 is found, and in what is asked before and after it."""

from __future__ import annotations

from tests.mutation.form import mutant

ASIDE = "kernel/rows/aside.py"
CHECK = "release/check.py"
CHOICES = "kernel/questions/choices.py"
CURATOR = "kernel/curator.py"
FILING = "kernel/questions/filing.py"
WEIGHTS = "kernel/questions/weights.py"

LAWS = "tests/kernel/laws/test_weights.py::"
API = "tests/api/test_weights.py::"
MOVES = LAWS + "test_a_person_moves_a_sum_no_further_than_a_row"

PLANTED = {
    "a weight beyond the one that was found counts more than 1": mutant(
        (
            ASIDE,
            "thetas = np.clip(np.floor(beside[:, 0] * self.stretch), 0.0, 2.0**SHARE_BITS)",
            "thetas = np.floor(beside[:, 0] * self.stretch)",
        ),
        by=(LAWS + "TestShares::test_what_counts_as_one_is_as_if_it_had_been_the_bound", MOVES + "[sum-people]"),
    ),
    "the public weight in questions after the choice": mutant(
        (
            CURATOR,
            "made = self._sized(remade(question, public.encoding.aside))",
            "made = self._sized(remade(question, self.public.encoding.aside))",
        ),
        by=API + "TestCalibration::test_what_is_asked_after_the_choice_is_of_the_weight_that_was_chosen",
    ),
    "the public weight in what a mechanism makes its questions with": mutant(
        (
            CURATOR,
            "        return known if aside is known.encoding.aside else replace(",
            "        return known if aside else replace(",
        ),
        by=API + "TestCalibration::test_what_is_asked_after_the_choice_is_of_the_weight_that_was_chosen",
    ),
    "a choice that half a person moves": mutant(
        (CHOICES, "        return self.counted.person\n", "        return self.counted.person // 2\n"),
        by=(
            LAWS + "test_a_person_moves_scores_by_one_person[rows]",
            API + "TestCalibration::test_a_choice_is_drawn_at_the_rate_of_one_person",
            API + "TestCost::test_the_worst_people_cost_all_of_it[budget0]",
        ),
    ),
    "squares of half a person": mutant(
        (WEIGHTS, "return Fraction(self.person)\n", "return Fraction(self.person, 2)\n"),
        by=(
            LAWS + "test_one_person_is_one_in_what_is_asked_of_weights",
            API + "TestCalibration::test_noise_is_that_of_one_person",
        ),
    ),
    "squares in rows that count once each": mutant(
        (
            WEIGHTS,
            "squares = weighed.shares * np.ldexp(weighed.thetas, -SHARE_BITS)",
            "squares = weighed.thetas * np.ldexp(weighed.thetas, -SHARE_BITS)",
        ),
        by=MOVES + "[squared weights-people]",
    ),
    "counts by weight in rows that count once each": mutant(
        (WEIGHTS, "self.aside.counted(Weighed(alike, parts).shares)", "self.aside.counted(alike)"),
        by=(MOVES + "[weights-people]", LAWS + "test_a_person_moves_scores_by_one_person[people]"),
    ),
    "counts by weight whose replacement costs one bin": mutant(
        (
            WEIGHTS,
            "return Fraction({REPLACE: 2, ADD_REMOVE: 1}[neighbors] * self.person)",
            "return Fraction(self.person)",
        ),
        by=(MOVES + "[weights-rows]", LAWS + "test_one_person_is_one_in_what_is_asked_of_weights"),
    ),
    "rows without a weight in the counts of weights": mutant(
        (WEIGHTS, "alike = np.where(thetas > 0, 2.0**SHARE_BITS, 0.0)", "alike = np.full(len(thetas), 2.0**SHARE_BITS)"),
        by=LAWS + "TestCounts::test_rows_without_a_weight_are_in_no_count",
    ),
    "shares that are rounded to the nearest": mutant(
        (ASIDE, "        return np.floor(quotients)\n", "        return np.rint(quotients)\n"),
        by=LAWS + "TestShares::test_a_quotient_is_rounded_down",
    ),
    "rows without an owner that count by their weight": mutant(
        (
            ASIDE,
            "np.divide(self.thetas, self.parts, out=np.zeros(len(self.thetas)), where=self.parts >= 1)",
            "self.thetas / np.maximum(self.parts, 1)",
        ),
        by=LAWS + "TestShares::test_rows_without_an_owner_count_nothing",
    ),
    "a weight that is found twice": mutant(
        (
            WEIGHTS,
            "return aside is not None and aside.searched and aside.cut is None",
            "return aside is not None and aside.searched",
        ),
        by=API + "TestCalibration::test_a_weight_is_found_once_and_only_where_it_is_searched",
    ),
    "a weight that is found though nobody said so": mutant(
        (
            WEIGHTS,
            "return aside is not None and aside.searched and aside.cut is None",
            "return aside is not None and aside.cut is None",
        ),
        by=API + "TestCalibration::test_a_weight_is_found_once_and_only_where_it_is_searched",
    ),
    "questions of files whose weight is another answer's": mutant(
        (FILING, "if fields.take(CHOSEN_BY, int) != self.chosen[1]:", "if fields.take(CHOSEN_BY, int) < -1:"),
        by=API + "TestFiles::test_another_answer_is_refused[1]",
    ),
    "answers of releases whose weight nobody compares": mutant(
        (CHECK, "        if chosen is not None and chosen.searched and answer", "        if False and answer"),
        by=API + "TestFiles::test_a_release_whose_questions_have_another_weight_is_refused",
    ),
    "intervals with more rows than there are": mutant(
        ("release/weighed.py", "return n * n / min(RELATED * squares, n)", "return n * n / squares"),
        by=API + "TestEstimates::test_noise_in_the_squares_makes_intervals_wider_never_narrower",
    ),
}
