"""`screened` and `auto` for components: bad input is refused before a row is read or anything is charged, or answered."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import dpcov
from dpcov import ZCDP, ApproxDP, ParameterError, PureDP, ReleaseError
from dpcov.kernel.budget import Budget
from dpcov.kernel.questions.columns import Block
from dpcov.kernel.rows.grid import Grid
from dpcov.mechanisms import MECHANISMS
from dpcov.mechanisms.running import released
from dpcov.release.file import parse, text_of
from dpcov.sources.array import ArraySource
from dpcov.verify.testing import NoSource, SeededBits, opened
from tests.helpers.forged import verdict
from tests.helpers.small import Record, record_of, sealed, untouched

BUDGETS: list[Budget] = [PureDP(1), ZCDP("0.1"), ApproxDP(1, "1e-6")]
ROWS = np.random.default_rng((1, 7)).normal(size=(500, 16)) * 0.6 ** np.arange(16) * 0.5


def refused(match: str, budget: Budget = PureDP(1), d: int = 16, neighbors: str = "replace", **options: Any) -> None:  # noqa: B008
    for name in ("screened", "auto"):
        if name == "auto" and set(options) - {"k", "center"}:
            continue
        center = options.get("center", False)
        curator = opened(NoSource(500, d), Grid(1.0, center=center), budget, neighbors, SeededBits(0))
        settings = {key: value for key, value in options.items() if key != "center"}
        with pytest.raises(ParameterError, match=match):
            released(MECHANISMS["pca"][name], curator, budget, **settings)
        assert untouched(curator)


@pytest.mark.parametrize("neighbors", ["replace", "add-remove"])
class TestBeforeAnythingIsRead:
    @pytest.mark.parametrize("k", [0, 16, -1, 2.0, True, "2", None])
    def test_k(self, neighbors: str, k: Any) -> None:
        refused("k must be an integer from 1 to 15", neighbors=neighbors, k=k)

    def test_one_column(self, neighbors: str) -> None:
        refused("data must have at least two columns", d=1, neighbors=neighbors, k=1)

    @pytest.mark.parametrize("budget", [PureDP("1e-12"), ZCDP("1e-30"), ApproxDP("1e-12", "1e-15")], ids=repr)
    def test_a_budget_too_small_for_its_noise(self, neighbors: str, budget: Budget) -> None:
        refused("must", budget=budget, neighbors=neighbors, k=2)

    def test_options(self, neighbors: str) -> None:
        refused("screen must be True or False", neighbors=neighbors, k=2, screen=None)
        refused("numerics must be", neighbors=neighbors, k=2, numerics="floating")


@pytest.mark.parametrize("neighbors", ["replace", "add-remove"])
@pytest.mark.parametrize("numerics", ["rounded", "exact"])
def test_a_budget_is_refused_whole_or_served_whole(neighbors: str, numerics: str) -> None:
    """From budgets that are too small for everything to some that are not: never after a charge."""
    served = []
    for exponent in np.arange(-9, -4, 0.1):
        for budget in (PureDP(float(10**exponent)), ZCDP(float(100**exponent)), ApproxDP(float(10**exponent), 1e-12)):
            curator = opened(ArraySource(ROWS), Grid(1.0), budget, neighbors, SeededBits(0))
            try:
                released(MECHANISMS["pca"]["screened"], curator, budget, k=2, numerics=numerics)
            except ParameterError:
                assert untouched(curator)
                served.append(False)
            else:
                served.append(True)
    assert 0 < sum(served) < len(served)


def test_centred_rows_are_auto_s_alone() -> None:
    with pytest.raises(ParameterError, match="center must be False for mechanism 'screened'"):
        dpcov.pca(ROWS, PureDP(1), 2, row_norm=1, center=True, mechanism="screened")
    release = dpcov.pca(ROWS + 0.05, PureDP(1), 2, row_norm=1, center=True, seed=0)
    assert (release.requested, release.mechanism) == ("auto", "wishart")
    assert release.pca().offsets.shape == (16,)
    np.testing.assert_allclose(release.components @ release.components.T, np.eye(2), atol=1e-12)


def test_a_stream_is_not_clipped_and_not_screened() -> None:
    import pyarrow as pa

    table = pa.table({f"x{j}": ROWS[:, j] for j in range(16)})
    for budget, noise in ((PureDP(1), "wishart"), (ZCDP("0.1"), "gaussian")):
        stream = pa.RecordBatchReader.from_batches(table.schema, table.to_batches())
        release = dpcov.pca(stream, budget, 2, row_norm=1, seed=0)
        assert (release.mechanism, release.options["clip"]) == (noise, "none")
    stream = pa.RecordBatchReader.from_batches(table.schema, table.to_batches())
    with pytest.raises(ParameterError, match="data must be readable twice"):
        dpcov.pca(stream, PureDP(1), 2, row_norm=1, mechanism="screened")


TABLES = {
    "zeros": np.zeros((50, 16)),
    "one row": ROWS[:1],
    "fewer rows than components": ROWS[:3],
    "constant columns": np.tile(np.arange(16) / 100.0, (200, 1)),
    "repeated eigenvalues": np.tile(np.eye(16), (30, 1)),
    "NaN": np.full((60, 16), np.nan),
    "1e308": np.full((60, 16), 1e308),
    "tiny": np.full((60, 16), 1e-300),
    "two columns": ROWS[:, :2],
}


@pytest.mark.parametrize("neighbors", ["replace", "add-remove"])
@pytest.mark.parametrize("budget", [*BUDGETS, PureDP(1000), PureDP("0.001")], ids=repr)
@pytest.mark.parametrize("table", TABLES)
def test_hopeless_tables_have_finite_answers(table: str, budget: Budget, neighbors: str) -> None:
    """Nothing is raised or warned of after the parameters were found good: values must not show."""
    rows = TABLES[table]
    k = 5 if rows.shape[1] > 5 else 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        release = dpcov.pca(rows, budget, k, row_norm=1, neighbors=neighbors, seed=1)
        found = release.pca()
    np.testing.assert_allclose(found.components @ found.components.T, np.eye(k), atol=1e-9)
    assert np.isfinite(found.explained).all()
    assert (found.explained >= 0).all()
    assert found.total <= 1 + 1e-9
    assert parse(text_of(release)).components.tobytes() == release.components.tobytes()


def test_an_empty_table_is_one_like_any_other_under_add_remove() -> None:
    release = dpcov.pca(np.zeros((0, 16)), PureDP(1), 2, row_norm=1, neighbors="add-remove", seed=0)
    assert np.isfinite(release.explained).all()
    with pytest.raises(ParameterError, match="data must have 1 to"):
        dpcov.pca(np.zeros((0, 16)), PureDP(1), 2, row_norm=1)


def record() -> Record:
    return record_of(dpcov.pca(ROWS, PureDP(1), 2, row_norm=1, mechanism="screened", seed=3))


def question(made: Record, name: str) -> Record:
    return answer(made, name)["question"]  # type: ignore[no-any-return]


def answer(made: Record, name: str) -> Record:
    return next(entry for entry in made["answers"] if entry["question"]["asked"] == name)


def drop_a_column(made: Record) -> None:
    question(made, "block")["columns"].pop()


def other_columns(made: Record) -> None:
    question(made, "block")["columns"].reverse()


def beyond_the_table(made: Record) -> None:
    question(made, "block")["columns"][-1] = 16


def columns_of_the_squares(made: Record) -> None:
    question(made, "squares")["columns"] = [0, 1]


def a_larger_radius(made: Record) -> None:
    question(made, "block")["rows"]["radius"] = 1.5


def less_noise_on_the_squares(made: Record) -> None:
    answer(made, "squares")["noise"][0]["parameters"]["scale"] = "1"


def squares_that_were_not_paid_for(made: Record) -> None:
    answer(made, "squares")["noise"] = []


def variances_along_what_comes_later(made: Record) -> None:
    made["answers"].remove(answer(made, "block"))


def a_kind_of_its_own(made: Record) -> None:
    made["kind"] = "components"


FORGED: list[Callable[[Record], None]] = [
    drop_a_column,
    other_columns,
    beyond_the_table,
    columns_of_the_squares,
    a_larger_radius,
    less_noise_on_the_squares,
    squares_that_were_not_paid_for,
    variances_along_what_comes_later,
    a_kind_of_its_own,
]


def another_radius(made: Record) -> None:
    question(made, "block")["rows"]["radius"] = 0.123


def all_of_another_radius(made: Record) -> None:
    radius = question(made, "block")["rows"]["radius"] * 0.999
    question(made, "block")["rows"]["radius"] = question(made, "squares")["rows"]["radius"] = radius


def squares_of_other_rows(made: Record) -> None:
    question(made, "squares")["rows"]["radius"] = 0.123


def variances_inside_the_radius(made: Record) -> None:
    question(made, "explained")["rows"]["radius"] = 0.001


def variances_beyond_reach(made: Record) -> None:
    question(made, "explained")["rows"]["radius"] = question(made, "block")["rows"]["radius"]


def more_components(made: Record) -> None:
    made["mechanism"]["options"]["k"] = 3


def no_k(made: Record) -> None:
    del made["mechanism"]["options"]["k"]


def a_covariance(made: Record) -> None:
    made["kind"] = "covariance"


def without_squares(made: Record) -> None:
    place = made["answers"].index(answer(made, "squares"))
    del made["answers"][place]
    question(made, "explained")["basis"]["eigenvectors of"] -= 1


def not_screened(made: Record) -> None:
    made["mechanism"]["options"]["screen"] = False


def exact_numbers(made: Record) -> None:
    made["mechanism"]["options"]["numerics"] = "exact"


def another_option(made: Record) -> None:
    made["mechanism"]["options"]["robust"] = False


def another_postprocess(made: Record) -> None:
    made["postprocess"] = "shrink"


HIDDEN: list[Callable[[Record], None]] = [
    another_radius,
    all_of_another_radius,
    squares_of_other_rows,
    variances_inside_the_radius,
    variances_beyond_reach,
    more_components,
    no_k,
    a_covariance,
    without_squares,
    not_screened,
    exact_numbers,
    another_option,
    another_postprocess,
]


def is_retraced(release: dpcov.Release) -> bool:
    try:
        return release.retrace().agrees
    except ReleaseError:  # there is no such mechanism
        return False


def test_columns_chosen_without_a_question_are_a_verdict() -> None:
    """Under zCDP all are kept: which of them to keep would have to be asked for. A block of four is as private, and loads."""
    made = record_of(dpcov.pca(ROWS, ZCDP("0.5"), 2, row_norm=1, mechanism="screened", seed=3))
    (block,) = parse(sealed(made)).every(Block)
    assert isinstance(block.question, Block)
    assert block.question.columns == tuple(range(16))
    assert is_retraced(parse(sealed(made)))
    question(made, "block")["columns"] = [0, 1, 2, 3]
    edited = answer(made, "block")
    edited["integers"] = edited["integers"][:10]  # as many as four columns have
    assert verdict(sealed(made)) == ("loaded", "")
    assert not is_retraced(parse(sealed(made)))


def test_mod_sulq_has_the_noise_of_its_paper() -> None:
    """A file with the noise of gaussian, or of another promise, that bears its name is as private; it did not ask so."""
    made = record_of(dpcov.pca(ROWS, ApproxDP(1, "1e-6"), 2, row_norm=1, mechanism="gaussian", seed=3))
    made["mechanism"] = {"name": "mod-sulq", "options": {"k": 2}}
    made["postprocess"] = "clip"
    assert verdict(sealed(made)) == ("loaded", "")
    assert not is_retraced(parse(sealed(made)))
    honest = dpcov.pca(ROWS, ApproxDP(1, "1e-6"), 2, row_norm=1, mechanism="mod-sulq", seed=3)
    assert parse(text_of(honest)).mechanism == "mod-sulq"
    assert is_retraced(parse(text_of(honest)))


@pytest.mark.parametrize("name", ["screened", "eigenvectors", "random"])
@pytest.mark.parametrize("bits", range(2900, 3300, 13))
def test_budgets_with_many_digits_are_refused_whole(name: str, bits: int) -> None:
    """Shares have more digits than the whole: none of them may be refused after a charge."""
    denominator = 2**bits + 1
    try:
        budget = PureDP(Fraction(37 * denominator + 11, denominator))
    except ParameterError:
        return  # too many digits for a budget
    curator = opened(ArraySource(ROWS), Grid(1.0), budget, "add-remove", SeededBits(0))
    try:
        released(MECHANISMS["pca"][name], curator, budget, k=3)
    except ParameterError:
        assert untouched(curator)


@pytest.mark.parametrize("edit", FORGED, ids=lambda edit: edit.__name__)
def test_forged_files_are_refused(edit: Callable[[Record], None]) -> None:
    made = record()
    assert parse(sealed(made)).mechanism == "screened"  # good before it is forged
    edit(made)
    with pytest.raises(ReleaseError, match=r"release file must be .+, got .+\. Hint: "):
        parse(sealed(made))


@pytest.mark.parametrize("edit", HIDDEN, ids=lambda edit: edit.__name__)
def test_what_only_the_mechanism_knows_is_a_verdict(edit: Callable[[Record], None]) -> None:
    made = record()
    assert is_retraced(parse(sealed(made)))
    edit(made)
    assert verdict(sealed(made)) == ("loaded", "")
    assert edit is another_postprocess or not is_retraced(parse(sealed(made)))
