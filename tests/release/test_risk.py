"""The sentence about one person: its numbers are bounds that known mechanisms reach, and never exceed."""

from __future__ import annotations

import math
import re
from pathlib import Path
from statistics import NormalDist

import numpy as np
import pytest

import dpcov
from dpcov.kernel.budget import Budget
from dpcov.release.statement import risk


def percent(budget: Budget, neighbors: str = "replace") -> float:
    """Return how often the better of two guesses is right at most, as the sentence says."""
    (found,) = re.findall(r"probability at most ([\d.]+) %", risk(budget, neighbors))
    return float(found)


@pytest.mark.parametrize("epsilon", ["0.01", "0.1", "1", "3", "10"])
def test_randomized_response_reaches_the_bound_of_pure_dp(epsilon: str) -> None:
    """It tells the truth with probability e^ε/(1 + e^ε), which is ε-DP: no smaller number would be true."""
    reached = 100 * math.exp(float(epsilon)) / (1 + math.exp(float(epsilon)))
    assert reached <= percent(dpcov.PureDP(epsilon)) <= reached + 0.1


@pytest.mark.parametrize(("epsilon", "delta"), [("0.1", "1e-6"), ("1", "0.1"), ("1", "0.5"), ("5", "0.9")])
def test_an_approximate_mechanism_reaches_its_bound(epsilon: str, delta: str) -> None:
    """It tells all with probability δ, else a randomised response: (ε, δ)-DP."""
    p, response = float(delta), math.exp(float(epsilon)) / (1 + math.exp(float(epsilon)))
    reached = 100 * (p + (1 - p) * response)
    assert reached <= percent(dpcov.ApproxDP(epsilon, delta)) <= reached + 0.1


@pytest.mark.parametrize("rho", ["0.001", "0.01", "0.1", "1", "3", "20"])
def test_gaussian_noise_stays_below_the_bound_of_zcdp(rho: str) -> None:
    """Normal noise with sensitivity √(2ρ) is ρ-zCDP; the better of two guesses is right with probability Φ(√(2ρ)/2)."""
    reached = 100 * NormalDist().cdf(math.sqrt(2 * float(rho)) / 2)
    assert reached <= percent(dpcov.ZCDP(rho))
    assert percent(dpcov.ZCDP(rho)) - 50 <= 1.4 * (reached - 50) + 0.1


def test_odds() -> None:
    """e^ε under replace; under add-remove that of being there, and e^2ε between two rows, by way of none."""
    said = risk(dpcov.PureDP(1), "replace")
    assert "the odds between two guesses at this person's row by a factor of at most 2.72." in said
    said = risk(dpcov.PureDP(1), "add-remove")
    assert "whether this person, with a given row, is in the table by a factor of at most 2.72" in said
    assert "(between two guesses at the row itself: 7.39)" in said
    for small in ("0.0001", "1", "2.5", "9", "13.9"):  # rounded up, so that nothing is promised that is not proved
        (factor,) = re.findall(r"at most ([\d.]+)\. ", risk(dpcov.PureDP(small), "replace"))
        assert math.exp(float(small)) <= float(factor) <= 1.01 * math.exp(float(small)) + 0.01
    assert "at most e^800." in risk(dpcov.PureDP(800), "replace")


def test_odds_are_said_of_pure_dp_alone() -> None:
    """An (ε, δ) promise does not bound them but for a probability δ: the loss may exceed ε more often than that."""
    for budget in (dpcov.ApproxDP(1, "1e-6"), dpcov.ZCDP("0.1")):
        for neighbors in ("replace", "add-remove"):
            assert "odds" not in risk(budget, neighbors)
    assert "(0.1-zCDP is (2.142, 1e-06)-DP.)" in risk(dpcov.ZCDP("0.1"), "replace")


def cells(heading: str) -> list[list[str]]:
    """Return the cells of the table of docs/custodians.md that starts so."""
    page = (Path(__file__).parents[2] / "docs" / "custodians.md").read_text(encoding="utf-8")
    lines = (heading + page.partition(f"\n{heading}")[2].partition("\n\n")[0]).splitlines()
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


class TestTheCustodiansPage:
    """Its figures are the formulas', rounded up."""

    def test_of_pure_dp(self) -> None:
        _, _, *lines = cells("| ε | odds change by at most")
        assert len(lines) == 6
        for epsilon, *said in lines:
            factor, rare, even = (float(cell.replace(" ", "").rstrip("%")) for cell in said)
            power = math.exp(float(epsilon))
            assert power <= factor <= power * 1.005
            assert rare == math.ceil(10 * power / (0.99 + 0.01 * power)) / 10
            assert even == percent(dpcov.PureDP(epsilon))

    def test_of_zcdp(self) -> None:
        (_, *amounts), _, (_, *epsilons), (_, *guesses) = cells("| ρ | 0.005")
        assert len(amounts) == 5
        for rho, epsilon, guess in zip(amounts, epsilons, guesses, strict=True):
            assert float(epsilon) == math.ceil(100 * dpcov.ZCDP(rho).epsilon(1e-6)) / 100
            assert float(guess.rstrip(" %")) == percent(dpcov.ZCDP(rho))


class TestOfReleases:
    def test_rounded_noise_has_its_chance(self) -> None:
        rows = np.zeros((50, 3))
        rounded = dpcov.covariance(rows, dpcov.PureDP(1), row_norm=1, mechanism="wishart")
        assert re.search(r"at most 2\.72, but for a chance of 2\*\*-1\d\d\. ", rounded.risk())
        exact = dpcov.covariance(rows, dpcov.PureDP(1), row_norm=1, mechanism="laplace")
        assert "but for" not in exact.risk()
        assert dpcov.rehearse("covariance", rows, dpcov.PureDP(1), row_norm=1, mechanism="wishart").risk == rounded.risk()

    def test_a_seeded_one_promises_nothing(self) -> None:
        seeded = dpcov.covariance(np.zeros((50, 3)), dpcov.PureDP(1), row_norm=1, seed=0)
        assert seeded.risk() == "For one person: nothing is promised, as whoever knows the seed can take the noise off."

    def test_a_chain_that_stops_has_it_in_a_limit(self) -> None:
        rows = np.eye(4).repeat(20, axis=0)
        made = dpcov.pca(rows, dpcov.PureDP(1), 2, row_norm=1, mechanism="ppca", approximate=True, sweeps=5)
        assert made.risk().startswith("For one person: in the limit of many sweeps, even to someone who knows")
