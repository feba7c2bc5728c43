"""Planted bugs in what people with several rows are counted, scaled and charged as."""

from __future__ import annotations

from tests.mutation.form import mutant

ASIDE = "kernel/rows/aside.py"
CHECK = "release/check.py"
CURATOR = "kernel/curator.py"
MEASURE = "kernel/questions/measure.py"
MOMENTS = "kernel/questions/moments.py"
PEOPLE = "sources/people.py"
STATE = "custody/state.py"
SUMS = "kernel/sums.py"

LAWS = "tests/kernel/laws/test_people.py::"
SOURCES = "tests/sources/test_people.py::"
API = "tests/api/test_people.py::"
MOVES = LAWS + "test_a_person_moves_a_sum_no_further_than_a_row"
SHARES = LAWS + "TestShares::"
REPLAY = API + "TestReplay::"
PARTIAL = LAWS + "TestPartial::"

SCALED = "return self.aside.scaled(self.grid.encode(features, scratch=scratch), shares, self.grid.reach)"

PLANTED = {
    "rows of a person by their share, not its root": mutant(
        (ASIDE, "np.floor(np.sqrt(shares))", "np.floor(np.ldexp(shares, -26))"),
        by=SHARES + "test_many_small_rows_are_not_lost",
    ),
    "rows of a person that are scaled before they are clipped": mutant(
        (MOMENTS, SCALED, "return self.grid.encode(features * np.ldexp(np.sqrt(shares), self.finer - 26)[:, None])"),
        by=MOVES + "[second moment]",
    ),
    "rows of a person that count once each": mutant(
        (
            ASIDE,
            "return np.floor(np.ldexp(shares, self.share_bits - SHARE_BITS))",
            "return np.full(len(shares), 2.0**self.share_bits)",
        ),
        by=(SHARES + "test_counts_of_a_person_are_at_most_one", MOVES + "[norms]"),
    ),
    "people who are counted by their rows where other sums are read with them": mutant(
        (SUMS, "isinstance(question, Count) and question.is_of_people", "False"),
        (MOMENTS, "        if self.is_of_people:  #", "        if False:  #"),
        by=LAWS + "test_people_are_counted_once_also_where_other_sums_are_read_with_them",
    ),
    "searches of more people than their queries have room for": mutant(
        (SUMS, "            if isinstance(question, Search):", "            if False:"),
        by="tests/kernel/test_choosing.py::TestHolding::test_searches_whose_queries_may_have_wrapped",
    ),
    "what stands beside rows, shared with who reads an answer": mutant(
        ("kernel/questions/remade.py", "beside = None if aside is None else replace(aside)", "beside = aside"),
        by="tests/audit/test_hostile_mechanisms.py::TestEncodings::test_nor_what_stands_beside_its_rows[{'share_bits': 1}]",
    ),
    "shares of counts that are rounded up": mutant(
        (ASIDE, "return np.floor(np.ldexp(shares, self", "return np.ceil(np.ldexp(shares, self"),
        by=SHARES + "test_counts_of_a_person_are_at_most_one",
    ),
    "rows that rounding makes longer": mutant(
        (ASIDE, "            found[long] = np.trunc(exact[long])", "            # found[long] = np.trunc(exact[long])"),
        (ASIDE, "            found[~(norms <= most[part])] = 0.0", "            # found[...] = 0.0"),
        by=SHARES + "test_all_rows_of_a_person_together_are_within_the_radius",
    ),
    "sums of people that wrap": mutant(
        (ASIDE, "MOST_COUNT_BITS, ROOM_BITS = 20, 44", "MOST_COUNT_BITS, ROOM_BITS = 20, 56"),
        by=SHARES + "test_nothing_wraps_for_as_many_people_as_there_may_be",
    ),
    "rows without an owner that are one person's": mutant(
        (PEOPLE, "        rows[0] = 0\n", ""),
        by=SOURCES + "TestWhoIsWho::test_nobody_s_rows_are_neither_one_person_s_nor_many_people_s",
    ),
    "rows without an owner that are counted": mutant(
        (PEOPLE, "np.where(known, _scattered(words, size), size)", "_scattered(words, size)"),
        by=SOURCES + "TestWhoIsWho::test_nobody_s_rows_are_neither_one_person_s_nor_many_people_s",
    ),
    "texts that are told apart by their first word": mutant(
        (PEOPLE, "                other |= mine[found] != word\n", "                pass\n"),
        by=SOURCES + "TestWhoIsWho::test_texts_with_one_place_and_long_texts_are_told_apart",
    ),
    "people who are told apart by the place that they are scattered to": mutant(
        (PEOPLE, "other = self._words[0][found] != words[0]", "other = np.zeros(len(found), dtype=np.bool_)"),
        (PEOPLE, "                other |= mine[found] != word\n", "                pass\n"),
        by=SOURCES + "TestWhoIsWho::test_texts_with_one_place_and_long_texts_are_told_apart",
    ),
    "texts that say nobody, as somebody": mutant(
        (PEOPLE, "range(1, self._people if self._text else 0, PIECE)", "range(1, 0, PIECE)"),
        by=SOURCES + "TestWhoIsWho::test_text_that_says_nobody_in_many_ways",
    ),
    "minus zero that is another person": mutant(
        (PEOPLE, "floats = numbers.astype(np.float64) + 0.0", "floats = numbers.astype(np.float64)"),
        by=SOURCES + "TestWhoIsWho::test_minus_zero_is_zero_and_near_numbers_are_not_alike",
    ),
    "whole numbers as floats": mutant(
        (
            PEOPLE,
            'return [numbers.astype(np.uint64 if numbers.dtype.kind == "u" else np.int64).view(np.uint64)], known',
            "return [numbers.astype(np.float64).view(np.uint64)], known",
        ),
        by=SOURCES + "TestWhoIsWho::test_numbers_are_compared_exactly",
    ),
    "rows that are not counted down": mutant(
        (PEOPLE, "        np.subtract.at(self._left, whose, 1)\n", ""),
        by=(
            SOURCES + "TestWhoIsWho::test_rows_beyond_those_counted_give_nothing",
            SOURCES + "test_a_table_that_changes_gives_no_person_more_than_one_share",
        ),
    ),
    "rows in place of people": mutant(
        ("sources/arrow.py", "        self._n = people.n\n", "        self._n = done\n"),
        by=SOURCES + "TestEveryContainer::test_has_what_pandas_computes[arrow]",
    ),
    "a weight that is not cut to its bound": mutant(
        (
            ASIDE,
            "parts = np.clip(np.where(weights > 0, weights, 0.0) / max_weight, 0.0, 1.0)",
            "parts = np.where(weights > 0, weights, 0.0) / max_weight",
        ),
        by=PARTIAL + "test_any_weight_counts_from_nothing_to_once",
    ),
    "weights below nothing": mutant(
        (
            ASIDE,
            "np.clip(np.where(weights > 0, weights, 0.0) / max_weight, 0.0, 1.0)",
            "np.clip(np.abs(weights) / max_weight, 0.0, 1.0)",
        ),
        by=PARTIAL + "test_any_weight_counts_from_nothing_to_once",
    ),
    "a total of weights that is public": mutant(
        (
            MOMENTS,
            "return {REPLACE: int(self.weighs), ADD_REMOVE: 1}[neighbors] << 2 * self.unit_bits",
            "return {REPLACE: 0, ADD_REMOVE: 1}[neighbors] << 2 * self.unit_bits",
        ),
        by=PARTIAL + "test_the_count_costs_something_under_replace_too",
    ),
    "n of rows that count less than once": mutant(
        (
            "kernel/public.py",
            "return bool(of.neighbors != REPLACE or of.encoding.partial)",
            "return bool(of.neighbors != REPLACE)",
        ),
        by=API + "TestPartial::test_means_are_hajek_s[weights of visits-replace]",
    ),
    "choices about people at the rate of rows": mutant(
        (
            CURATOR,
            "min(exponential_rate(budget), MAX_RATE, bound) / question.moved)",
            "min(exponential_rate(budget), MAX_RATE, bound))",
        ),
        by=(
            API + "TestCalibration::test_a_choice_and_a_search",
            REPLAY + "test_no_answer_costs_more_than_its_charge[covariance-rescaled-replace]",
        ),
    ),
    "rates of files about people that nobody divides": mutant(
        (CHECK, "enough = law.rate <= exponential_rate(charge) / question.moved", "enough = True"),
        by=API + "TestFiles::test_a_rate_of_rows_is_refused",
    ),
    "questions that nobody proved for people": mutant(
        (CURATOR, "if made is not None and made.aside is not None and not made.serves_people:", "if False:"),
        by=API + "TestCalibration::test_a_question_that_is_not_proved_for_people",
    ),
    "people that are read as rows": mutant(
        (SUMS, 'if encoding.aside != getattr(source, "aside", None):', "if False:"),
        by=API + "TestCalibration::test_a_source_of_people_is_not_read_as_rows",
    ),
    "rows and people in one sum": mutant(
        (STATE, "if unit != self.unit:", "if False:"), by=API + "TestLedger::test_rows_and_people_are_not_added_up"
    ),
}
