"""The bounds of `dpcov.bounds` hold with their probability, and are near enough to the truth to be of use.

Each simulation counts how often a bound fails and asks whether that can be more than beta (binomial test of size 1e-6).
Slack is the bound over the quantile 1 − beta of what was observed; the tests assert what was seen, rounded up.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import pairwise

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import integrate, stats

import dpcov
from dpcov import bounds
from dpcov.errors import ParameterError
from dpcov.kernel.bits import SeededBits
from dpcov.kernel.budget import PureDP
from dpcov.kernel.calibrate import bingham_concentration
from dpcov.kernel.noise.drawn import Bingham
from dpcov.kernel.noise.laws import NoiseLaw
from dpcov.kernel.noise.sphere import bingham
from dpcov.kernel.questions.directions import Directions
from dpcov.mechanisms.covariance.eigenvectors import VALUES_SHARE

Floats = NDArray[np.float64]

SIZE = 1e-6
BETA = 0.1
SPECTRA = {
    "spike": [1000.0] + [0.0] * 11,
    "pair": [1000.0, 999.0] + [10.0] * 10,
    "decaying": [1000.0 / (i + 1) ** 2 for i in range(12)],
    "plane": [50.0, 0.0],
}


def check(observed: Floats, bound: Floats | float, beta: float, slack: float) -> None:
    fails = int(np.sum(observed > bound))
    assert stats.binomtest(fails, len(observed), beta, alternative="greater").pvalue >= SIZE
    assert np.mean(bound) <= slack * np.quantile(observed, 1 - beta)


@pytest.mark.parametrize("name", SPECTRA)
def test_a_drawn_direction_captures_what_is_promised(name: str) -> None:
    spectrum = np.array(SPECTRA[name])
    bits = SeededBits(7)
    draws = np.array([bingham(np.diag(spectrum), 0.5, spectrum, bits) for _ in range(400)])
    bound = bounds.direction_loss(len(spectrum), 0.5, BETA)
    assert bound < spectrum[0] / 4  # far from the trivial one
    check(spectrum[0] - draws**2 @ spectrum, bound, BETA, slack=3.6 if len(spectrum) == 2 else 2.2)


@pytest.mark.parametrize("m", [2, 3, 10, 100, 784])
@pytest.mark.parametrize("kappa", [0.1, 1.0, 30.0, 300.0, 1e5])
@pytest.mark.parametrize("beta", [0.5, 0.05, 1e-6])
def test_the_bound_for_directions_by_quadrature(m: int, kappa: float, beta: float) -> None:
    """For one spike the loss is κ·w/c, w with density ∝ w^{(m−3)/2}(1−w)^{−1/2}exp(−κw); put w = sin²φ."""
    bound = bounds.direction_loss(m, 1.0, beta) / kappa  # in units of w
    if bound >= 1:
        return

    def log_density(phi: Floats | float) -> Floats:
        return np.asarray((m - 2) * np.log(np.sin(phi)) - kappa * np.sin(phi) ** 2)

    peak = math.asin(math.sqrt(min((m - 2) / (2 * kappa), 1.0))) or 1e-9
    top = float(log_density(peak))
    cut = math.asin(math.sqrt(bound))
    width = 1 / math.sqrt(2 * kappa)
    parts = sorted({0.0, peak, cut, *(min(max(peak + k * width, 0.0), math.pi / 2) for k in (-8, -2, 2, 8, 30)), math.pi / 2})
    masses = [integrate.quad(lambda phi: float(np.exp(log_density(phi) - top)), a, b)[0] for a, b in pairwise(parts)]
    tail = sum(mass for mass, start in zip(masses, parts[:-1], strict=True) if start >= cut)
    assert tail <= beta * sum(masses)


def test_it_needs_no_luck_to_draw_the_only_direction() -> None:
    assert bounds.direction_loss(1, 3.0, 0.1) == 0


@pytest.mark.parametrize("d", [1, 6, 100])
def test_noise_of_values(d: int) -> None:
    noise = np.random.default_rng(d).laplace(scale=3.0, size=(4000, d))
    check(np.linalg.norm(noise, axis=1), bounds.value_noise(d, 3.0, BETA), BETA, slack=2.0)


@pytest.mark.parametrize("values", ["basis", "spectrum"])
def test_the_matrix_from_losses_and_noise(values: str) -> None:
    """Lemma 6 is about any orthonormal basis: no probability in it."""
    rng = np.random.default_rng(3)
    for spread in (0.01, 0.3, 3.0):
        true = np.sort(rng.exponential(size=7))[::-1]
        basis = np.linalg.qr(np.eye(7) + spread * rng.standard_normal((7, 7)))[0]
        captured = np.diag(basis.T @ np.diag(true) @ basis)
        noise = spread * rng.standard_normal(7)
        answered = (captured if values == "basis" else true) + noise
        error = float(np.linalg.norm(np.diag(true) - (basis * answered) @ basis.T))
        bound = bounds.reconstruction_error(true, true - captured, float(np.linalg.norm(noise)), values=values)
        assert error <= bound * (1 + 1e-12)
    assert bounds.reconstruction_error([3.0, 1.0], [0.0, 0.0], 0.25, values=values) == 0.25
    assert bounds.reconstruction_error([3.0, 1.0], [9.0, 9.0], 0.0) == pytest.approx(math.hypot(3, 1))  # no worse than zero


def clouds(n: int) -> Floats:
    rows = np.random.default_rng(0).standard_normal((n, 5)) * [1, 0.7, 0.4, 0.2, 0.1]
    return np.asarray(rows / np.linalg.norm(rows, axis=1).max())


def concentrations(law: NoiseLaw) -> list[float]:
    assert isinstance(law, Bingham)
    return [float(c) for _, c in law.concentrations]


def errors(rows: Floats, epsilon: int, runs: int, neighbors: str, **options: str | int) -> tuple[Floats, list[list[float]]]:
    """Return the errors of the sum, and the concentrations that were used."""
    truth, found, used = rows.T @ rows, [], []
    for seed in range(runs):
        release = dpcov.covariance(
            rows,
            dpcov.PureDP(epsilon),
            row_norm=1,
            mechanism="eigenvectors",
            neighbors=neighbors,
            postprocess=None if neighbors == "replace" else "none",
            seed=seed,
            **options,  # type: ignore[arg-type]
        )
        found.append(float(np.linalg.norm(release.second_moment * release.n - truth)))
        used += [concentrations(answer.law) for answer in release.every(Directions)]
    return np.array(found), used


@pytest.mark.parametrize("neighbors", ["replace", "add-remove"])
@pytest.mark.parametrize("values", ["basis", "spectrum"])
@pytest.mark.parametrize("allocation", ["adaptive", "uniform"])
def test_the_released_matrix_is_as_near_as_promised(neighbors: str, values: str, allocation: str) -> None:
    """Theorem 2 with the ε that were used, and the corollaries that do not know them."""
    rows, epsilon = clouds(4000), 20
    true = np.linalg.eigvalsh(rows.T @ rows)[::-1]
    left = epsilon if neighbors == "replace" else epsilon * (1 - 4 / (5 * 5 + 8))  # without the count
    found, used = errors(rows, epsilon, 60, neighbors, values=values, allocation=allocation)
    span = bounds.NEIGHBORS[neighbors]
    bound = [
        bounds.eigenvectors_error(
            true,
            left * bounds.VALUES_SHARE[values],
            [span * c for c in each],
            beta=BETA,
            neighbors=neighbors,
            values=values,
        )
        for each in used
    ]
    assert max(bound) < 0.9 * np.linalg.norm(true)  # better than the zero matrix
    check(found, np.array(bound), BETA, slack=2.6)
    if allocation == "uniform":
        corollary = bounds.uniform_error(true, left, beta=BETA, neighbors=neighbors, values=values)
        assert corollary == pytest.approx(np.mean(bound), rel=1e-5)
    elif values == "spectrum":
        found, _ = errors(rows, epsilon, 60, neighbors, values=values)
        check(found, bounds.adaptive_error(true, left, neighbors=neighbors), 0.05, slack=2.6)


def test_the_papers_constants_cost_accuracy() -> None:
    rows = clouds(4000)
    true = np.linalg.eigvalsh(rows.T @ rows)[::-1]
    found, _ = errors(rows, 20, 60, "replace", values="spectrum", constants="paper")
    bound = bounds.adaptive_error(true, 20, constants="paper")
    check(found, bound, 0.05, slack=2.6)
    assert bound > 1.2 * bounds.adaptive_error(true, 20)


@pytest.mark.parametrize("values", ["basis", "spectrum"])
@pytest.mark.parametrize("others", [[1.0, 1.0, 1.0], [0.8, 0.6, 0.4]], ids=["equal", "spread"])
def test_enough_variance_is_enough(values: str, others: list[float]) -> None:
    """Corollary 2: rows along the axes, as many along the first as it asks for; equal eigenvalues leave nothing to lose."""
    gamma = 0.5
    needed = math.ceil(bounds.enough_variance(4, 10, gamma, beta=BETA, values=values))
    rows = np.repeat(np.eye(4), [needed] + [math.ceil(other * needed) for other in others], axis=0)
    found, _ = errors(rows, 10, 60, "replace", values=values, allocation="uniform")
    check(found, gamma * needed, BETA, slack=math.inf if min(others) == 1 else 4.3)
    assert bounds.enough_variance(4, 10, gamma / 2, values=values) > 3 * bounds.enough_variance(4, 10, gamma, values=values)


def test_budgets_are_split_as_the_mechanism_splits_them() -> None:
    assert {name: float(share) for name, share in VALUES_SHARE.items()} == bounds.VALUES_SHARE
    for neighbors in bounds.NEIGHBORS:
        assert bounds.exponent(0.5, neighbors=neighbors) == float(bingham_concentration(PureDP("0.5"), neighbors))
    assert bounds.exponent(1.0, constants="paper") == 0.25


def test_the_papers_own_algorithm_pays_for_every_direction() -> None:
    """Half for the eigenvalues, whatever `values` is, and d draws: the uses of the bounds follow the mechanism's "paper"."""
    true = [40.0, 20.0, 10.0, 5.0]
    for values in ("basis", "spectrum"):
        found = bounds.uniform_error(true, 8.0, constants="paper", values=values)
        each = bounds.eigenvectors_error(true, 4.0, [1.0] * 3, beta=0.05, constants="paper", values="spectrum")
        assert found == pytest.approx(each, rel=1e-12)
    found = bounds.adaptive_error(true, 8.0, constants="paper")
    slack = 2 / 4 * math.log(2 * 4 / 0.05)
    shares = np.sqrt(np.maximum(true, slack)) / np.sqrt(np.array(true) + 2 * slack).sum()
    by_hand = bounds.eigenvectors_error(
        true, 4.0, [4 * s for s in shares[:3]], beta=0.025, constants="paper", values="spectrum"
    )
    assert found == pytest.approx(by_hand, rel=1e-12)
    assert bounds.enough_variance(4, 8.0, 0.5, constants="paper") > bounds.enough_variance(4, 8.0, 0.5, values="spectrum")


def test_the_exponential_mechanism_fails_no_more_often_than_lemma_4_says() -> None:
    """Exactly, on finite sets of answers: the worst is one good answer among many that just miss it."""
    draw = np.random.default_rng(4400)
    for size in (3, 40, 1000):
        for _ in range(30):
            scores = draw.exponential(size=size) * draw.choice([0.1, 1.0, 30.0])
            epsilon, alpha, moved = draw.choice([0.1, 1.0, 8.0]), float(draw.exponential()), float(draw.choice([0.5, 1.0, 2.0]))
            weights = np.exp(epsilon * (scores - scores.max()) / (2 * moved))
            fails = weights[scores < scores.max() - 2 * alpha].sum() / weights.sum()
            good = float(np.mean(scores >= scores.max() - alpha))
            assert fails <= bounds.exponential_failure(alpha, epsilon, good, sensitivity=moved) * (1 + 1e-12)
    worst = np.array([1.0] + [-1.0 - 1e-9] * 999)  # alpha = 1: nearly attained
    weights = np.exp(4 * worst / 2)
    assert weights[1:].sum() / weights.sum() > 0.1 * bounds.exponential_failure(1.0, 4.0, 1e-3)
    assert bounds.exponential_failure(3.0, 2.0, 0.5) == pytest.approx(math.exp(-3) / 0.5)
    assert bounds.exponential_failure(0.0, 2.0, 0.5) == 1


def test_lemma_4_gives_lemma_5() -> None:
    """With the volume of a cap: directions that lose more than 2α of λ₁ are as rare as both say, and ours needs less."""
    m, c, beta = 6, 3.0, 0.05
    loss = bounds.direction_loss(m, c, beta)  # for any λ₁
    for largest in (50.0, 1e3):
        cap = float(stats.beta.sf(1 - loss / 2 / largest, 0.5, (m - 1) / 2))  # of directions with (uᵀv)² at least that
        assert bounds.exponential_failure(loss / 2, 2 * c, cap) > beta


@pytest.mark.parametrize("values", ["basis", "spectrum"])
@pytest.mark.parametrize("rank", [1, 2, 3, 5])
def test_a_matrix_of_lower_rank_is_as_near_as_promised(values: str, rank: int) -> None:
    """Theorem 2 at rank k: from C itself; and no nearer than the best matrix of that rank can be."""
    rows = clouds(4000)
    true = np.linalg.eigvalsh(rows.T @ rows)[::-1]
    found, used = errors(rows, 20, 60, "replace", values=values, rank=rank)
    share = bounds.VALUES_SHARE[values]
    bound = [
        bounds.eigenvectors_error(true, 20 * share, [2 * c for c in each], beta=BETA, rank=rank, values=values) for each in used
    ]
    missed = float(np.linalg.norm(true[rank:]))
    assert missed <= found.min() * (1 + 1e-6)
    check(found, np.array(bound), BETA, slack=2.8)
    assert bound[0] > missed


def test_rank_by_hand() -> None:
    true, epsilons = [9.0, 4.0, 2.0], [1e9, 1e9]
    assert bounds.eigenvectors_error(true, 1e9, epsilons, beta=0.1, rank=2) == pytest.approx(2.0, rel=1e-3)
    assert bounds.eigenvectors_error(true, 1e9, [1e9], beta=0.1, rank=1, values="spectrum") == pytest.approx(20**0.5, rel=1e-3)
    assert bounds.eigenvectors_error(true, 3.0, epsilons, beta=0.1, rank=3) == bounds.eigenvectors_error(
        true, 3.0, epsilons, beta=0.1
    )


def test_the_rivals_of_section_3_1() -> None:
    """Orders of magnitude, with the constant of who asks; the limit is where the two printed bounds meet."""
    assert bounds.rival_variance(3, 0.5, 0.1) == pytest.approx(81 / 0.5 * 1e6)
    assert bounds.rival_variance(3, 0.5, 0.1, constant=2.5) == pytest.approx(2.5 * 81 / 0.5 * 1e6)
    assert bounds.rival_variance(10**6, 1e-300, 1e-60) == math.inf
    assert bounds.rival_error(16, 0.5, math.exp(-9)) == pytest.approx(64 * 3 / 0.5)
    for epsilon, delta in ((0.01, 1e-16), (1.0, 1e-3), (4.0, 0.5)):
        limit = bounds.rival_variance_limit(epsilon, delta)
        meeting = math.sqrt(7**3 * limit * math.log(limit) / epsilon)
        assert meeting == pytest.approx(bounds.rival_error(7, epsilon, delta))
    assert bounds.rival_variance_limit(5e-324, 1e-16) > 1e300


def test_one_column_has_no_directions() -> None:
    assert bounds.uniform_error([5.0], 1.0) == bounds.eigenvectors_error([5.0], 1 / 3, [], beta=0.05)
    assert bounds.adaptive_error([5.0], 1.0) > 0
    assert bounds.enough_variance(1, 1.0, 0.5) > 0


@pytest.mark.parametrize(
    "call",
    [
        lambda: bounds.exponent(0.0),
        lambda: bounds.exponent(1.0, neighbors="swap"),
        lambda: bounds.exponent(1.0, constants="loose"),
        lambda: bounds.direction_loss(0, 1.0, 0.1),
        lambda: bounds.direction_loss(2, math.inf, 0.1),
        lambda: bounds.direction_loss(2, 1.0, 1.0),
        lambda: bounds.value_noise(2, -1.0, 0.1),
        lambda: bounds.reconstruction_error([1.0, 2.0], [0.0, 0.0], 0.0),
        lambda: bounds.reconstruction_error([1.0], [0.0], 0.0, values="all"),
        lambda: bounds.eigenvectors_error([2.0, 1.0], 1.0, [1.0, 1.0], beta=0.1),
        lambda: bounds.adaptive_error([2.0, 1.0], 1.0, neighbors="swap"),
        lambda: bounds.enough_variance(2, 1.0, 0.0),
        lambda: bounds.uniform_error([2.0, 1.0], 1.0, constants="program"),
        lambda: bounds.eigenvectors_error([2.0, 1.0], 1.0, [1.0], beta=0.1, rank=3),
        lambda: bounds.eigenvectors_error([2.0, 1.0], 1.0, [1.0], beta=0.1, rank=True),
        lambda: bounds.eigenvectors_error([3.0, 2.0, 1.0], 1.0, [1.0, 1.0], beta=0.1, rank=1),
        lambda: bounds.exponential_failure(-1.0, 1.0, 0.5),
        lambda: bounds.exponential_failure(1.0, 0.0, 0.5),
        lambda: bounds.exponential_failure(1.0, 1.0, 0.0),
        lambda: bounds.exponential_failure(1.0, 1.0, 1.5),
        lambda: bounds.exponential_failure(1.0, 1.0, 0.5, sensitivity=0.0),
        lambda: bounds.rival_variance(0, 1.0, 0.5),
        lambda: bounds.rival_variance(2, 1.0, 0.0),
        lambda: bounds.rival_error(2, 1.0, 1.0),
        lambda: bounds.rival_variance_limit(0.0, 0.5),
    ],
)
def test_refusals(call: Callable[[], float]) -> None:
    with pytest.raises(ParameterError, match="must"):
        call()
