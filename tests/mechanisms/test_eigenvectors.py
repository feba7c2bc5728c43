"""eigenvectors and kapralov-talwar on scripted moments: what they ask and pay, and that noise off gives the truth back."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import dpcov
from dpcov import Release
from dpcov.errors import ParameterError, ReleaseError
from dpcov.kernel.bits import SeededBits
from dpcov.kernel.budget import ZCDP, ApproxDP, Budget, PureDP, compose
from dpcov.kernel.noise.drawn import Bingham
from dpcov.kernel.questions.directions import Directions, directions_of
from dpcov.mechanisms import MECHANISMS
from dpcov.mechanisms.running import released
from dpcov.verify.testing import scripted

Floats = NDArray[np.float64]
NEIGHBORS = ["replace", "add-remove"]
BUDGETS: list[Budget] = [PureDP("0.7"), ZCDP("0.3"), ApproxDP("0.7", "1e-9")]
SPAN = {"replace": 2, "add-remove": 1}
OPTIONS: list[dict[str, Any]] = [
    {"allocation": allocation, "values": values} for allocation in ("adaptive", "uniform") for values in ("basis", "spectrum")
]
N = 50


def truth(d: int, *, definite: bool = True) -> Floats:
    """Return an anisotropic rotated second moment of N rows of norm at most 1, trace below N."""
    rotation = np.linalg.qr(np.random.default_rng(1000 + d).normal(size=(d, d)))[0]
    eigenvalues = 20.0 * 0.5 ** np.arange(d) - (0 if definite else 5)
    moment = (rotation * eigenvalues) @ rotation.T
    return np.asarray((moment + moment.T) / 2)


def run(name: str, budget: Budget, moment: Floats, neighbors: str = "replace", **options: Any) -> Release:
    """Run a mechanism on a scripted count, spectrum and moment, whichever it asks for."""
    answers: list[Any] = [N] if neighbors == "add-remove" else []
    if options.get("values") == "spectrum" or (name == "eigenvectors" and options.get("constants") == "paper"):
        answers.append(np.linalg.eigvalsh(moment)[::-1])
    center = options.pop("center", False)
    d = len(moment) - center
    curator = scripted([*answers, moment], n=N, d=d, budget=budget, neighbors=neighbors, row_norm=2.0, center=center)
    return released(MECHANISMS["covariance"][name], curator, budget, **options)


def directions_law(release: Release) -> Bingham:
    [law] = [law for answer in release.answers for law in answer.laws if isinstance(law, Bingham)]
    return law


@pytest.mark.parametrize("neighbors", NEIGHBORS)
@pytest.mark.parametrize("budget", BUDGETS, ids=["pure", "zcdp", "approx"])
@pytest.mark.parametrize("options", OPTIONS, ids=lambda options: "-".join(options.values()))
@pytest.mark.parametrize("d", [1, 2, 5])
class TestEigenvectors:
    def test_noise_off_gives_the_truth(self, d: int, options: dict[str, Any], budget: Budget, neighbors: str) -> None:
        """A transposed factor, a reflector of the wrong sign or directions in another order would not give it back."""
        release = run("eigenvectors", budget, truth(d), neighbors, **options)
        assert np.allclose(release.second_moment, 4 * truth(d) / N, rtol=0, atol=1e-4)
        rows = directions_of(release.take(Directions))
        assert rows.shape == (d, d)
        assert np.abs(rows @ rows.T - np.eye(d)).max() < 1e-5
        assert release.options == {"rank": 0, "beta": 0.05, "constants": "tight", "timing": "batches"} | options
        assert (release.postprocess, release.mechanism, release.n) == ("clip", "eigenvectors", N)

    def test_rank_gives_the_best_part(self, d: int, options: dict[str, Any], budget: Budget, neighbors: str) -> None:
        eigenvalues, vectors = np.linalg.eigh(truth(d))
        for rank in range(1, d + 1):
            release = run("eigenvectors", budget, truth(d), neighbors, rank=rank, **options)
            best = (vectors[:, d - rank :] * eigenvalues[d - rank :]) @ vectors[:, d - rank :].T
            assert np.allclose(release.second_moment, 4 * best / N, rtol=0, atol=1e-4)
            assert len(directions_law(release).concentrations) == min(rank, d - 1)

    def test_the_budget_is_spent_exactly(self, d: int, options: dict[str, Any], budget: Budget, neighbors: str) -> None:
        """In the record, and again by what the directions' concentrations cost."""
        for constants in ("tight", "paper"):
            release = run("eigenvectors", budget, truth(d), neighbors, constants=constants, **options)
            whole = PureDP("0.7") if isinstance(budget, ApproxDP) else budget
            assert compose(*(spend.budget for spend in release.spent)) == whole
            assert release.privacy == budget
            first = options["values"] == "spectrum" or constants == "paper"
            values, share = ("spectrum", Fraction(1, 2)) if first else ("diagonal", Fraction(1, 3))
            by_name = {spend.asked: spend.budget for spend in release.spent}
            count = ["count"] if neighbors == "add-remove" else []
            asked = [*count, "spectrum", "directions"] if values == "spectrum" else [*count, "directions", "diagonal"]
            assert [spend.asked for spend in release.spent] == asked
            paid = by_name["directions"]
            assert paid == compose(by_name[values], paid).share(1 - share)
            exponents = [SPAN[neighbors] * c for _, c in directions_law(release).concentrations]
            if d == 1:
                assert exponents == []
            elif constants == "paper":
                self.check_paper(release, paid, options["allocation"], d)
            elif isinstance(paid, PureDP):
                assert sum(exponents) == paid.epsilon
            else:
                assert isinstance(paid, ZCDP)
                assert 0.999999 < Fraction(sum(e**2 for e in exponents)) / 8 / paid.rho <= 1

    def check_paper(self, release: Release, paid: Budget, allocation: str, d: int) -> None:
        """ε/4 of shares that the last direction has its part of, though it is determined; none of them is more than that."""
        used = [4 * float(c) for _, c in directions_law(release).concentrations]
        assert len(used) == d - 1
        assert isinstance(paid, PureDP | ZCDP)
        whole = float(paid.epsilon) if isinstance(paid, PureDP) else math.sqrt(8 * float(paid.rho))
        power = 1 if isinstance(paid, PureDP) else 2
        shares = [(each / whole) ** power for each in used]
        assert sum(shares) < 1 - 1e-3
        if allocation == "uniform":
            assert np.allclose(shares, 1 / d, rtol=1e-5, atol=0)

    def test_raw_values(self, d: int, options: dict[str, Any], budget: Budget, neighbors: str) -> None:
        """Negative numbers stay with postprocess="none" and are cut otherwise; values end at n."""
        moment = truth(d, definite=False)
        eigenvalues, vectors = np.linalg.eigh(moment)
        raw = run("eigenvectors", budget, moment, neighbors, postprocess="none", **options)
        assert np.allclose(raw.second_moment, 4 * moment / N, rtol=0, atol=1e-4)
        clipped = run("eigenvectors", budget, moment, neighbors, postprocess="clip", **options)
        cut = (vectors * np.maximum(eigenvalues, 0)) @ vectors.T
        assert np.allclose(clipped.second_moment, 4 * cut / N, rtol=0, atol=1e-4)
        large = run("eigenvectors", budget, 10 * truth(d), neighbors, **options)
        assert np.linalg.eigvalsh(large.second_moment)[-1] == pytest.approx(4, rel=1e-9)


class TestAsPrinted:
    """``constants="paper"``: Algorithm 1 of the papers, whatever ``values`` says."""

    NOISY = (3.0, 9.0, -2.0, 1.0)  # no order: as Laplace noise leaves eigenvalues

    def run(self, budget: Budget, **options: Any) -> Release:
        curator = scripted([self.NOISY, truth(4)], n=N, d=4, budget=budget, row_norm=2.0)
        return released(MECHANISMS["covariance"]["eigenvectors"], curator, budget, constants="paper", **options)

    @pytest.mark.parametrize("values", ["basis", "spectrum"])
    def test_eigenvalues_are_used_as_they_were_answered(self, values: str) -> None:
        """In their order, each on the direction of its number: none is made to descend; then they are clipped, or not."""
        vectors = np.linalg.eigh(truth(4))[1][:, ::-1]
        for postprocess, told in (("clip", np.maximum(self.NOISY, 0)), ("none", np.array(self.NOISY))):
            release = self.run(PureDP(10), values=values, postprocess=postprocess)
            assert np.allclose(release.second_moment, 4 * (vectors * told) @ vectors.T / N, rtol=0, atol=1e-4)
        release = self.run(PureDP(10), values=values, rank=2, postprocess="none")
        assert np.allclose(
            release.second_moment, 4 * (vectors[:, :2] * self.NOISY[:2]) @ vectors[:, :2].T / N, rtol=0, atol=1e-4
        )

    def test_the_shares_are_those_of_corollary_1(self) -> None:
        """εᵢ ∝ √(λ̂ᵢ + τ) over all four, λ̂ clipped at 0 and τ = (2/ε₀)·log(2d/β); the exponent is εᵢ/4."""
        found = [float(c) for _, c in directions_law(self.run(PureDP(10))).concentrations]
        weights = np.sqrt(np.maximum(self.NOISY, 0) + 2 / 5 * np.log(8 / 0.05))
        assert np.allclose(found, 5 / 4 * (weights / weights.sum())[:3], rtol=1e-4, atol=0)


class TestAllocation:
    def concentrations(self, budget: Budget, moment: Floats, **options: Any) -> list[float]:
        release = run("eigenvectors", budget, moment, **options)
        return [float(c) for _, c in directions_law(release).concentrations]

    @pytest.mark.parametrize("budget", BUDGETS[:2], ids=["pure", "zcdp"])
    def test_uniform_is_even(self, budget: Budget) -> None:
        for values in ("basis", "spectrum"):
            found = self.concentrations(budget, truth(5), allocation="uniform", values=values)
            assert np.allclose(found, found[0], rtol=1e-9, atol=0)

    def test_adaptive_by_the_eigenvalues(self) -> None:
        """ε ∝ √(λ+τ) over the first d − 1, τ = (2/ε₀)·ln(2d/β) (add-remove: 1/ε₀); under zCDP ε ∝ (λ+τ)^⅓."""
        eigenvalues = np.linalg.eigvalsh(truth(5))[::-1][:4]
        for beta in (0.05, 0.5):
            found = self.concentrations(PureDP(10), truth(5), values="spectrum", beta=beta)
            weights = np.sqrt(eigenvalues + 2 / 5 * np.log(10 / beta))
            assert np.allclose(found, 5 / 2 * weights / weights.sum(), rtol=1e-4, atol=0)
            found = self.concentrations(ZCDP(10), truth(5), values="spectrum", beta=beta)
            weights = (eigenvalues + np.sqrt(2 / 5 * np.log(10 / beta))) ** (1 / 3)
            assert np.allclose(found, np.sqrt(8 * 5 / np.sum(weights**2)) * weights / 2, rtol=1e-4, atol=0)

    def test_adaptive_gives_large_directions_more(self) -> None:
        for values in ("basis", "spectrum"):
            found = self.concentrations(PureDP(10), truth(5), values=values)
            assert found[0] > found[-1]

    @pytest.mark.parametrize("beta", [5e-324, 1e-320, 1e-300, 1 - 2.0**-53])
    def test_any_beta(self, beta: float) -> None:
        """2d/β overflows from 1e-308 on; the slack does not."""
        for budget in BUDGETS:
            assert min(self.concentrations(budget, truth(5), beta=beta)) > 0

    @pytest.mark.parametrize("mechanism", ["eigenvectors", "kapralov-talwar"])
    @pytest.mark.parametrize("epsilon", ["1e-5", "1", "1e6", "1e12", "1e20", "1e300"])
    def test_rank_one_data_never_uses_up_the_shares(self, epsilon: str, mechanism: str) -> None:
        """A budget that ran out, or a draw that never ended, would show the data: every ε that is served ends in a release."""
        rows = np.tile(np.eye(12)[0], (100, 1))
        for neighbors in NEIGHBORS:
            release = dpcov.covariance(rows, PureDP(epsilon), row_norm=1, mechanism=mechanism, neighbors=neighbors, seed=1001)
            estimate = release.second_moment
            assert np.isfinite(estimate).all()
            spectrum = np.linalg.eigvalsh(estimate)
            assert -1e-9 <= spectrum[0] <= spectrum[-1] <= 1 + 1e-9


@pytest.mark.parametrize("neighbors", NEIGHBORS)
@pytest.mark.parametrize("budget", [BUDGETS[0], BUDGETS[2]], ids=["pure", "approx"])
@pytest.mark.parametrize("d", [1, 2, 5])
class TestKapralovTalwar:
    def test_noise_off_gives_the_truth(self, d: int, budget: Budget, neighbors: str) -> None:
        release = run("kapralov-talwar", budget, truth(d), neighbors)
        assert np.allclose(release.second_moment, 4 * truth(d) / N, rtol=0, atol=1e-4)
        assert (release.postprocess, release.options) == ("clip", {"rank": 0, "constants": "tight"})
        eigenvalues, vectors = np.linalg.eigh(truth(d))
        best = eigenvalues[-1] * np.outer(vectors[:, -1], vectors[:, -1])
        release = run("kapralov-talwar", budget, truth(d), neighbors, rank=1)
        assert np.allclose(release.second_moment, 4 * best / N, rtol=0, atol=1e-4)

    def test_the_budget_is_spent_exactly(self, d: int, budget: Budget, neighbors: str) -> None:
        for rank in range(d + 1):
            release = run("kapralov-talwar", budget, truth(d), neighbors, rank=rank)
            assert compose(*(spend.budget for spend in release.spent)) == PureDP("0.7")
            *count, directions, values = release.spent
            assert [spend.asked for spend in count] == (["count"] if neighbors == "add-remove" else [])
            assert directions.budget == values.budget
            assert isinstance(directions.budget, PureDP)
            exponents = [SPAN[neighbors] * c for _, c in directions_law(release).concentrations]
            assert exponents == ([] if d == 1 else [directions.budget.epsilon / (rank or d)] * (rank or d))
            paper = run("kapralov-talwar", budget, truth(d), neighbors, rank=rank, constants="paper")
            assert paper.spent == release.spent
            assert sum(c for _, c in directions_law(paper).concentrations) == (0 if d == 1 else directions.budget.epsilon / 4)

    def test_raw_values(self, d: int, budget: Budget, neighbors: str) -> None:
        """Values beyond n stay with postprocess="none" and end at n otherwise."""
        raw, clipped = (run("kapralov-talwar", budget, 10 * truth(d), neighbors, postprocess=p) for p in ("none", "clip"))
        assert np.allclose(raw.second_moment, 40 * truth(d) / N, rtol=0, atol=1e-3)
        assert np.linalg.eigvalsh(clipped.second_moment)[-1] == pytest.approx(4, rel=1e-9)


@pytest.mark.parametrize("name", ["eigenvectors", "kapralov-talwar"])
class TestBoth:
    @pytest.mark.parametrize("neighbors", NEIGHBORS)
    @pytest.mark.parametrize("postprocess", ["clip", "none"])
    @pytest.mark.parametrize("rank", [0, 1, 2])
    def test_centred(self, name: str, neighbors: str, postprocess: str, rank: int) -> None:
        """The lifted moment has n/4 in its corner; clipped releases have a positive semidefinite covariance."""
        for seed in range(4):
            rows = np.random.default_rng(1010 + seed).uniform(-1, 1, size=(60, 3))
            release = dpcov.covariance(
                rows,
                PureDP(2),
                row_norm=2,
                mechanism=name,
                center=True,
                neighbors=neighbors,
                postprocess=postprocess,
                rank=rank,
                seed=1020 + seed,
            )
            assert directions_of(release.take(Directions)).shape == (rank or 4, 4)
            assert np.isfinite(release.covariance).all()
            assert np.array_equal(release.covariance, release.covariance.T)
            assert ("count" in [spend.asked for spend in release.spent]) == (neighbors == "add-remove")
            if postprocess == "clip":
                assert np.linalg.eigvalsh(release.covariance)[0] >= -1e-9
                assert np.linalg.norm(release.mean) <= 2 + 1e-9

    def test_centred_noise_off(self, name: str) -> None:
        x = np.random.default_rng(1030).uniform(-0.5, 0.5, size=(N, 2)) + np.array([0.2, -0.1])
        lifted = np.hstack([np.full((N, 1), 0.5), np.sqrt(0.75) * x])
        for neighbors in NEIGHBORS:
            release = run(name, PureDP(1), lifted.T @ lifted, neighbors, center=True)
            assert np.allclose(release.mean, 2 * x.mean(axis=0), rtol=0, atol=1e-4)
            assert np.allclose(release.covariance, 4 * np.cov(x.T, ddof=0), rtol=0, atol=1e-4)

    def test_a_large_budget_gives_the_truth(self, name: str) -> None:
        rows = np.random.default_rng(1031).uniform(-0.4, 0.4, size=(80, 4)) * [1.0, 0.7, 0.4, 0.2]
        cases: list[dict[str, Any]] = [{}, {"timing": "fixed"}, {"values": "spectrum"}]
        for options in cases if name == "eigenvectors" else cases[:1]:
            release = dpcov.covariance(rows, PureDP("1e6"), row_norm=1, mechanism=name, seed=1032, **options)
            assert np.allclose(release.second_moment, rows.T @ rows / 80, rtol=0, atol=1e-3)


def test_beta_is_stored_as_a_float() -> None:
    """Numbers of other types were accepted, spent on, and could not be saved."""
    for beta in (Fraction(1, 4), np.float32(0.25), np.float64(0.25), 0.25):
        release = run("eigenvectors", PureDP(1), truth(2), beta=beta)
        assert type(release.options["beta"]) is float
        assert release.options["beta"] == 0.25


BOTH = ["eigenvectors", "kapralov-talwar"]
ROWS = np.random.default_rng(1201).uniform(-0.5, 0.5, size=(30, 3))


@pytest.mark.parametrize("neighbors", NEIGHBORS)
class TestBeforeReading:
    def test_an_option_of_the_other(self, neighbors: str) -> None:
        for name, option in (("kapralov-talwar", "beta"), ("kapralov-talwar", "values"), ("eigenvectors", "numerics")):
            with pytest.raises(ParameterError, match="options of"):
                example(name, PureDP(1), neighbors=neighbors, **{option: 1})


def example(name: str = "eigenvectors", budget: Budget = PureDP(1), **changes: Any) -> dpcov.Release:  # noqa: B008
    return dpcov.covariance(ROWS, budget, row_norm=1, mechanism=name, **({"seed": 1202} | changes))


def drawn(release: dpcov.Release) -> Any:
    return directions_of(release.take(Directions))


class TestHints:
    @pytest.mark.parametrize("name", BOTH)
    def test_directions_have_no_expected_error(self, name: str) -> None:
        with pytest.raises(ReleaseError, match=r"must hold noise of a known size, got none\. Hint: .*dpcov\.bounds"):
            _ = example(name).expected_error

    @pytest.mark.parametrize("mechanism", ["auto", "gaussian"])
    def test_additive_releases_have_no_directions(self, mechanism: str) -> None:
        with pytest.raises(ReleaseError, match=r"must hold an answer about directions, got none\. Hint: .+\."):
            _ = drawn(dpcov.covariance(ROWS, ZCDP(1), row_norm=1, seed=1204, mechanism=mechanism))

    def test_a_law_of_directions_adds_nothing(self) -> None:
        law, values = example().answers[0].laws
        assert not law.is_at_least(values)
        assert law.is_at_least(law)
        assert law.settle(np.arange(3)).tolist() == [0, 1, 2]
        with pytest.raises(ParameterError, match="concentrations must be positive"):
            Bingham((("1", Fraction(0)),))
        for call in (law.spread, lambda: law.draw([3], SeededBits(0))):
            with pytest.raises(NotImplementedError):
                call()
