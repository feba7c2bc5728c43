"""The automatic penalty: the noise level that it compares with is the noise's, and the rule does what its page says."""

from __future__ import annotations

import gc
import math
import weakref
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import dpcov
from dpcov.kernel.questions.moments import SecondMoment
from dpcov.release.record import Release
from dpcov.uses.noise_level import Eigenbasis, noise_level
from dpcov.uses.penalty import CAUTION, NOTHING, automatic_penalty
from dpcov.uses.regression import regression

Floats = NDArray[np.float64]


def rows(n: int, d: int, seed: int, signal: float = 1.0) -> Floats:
    """Return rows in the unit ball: a common factor, and noise of falling size in each column."""
    draw = np.random.default_rng((1, seed))
    common = draw.standard_normal((n, 1)) * signal
    found = (common + draw.standard_normal((n, d))) * 0.8 ** np.arange(d) + 0.5
    return np.asarray(found / np.linalg.norm(found, axis=1).max())


DATA = rows(2000, 6, 1)


def released(**options: Any) -> Release:
    settings = {"row_norm": 1, "seed": 0} | options
    budget = settings.pop("budget", dpcov.ZCDP("0.05"))
    return dpcov.covariance(settings.pop("data", DATA), budget, **settings)


class TestNoiseLevel:
    """E‖[Eu]_x‖², against the noise of many releases.

    The square over k features is about a χ² with k degrees of freedom: the mean of 300 has a relative deviation of √(2/(300k)),
    6 % for two of them. A gap of 35 % is more than five deviations: correct code fails less often than 1e-6 (a χ² tail of
    3e-7), and a level without the factor r/b or the noise of the mean, or with its variances twice, is caught.
    """

    CHOSEN, OWN = (0, 1, 2, 3, 4, 5), 2
    U = np.array([[-0.4, 0.3, 1.0, -0.2, 0.5, 0.1]])

    def truth(self, center: bool) -> Floats:
        about = DATA - DATA.mean(axis=0) if center else DATA
        return np.asarray(about.T @ about / len(DATA))

    @pytest.mark.parametrize(
        ("center", "mechanism", "features"),
        [
            (False, "gaussian", (0, 1, 2, 3, 4, 5)),
            (True, "gaussian", (1, 2, 4)),
            (False, "wishart", (1, 2, 4)),
            (True, "wishart", (0, 1, 2, 3, 4, 5)),
        ],
    )
    def test_of_a_raw_matrix(self, center: bool, mechanism: str, features: tuple[int, ...]) -> None:
        budget = dpcov.ZCDP("0.05") if mechanism == "gaussian" else dpcov.PureDP(2)
        own, u = features.index(2), self.U[:, list(features)]
        whole = np.zeros(6)
        whole[list(features)] = u[0]
        others = [j for j in features if j != 2]
        squares, told = [], []
        for seed in range(300):
            release = released(center=center, mechanism=mechanism, budget=budget, postprocess="none", seed=seed)
            noise = release.covariance - self.truth(center)
            squares.append(float(np.sum((noise @ whole)[others] ** 2)))
            told.append(float(noise_level(release).squares(u, features, own)[0]))
        assert np.mean(told) == pytest.approx(np.mean(squares), rel=0.35)

    def test_the_noise_of_the_mean_counts(self) -> None:
        """Rows far from 0: E − meᵀ − emᵀ is mostly the mean's noise.

        600 squares over three features: a relative deviation of 3.3 %, so that a gap of a fifth is six of them (1e-8); a level
        in other units than the rows', or without the mean's noise, is several times too small.
        """
        data = 3 * (np.array([0.5, 0.4, 0.5, 0.3]) + np.random.default_rng((1, 9)).uniform(-0.1, 0.1, size=(300, 4)))
        exact, u = np.cov(data.T, bias=True), np.array([[-1.0, 1.0, -0.8, -0.9]])
        squares, told = [], []
        for seed in range(600):
            release = released(
                data=data, row_norm=3, center=True, mechanism="gaussian", budget=dpcov.ZCDP(20), postprocess="none", seed=seed
            )
            squares.append(float(np.sum(np.delete((release.covariance - exact) @ u[0], 1) ** 2)))
            told.append(float(noise_level(release).squares(u, (0, 1, 2, 3), 1)[0]))
        assert np.mean(told) == pytest.approx(np.mean(squares), rel=0.2)

    def test_denoising_lowers_it(self) -> None:
        """What was shrunk to one value has no noise left."""
        weak = released(budget=dpcov.PureDP("0.1"), mechanism="wishart")
        raw = weak.finished("none")
        levels = [float(noise_level(r).squares(self.U, self.CHOSEN, self.OWN)[0]) for r in (weak, raw)]
        assert 0 <= levels[0] < 0.1 * levels[1]

    def test_of_rounds(self) -> None:
        """In the coordinates of `coinpress` the noise is that of its last answer, stretched back."""
        squares, told = [], []
        whole, truth = self.U[0], self.truth(center=False)
        for seed in range(60):
            release = dpcov.covariance(
                DATA, dpcov.ZCDP("0.5"), mechanism="coinpress", lower=1e-4, upper=0.2, rounds=2, postprocess="none", seed=seed
            )
            squares.append(float(np.sum(np.delete((release.covariance - truth) @ whole, 2) ** 2)))
            told.append(float(noise_level(release).squares(self.U, self.CHOSEN, self.OWN)[0]))
        assert 0.3 < np.mean(told) / np.mean(squares) < 1.5  # the squares also hold what clipping took


@pytest.mark.parametrize("center", [False, True])
@pytest.mark.parametrize("mechanism", ["auto", "wishart", "laplace", "eigenvectors", "separate"])
def test_the_residual_is_what_noise_explains(center: bool, mechanism: str) -> None:
    """At the penalty both sides of the rule are equal, up to interpolation between octaves."""
    if center and mechanism == "eigenvectors":
        pytest.skip("directions have no centred form")
    budget = dpcov.ZCDP("0.5") if mechanism == "separate" else dpcov.PureDP(5)
    release = released(mechanism=mechanism, center=center, budget=budget)
    places = (0, 1, 3, 4, 5)
    alpha = automatic_penalty(regression(release, 2, places))
    largest = float(np.linalg.eigvalsh(release.encoded_covariance)[-1])
    if alpha >= NOTHING * largest * 0.9:
        pytest.skip("nothing to be seen at this budget")
    w = release.ridge("x2", alpha=alpha).encoded_coefficients
    u = np.insert(-w, 2, 1.0)[None, :]
    residual, aim = alpha * w, release.encoded_covariance[list(places), 2]
    left = float(np.linalg.norm(residual)) * math.sqrt(max(float(residual @ aim), 0.0))
    right = CAUTION**2 * float(noise_level(release).squares(u, (0, 1, 2, 3, 4, 5), 2)[0])
    assert left == pytest.approx(right, rel=0.25)


def test_it_grows_with_the_noise() -> None:
    releases = [released(mechanism="gaussian", budget=dpcov.ZCDP(rho)) for rho in ("100", "1", "0.01")]
    found = [automatic_penalty(regression(release, 1, [0, 2, 3, 4, 5])) for release in releases]
    assert found[0] < found[1] < found[2]
    assert released(mechanism="gaussian", budget=dpcov.ZCDP(10**9)).ridge("x1").alpha < 1e-6


@pytest.mark.parametrize("center", [False, True])
@pytest.mark.parametrize("factor", [2.0**-300, 1e3, 2.0**300])
def test_units_do_not_matter(center: bool, factor: float) -> None:
    plain = released(mechanism="gaussian", center=center).ridge("x1")
    scaled = released(data=DATA * factor, row_norm=factor, mechanism="gaussian", center=center).ridge("x1")
    assert scaled.alpha / factor / factor == pytest.approx(plain.alpha, rel=1e-3)
    assert np.allclose(scaled.coefficients, plain.coefficients, rtol=1e-3, atol=1e-9)


def test_noise_alone_is_left_at_the_mean() -> None:
    """Independent columns: over 20 seeds no prediction is worse than the mean by more than a twentieth of the variance."""
    draw = np.random.default_rng((1, 5))
    data = draw.uniform(-0.4, 0.4, size=(3000, 5))
    worst = 0.0
    for seed in range(20):
        model = released(data=data, center=True, budget=dpcov.PureDP(1), seed=seed).ridge("x0")
        error = np.mean((data[:, 0] - model.predict(data[:, 1:])) ** 2) / data[:, 0].var()
        worst = max(worst, float(error))
    assert worst <= 1.05


@pytest.mark.parametrize("center", [False, True])
def test_it_is_near_the_best_penalty_where_there_is_signal(center: bool) -> None:
    """Mean over seeds and targets, against the best of 25 penalties that see the truth."""
    data = rows(20_000, 6, 8, signal=2.0)
    ours, best = [], []
    for seed in range(5):
        release = released(data=data, center=center, budget=dpcov.PureDP(1), seed=seed)
        for j in range(3):
            others, y = np.delete(data, j, axis=1), data[:, j]
            errors = [
                float(np.mean((y - release.ridge(j, alpha=alpha).predict(others)) ** 2) / y.var())
                for alpha in np.geomspace(1e-6, 1, 25)
            ]
            best.append(min(errors))
            ours.append(float(np.mean((y - release.ridge(j).predict(others)) ** 2) / y.var()))
    assert np.mean(ours) <= np.mean(best) + 0.05
    assert max(ours) < 1


@pytest.mark.parametrize("center", [False, True])
def test_the_explained_share_is_not_what_noise_seems_to_explain(center: bool) -> None:
    """About the mean a model explains .14 too much by the released matrix alone; the estimate is off by a third of that."""
    data = rows(3000, 12, 3, signal=0.7)
    gaps, seeming = [], []
    for seed in range(12):
        release = released(data=data, center=center, budget=dpcov.PureDP(2), seed=seed)
        model = release.ridge("x0", alpha=0.003)
        w, c = model.encoded_coefficients, release.encoded_covariance
        gained = (2 * w @ c[1:, 0] - w @ c[1:, 1:] @ w) / c[0, 0]
        y = data[:, 0]
        whole = y.var() if center else float(np.mean(y**2))
        truth = 1 - float(np.mean((y - model.predict(data[:, 1:])) ** 2)) / whole
        gaps.append(model.explained - truth)
        seeming.append(gained - truth)
    assert abs(np.mean(gaps)) < 0.07
    if center:
        assert np.mean(seeming) > 0.1


def test_a_matrix_without_anything_has_a_finite_penalty() -> None:
    nothing = dpcov.covariance(np.eye(3), dpcov.PureDP("0.01"), row_norm=2, seed=0)
    assert not nothing.covariance.any()
    model = nothing.ridge("x0")
    assert model.alpha == 4.0
    assert not model.coefficients.any()
    weak = released(data=DATA[:20], budget=dpcov.PureDP("0.01"), mechanism="wishart").ridge("x0")
    assert math.isfinite(weak.alpha)
    assert np.abs(weak.coefficients).max() < 1e-9


def counted_decompositions(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Return a list to which every eigendecomposition adds its size."""
    calls: list[int] = []
    decompose = np.linalg.eigh

    def counted(matrix: Floats) -> Any:
        calls.append(len(matrix))
        return decompose(matrix)

    monkeypatch.setattr(np.linalg, "eigh", counted)
    return calls


def test_targets_share_their_decompositions(monkeypatch: pytest.MonkeyPatch) -> None:
    release = released(mechanism="gaussian", center=True)
    calls = counted_decompositions(monkeypatch)
    for j in range(6):
        release.ridge(j)
    assert sum(size >= 6 for size in calls) <= 3  # to denoise, for the noise's slopes, and of the covariance


def test_an_answer_is_denoised_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """By the mechanism that asks for the scale, the estimate, the noise level and the intervals together; once more in its own
    eigenbasis for the noise level.
    """
    calls = counted_decompositions(monkeypatch)
    release = released(mechanism="rescaled", budget=dpcov.ZCDP("0.5"))
    for _ in range(3):
        release.ridge(0)
        release.interval()
    assert release.covariance.any()
    assert sum(size >= 6 for size in calls) <= 2


@pytest.mark.parametrize("mechanism", ["gaussian", "rescaled", "eigenvectors", "coinpress"])
def test_what_was_computed_goes_with_its_release(mechanism: str) -> None:
    """Nothing that is kept to be fast keeps a release, or one of its answers, alive."""
    gc.freeze()  # what other tests left behind need not be looked at
    bound: dict[str, Any] = {"upper": 1.0, "lower": 1e-4, "row_norm": None} if mechanism == "coinpress" else {}
    release = released(mechanism=mechanism, budget=dpcov.ZCDP("0.5"), **bound)
    release.ridge(0, features=[1, 2])
    assert math.isfinite(release.ridge(0).explained)
    release.pca()
    if mechanism in ("gaussian", "rescaled"):
        release.interval()
    kept: list[weakref.ref[Any]] = [weakref.ref(release), *(weakref.ref(answer) for answer in release.answers)]
    del release
    gc.collect()
    assert [reference() for reference in kept] == [None] * len(kept)


def in_radii(release: Release) -> Floats:
    """The estimate in units of the radius at which rows were clipped, as its noise is."""
    return release.encoded_covariance / release.clip_radius**2


@pytest.mark.parametrize("budget", [dpcov.PureDP(2), dpcov.ZCDP("0.05")])
def test_the_noise_is_stretched_as_the_estimate_was(budget: Any) -> None:
    """By the scale of `rescaled`: a quotient of eigenvalues, denoised by noisy, was up to 9 % less on these 20 columns."""
    data = np.random.default_rng((1, 41)).standard_t(4, size=(2000, 20)) * np.linspace(1, 0.2, 20)
    for seed in range(3):
        release = released(data=data, row_norm=50, budget=budget, mechanism="rescaled", seed=seed)
        raw, moment = release.finished("none"), release.take(SecondMoment)
        noisy, noise = moment.matrix / release.n, moment.spread.scaled(1 / release.n)
        scale = float(in_radii(raw)[0, 0] / noisy[0, 0])
        assert scale > 1.05
        before, after = scale * np.linalg.eigvalsh(noisy), np.linalg.eigvalsh(in_radii(release))
        beside = np.triu_indices(20, 1)
        slopes = np.clip(np.subtract.outer(after, after)[beside] / np.subtract.outer(before, before)[beside], 0, 1)
        for made, left in ((raw, 1.0), (release, slopes)):
            level = noise_level(made)
            assert isinstance(level, Eigenbasis)
            assert np.allclose(
                level.variances[beside], noise.off_diagonal_variance * (scale * left) ** 2, rtol=1e-6, atol=1e-20
            )


class TestLemma:
    """`RidgeModel.bound`: over 100 releases it holds at least as often as it says, and is not without use."""

    @pytest.mark.parametrize("center", [False, True])
    @pytest.mark.parametrize("mechanism", ["gaussian", "wishart", "laplace"])
    @pytest.mark.parametrize("alpha", [0.003, "auto"])
    def test_it_holds(self, center: bool, mechanism: str, alpha: float | str) -> None:
        """95 % is promised: fewer than 76 of 100 then happens less often than 1e-10."""
        budget = dpcov.ZCDP("0.5") if mechanism == "gaussian" else dpcov.PureDP(4)
        about = DATA - DATA.mean(axis=0) if center else DATA
        exact = about.T @ about / len(DATA)
        held, ratios = 0, []
        for seed in range(100):
            model = released(mechanism=mechanism, center=center, budget=budget, seed=seed).ridge("x1", alpha=alpha)
            others = [0, 2, 3, 4, 5]
            w = np.linalg.solve(exact[np.ix_(others, others)] + model.alpha * np.eye(5), exact[others, 1])
            error = float(np.linalg.norm(w - model.encoded_coefficients))
            bound = model.bound()
            held += error <= bound
            ratios.append(bound / error)
        assert held >= 76
        assert np.median(ratios) < 60

    def test_it_is_the_lemmas_for_raw_coefficients(self) -> None:
        """Without denoising the first term is 0: (‖E‖·√(1 + ‖ŵ‖²))/(λ_min(N_xx) − ‖E‖ + α)."""
        from dpcov.uses.raw import raw_moment

        release = released(mechanism="gaussian", budget=dpcov.ZCDP(100), postprocess="none")
        model = release.ridge("x0", alpha=0.01)
        error = raw_moment(release).norms(0.9)[0]
        least = float(np.linalg.eigvalsh(release.covariance[1:, 1:])[0]) - error
        assert least > 0
        expected = error * math.hypot(1, float(np.linalg.norm(model.coefficients))) / (least + 0.01)
        assert model.bound(0.9) == pytest.approx(expected, rel=1e-6)

    def test_a_higher_level_is_a_wider_bound(self) -> None:
        model = released(mechanism="gaussian").ridge("x0", alpha=0.1)
        assert model.bound(0.5) < model.bound(0.95) < model.bound(0.999) < math.inf

    def test_without_a_penalty_noise_can_say_nothing(self) -> None:
        assert released(mechanism="gaussian", budget=dpcov.ZCDP("0.0001")).ridge("x0", alpha=0).bound() == math.inf

    @pytest.mark.parametrize("budget", [dpcov.PureDP(1), dpcov.ZCDP("0.1"), dpcov.ApproxDP(1, 1e-6)])
    def test_of_released_coefficients(self, budget: Any) -> None:
        """The norm of the noise itself; 76 of 100 as above."""
        others = [0, 2, 3, 4, 5]
        moment = DATA.T @ DATA / len(DATA)
        w = np.linalg.solve(moment[np.ix_(others, others)] + 0.01 * np.eye(5), moment[others, 1])
        held, inside = 0, 0
        for seed in range(100):
            model = dpcov.ridge(DATA, budget, "x1", alpha=0.01, row_norm=1, seed=seed).ridge()
            held += int(np.linalg.norm(model.coefficients - w) <= model.bound())
            inside += int(model.interval(0.8, about="rows").coefficients.contains(w).sum())
        assert held >= 76
        assert 354 <= inside <= 441  # of 500 at 80 %: a binomial count leaves this range less often than 1e-6
        assert model.bound(0.5) < model.bound(0.99)

    @pytest.mark.parametrize("level", [0, 1, -0.5, 2, math.nan, True, "0.95", None])
    def test_levels(self, level: Any) -> None:
        with pytest.raises(dpcov.ParameterError, match="level must be"):
            released(mechanism="gaussian").ridge("x0", alpha=1).bound(level)
