"""How concentrated a subspace may be for its price, exactly; and the noise of `mod-sulq`: equation (5), never below our own."""

from __future__ import annotations

import importlib
import math
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import pytest
from numpy.typing import NDArray

import dpcov
from dpcov import bounds
from dpcov.errors import ParameterError
from dpcov.kernel.bits import SeededBits
from dpcov.kernel.budget import ZCDP, ApproxDP, Budget, PureDP
from dpcov.kernel.calibrate import analytic_gaussian_sigma, bingham_concentration
from dpcov.kernel.noise.drawn import Bingham, MatrixBingham, Uniform
from dpcov.kernel.noise.laws import DiscreteGaussian
from dpcov.kernel.noise.sampler import Decomposition
from dpcov.kernel.noise.sphere import MAX_CONCENTRATION, float_below
from dpcov.kernel.questions.calibrated import GAUSSIAN, calibrated
from dpcov.kernel.questions.directions import Subspace
from dpcov.kernel.questions.moments import SecondMoment
from dpcov.kernel.rows.grid import Grid
from dpcov.mechanisms.shared.components import EXPLAINED
from dpcov.sources.array import ArraySource
from dpcov.verify.testing import Noiseless, opened

Floats = NDArray[np.float64]

SPAN = {"replace": 2, "add-remove": 1}
SWEEPS = 3
ROWS = np.random.default_rng((1, 5300)).normal(size=(40, 4)) / 3


class Shown(Noiseless):
    """A sampler that keeps what its subspaces would be drawn with, and draws the first axes."""

    drawn: MatrixBingham | Uniform

    def subspace(self, matrix: Floats, basis: Decomposition, k: int, law: MatrixBingham | Uniform) -> Floats:  # noqa: ARG002
        self.drawn = law
        return np.eye(len(matrix))[:, :k]


def law_of(budget: Any, neighbors: str, **options: Any) -> MatrixBingham | Uniform:
    sampler = Shown()
    curator = opened(ArraySource(ROWS), Grid(1.0), budget, neighbors, sampler=sampler)
    answer = curator.subspace(Subspace(SecondMoment(Grid(1.0), 4), 2), budget, **({"sweeps": SWEEPS} | options))
    assert answer.law == sampler.drawn
    return sampler.drawn


def bingham(concentration: Fraction, sweeps: int = SWEEPS) -> MatrixBingham:
    return MatrixBingham(concentration, sweeps)


@pytest.mark.parametrize("neighbors", SPAN)
class TestConcentration:
    @pytest.mark.parametrize("amount", ["1e-9", "0.3", "1", "1/3", "7.5", "1000", "65536"])
    def test_pure(self, amount: str, neighbors: str) -> None:
        """ε/2 under replace, ε under add-remove, whatever k is: one row moves tr VᵀSV within [−1, 1] or [0, 1]. Exact."""
        assert law_of(PureDP(amount), neighbors) == bingham(Fraction(amount) / SPAN[neighbors])

    @pytest.mark.parametrize("amount", ["1e-9", "0.3", "2", "50"])
    def test_zcdp(self, amount: str, neighbors: str) -> None:
        """√(8ρ)/2 and √(8ρ), rounded down by less than 2⁻⁵⁰ of itself: 5 % off would be outside."""
        law = law_of(ZCDP(amount), neighbors)
        assert isinstance(law, MatrixBingham)
        squared = (SPAN[neighbors] * law.concentration) ** 2
        assert 8 * Fraction(amount) * (1 - Fraction(1, 2**50)) <= squared <= 8 * Fraction(amount)

    def test_a_concentration_that_float64_cannot_hold_is_lowered(self, neighbors: str) -> None:
        for budget in (PureDP("1e300"), ZCDP("1e300")):
            assert law_of(budget, neighbors) == bingham(MAX_CONCENTRATION)

    def test_at_most_only_adds_noise(self, neighbors: str) -> None:
        whole = Fraction(1, SPAN[neighbors])
        for at_most, expected in ((Fraction(1, 100), Fraction(1, 100)), (Fraction(10**9), whole), (None, whole)):
            assert law_of(PureDP(1), neighbors, at_most=at_most) == bingham(expected)
        for bad in (Fraction(0), Fraction(-1), 0.5, 1):
            with pytest.raises(ParameterError, match=r" must be .*, got .*\. Hint: "):
                law_of(PureDP(1), neighbors, at_most=bad)

    def test_without_sweeps_it_is_uniform(self, neighbors: str) -> None:
        assert law_of(PureDP(1), neighbors, sweeps=0) == Uniform()

    @pytest.mark.parametrize("sweeps", [1, 7, 20_000])
    def test_the_length_of_the_chain_is_part_of_the_law(self, neighbors: str, sweeps: int) -> None:
        assert law_of(PureDP(1), neighbors, sweeps=sweeps) == bingham(Fraction(1, SPAN[neighbors]), sweeps)

    @pytest.mark.parametrize("k", [1, 2, 3])
    @pytest.mark.parametrize("budget", [PureDP(2), ZCDP("0.5"), ApproxDP(2, "1e-6")], ids=lambda budget: budget.notion)
    def test_of_the_mechanism(self, budget: Budget, k: int, neighbors: str) -> None:
        """All but a part goes to the draw; δ is unused; a single direction has the same concentration as a subspace."""
        options: dict[str, Any] = {"approximate": k > 1, "sweeps": 2}
        release = dpcov.pca(ROWS, budget, k, row_norm=1, mechanism="ppca", neighbors=neighbors, seed=0, **options)
        paid = release.spent[-2].budget
        law = release.answers[-2].law
        assert isinstance(paid, PureDP | ZCDP)
        expected = bingham_concentration(paid, neighbors)
        assert law == (Bingham((("1", expected),)) if k == 1 else bingham(expected, 2))
        whole = PureDP(2) if isinstance(budget, ApproxDP) else budget
        if neighbors == "replace":
            assert paid == whole.share(1 - EXPLAINED)


class TestLaws:
    def test_order_of_noise(self) -> None:
        """More concentrated is less noise; uniform is the most."""
        loose, tight = bingham(Fraction(1, 2)), bingham(Fraction(1))
        assert loose.is_at_least(tight)
        assert loose.is_at_least(loose)
        assert loose.is_at_least(bingham(Fraction(1, 2), 10 * SWEEPS))  # a promise of the limit: length is no noise
        assert not tight.is_at_least(loose)
        assert not tight.is_at_least(Bingham((("1", Fraction(5)),)))
        assert not loose.is_at_least(Uniform())
        assert Uniform().is_at_least(tight)

    def test_json(self) -> None:
        for law in (bingham(Fraction(1, 3)), Uniform()):
            record = {name: Fraction(value) for name, value in law.to_json().items()}
            assert type(law).from_json(record) == law
        assert (MatrixBingham.law, MatrixBingham.numerics) == ("matrix bingham", "markov chain")
        assert (Uniform.law, Uniform.numerics) == ("uniform", "float")

    def test_nothing_is_added_to_a_matrix(self) -> None:
        for law in (bingham(Fraction(1)), Uniform()):
            assert law.settle(np.arange(3)).tolist() == [0, 1, 2]
            for call in (law.spread, lambda law=law: law.draw([3], SeededBits(0))):
                with pytest.raises(NotImplementedError):
                    call()

    @pytest.mark.parametrize("bad", [Fraction(0), Fraction(-1, 2)])
    def test_a_draw_costs_something(self, bad: Fraction) -> None:
        with pytest.raises(ParameterError, match="concentration must be positive"):
            bingham(bad)

    @pytest.mark.parametrize("bad", [0, -1, 10**7 + 1, 2.0, True, Fraction(3)], ids=repr)
    def test_a_chain_has_whole_sweeps(self, bad: Any) -> None:
        with pytest.raises(ParameterError, match=r"sweeps must be an integer from 1 to 10\*\*7, got .+\. Hint: "):
            bingham(Fraction(1), bad)

    def test_a_file_s_chain_has_whole_sweeps(self) -> None:
        with pytest.raises(ParameterError, match="sweeps must be an integer"):
            MatrixBingham.from_json({"concentration": Fraction(1), "sweeps": Fraction(3, 2)})

    @pytest.mark.parametrize(
        "value", [Fraction(1, 3), Fraction(1, 10), Fraction(2), sum(Fraction(1, 10**i) for i in range(40))]
    )
    def test_the_float_that_is_drawn_with_is_not_above(self, value: Fraction) -> None:
        assert Fraction(float_below(value)) <= value < Fraction(math.nextafter(float_below(value), math.inf))


def equation5(n: int, d: int, epsilon: str, delta: str) -> Any:
    """β of the paper, at 50 digits."""
    with mpmath.workdps(50):
        root = mpmath.sqrt(2 * mpmath.log((d**2 + d) / (mpmath.mpf(delta) * 2 * mpmath.sqrt(2 * mpmath.pi))))
        return mpmath.mpf(d + 1) / (n * mpmath.mpf(epsilon)) * root + 1 / (n * mpmath.sqrt(mpmath.mpf(epsilon)))


class TestModSulq:
    @pytest.mark.parametrize("d", [2, 3, 10, 1000])
    @pytest.mark.parametrize("epsilon", ["1e-9", "0.01", "0.5", "2", "100", "1e9"])
    @pytest.mark.parametrize("delta", ["0.5", "0.01", "1e-6", "1e-300"])
    def test_beta_is_that_of_the_paper(self, d: int, epsilon: str, delta: str) -> None:
        """Equation (5): to 1e-12, so that d for d + 1, or a factor √2, is seen."""
        for n in (1, 17, 10**6):
            found = bounds.mod_sulq_beta(n, d, float(epsilon), float(delta))
            assert found == pytest.approx(float(equation5(n, d, epsilon, delta)), rel=1e-12)

    @pytest.mark.parametrize("neighbors", SPAN)
    @pytest.mark.parametrize("d", [2, 5])
    @pytest.mark.parametrize("epsilon", ["0.1", "1", "30", "1e4"])
    @pytest.mark.parametrize("delta", ["0.1", "1e-9"])
    def test_every_entry_has_it_and_no_less_than_ours(self, d: int, epsilon: str, delta: str, neighbors: str) -> None:
        """The variance of diagonal and off-diagonal entries: the larger of nβ² and what the analytic calibration asks for."""
        budget = ApproxDP(epsilon, delta)
        rows = np.zeros((9, d))
        release = dpcov.pca(rows, budget, 1, row_norm=1, mechanism="mod-sulq", neighbors=neighbors, seed=0)
        answer = release.take(SecondMoment)
        assert isinstance(answer.law, DiscreteGaussian)
        [spend] = [spend for spend in release.spent if spend.asked == "second moment"]
        ours = calibrated(SecondMoment(Grid(1.0), d), spend.budget, neighbors, GAUSSIAN)
        assert isinstance(ours, DiscreteGaussian)
        paper = float(equation5(1, d, epsilon, delta)) ** 2
        assert len(answer.law.variances) == 2
        for (name, variance), (same, least) in zip(answer.law.variances, ours.variances, strict=True):
            assert name == same
            assert variance >= least
            expected = max(paper, float(least) / 4.0**answer.unit_bits)
            assert float(variance) / 4.0**answer.unit_bits == pytest.approx(expected, rel=1e-12)
        if neighbors == "replace":  # continuous noise for a sensitivity of √2, ours is for integers and a little more
            sigma = analytic_gaussian_sigma(math.sqrt(2.0), budget)
            assert float(answer.law.variances[0][1]) / 4.0**answer.unit_bits >= sigma**2 * (1 - 1e-9)

    def test_a_paper_that_asked_for_less_would_not_be_followed(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """The floor can only add noise."""
        module = importlib.import_module("dpcov.mechanisms.pca.mod_sulq")  # its function has the same name
        monkeypatch.setattr(module, "mod_sulq_beta", lambda *_: 1e-9)
        budget = ApproxDP(1, "1e-6")
        release = dpcov.pca(np.zeros((9, 3)), budget, 1, row_norm=1, mechanism="mod-sulq", seed=0)
        assert release.answers[0].law == calibrated(SecondMoment(Grid(1.0), 3), budget, "replace", GAUSSIAN)
