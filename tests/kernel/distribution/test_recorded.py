"""Every law draws what it records: the noise, from the same bits, is that of the parameters in the file, to the last integer.

Replay prices recorded laws, so a draw that is a little smaller than its record would escape it, and 5 % would escape the tests
of distributions too where those call the samplers and not the law. Nothing here is random: no correct code is rejected.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from dpcov.kernel.bits import SeededBits
from dpcov.kernel.budget import ZCDP, Budget, PureDP
from dpcov.kernel.curator import Curator
from dpcov.kernel.noise import choice
from dpcov.kernel.noise import sampler as sampler_module
from dpcov.kernel.noise.choice import Exponential, SparseVector
from dpcov.kernel.noise.discrete import discrete_gaussian, discrete_laplace
from dpcov.kernel.noise.drawn import Bingham, MatrixBingham, Uniform
from dpcov.kernel.noise.laws import DiscreteGaussian, DiscreteLaplace, NoiseLaw
from dpcov.kernel.noise.matrix import FrobeniusNoise, WishartDifference
from dpcov.kernel.noise.normal import exponentials, normals
from dpcov.kernel.noise.sampler import RandomSampler
from dpcov.kernel.noise.sphere import float_below
from dpcov.kernel.questions.calibrated import LAWS
from dpcov.kernel.questions.choices import Bias, Quantile, Radius
from dpcov.kernel.questions.directions import Directions, Subspace
from dpcov.kernel.questions.measure import Measure
from dpcov.kernel.questions.spectral import Values
from dpcov.kernel.rows.grid import Grid
from dpcov.linalg import pack, triangle_size
from dpcov.release.file import KINDS
from dpcov.sources.array import ArraySource
from dpcov.verify.testing import opened

ROWS = np.random.default_rng(96).normal(size=(60, 3)) * 0.3
SCALES = (Fraction(7, 3), Fraction(1, 9), Fraction(2**20), Fraction(10**11, 7))
D = 3
SIZES = [D, triangle_size(D) - D]


def spied(place: Any, name: str, monkeypatch: pytest.MonkeyPatch, number: int) -> list[Any]:
    """Let a sampler work as it does, and return the list to which it adds the argument with this number each time."""
    seen: list[Any] = []
    real: Callable[..., Any] = getattr(place, name)

    def listed(*arguments: Any, **named: Any) -> Any:
        seen.append(arguments[number])
        return real(*arguments, **named)

    monkeypatch.setattr(place, name, listed)
    return seen


class Listening(RandomSampler):
    """A sampler that notes the exact values along directions that it was given."""

    def __init__(self) -> None:
        super().__init__(SeededBits(4))
        self.heard: list[int] = []

    def noisy_later(self, question: Measure, law: NoiseLaw) -> Callable[[int, int], int]:
        answered = super().noisy_later(question, law)

        def listened(place: int, exact: int) -> int:
            assert place == len(self.heard)
            self.heard.append(exact)
            return answered(place, exact)

        return listened


def curator(budget: Budget, sampler: RandomSampler | None = None) -> Curator:
    return opened(ArraySource(ROWS), Grid(1.0), budget, "replace", SeededBits(4), sampler=sampler)


class TestAdded:
    """Laws of noise that is added: `draw` against the samplers at the recorded parameters."""

    def test_none_is_left_out(self) -> None:
        assert set(LAWS.values()) == {DiscreteLaplace, DiscreteGaussian, WishartDifference, FrobeniusNoise}
        assert set(KINDS) - set(LAWS.values()) == {Exponential, SparseVector, Bingham, MatrixBingham, Uniform}

    @pytest.mark.parametrize("scale", SCALES)
    def test_laplace(self, scale: Fraction) -> None:
        recorded = DiscreteLaplace.from_json({name: Fraction(text) for name, text in DiscreteLaplace(scale).to_json().items()})
        drawn = DiscreteLaplace(scale).draw([500, 600], SeededBits(3))
        assert np.array_equal(drawn, discrete_laplace(recorded.scale, 1100, SeededBits(3)))

    @pytest.mark.parametrize("variance", [scale**2 for scale in SCALES])
    def test_gaussian_by_part(self, variance: Fraction) -> None:
        bits = SeededBits(3)
        drawn = DiscreteGaussian((("one", variance), ("other", variance / 2))).draw([500, 600], SeededBits(3))
        assert np.array_equal(drawn[:500], discrete_gaussian(variance, 500, bits))
        assert np.array_equal(drawn[500:], discrete_gaussian(variance / 2, 600, bits))

    @pytest.mark.parametrize("scale", [Fraction(2**12), Fraction(10**11, 7)])
    def test_wishart(self, scale: Fraction) -> None:
        law = WishartDifference(D, scale, 3, Fraction(0), Fraction(0))
        plus, minus = normals(2 * D * (D + 1), SeededBits(3)).reshape(2, D, D + 1)
        wanted = np.rint(pack(plus @ plus.T - minus @ minus.T) * float(scale))
        assert np.abs(law.draw(SIZES, SeededBits(3)) - wanted).max() <= 1  # a product may round its last digit elsewhere

    @pytest.mark.parametrize("scale", [Fraction(2**12), Fraction(10**11, 7)])
    def test_frobenius(self, scale: Fraction) -> None:
        law, bits = FrobeniusNoise(D, scale, 3, Fraction(0), Fraction(0)), SeededBits(3)
        direction = normals(sum(SIZES), bits)
        radius = exponentials(sum(SIZES), bits).sum() * float(scale)
        wanted = direction / np.linalg.norm(direction) * radius / np.repeat([1, np.sqrt(2)], SIZES)
        assert np.abs(law.draw(SIZES, SeededBits(3)) - wanted).max() <= 1

    @pytest.mark.parametrize(
        ("budget", "noise"), [(ZCDP(1), "gaussian"), (PureDP(1), "laplace"), (PureDP(1), "wishart"), (PureDP(1), "frobenius")]
    )
    def test_an_answer_is_the_sum_plus_what_its_law_draws(self, budget: Budget, noise: str) -> None:
        asked = curator(budget)
        moment = asked.public.second_moment()
        answer = asked.noisy(moment, budget, noise=noise)
        exact = ArraySource(ROWS).total(moment)
        assert np.array_equal(answer.integers, answer.law.settle(exact + answer.law.draw(SIZES, SeededBits(4))))

    @pytest.mark.parametrize("budget", [PureDP(1), ZCDP(1)])
    def test_values_of_a_peel_too(self, budget: PureDP | ZCDP) -> None:
        """In order, each with its own number of the noise that was drawn."""
        noise = "laplace" if isinstance(budget, PureDP) else "gaussian"
        sampler = Listening()
        asked, half = curator(budget, sampler), budget.share(Fraction(1, 2))
        moment = asked.public.second_moment()
        peel = asked.peel(Directions(moment, D, Values(moment, D)), half, half, noise=noise)
        for _ in range(D):
            peel.direction(Fraction(1, D))
            peel.value()
        answer = peel.close()
        assert asked.answers == (answer,)
        assert isinstance(answer.question, Directions)
        assert len(sampler.heard) == D
        told = answer.question.told(answer.integers)
        assert np.array_equal(told, sampler.heard + answer.laws[1].draw([D], SeededBits(4)))


class TestDrawn:
    """Laws of choices, directions and subspaces: what reaches the sampler is what is recorded."""

    @pytest.mark.parametrize("budget", [PureDP(1), ZCDP("0.3"), PureDP(10**9)])
    def test_choices(self, budget: PureDP | ZCDP, monkeypatch: pytest.MonkeyPatch) -> None:
        asked = curator(budget)
        rates = spied(sampler_module, "choose", monkeypatch, 2)
        law = asked.choose(Quantile(asked.public.norms(4, 3), 5), budget).law
        assert isinstance(law, Exponential)
        assert rates == [law.rate]

    @pytest.mark.parametrize("query_noise", [1, 2])
    @pytest.mark.parametrize("search", [Radius, Bias])
    def test_searches(self, search: type, query_noise: int, monkeypatch: pytest.MonkeyPatch) -> None:
        asked = curator(PureDP(1))
        norms = asked.public.norms(1, 3)
        scales = spied(choice, "discrete_laplace", monkeypatch, 0)
        question = Radius(norms, 5) if search is Radius else Bias(norms, 0, (0, 2**16, 2**17, 2**18))
        law = asked.first_above(question, PureDP(1), query_noise=query_noise).law
        assert isinstance(law, SparseVector)
        assert scales == [law.threshold, law.query]

    @pytest.mark.parametrize("budget", [PureDP(1), ZCDP("0.3")])
    def test_directions(self, budget: PureDP | ZCDP, monkeypatch: pytest.MonkeyPatch) -> None:
        asked = curator(budget)
        concentrations = spied(sampler_module, "bingham", monkeypatch, 1)
        peel = asked.peel(Directions(asked.public.second_moment(), 2), budget, noise="laplace")
        for share, at_most in ((Fraction(1, 3), None), (Fraction(2, 3), Fraction(1, 7))):
            peel.direction(share, at_most=at_most)
            peel.skip()
        law: NoiseLaw = peel.close().law
        assert isinstance(law, Bingham)
        assert concentrations == [float_below(value) for _, value in law.concentrations]
        assert law.concentrations[1][1] == Fraction(1, 7)

    def test_subspaces(self, monkeypatch: pytest.MonkeyPatch) -> None:
        asked = curator(ZCDP("0.3"))
        concentrations = spied(sampler_module, "matrix_bingham", monkeypatch, 2)
        sweeps = spied(sampler_module, "matrix_bingham", monkeypatch, 3)
        law = asked.subspace(Subspace(asked.public.second_moment(), 2), ZCDP("0.3"), sweeps=5).law
        assert isinstance(law, MatrixBingham)
        assert concentrations == [float_below(law.concentration)]
        assert sweeps == [law.sweeps] == [5]
