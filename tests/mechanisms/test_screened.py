"""`screened` with chosen answers: what it asks, what it keeps, and what it makes of the answers."""

from __future__ import annotations

import warnings
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import dpcov
from dpcov.errors import ParameterError
from dpcov.kernel.budget import ZCDP, ApproxDP, Budget, PureDP, compose
from dpcov.kernel.questions.along import Explained
from dpcov.kernel.questions.choices import Quantile
from dpcov.kernel.questions.columns import Block
from dpcov.kernel.rows.grid import Grid
from dpcov.mechanisms import MECHANISMS
from dpcov.mechanisms.pca.screening import deconvolved, kept_columns
from dpcov.mechanisms.running import released
from dpcov.release.file import parse, text_of
from dpcov.release.record import Release
from dpcov.sources.array import ArraySource
from dpcov.verify.testing import NoSource, SeededBits, opened, scripted
from tests.helpers.quiet import radii
from tests.helpers.small import untouched

Floats = NDArray[np.float64]
N, D, K = 100_000, 20, 3
LOADED = (2, 5, 7, 11, 13)


def counts(place: int) -> list[int]:
    """Return all rows in one bin of norms, so that a radius at its upper end leaves few outside."""
    return [N if bin == place else 0 for bin in range(161)]


def loaded(seed: int = 3) -> Floats:
    """A second moment of n rows that lives in five columns, rotated inside them, with three strong directions."""
    draw = np.random.default_rng(seed)
    turned = np.linalg.qr(draw.normal(size=(5, 5)))[0]
    matrix = np.zeros((D, D))
    matrix[np.ix_(LOADED, LOADED)] = N * (turned * [0.4, 0.25, 0.15, 0.01, 0.01]) @ turned.T
    return matrix


def truth(matrix: Floats, k: int = K) -> Floats:
    return np.asarray(np.linalg.eigh(matrix)[1][:, ::-1][:, :k].T)


def told(matrix: Floats, k: int = K) -> Floats:
    values = np.linalg.eigvalsh(matrix)[::-1]
    return np.append(values[:k], values[k:].sum())


def run(answers: list[Any], budget: Budget = PureDP(1), neighbors: str = "replace", **options: Any) -> Release:  # noqa: B008
    curator = scripted(answers, n=N, d=D, budget=budget, neighbors=neighbors)
    return released(MECHANISMS["pca"]["screened"], curator, budget, k=K, **options)


def block(matrix: Floats) -> Floats:
    return matrix[np.ix_(LOADED, LOADED)]


def columns(release: Release) -> tuple[int, ...]:
    """Return the columns that were kept."""
    question = release.take(Block).question
    assert isinstance(question, Block)
    return question.columns


@pytest.mark.parametrize("seed", [3, 4, 5])
def test_a_rotated_subspace_comes_back_in_its_columns(seed: int) -> None:
    matrix = loaded(seed)
    release = run([counts(0), matrix.diagonal(), block(matrix), told(matrix)])
    assert columns(release) == LOADED
    overlaps = np.linalg.svd(release.components @ truth(matrix).T)[1]
    np.testing.assert_allclose(overlaps, 1, atol=1e-6)
    assert not release.components[:, [j for j in range(D) if j not in LOADED]].any()
    np.testing.assert_allclose(release.explained, told(matrix)[:K] / N, atol=1e-4)
    np.testing.assert_allclose(release.pca().total, 0.82, atol=1e-4)
    assert (release.components[np.arange(K), np.abs(release.components).argmax(axis=1)] > 0).all()


def test_the_questions_and_their_prices_add_up() -> None:
    matrix = loaded()
    for neighbors, first in (("replace", []), ("add-remove", [N])):
        release = run([*first, counts(0), matrix.diagonal(), block(matrix), told(matrix)], neighbors=neighbors)
        asked = ["count"] * len(first) + ["radius", "squares", "block", "explained"]
        assert [spend.asked for spend in release.spent] == asked
        assert compose(*(spend.budget for spend in release.spent)) == PureDP(1)
        assert release.spent[-1].budget == PureDP(Fraction(1, 40))


def test_under_zcdp_nothing_is_screened() -> None:
    matrix = loaded()
    release = run([counts(0), matrix, told(matrix)], ZCDP("0.1"))
    assert [spend.asked for spend in release.spent] == ["radius", "block", "explained"]
    assert columns(release) == tuple(range(D))
    assert compose(*(spend.budget for spend in release.spent)) == ZCDP("0.1")
    overlaps = np.linalg.svd(release.components @ truth(matrix).T)[1]
    np.testing.assert_allclose(overlaps, 1, atol=1e-6)


def test_epsilon_and_delta_are_served_by_the_smaller_noise() -> None:
    rich = run([counts(0), loaded(), told(loaded())], ApproxDP(1, "1e-6"))
    assert isinstance(rich.spent[0].budget, ZCDP)
    matrix = loaded()
    poor = run([counts(0), matrix.diagonal(), block(matrix), told(matrix)], ApproxDP(1, "1e-300"))
    assert isinstance(poor.spent[0].budget, PureDP)


def test_rows_are_clipped_where_the_radius_says() -> None:
    """Half an octave below row_norm for the block, at least three times that for the variances."""
    matrix = loaded() / 2
    release = run([counts(16), matrix.diagonal(), block(matrix), told(matrix)])
    assert radii(release.take(Block)) == pytest.approx([0.5])
    assert radii(release.take(Explained)) == (1.0,)
    deeper = run([counts(64), matrix.diagonal(), block(matrix), told(matrix)])
    assert radii(deeper.take(Block)) == pytest.approx([1 / 16])
    [outer] = radii(deeper.take(Explained))
    assert 3 / 16 <= outer <= 8 / 16
    np.testing.assert_allclose(deeper.explained, told(matrix)[:K] / N * outer**2, rtol=1e-3)


def test_screen_false_keeps_all_columns() -> None:
    matrix = loaded()
    release = run([counts(0), matrix, told(matrix)], screen=False)
    assert [spend.asked for spend in release.spent] == ["radius", "block", "explained"]
    assert compose(*(spend.budget for spend in release.spent)) == PureDP(1)


def test_no_more_rows_are_outside_than_the_noise_is_large() -> None:
    """About (d + 1)√(2d)/ε of them; at most half of all."""
    matrix = loaded()
    for epsilon, least, most in (("1", 125, 200), ("0.1", 1250, 2000), ("0.0001", N // 2, N // 2)):
        release = run([counts(0), matrix, told(matrix)], PureDP(epsilon), screen=False)
        chosen = release.take(Quantile).question
        assert isinstance(chosen, Quantile)
        assert least <= chosen.rows <= most


class TestExplained:
    """The block's own order and eigenvalues; what was asked apart, at a fortieth of the budget, where it is clearly more."""

    BUDGET = ZCDP("0.00001")  # the numbers asked apart have a standard deviation of .02
    VALUES = np.array([0.4, 0.25, 0.15])

    def test_components_are_in_the_order_of_the_block(self) -> None:
        matrix, asked = loaded(), told(loaded())
        release = run([counts(0), matrix, asked[[1, 0, 2, 3]]], self.BUDGET)
        along = np.abs(np.einsum("ij,ij->i", release.components, truth(matrix)))
        np.testing.assert_allclose(along, 1, atol=1e-6)
        np.testing.assert_allclose(release.explained, self.VALUES, atol=0.01)

    def test_they_are_in_the_units_of_the_block(self) -> None:
        """Rows are clipped at half of row_norm for it."""
        found = run([counts(16), loaded(), told(loaded()) / 4], self.BUDGET).pca()
        np.testing.assert_allclose(found.explained, self.VALUES / 4, atol=0.003)
        assert found.total == pytest.approx(0.82 / 4, abs=0.01)

    def test_noise_in_what_is_asked_apart_changes_nothing(self) -> None:
        matrix, asked = loaded(), told(loaded())
        still = run([counts(0), matrix, asked], self.BUDGET).pca()
        for noise in ([0.04, 0, 0, 0.04], [-0.4, -0.2, 0, 0], [-0.1, 0.05, 0.03, -0.5], [0, 0, 0, 0]):
            found = run([counts(0), matrix, asked + N * np.array(noise)], self.BUDGET).pca()
            assert (found.explained.tolist(), found.total) == (still.explained.tolist(), still.total)

    def test_what_clipping_clearly_took_is_given_back(self) -> None:
        """Along the components by one factor, beside them as it is; of an excess of t deviations 1 − 9/t² is kept."""
        matrix, asked = loaded(), told(loaded())
        still, found = (
            run([counts(0), matrix, answer], ZCDP("0.1")).pca()
            for answer in (asked, np.append(1.2 * asked[:3], asked[3] + 0.01 * N))
        )
        np.testing.assert_allclose(found.explained, 1.2 * still.explained, rtol=1e-3)
        rest = still.total - still.explained.sum()
        assert found.total - found.explained.sum() == pytest.approx(rest + 0.01, rel=0.01)

    @pytest.mark.parametrize("seed", range(8))
    def test_any_answers_make_variances_that_descend_and_fit_into_the_rows(self, seed: int) -> None:
        draw = np.random.default_rng((1, 21, seed))
        noise = draw.normal(size=(D, D))
        release = run(
            [counts(16), loaded() / 4 + N * 10 ** draw.uniform(-3, 0.5) * (noise + noise.T), N * draw.normal(0.2, 1, K + 1)],
            self.BUDGET,
        )
        found = release.pca()
        assert (found.explained >= 0).all()
        assert (np.diff(found.explained) <= 0).all()
        assert found.explained.sum() <= found.total * (1 + 1e-12)
        assert found.total <= 1 + 1e-12

    def test_strong_directions_are_not_exchanged_where_the_bound_is_loose(self) -> None:
        """40 runs on 1387 rows like those of the map of Europe. By the variances asked apart, with a standard deviation of 5,
        the first two changed places in 10 of them; the noise of the block has 0.08.
        """
        spectrum = np.array([4.8, 1.2, 0.7, 0.6, *[0.5] * 16])
        for seed in range(40):
            rows = np.random.default_rng((1, 22, seed)).normal(size=(1387, 20)) * np.sqrt(spectrum)
            release = dpcov.pca(rows, ZCDP("0.1"), 2, row_norm=30, seed=seed)
            assert np.abs(release.components[:, :2]).argmax(axis=1).tolist() == [0, 1]
            np.testing.assert_allclose(release.explained, [4.8, 1.2], atol=0.8)


class TestColumns:
    def test_where_all_hold_alike_none_is_dropped(self) -> None:
        """Whatever the noise: Wishart variance grows with the number of columns as what they hold."""
        for scale in (0.01, 1.0, 100.0):
            kept = kept_columns(np.full(50, 1000.0), 4, lambda m, s=scale: s * (m + 1) * 100.0)  # type: ignore[misc]
            assert kept == tuple(range(50))

    def test_columns_that_hold_little_are_dropped_where_noise_is_large(self) -> None:
        squares = np.append(np.full(10, 1000.0), np.full(90, 1.0))
        assert kept_columns(squares, 2, lambda m: 3000.0 * (m + 1)) == tuple(range(10))
        assert kept_columns(squares, 2, lambda m: 1e-9 * (m + 1)) == tuple(range(100))

    def test_what_rows_hold_in_every_direction_is_no_signal(self) -> None:
        """Four strong columns over an even bulk that holds as much in all: less noise must not bring it in."""
        squares = np.append(np.full(4, 11.0), np.full(96, 0.5))
        for scale in (1.0, 0.1, 0.01):
            assert len(kept_columns(squares, 4, lambda m, s=scale: s * (m + 1))) <= 10  # type: ignore[misc]

    def test_there_are_always_more_than_components(self) -> None:
        assert kept_columns(np.array([5.0, 0, 0, 0, 0]), 3, lambda m: 1e9 * m) == (0, 1, 2, 3)
        assert len(kept_columns(np.zeros(8), 3, lambda m: m)) == 4

    def test_empty_columns_pull_each_other_down_and_large_ones_stay(self) -> None:
        noise = np.random.default_rng((1, 4)).laplace(0, 100, 200)
        squares = np.zeros(200)
        squares[:5] = 5000
        found = deconvolved(squares + noise, 100.0)
        assert (found >= 0).all()
        assert found[5:].mean() < 30  # the positive part of the noise alone would have 50
        np.testing.assert_allclose(found[:5], (squares + noise)[:5], atol=400)

    def test_absurd_answers_are_finite(self) -> None:
        for noisy in (np.zeros(3), np.full(3, -1e18), np.array([1e18, -1e18, 0])):
            found = deconvolved(noisy, 1.0)
            assert np.isfinite(found).all()
            assert len(kept_columns(found, 1, lambda m: m)) >= 2


def test_the_record_survives_its_file(tmp_path: Any) -> None:
    matrix = loaded()
    release = run([counts(5), matrix.diagonal(), block(matrix), told(matrix)])
    release.save(tmp_path / "pca.json")
    back = dpcov.load(tmp_path / "pca.json")
    assert columns(back) == LOADED
    assert back.components.tobytes() == release.components.tobytes()
    assert back.pca(2).components.tobytes() == release.components[:2].tobytes()


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
