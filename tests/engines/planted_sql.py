"""Planted bugs in sums that a database makes: other integers, errors that cells cause, a check that is not made."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

from tests.mutation.form import Mutant, mutant

ARITHMETIC = "sources/sql/arithmetic.py"
BESIDE = "sources/sql/beside.py"
CHAIN = "sources/sql/chain.py"
COLUMNS = "sources/sql/columns.py"
CONNECTIONS = "sources/sql/connections.py"
DATABASE = "sources/sql/database.py"
DIALECTS = "sources/sql/dialects.py"
INTEGERS = "sources/sql/integers.py"
PRINTED = "sources/sql/printed.py"
RESULT = "sources/sql/result.py"
STATEMENT = "sources/sql/statement.py"

TEST = "tests/engines/test_sql.py::"
TEST_PEOPLE = "tests/engines/test_sql_people.py::"
TEST_CROWD = TEST_PEOPLE + "test_extreme_rows_have_the_same_integers[duckdb-{}]"
TEST_ONE_PERSON = TEST_PEOPLE + "TestWhoIsWho::test_one_person_with_all_rows_and_every_row_a_person[duckdb-cells{}]"
TEST_TEXT = "tests/engines/test_sql_text.py::"
TEST_ALL = TEST + "test_every_question_has_the_same_integers[duckdb-{}]"
TEST_EXTREME = TEST + "test_extreme_rows_have_the_same_integers[duckdb]"

OF_DUCKDB = {
    "what stands behind a query is run": mutant(
        (CONNECTIONS, "if len(connection.extract_statements(query)) != 1:", "if False:"),
        by=TEST + "TestOneStatement::test_of_duckdb",
    ),
    "a database rounds half up": mutant(
        (DIALECTS, 'nearest=lambda x: f"(({x} + {MAGIC}) - {MAGIC})",', 'nearest=lambda x: f"floor({x} + 0.5e0)",'),
        by=TEST_EXTREME,
    ),
    "a database cuts downwards": mutant(
        (
            DIALECTS,
            '    toward_zero=lambda x: f"trunc({x})",\n    whole=lambda x: f"CAST({x} AS BIGINT)"',
            '    toward_zero=lambda x: f"floor({x})",\n    whole=lambda x: f"CAST({x} AS BIGINT)"',
        ),
        by=TEST_EXTREME,
    ),
    "a database does not clip": mutant(
        (
            INTEGERS,
            'factor = chain.let(f"CASE WHEN {row.norm} > {most} THEN {shorter} ELSE {number(1)} END")',
            'factor = chain.let(f"CASE WHEN {row.norm} > {most} THEN {number(1)} ELSE {number(1)} END")',
        ),
        by=TEST_EXTREME,
    ),
    "a database does not look at the integers again": mutant(
        (INTEGERS, 'kept = chain.let(f"CASE WHEN {inside} THEN {number(1)} ELSE {number(0)} END")', "kept = number(1)"),
        by=TEST + "test_what_is_still_too_long_is_nothing",
    ),
    "rows on the radius are shortened": mutant(
        (INTEGERS, 'f"CASE WHEN {row.norm} > {most} THEN {shorter}', 'f"CASE WHEN {row.norm} >= {most} THEN {shorter}'),
        by=TEST_EXTREME,
    ),
    "far rows of a database are nothing": mutant(
        (INTEGERS, '{number(1)} END")\n    least, factor', '{number(1)} END")\n    top = f"({top} * 4e0)"\n    least, factor'),
        by=TEST_EXTREME,
    ),
    "sums of a database stop at 64 bits": mutant(
        (RESULT, "(one + 2**63) % 2**64 - 2**63", "max(min(one, 2**63 - 1), -(2**63))"),
        by=TEST + "test_sums_wrap_as_everywhere",
    ),
    "a missing cell is 0 where it should be the midpoint": mutant(
        (
            COLUMNS,
            "missing = chain.dialect.number((column.midpoint - offset) * (1 / scale))",
            "missing = chain.dialect.number(0)",
        ),
        by=TEST_ALL.format(False),
    ),
    "infinite cells of a database are clipped": mutant(
        (
            DIALECTS,
            'return f"CASE WHEN {cell} BETWEEN -{most} AND {most} THEN {cell} END"',
            'return f"CASE WHEN {cell} IS NOT NULL AND {most} > 0 THEN {cell} END"',
        ),
        by=TEST_ALL.format(True),
    ),
    "the constant in front is counted once": mutant(
        (STATEMENT, "line = [row.constant * found.rows, *", "line = [row.constant * (found.rows + 1), *"),
        by=TEST_ALL.format(True),
    ),
    "rows are seen from the other side of a centre": mutant(
        (INTEGERS, 'Feature(f"({x.text} - {number(c)})"', 'Feature(f"({x.text} + {number(c)})"'), by=TEST_EXTREME
    ),
    "what clipping took begins at the wrong radius": mutant(
        (INTEGERS, "radius * shrinkage)}", "radius * shrinkage * (1 + 2**-20))}"), by=TEST_EXTREME
    ),
    "bins of a database start above their edges": mutant(
        (ARITHMETIC, 'return f"CASE WHEN {x} > {chain', 'return f"CASE WHEN {x} >= {chain'),
        by=TEST + "test_lengths_on_an_edge",
    ),
    "rows at a radius are guessed": mutant(
        (STATEMENT, "longer_than(rows, radii, asked.per_octave)", "np.zeros(len(rows), dtype=np.int64)"),
        by=TEST + "test_rows_at_a_radius_are_decided_exactly[duckdb]",
    ),
    "a database is trusted": mutant(
        (DATABASE, "sorted({False, more} - table.query._checked)", "()"),
        by=TEST + "TestADatabaseThatComputesOtherwise::test_it_is_refused_and_nothing_is_spent[half up]",
    ),
    "literals are trusted": mutant(
        (CONNECTIONS, "if np.array(back, dtype=np.float64).tobytes() != np.array(some).tobytes():", "if False:"),
        by=TEST + "TestADatabaseThatComputesOtherwise::test_literals_are_read_back",
    ),
    "a database's words are repeated": mutant(
        (CONNECTIONS, "    with reading(HINT):\n        records", "    if HINT:\n        records"),
        by=TEST + "TestReadings::test_a_later_one_that_fails_ends_in_one_clear_error",
    ),
    "a user's transaction is ended": mutant(
        (CONNECTIONS, "if _duckdb_moment(connection) == _duckdb_moment(connection):", "if False:"),
        by=TEST + "TestReadings::test_in_a_transaction_of_the_users",
    ),
    "a transaction stays open": mutant(
        (DATABASE, "        if end is not None:\n", "        if end is None:\n"),
        by=TEST + "TestReadings::test_a_later_one_that_fails_ends_in_one_clear_error",
    ),
    "counts that cannot be are taken": mutant(
        (STATEMENT, "if sum(counts.values()) != (", "if 0 * sum(counts.values()) != 0 * ("),
        by=TEST + "TestADatabaseThatComputesOtherwise::test_answers_that_cannot_be_are_refused[counts]",
    ),
    "levels are compared as the column says": mutant(
        (
            DIALECTS,
            """return f"encode({f'lower({text})' if lower else text}) = '{octets}'::BLOB\"""",
            """return f"{f'lower({text})' if lower else text} = decode('{octets}'::BLOB)\"""",
        ),
        by=TEST + "test_levels_are_compared_letter_by_letter",
    ),
    "text of a level is taken for a name": mutant(
        (
            CHAIN,
            "{used for name in here for used in self._uses[name]}",
            "{used for text in here.values() for used in self._used(text)}",
        ),
        by=TEST + "test_text_that_looks_like_a_name",
    ),
    "secret sums that others can read": mutant(
        ("paths.py", "or about.st_mode & 0o077", ""), by=TEST_TEXT + "TestTheFile::test_others_must_not_read_it"
    ),
    "secret sums with another name": mutant(
        ("paths.py", "if about.st_nlink > 1:", "if False:"), by=TEST_TEXT + "TestTheFile::test_it_has_one_name"
    ),
    "secret sums that are cut short": mutant(
        ("paths.py", "if about.st_size > MOST_BYTES:", "if False:"),
        by=TEST_TEXT + "TestTheFile::test_it_is_read_to_the_end_or_not_at_all",
    ),
    "numbers of secret sums end anywhere": mutant(
        (PRINTED, "(?![\\w.,+-])", ""), by=TEST_TEXT + "TestTheFile::test_it_holds_what_rows_can_have"
    ),
    "sums of another statement": mutant(
        (
            PRINTED,
            "meant = (__version__, self.data.query, self._names, self.center, statistic, self.aside, self.groups)",
            "meant = (__version__,)",
        ),
        (PRINTED, "schema = None if self.schema is None else list(self.schema.columns.items())", "schema = None"),
        (PRINTED, "if len(numbers) != statement.width:", "if not numbers:"),
        by=TEST_TEXT + "TestTheFile::test_it_is_of_this_statement",
    ),
    "sums that no rows have": mutant(
        (PRINTED, "if not possible(statement.n(read), statement, statistic, read):", "if False:"),
        by=TEST_TEXT + "TestTheFile::test_it_holds_what_rows_can_have",
    ),
    "secret sums stay": mutant(
        (PRINTED, "            path.unlink()\n", "            path.stat()\n"),
        by=TEST_TEXT + "TestTheFile::test_it_is_used_once",
    ),
    "a second reading after the first was paid for": mutant(
        (PRINTED, "if len(set(self.asked)) > 1:", "if False:"), by=TEST_TEXT + "test_a_second_reading_is_refused"
    ),
    "people whose identifiers differ in capitals are one": mutant(
        (DIALECTS, 'octets=lambda x: f"encode({x})"', 'octets=lambda x: f"encode(lower({x}))"'),
        by=TEST_PEOPLE + "TestWhoIsWho::test_whatever_collation_duckdb_has",
    ),
    "people are told as the column says": mutant(
        (DIALECTS, 'octets=lambda x: f"encode({x})"', 'octets=lambda x: f"concat({x})"'),
        by=TEST_PEOPLE + "TestWhoIsWho::test_whatever_collation_duckdb_has",
    ),
    "rows of nobody are one person's": mutant(
        (
            BESIDE,
            'f"CASE WHEN {owner} IS NULL THEN 0 ELSE {part} END"',
            'f"CASE WHEN {owner} IS NULL THEN {part} ELSE {part} END"',
        ),
        by=TEST_ONE_PERSON.format(2),
    ),
    "each row of a person counts as a person": mutant(
        (BESIDE, 'f"greatest({rows}, {max(aside.most_rows, 1)})"', 'f"greatest(0 * {rows}, {max(aside.most_rows, 1)})"'),
        by=TEST_PEOPLE + "TestWhoIsWho::test_a_persons_rows_never_count_more_than_one[duckdb]",
    ),
    "rows of people are only rounded": mutant(
        (
            BESIDE,
            'kept = chain.let(f"CASE WHEN {squares(cut)} <= {most} THEN',
            'kept = chain.let(f"CASE WHEN {squares(cut)} > 0e0 THEN',
        ),
        (BESIDE, 'f"CASE WHEN {long} THEN {dialect.toward_zero(x)} ELSE {z} END"', "z"),
        by=TEST_CROWD.format("text"),
    ),
    "people are rows in a database": mutant(
        (STATEMENT, "return found.rows if self._people is None else found.sums[self._people]", "return found.rows"),
        by=TEST_ONE_PERSON.format(0),
    ),
    "infinite weights count as none": mutant(
        (BESIDE, 'WHEN {chain.let(infinite(cells.text))} THEN {WHOLE} "', 'WHEN {chain.let(infinite(cells.text))} THEN 0 "'),
        by=TEST_CROWD.format("weights"),
    ),
    "a weight that was found is forgotten": mutant(
        (BESIDE, "if not aside.cut:", "if not aside.cut or aside.weight:"),
        by=TEST_PEOPLE + "test_weights_that_are_searched_have_the_same_integers[duckdb-60-weights]",
    ),
    "rows of no group are in the first": mutant(
        (BESIDE, "WHEN {place} IS NULL THEN {self.by.groups.count}", "WHEN {place} IS NULL THEN 0"),
        by=TEST_PEOPLE + "test_groups_have_the_same_integers[duckdb-numbers-True]",
    ),
    "people and weights of a database are trusted": mutant(
        (DATABASE, "sorted({False, more} - table.query._checked)", "sorted({False} - table.query._checked)"),
        by=TEST_PEOPLE + "TestADatabaseThatComputesOtherwise::test_it_is_refused_and_nothing_is_spent[infinite weights]",
    ),
    "identifiers of any type in a printed statement": mutant(
        (PRINTED, "kinds[self.aside.unit] = WRITTEN", 'kinds[self.aside.unit] = "text"'),
        by=TEST_TEXT + "test_identifiers_that_are_no_text_are_refused_there[grade]",
    ),
    "decimals are divided": mutant(
        (
            DIALECTS,
            "THEN CAST({steps} AS {double}) * {unit} ELSE",
            "THEN CAST({steps} AS {double}) / {number(float(one))} ELSE",
        ),
        by=TEST + "test_decimals_are_those_of_arrow",
    ),
}

OF_POSTGRES = {
    "people of Postgres are told as the column says": mutant(
        (
            DIALECTS,
            'octets=lambda x: f"convert_to({x}, getdatabaseencoding()::name)"',
            'octets=lambda x: f"btrim({x}, chr(1))"',
        ),
        by=TEST_PEOPLE + "TestWhoIsWho::test_whatever_collation_postgres_has",
    ),
    "rows of the user's own kind": mutant(
        (CONNECTIONS, "cursor(binary=True, row_factory=lambda _: tuple)", "cursor(binary=True)"),
        by=TEST + "test_connections_whose_rows_are_no_tuples",
    ),
    "what stands behind a query of Postgres is run": mutant(
        (CONNECTIONS, "_postgres_cursor(connection) as cursor:", "connection.cursor() as cursor:"),
        by=TEST + "TestOneStatement::test_of_postgres",
    ),
    "products that vanish raise": mutant(
        (
            ARITHMETIC,
            "    if not chain.dialect.strict:\n        return result\n",
            "    if least >= 0:\n        return result\n",
        ),
        by=TEST + "test_products_that_vanish[0.1]",
    ),
    "an optimiser may compute columns anew": mutant(
        (DIALECTS, 'fence=" OFFSET 0"', 'fence=""'), by=TEST + "test_the_statement_computes_nothing_twice"
    ),
    "each statement sees what is there by then": mutant(
        (CONNECTIONS, '"SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY"', '"SET TRANSACTION READ ONLY"'),
        by=TEST + "TestReadings::test_see_the_same_rows",
    ),
    "a check begins the transaction": mutant(
        (
            DATABASE,
            "            if self._end is None:  # before",
            "            if False in table.query._checked and self._end is None:  # before",
        ),
        (
            DATABASE,
            "            found = fetched(",
            "            self._end = self._end or connection.snapshot()\n            found = fetched(",
        ),
        by=TEST + "TestReadings::test_the_check_is_in_their_transaction",
    ),
    "numbers without an end are cast as they are": mutant(
        (
            DIALECTS,
            'near = f"CASE WHEN abs({cell}) >= 1e-300 THEN CAST({cell} AS float8)',
            'near = f"CASE WHEN abs({cell}) >= 0 THEN CAST({cell} AS float8)',
        ),
        by=TEST + "test_endless_dates_and_long_numbers_fail_nothing",
    ),
}

HAS_POSTGRES = find_spec("psycopg") is not None and any(Path("/usr/lib/postgresql").glob("*/bin/initdb"))

PLANTED: dict[str, Mutant] = OF_DUCKDB | (OF_POSTGRES if HAS_POSTGRES else {})
"""Where there is no Postgres its tests are skipped, and catch nothing."""
