"""From matrices by group and a budget to the law of the noise: against the formulas of docs/mechanisms/groups.md.

Nothing here is random; a constant 5 % off fails.
"""

from __future__ import annotations

import math
from fractions import Fraction

import pytest

from dpcov.errors import ParameterError
from dpcov.kernel.budget import ZCDP, ApproxDP, PureDP
from dpcov.kernel.calibrate import analytic_gaussian_sigma
from dpcov.kernel.noise.laws import DiscreteGaussian, DiscreteLaplace
from dpcov.kernel.noise.matrix import WishartDifference
from dpcov.kernel.questions.calibrated import DISCRETE_GAP, calibrated, check_tail, is_analytic, is_enough
from dpcov.kernel.questions.groups import GroupCounts, GroupedMoment
from dpcov.kernel.questions.moments import NEIGHBORS, SecondMoment
from dpcov.kernel.rows.aside import USUAL_PEOPLE, Aside, aside_of
from dpcov.kernel.rows.grid import Grid

GRID, R2 = Grid(1.0), 4**16
BY = {"replace": 2, "add-remove": 1}
SIZES = [(1, 2), (2, 3), (3, 4), (8, 64), (20, 16)]


def moment(d: int, k: int) -> GroupedMoment:
    return GroupedMoment(GRID, d, k)


@pytest.mark.parametrize("neighbors", NEIGHBORS)
@pytest.mark.parametrize(("d", "k"), SIZES)
class TestLaws:
    def test_gaussian(self, d: int, k: int, neighbors: str) -> None:
        """σ² = 2R⁴/(2ρ) or R⁴/(2ρ) on the diagonals of all blocks, half of it above, whatever k is."""
        law = calibrated(moment(d, k), ZCDP("1/3"), neighbors, "gaussian")
        variance = Fraction(BY[neighbors] * R2**2 * 3, 2)
        assert isinstance(law, DiscreteGaussian)
        assert law.variances == (("diagonal", variance), ("off-diagonal", variance / 2))
        assert is_enough(law, moment(d, k), ZCDP("1/3"), neighbors)
        small = DiscreteGaussian((("diagonal", variance * Fraction(95, 100)), ("off-diagonal", variance / 2)))
        assert not is_enough(small, moment(d, k), ZCDP("1/3"), neighbors)

    def test_laplace(self, d: int, k: int, neighbors: str) -> None:
        """(d+1)R²/ε or half of it: more than one matrix needs under replace."""
        law = calibrated(moment(d, k), PureDP("1/3"), neighbors, "laplace")
        assert law == DiscreteLaplace(Fraction(BY[neighbors] * (d + 1) * R2 * 3, 2))
        assert is_enough(law, moment(d, k), PureDP("1/3"), neighbors)
        assert not is_enough(DiscreteLaplace(law.scale * Fraction(95, 100)), moment(d, k), PureDP("1/3"), neighbors)
        one = calibrated(SecondMoment(GRID, d), PureDP("1/3"), neighbors, "laplace")
        assert isinstance(one, DiscreteLaplace)
        assert law.scale > one.scale if neighbors == "replace" else law.scale == one.scale

    def test_wishart(self, d: int, k: int, neighbors: str) -> None:
        """s = Δ_*/(2(ε − excess)), the excess that of two matrices under replace, the tail that of all."""
        epsilon = PureDP("1/3")
        law = calibrated(moment(d, k), epsilon, neighbors, "wishart")
        one = calibrated(SecondMoment(GRID, d), epsilon, neighbors, "wishart")
        assert isinstance(law, WishartDifference)
        assert isinstance(one, WishartDifference)
        assert law.blocks == k
        assert law.scale * 2 * (epsilon.epsilon - law.excess) >= BY[neighbors] * R2
        assert float(law.scale * 2 * (epsilon.epsilon - law.excess) / (BY[neighbors] * R2)) == pytest.approx(1, rel=1e-12)
        assert k <= law.tail / one.tail * 2
        if d > 1:  # one column alone is cheaper under replace, where its square moves by 1 and not by 2
            assert float(law.scale / one.scale) == pytest.approx(1, rel=1e-4)
            assert law.lattice == one.lattice
            assert float(law.excess / one.excess) == pytest.approx(BY[neighbors], rel=0.01)
        assert is_enough(law, moment(d, k), epsilon, neighbors)
        assert not is_enough(one, moment(d, k), epsilon, neighbors)
        assert not is_enough(law, SecondMoment(GRID, d), epsilon, neighbors)
        assert not is_enough(law, moment(d, k + 1), epsilon, neighbors)
        less = [
            (law.scale * Fraction(95, 100), law.excess),
            (law.scale, law.excess * Fraction(45, 100)),
        ]  # floats are given twice the error that they have
        for scale, excess in less:
            forged = WishartDifference(d, scale, law.lattice, excess, law.tail, k)
            assert not is_enough(forged, moment(d, k), epsilon, neighbors)

    def test_frobenius_is_refused(self, d: int, k: int, neighbors: str) -> None:
        with pytest.raises(ParameterError, match="noise must serve the statistic"):
            calibrated(moment(d, k), PureDP(1), neighbors, "frobenius")

    def test_counts(self, d: int, k: int, neighbors: str) -> None:  # noqa: ARG002 - of rows of any width
        assert calibrated(GroupCounts(k), PureDP("1/3"), neighbors, "laplace") == DiscreteLaplace(Fraction(3 * BY[neighbors]))
        law = calibrated(GroupCounts(k), ZCDP("1/300"), neighbors, "gaussian")
        assert law == DiscreteGaussian((("groups", Fraction(150 * BY[neighbors])),))


PEOPLE: dict[str, Aside] = {
    "people": aside_of("who", 16, USUAL_PEOPLE),
    "many rows": aside_of("who", 16, USUAL_PEOPLE, most_rows=9),
    "weights": aside_of("", 16, USUAL_PEOPLE, weight="w", max_weight=2.0),
}


@pytest.mark.parametrize("way", PEOPLE)
@pytest.mark.parametrize("neighbors", NEIGHBORS)
@pytest.mark.parametrize(("d", "k"), SIZES)
class TestPeople:
    """Moments are in 16 times finer units, 4² for e = 2, and counts in 2¹⁸ times finer ones: the noise is as much larger."""

    def test_exact_noise_is_that_of_rows(self, d: int, k: int, neighbors: str, way: str) -> None:
        people = GroupedMoment(GRID, d, k, aside=PEOPLE[way])
        law = calibrated(people, ZCDP("1/3"), neighbors, "gaussian")
        variance = Fraction(BY[neighbors] * R2**2 * 256 * 3, 2)
        assert isinstance(law, DiscreteGaussian)
        assert law.variances == (("diagonal", variance), ("off-diagonal", variance / 2))
        assert calibrated(people, PureDP("1/3"), neighbors, "laplace") == DiscreteLaplace(
            Fraction(BY[neighbors] * (d + 1) * 16 * R2 * 3, 2)
        )
        counts, one = GroupCounts(k, aside=PEOPLE[way]), 2**18
        assert calibrated(counts, PureDP("1/3"), neighbors, "laplace") == DiscreteLaplace(Fraction(3 * BY[neighbors] * one))
        small = calibrated(counts, ZCDP("1/300"), neighbors, "gaussian")
        assert small == DiscreteGaussian((("groups", Fraction(150 * BY[neighbors] * one**2)),))
        assert not is_enough(calibrated(GroupCounts(k), PureDP("1/3"), neighbors, "laplace"), counts, PureDP("1/3"), neighbors)

    def test_every_block_that_a_person_may_move_costs_an_excess(self, d: int, k: int, neighbors: str, way: str) -> None:
        """All k of them, in either relation; where each row is a person, with a weight, as many as a row moves."""
        budget, people = PureDP("1/3"), GroupedMoment(GRID, d, k, aside=PEOPLE[way])
        law = calibrated(people, budget, neighbors, "wishart")
        one = calibrated(SecondMoment(GRID, d, aside=PEOPLE[way]), budget, neighbors, "wishart")
        assert isinstance(law, WishartDifference)
        assert isinstance(one, WishartDifference)
        nuclear = BY[neighbors] * 16 * R2
        assert float(law.scale * 2 * (budget.epsilon - law.excess) / nuclear) == pytest.approx(1, rel=1e-12)
        assert law.scale * 2 * (budget.epsilon - law.excess) >= nuclear
        if d > 1:
            moved = BY[neighbors] if way == "weights" else k
            assert law.lattice == one.lattice
            assert float(law.excess / one.excess) == pytest.approx(moved, rel=0.01)
        assert is_enough(law, people, budget, neighbors)
        less = [(law.scale * Fraction(95, 100), law.excess), (law.scale, law.excess * Fraction(45, 100))]
        for scale, excess in less:
            assert not is_enough(WishartDifference(d, scale, law.lattice, excess, law.tail, k), people, budget, neighbors)
        of_rows = calibrated(GroupedMoment(GRID, d, k), budget, neighbors, "wishart")
        assert not is_enough(of_rows, people, budget, neighbors)


@pytest.mark.parametrize("neighbors", NEIGHBORS)
def test_the_gap_is_that_of_all_coordinates(neighbors: str) -> None:
    """σ = Δ·σ(ε, δ − (1+e^ε)·.021·Σ 1/σᵢ²) with the sum over k·d² isometric coordinates; far below 1000 steps: refused."""
    budget, d, k = ApproxDP(1, Fraction(1, 10**6)), 8, 64
    law = calibrated(moment(d, k), budget, neighbors, "gaussian")
    assert isinstance(law, DiscreteGaussian)
    squared, plain = BY[neighbors] * R2**2, analytic_gaussian_sigma(1.0, budget)
    gap = (1 + math.e) * DISCRETE_GAP * k * d * d / (plain**2 * squared)
    lowered = ApproxDP(1, budget.delta - Fraction(gap * 1.01))
    assert float(law.variances[0][1]) == pytest.approx(squared * analytic_gaussian_sigma(1.0, lowered) ** 2, rel=1e-9)
    assert is_enough(law, moment(d, k), budget, neighbors)
    coarse = Grid(1.0, 6)  # 4096 steps: the gap of 64 matrices, and not of one, is a hundredth of delta
    small = ApproxDP(1, Fraction(1, 10**5))
    assert is_analytic(SecondMoment(coarse, d), small, neighbors) or not is_analytic(
        GroupedMoment(coarse, d, k), small, neighbors
    )
    ratios = [gap_of(coarse, d, count, small, neighbors) for count in (2, 64)]
    assert ratios[1] == pytest.approx(32 * ratios[0])


def gap_of(grid: Grid, d: int, k: int, budget: ApproxDP, neighbors: str) -> float:
    from dpcov.kernel.questions.calibrated import _gap

    question = GroupedMoment(grid, d, k)
    return _gap(question, Fraction(question.sensitivity_squared(neighbors)), budget, 1.0)


def test_tails_of_all_blocks_count() -> None:
    """2⁻¹¹⁵ for each of 4096 matrices, (1 + e^ε) times."""
    law = calibrated(moment(2, 4096), PureDP(1), "replace", "wishart")
    with pytest.raises(ParameterError, match="delta must exceed the tail"):
        check_tail([law], ApproxDP(1, Fraction(1, 2**101)))
    check_tail([law], ApproxDP(1, Fraction(1, 2**90)))


def test_the_law_comes_back_from_its_json() -> None:
    law = calibrated(moment(3, 5), PureDP(1), "replace", "wishart")
    written = {name: Fraction(value) for name, value in law.to_json().items()}
    assert WishartDifference.from_json(written) == law
    for blocks in (Fraction(1), Fraction(5, 2)):
        with pytest.raises(TypeError):
            WishartDifference.from_json({**written, "blocks": blocks})
    with pytest.raises(ParameterError, match="1 to 4096 matrices"):
        WishartDifference.from_json({**written, "blocks": Fraction(-5)})
