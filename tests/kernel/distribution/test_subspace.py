"""Columns of the Gibbs sampler have the Bingham law on what the others leave; sweeps keep the matrix Bingham law and reach it.

Size: each statistical test rejects correct code with probability 1e-6, divided evenly where it looks at several numbers.
Power is stated beside each test.

References, none of which knows of proposals, κ, triangles or sweeps: the contour integral of `test_sphere` for a column on the
complement N of the others (its matrix is NᵀSN) and, for k = d − 1, for the one direction that is left out (its matrix is −S);
and uniform orthonormal matrices, weighted by exp(c·tr VᵀSV), for small d and any k.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import product
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats
from threadpoolctl import threadpool_limits

from dpcov.kernel.bits import SeededBits
from dpcov.kernel.noise import subspace
from dpcov.kernel.noise.subspace import _Column, matrix_bingham, sweeps, uniform_subspace
from dpcov.uses.convergence import traces
from tests.helpers.stats import SIZE, Floats, chi_square, two_samples
from tests.kernel.distribution.test_sphere import CAUGHT, Z, accepted, deviations, exact_squares

SPECTRUM = np.array([5.0, 4.6, 3.1, 3.1, 2.2, 1.4, 0.9, 0.5, 0.1, 0.0])
DIMENSIONS = [(3, 2), (4, 3), (6, 3), (10, 2), (10, 6)]
MANY = [(5, 4), (7, 5), (10, 9)]  # more columns than there are dimensions left: k − 1 > d − k + 1
SIGNALS = {"none": 0.0, "weak": 0.1, "middling": 2.0, "strong": 300.0}


ENDLESS = 300  # batches in a row without a proposal that is accepted: three of four have one, so 4⁻³⁰⁰


@pytest.fixture(autouse=True)
def one_thread(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Products of two by two start threads too, and wait for them on a busy machine; and a draw that never ends must fail."""
    original, failed = _Column._propose, [0]

    def propose(self: _Column, *parts: Any) -> tuple[Floats, NDArray[np.bool_]]:
        vectors, taken = original(self, *parts)
        failed[0] = 0 if taken.any() else failed[0] + 1
        assert failed[0] < ENDLESS, "a draw does not end"
        return vectors, taken

    monkeypatch.setattr(_Column, "_propose", propose)
    with threadpool_limits(limits=1):
        yield


def eigenvalues(d: int) -> Floats:
    return SPECTRUM[np.round(np.linspace(0, 9, d)).astype(np.int64)]


def others(d: int, k: int, kind: str) -> Floats:
    """Return k − 1 orthonormal columns: away from the eigenvectors, some of them exactly, or all but."""
    columns = np.linalg.qr(np.random.default_rng((d, k)).normal(size=(d, k - 1)))[0]
    if kind == "away":
        return np.asarray(columns)
    top = np.eye(d)[:, : k - 1]
    return {"top": top, "last": np.eye(d)[:, d - k + 1 :], "near the top": np.linalg.qr(top + 1e-4 * columns)[0]}[kind]


OTHERS = ["away", "top", "last", "near the top"]


def gaps_of(spectrum: Floats, c: float) -> Floats:
    return np.asarray(2 * c * (spectrum[0] - spectrum))


def redrawn(spectrum: Floats, c: float, fixed: Floats, proposals: int, seed: int) -> tuple[Floats, float]:
    """Return all accepted ones of one large batch of proposals for a column, in rows, and which part they are."""

    class Kept(_Column):
        def _propose(self, *parts: Any) -> tuple[Floats, NDArray[np.bool_]]:
            self.found = super()._propose(*parts)
            return self.found

    column = Kept(gaps_of(spectrum, c), fixed.shape[1] + 1, SeededBits(seed))
    column._count = proposals
    column.redrawn(fixed, 0)
    vectors, taken = column.found
    return vectors[taken], float(taken.mean())


def complement(fixed: Floats) -> Floats:
    """Return an orthonormal basis of what is orthogonal to the columns."""
    return np.asarray(np.linalg.qr(fixed, mode="complete")[0][:, fixed.shape[1] :])


def shares(u: Floats, spectrum: Floats, c: float, fixed: Floats) -> tuple[Floats, Floats]:
    """Return (vᵢᵀu)² for the eigenvectors of c·NᵀSN, a column each, and its eigenvalues."""
    basis = complement(fixed)
    exponents, vectors = np.linalg.eigh(c * (basis.T * spectrum) @ basis)
    return np.asarray((u @ basis @ vectors) ** 2), np.asarray(exponents)


class TestColumn:
    """A column given the others, against the contour integral and against `sphere` on the restricted matrix."""

    @pytest.mark.parametrize("signal", SIGNALS)
    @pytest.mark.parametrize(("d", "k"), DIMENSIONS)
    def test_every_direction_has_its_share(self, d: int, k: int, signal: str) -> None:
        """Size 1e-6, a part of it for each. Power below; unit vectors, orthogonal to the others to rounding."""
        c = SIGNALS[signal]
        for place, kind in enumerate(OTHERS):
            fixed = others(d, k, kind)
            u, _ = redrawn(eigenvalues(d), c, fixed, 25_000, 5000 + 100 * place + 10 * d + k)
            squares, exponents = shares(u, eigenvalues(d), c, fixed)
            assert np.abs(deviations(squares, exact_squares(exponents))).max() < stats.norm.isf(SIZE / 8 / (d - k + 1)), kind
            assert np.abs(u @ fixed).max() < 1e-12
            assert np.abs(np.linalg.norm(u, axis=1) - 1).max() < 1e-12

    @pytest.mark.parametrize("signal", ["weak", "strong"])
    @pytest.mark.parametrize(("d", "k"), MANY)
    def test_more_columns_than_directions_that_are_left(self, d: int, k: int, signal: str) -> None:
        """Size 1e-6. k is allowed up to d − 1."""
        fixed, c = others(d, k, "away"), SIGNALS[signal]
        u, _ = redrawn(eigenvalues(d), c, fixed, 40_000, 5100 + 10 * d + k)
        squares, exponents = shares(u, eigenvalues(d), c, fixed)
        assert np.abs(deviations(squares, exact_squares(exponents))).max() < stats.norm.isf(SIZE / 2 / (d - k + 1))

    @pytest.mark.parametrize("kind", ["away", "top"])
    @pytest.mark.parametrize(("d", "k"), [(3, 2), (6, 3), (10, 2)])
    def test_a_concentration_off_by_five_percent_would_be_seen(self, d: int, k: int, kind: str) -> None:
        """Size 1e-6; a concentration 5 % off is missed with probability below 1e-6: ten standard errors, or more."""
        fixed, c = others(d, k, kind), 3.0 if d > 3 else 1.5
        u, _ = redrawn(eigenvalues(d), c, fixed, 400_000, 5200 + 10 * d + k)
        squares, exponents = shares(u, eigenvalues(d), c, fixed)
        forms = (squares @ exponents)[:, None]
        assert abs(deviations(forms, np.array([exact_squares(exponents) @ exponents]))[0]) < Z
        error = float(forms.std()) / math.sqrt(len(forms))
        for mistake in (0.95, 1.05):
            wrong = float(exact_squares(mistake * exponents) @ exponents)
            assert abs(wrong - float(exact_squares(exponents) @ exponents)) > CAUGHT * error
            assert abs(float(forms.mean()) - wrong) > Z * error

    @pytest.mark.parametrize("kind", ["away", "top"])
    @pytest.mark.parametrize(("d", "k"), [(4, 3), (6, 3), (10, 2)])
    def test_it_is_the_law_of_the_sphere_on_the_complement(self, d: int, k: int, kind: str) -> None:
        """Size 1e-6, two samples in twenty cells of uᵀSu: catches a law that has only its mean squares right.

        Power: the control, 1.2 times as concentrated, is told apart.
        """
        fixed, c, spectrum = others(d, k, kind), 2.0, eigenvalues(d)
        basis = complement(fixed)
        matrix = (basis.T * spectrum) @ basis
        exact = accepted((matrix + matrix.T) / 2, c, 100_000, 5300 + d)
        there = np.einsum("ij,jk,ik->i", exact, matrix, exact)
        edges = np.quantile(there, np.arange(1, 20) / 20)
        cells = [
            np.bincount(np.searchsorted(edges, forms), minlength=20)
            for forms in (
                there,
                *((redrawn(spectrum, c * wrong, fixed, 100_000, 5310 + d)[0] ** 2 @ spectrum) for wrong in (1.0, 1.2)),
            )
        ]
        assert two_samples(cells[0], cells[1]) > SIZE
        assert two_samples(cells[0], cells[2]) < SIZE

    @pytest.mark.parametrize(("d", "k"), [(3, 2), (6, 3), (10, 2)])
    def test_through_the_loop(self, d: int, k: int) -> None:
        """Size 1e-6. What `redrawn` returns: its mean of c·uᵀSu, and its mean, which is 0. A concentration halved is seen.

        κ is carried from one call to the next, and the others change from call to call.
        """
        c, spectrum = 3.0, eigenvalues(d)
        column = _Column(gaps_of(spectrum, c), k, SeededBits(5400 + d))
        kinds = [others(d, k, kind) for kind in ("away", "top", "near the top")]
        drawn = [np.stack([column.redrawn(fixed, r % k) for r, fixed in enumerate(kinds)]) for _ in range(500)]
        for place, fixed in enumerate(kinds):
            u = np.stack([vectors[place] for vectors in drawn])
            squares, exponents = shares(u, spectrum, c, fixed)
            forms, exact = (squares @ exponents)[:, None], float(exact_squares(exponents) @ exponents)
            limit = float(stats.norm.isf(SIZE / 12))
            assert abs(deviations(forms, np.array([exact]))[0]) < limit
            assert np.abs(deviations(u @ complement(fixed), np.zeros(d - k + 1))).max() < stats.norm.isf(
                SIZE / 12 / (d - k + 1)
            )
            if k < d - 1:
                wrong = float(exact_squares(exponents / 2) @ exponents)
                assert abs(deviations(forms, np.array([wrong]))[0]) > limit

    @pytest.mark.parametrize(("batches", "expected"), [([[0, 1, 1]], 1), ([[1, 1, 1]], 0), ([[0, 0, 0], [0, 0, 1]], 2)])
    def test_the_first_accepted_is_taken(
        self, monkeypatch: pytest.MonkeyPatch, batches: list[list[int]], expected: int
    ) -> None:
        """The best of several accepted ones, or the last, would be a more concentrated law."""
        script = iter(batches)
        monkeypatch.setattr(_Column, "_propose", lambda *_: (np.eye(3), np.array(next(script), dtype=np.bool_)))
        vector = _Column(gaps_of(eigenvalues(3), 1.0), 2, SeededBits(0)).redrawn(np.eye(3)[:, :1], 0)
        assert vector.tolist() == np.eye(3)[expected].tolist()
        assert next(script, None) is None

    @pytest.mark.parametrize("kind", OTHERS)
    @pytest.mark.parametrize(("d", "k"), [(4, 3), (10, 2), (40, 5)])
    def test_acceptance(self, d: int, k: int, kind: str) -> None:
        """Size 1e-6, a quarter each. Three batches of four have a proposal that is accepted; a κ far off would accept none."""
        spectrum = np.sort(np.random.default_rng(5500).exponential(size=d))[::-1]
        least = 1 - 0.25 ** (1 / _Column(np.zeros(d), k, SeededBits(0))._count)
        for c in (0.01, 3.0, 1e3, 1e6):
            part = redrawn(spectrum, c, others(d, k, kind), 8000, 5501)[1]
            assert stats.binomtest(round(8000 * part), 8000, least, alternative="less").pvalue > SIZE / 4

    @pytest.mark.parametrize(("d", "k"), [(3, 2), (5, 4), (6, 3), (10, 2)])
    def test_the_traces_that_find_kappa(self, d: int, k: int) -> None:
        """tr(NᵀDN)⁻¹ and tr(NᵀDN)⁻², by forming the matrix; nothing where it is not definite. A wrong κ would only be slow."""
        gaps = gaps_of(eigenvalues(d), 3.0)
        column = _Column(gaps, k, SeededBits(0))
        for kind in OTHERS:
            basis = complement(others(d, k, kind))
            least = float(np.linalg.eigvalsh((basis.T * gaps) @ basis)[0])
            for above in (-1.0, 0.1, 1.0, 30.0):
                factor = column._factor(others(d, k, kind), above - least)
                if above < 0:
                    assert factor is None
                    continue
                inverse = np.linalg.inv((basis.T * (gaps + above - least)) @ basis)
                assert factor is not None
                assert factor.trace == pytest.approx(float(np.trace(inverse)), rel=1e-9)
                assert factor.squared_trace == pytest.approx(float(np.sum(inverse**2)), rel=1e-9)

    def test_kappa_is_found_in_few_factorings(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """635, or a few more or fewer where LAPACK rounds otherwise; halving alone takes 685. No law rests on it."""
        factored, original = [0], _Column._factor

        def factor(self: _Column, fixed: Floats, kappa: float) -> Any:
            factored[0] += 1
            return original(self, fixed, kappa)

        monkeypatch.setattr(_Column, "_factor", factor)
        for (d, k), kind, c in product([(4, 3), (6, 3), (10, 2), (10, 6), (40, 5)], OTHERS, (0.01, 0.3, 3.0, 30.0, 1e3, 1e6)):
            spectrum = np.sort(np.random.default_rng(5500).exponential(size=d))[::-1]
            column, before = _Column(gaps_of(spectrum, c), k, SeededBits(0)), factored[0]
            column._tuned(others(d, k, kind), 0)
            assert factored[0] - before <= 30
            column._tuned(others(d, k, kind), 0)  # the last κ of a column serves again
            factored[0] -= 1
        assert factored[0] <= 650

    def test_normal_numbers_are_used_once(self) -> None:
        """They are made in blocks: a slice that was given out twice would tie proposals to each other."""
        column = _Column(gaps_of(eigenvalues(4), 1.0), 2, SeededBits(5502))
        given = np.concatenate([column._normals(count).copy() for count in (1, 3, 50_000, 20_000, 70_000, 5)])
        assert len(np.unique(given)) == len(given) == 140_009
        assert given.all()


def frames(d: int, k: int, count: int, seed: int) -> Floats:
    """Return uniform orthonormal columns, a matrix each, without the code under test."""
    columns = np.random.default_rng(seed).normal(size=(k, count, d))
    for r in range(k):
        for before in columns[:r]:
            columns[r] -= np.einsum("ni,ni->n", before, columns[r])[:, None] * before
        columns[r] /= np.linalg.norm(columns[r], axis=1, keepdims=True)
    return np.ascontiguousarray(columns.transpose(1, 2, 0))


def captured(states: Floats) -> Floats:
    """Return the diagonal of VVᵀ for each V: how much of each eigenvector it captures."""
    return np.asarray(np.sum(states**2, axis=2))


def weighted(spectrum: Floats, k: int, c: float, seed: int) -> tuple[Floats, Floats]:
    """Return E diag(VVᵀ) by brute force, with its errors (delta method)."""
    squares = captured(frames(len(spectrum), k, 200_000, seed))
    weights = np.exp(c * (squares @ spectrum - spectrum[:k].sum()))
    means = weights @ squares / weights.sum()
    return means, np.sqrt((weights**2) @ (squares - means) ** 2) / weights.sum()


def stationary(spectrum: Floats, k: int, c: float, count: int, seed: int) -> Floats:
    """Return exact draws, by rejection from uniform ones: the law that a sweep must keep."""
    kept: list[Floats] = []
    draw = np.random.default_rng(seed)
    while sum(map(len, kept)) < count:
        states = frames(len(spectrum), k, 30_000, int(draw.integers(2**32)))
        log_density = c * (captured(states) @ spectrum - spectrum[:k].sum())
        kept.append(states[-draw.exponential(size=len(states)) < log_density])
    return np.concatenate(kept)[:count]


def swept(starts: Floats, spectrum: Floats, c: float, count: int, seed: int, monkeypatch: pytest.MonkeyPatch) -> Floats:
    """Run a chain of its own from each start, by the kernel; they are as independent as the starts."""
    given = iter(starts)
    monkeypatch.setattr(subspace, "uniform_subspace", lambda *_: next(given).copy())
    monkeypatch.setattr(subspace, "BLOCK", 1)
    bits = SeededBits(seed)
    return np.stack([matrix_bingham(spectrum, starts.shape[2], c, count, bits) for _ in range(len(starts))])


SMALL: dict[tuple[int, int], tuple[Floats, float]] = {
    (3, 2): (np.array([2.0, 1.2, 0.0]), 2.0),
    (4, 2): (np.array([2.0, 1.5, 0.6, 0.0]), 1.5),
    (5, 3): (np.array([2.0, 1.5, 1.5, 0.6, 0.0]), 1.0),
}


class TestSweep:
    @pytest.mark.parametrize("k", [2, 3])
    def test_references_agree(self, k: int) -> None:
        """Size 1e-6. For k = d − 1 brute force is the law of the one direction that is left out, u: density ∝ exp(−c·uᵀSu)."""
        spectrum, c = np.array([2.0, 1.5, 0.6, 0.0])[: k + 1], 2.0
        means, errors = weighted(spectrum, k, c, 5600 + k)
        assert np.abs((means - (1 - exact_squares(-c * spectrum))) / errors).max() < stats.norm.isf(SIZE / 2 / (k + 1))

    @pytest.mark.parametrize(
        ("d", "k"), [pytest.param(*size, marks=pytest.mark.audit if size[0] == 5 else ()) for size in SMALL]
    )
    def test_one_sweep_keeps_the_law(self, d: int, k: int, monkeypatch: pytest.MonkeyPatch) -> None:
        """Size 1e-6. Exact starts stay exact: diag(VVᵀ), and each column by itself, by brute force (k = d − 1: exactly).

        Power: sweeps of twice the concentration leave the law at once (the control).
        """
        spectrum, c = SMALL[d, k]
        means, errors = weighted(spectrum, k, c, 5610 + d)
        if k == d - 1:
            means, errors = 1 - exact_squares(-c * spectrum), np.zeros(d)
        starts = stationary(spectrum, k, c, 1000, 5620 + d)

        def off(states: Floats) -> float:
            parts = [captured(states), *(k * states[:, :, r] ** 2 for r in range(k))]  # columns are exchangeable
            return float(
                max(
                    np.abs((part.mean(axis=0) - means) / np.hypot(part.std(axis=0) / math.sqrt(len(part)), errors)).max()
                    for part in parts
                )
            )

        limit = float(stats.norm.isf(SIZE / 2 / (d * (k + 1))))
        assert off(starts) < limit
        assert off(swept(starts, spectrum, c, 1, 5630 + d, monkeypatch)) < limit
        assert off(swept(starts[:500], spectrum, 2 * c, 2, 5640 + d, monkeypatch)) > limit

    @pytest.mark.parametrize(("d", "k"), [(3, 2), (4, 2)])
    def test_restarts_reach_the_law(self, d: int, k: int, monkeypatch: pytest.MonkeyPatch) -> None:
        """Size 1e-6, but for the bias of a finite chain, which is far below the error here. Uniform starts are 7 errors off."""
        monkeypatch.setattr(subspace, "BLOCK", 1)
        spectrum, c = SMALL[d, k]
        means, errors = weighted(spectrum, k, c, 5650 + d)
        bits = SeededBits(5660 + d)
        states = np.stack([matrix_bingham(spectrum, k, c, 8, bits) for _ in range(200)])
        spread = captured(states).std(axis=0) / math.sqrt(len(states))
        assert np.abs((captured(states).mean(axis=0) - means) / np.hypot(spread, errors)).max() < stats.norm.isf(SIZE / 2 / d)
        assert np.abs((k / d - means) / spread).max() > 7

    def test_a_thinned_chain_has_the_law(self) -> None:
        """Size 1e-6 for independent numbers. One chain, every fifth state; k = d − 1, so the law is known exactly."""
        spectrum, c = SMALL[3, 2]
        chain = sweeps(spectrum, 2, c, SeededBits(5670))
        for _ in range(20):
            next(chain)
        kept = np.stack([state for place, state in zip(range(1500), chain, strict=False) if place % 5 == 0])
        exact = 1 - exact_squares(-c * spectrum)
        assert np.abs(deviations(captured(kept), exact)).max() < stats.norm.isf(SIZE / 6)
        wrong = 1 - exact_squares(-2 * c * spectrum)
        assert np.abs(deviations(captured(kept), wrong)).max() > Z

    def test_the_first_state_is_uniform_and_later_ones_are_copies(self) -> None:
        chain = sweeps(SMALL[4, 2][0], 2, 1.0, SeededBits(5671))
        first, second = next(chain), next(chain)
        kept = second.copy()
        next(chain)
        assert np.array_equal(second, kept)
        assert not np.array_equal(first, second)
        assert np.array_equal(first, uniform_subspace(4, 2, SeededBits(5671)))

    def test_matrix_bingham_is_the_state_after_so_many_sweeps(self) -> None:
        chain = sweeps(SMALL[4, 2][0], 2, 1.0, SeededBits(5672))
        states = [next(chain) for _ in range(8)]
        seen: list[float] = []
        assert np.array_equal(matrix_bingham(SMALL[4, 2][0], 2, 1.0, 7, SeededBits(5672), seen.append), states[7])
        assert seen == [0.0]

    @pytest.mark.parametrize(("d", "k", "c"), [(3, 2, 1e3), (6, 4, 5.0), (10, 6, 1e6), (30, 3, 50.0)])
    def test_columns_stay_orthonormal(self, d: int, k: int, c: float) -> None:
        """After 200 sweeps, and in between: columns redrawn from others that are stale would not be."""
        chain = sweeps(np.linspace(1, 0, d), k, c, SeededBits(5680 + d))
        for _ in range(200 if d < 30 else 60):
            state = next(chain)
            assert np.abs(state.T @ state - np.eye(k)).max() < 1e-12

    @pytest.mark.parametrize(("d", "k"), MANY)
    def test_all_but_a_few_columns(self, d: int, k: int) -> None:
        """k is allowed up to d − 1."""
        chain = sweeps(np.linspace(1, 0, d), k, 5.0, SeededBits(5690))
        for _ in range(10):
            state = next(chain)
            assert np.abs(state.T @ state - np.eye(k)).max() < 1e-12


class TestUniform:
    @pytest.mark.parametrize("sweep_once", [False, True], ids=["drawn", "swept"])
    def test_without_concentration(self, sweep_once: bool, monkeypatch: pytest.MonkeyPatch) -> None:
        """Size 1e-6. Each column's entries have mean 0 and square 1/d, and (v₁)² is Beta(1/2, (d − 1)/2), in twenty cells."""
        d, k, bits = 5, 3, SeededBits(5700)
        count = 900 if sweep_once else 12_000
        monkeypatch.setattr(subspace, "BLOCK", 1)
        if sweep_once:
            states = np.stack([matrix_bingham(np.linspace(1, 0, d), k, 0.0, 1, bits) for _ in range(count)])
        else:
            states = np.stack([uniform_subspace(d, k, bits) for _ in range(count)])
        entries = states.reshape(count, -1)
        limit = float(stats.norm.isf(SIZE / 8 / (d * k)))
        assert np.abs(deviations(entries, np.zeros(d * k))).max() < limit
        assert np.abs(deviations(entries**2, np.full(d * k, 1 / d))).max() < limit
        edges = stats.beta.ppf(np.arange(1, 20) / 20, 0.5, (d - 1) / 2)
        counts = np.bincount(np.searchsorted(edges, states[:, 0, k - 1] ** 2), minlength=20)
        assert chi_square(counts, np.full(20, 1 / 20)) > SIZE / 2

    @pytest.mark.parametrize(("d", "k"), [(2, 1), (3, 1), (3, 2), (10, 9), (50, 4)])
    def test_orthonormal(self, d: int, k: int) -> None:
        for seed in range(20):
            state = uniform_subspace(d, k, SeededBits(seed))
            assert state.shape == (d, k)
            assert np.abs(state.T @ state - np.eye(k)).max() < 1e-13


def extreme(d: int) -> dict[str, Floats]:
    return {
        "zero": np.zeros(d),
        "equal": np.full(d, 7.0),
        "one": np.eye(d)[0],
        "two": np.repeat([1.0, 0.0], [2, d - 2]),
        "half": np.repeat([1.0, 0.0], [(d + 1) // 2, d // 2]),
        "a gap of 1e9": np.array([1.0] + [1e-9] * (d - 1)),
        "geometric": 10.0 ** -np.arange(0, 3 * d, 3),
        "tiny": np.linspace(1e-300, 0, d),
        "negative by rounding": -np.linspace(0, 1e-12, d),
        "all but equal": 1 - 1e-13 * np.arange(d),
    }


@pytest.mark.parametrize("shape", extreme(4))
@pytest.mark.parametrize(("d", "k"), [(3, 2), (6, 4), (20, 10)])
def test_any_spectrum_gives_orthonormal_columns(d: int, k: int, shape: str) -> None:
    """From concentration 0 to 2¹⁶ times 2³⁰ rows: finite, orthonormal, and without a word."""
    spectrum = extreme(d)[shape]
    for c in (0.0, 1e-300, 1e-9, 1.0, 1e9, 2.0**46):
        with np.errstate(divide="raise", over="raise", invalid="raise"):
            state = matrix_bingham(spectrum, k, c, 2, SeededBits(5800))
        assert np.abs(state.T @ state - np.eye(k)).max() < 1e-12


def test_strong_signals_end_in_the_leading_subspace() -> None:
    """The rest has c·Δ = 1e6 against it: it holds less than 1e-4 of what is captured, or the test fails once in e^{100}."""
    spectrum = np.array([3.0, 2.5, 1.0, 0.5, 0.0])
    state = matrix_bingham(spectrum, 2, 1e6, 30, SeededBits(5810))
    assert captured(state[None])[0, :2].min() > 1 - 1e-4


class TestConvergence:
    """Figure 2 of the paper: F_k(T) = ‖Σ_{t ≤ T} V_t‖_F/(T√k) is 1 at first and falls."""

    SPIKED = np.array([40.0, 36.0, 30.0, 2.0, 1.0, 0.5, 0.0, 0.0])

    def test_it_falls_from_one(self) -> None:
        """Size 1e-6. A redrawn column has either sign alike, whatever came before: the sum of T of them is a martingale with
        steps of norm 1, so ‖·‖ ≤ √(2·T₀·log(2/α)) for all T ≤ T₀ but with probability α (Pinelis 1994, Theorem 3.5).

        Power: a chain that keeps a sign, or a column, stays near 1.
        """
        length, k, seeds = 400, 2, [5900, 5901, 5902]
        found = traces(self.SPIKED, k, 1.0, length, seeds)
        assert found.shape == (3, length)
        assert np.allclose(found[:, 0], 1.0, rtol=0, atol=1e-12)
        bound = math.sqrt(2 * length * math.log(2 * k * len(seeds) / SIZE)) / np.arange(1, length + 1)
        assert bound[-1] < 0.3
        assert np.all(found <= bound)
        assert np.all(found[:, -1] < found[:, 9])
        assert len({row.tobytes() for row in found}) == 3
        again = traces(self.SPIKED, k, 1.0, length // 10, seeds[1:2])
        assert np.array_equal(again[0], found[1, : length // 10])

    def test_its_square_is_one_in_t_on_average(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Size 1e-6, by a t-test of the mean of 100 chains: E F_k(T)² = 1/T for every T, because signs are independent."""
        monkeypatch.setattr(subspace, "BLOCK", 1)
        found = traces(self.SPIKED[[0, 1, 4, 7]], 2, 1.0, 8, range(6000, 6100))
        for t in (2, 5, 8):
            assert stats.ttest_1samp(t * found[:, t - 1] ** 2, 1.0).pvalue > SIZE / 3

    def test_progress_grows(self) -> None:
        seen: list[float] = []
        traces(self.SPIKED, 2, 1.0, 300, [1, 2], seen.append)
        assert seen == sorted(seen)
        assert 0 <= seen[0] < seen[-1] < 1


@pytest.mark.parametrize("seed", [2, 19, 23])
def test_one_large_eigenvalue_does_not_stop_a_chain(seed: int) -> None:
    """With it a trace by way of D⁻¹ cancels to nothing, and no proposal was ever accepted."""
    state = matrix_bingham(np.array([1e6, 0, 0, 0, 0, 0]), 3, 0.5, 200, SeededBits(seed))
    assert abs(float((state[0] ** 2).sum()) - 1) < 1e-3
