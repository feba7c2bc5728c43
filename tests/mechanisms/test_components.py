"""Mechanisms for components on scripted moments: what they ask and pay, and that noise off gives the subspace back.

Then `release.pca(k)` on every mechanism for covariances: eigenvectors, their order and signs, units.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray

import dpcov
from dpcov import Categorical, Numeric, PrincipalComponents, Release, Schema
from dpcov.errors import ParameterError, ReleaseError
from dpcov.kernel.account import Account
from dpcov.kernel.budget import ZCDP, ApproxDP, Budget, PureDP, compose
from dpcov.kernel.curator import Curator
from dpcov.kernel.noise.drawn import Bingham, MatrixBingham, Uniform
from dpcov.kernel.noise.sampler import Sampler
from dpcov.kernel.public import Public
from dpcov.kernel.questions.along import Explained
from dpcov.kernel.questions.measure import Question
from dpcov.kernel.questions.moments import SecondMoment
from dpcov.kernel.rows.grid import Grid
from dpcov.linalg import unpack
from dpcov.mechanisms import MECHANISMS
from dpcov.mechanisms.running import released
from dpcov.mechanisms.shared.components import EXPLAINED
from dpcov.mechanisms.shared.shares import STEPS, count_share
from dpcov.verify.testing import Noiseless, NoSource, ScriptedSums, encoding_of

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
NEIGHBORS = ["replace", "add-remove"]
PURE, RHO, APPROX = PureDP("0.7"), ZCDP("0.3"), ApproxDP("0.7", "1e-9")
SERVED: dict[str, list[Budget]] = {
    "ppca": [PURE, RHO, APPROX],
    "eigenvectors": [PURE, RHO, APPROX],
    "wishart": [PURE, APPROX],
    "gaussian": [RHO, APPROX],
    "mod-sulq": [APPROX],
}
CASES = [pytest.param(name, budget, id=f"{name}-{budget.notion}") for name, budgets in SERVED.items() for budget in budgets]
DRAWN = ("ppca", "eigenvectors", "random")
N, D = 50, 5


def rotation(d: int = D) -> Floats:
    return np.asarray(np.linalg.qr(np.random.default_rng(5500 + d).normal(size=(d, d)))[0])


VALUES = 20.0 * 0.5 ** np.arange(D)  # of N rows of norm 1: their sum is below N


def truth() -> Floats:
    moment = (rotation() * VALUES) @ rotation().T
    return np.asarray((moment + moment.T) / 2)


class Scripted(ScriptedSums):
    """Says what lies along the components that were asked about, exactly; a uniform subspace is another one's."""

    def read(self, question: Question) -> Integers:
        if isinstance(question, Explained):
            columns = question.basis.columns
            along = np.einsum("ij,ij->j", columns, truth() @ columns)
            told = np.append(along, np.trace(truth()) - along.sum())
            return np.asarray(np.rint(np.ldexp(told, question.unit_bits)), dtype=np.int64)
        return super().read(question)


def curator_of(
    answers: list[Any], budget: Budget, neighbors: str, sums: type[Scripted] = Scripted, sampler: Sampler | None = None
) -> Curator:
    known = N if neighbors == "replace" else None
    public = Public(encoding_of(Grid(2.0), NoSource(N, D)), neighbors, known)
    return Curator(sums(answers, public, N), Account(budget), sampler or Noiseless())


def run(name: str, budget: Budget, k: int, neighbors: str = "replace", **options: Any) -> Release:
    """Run a mechanism on a scripted count and moment, in the order in which it asks for them."""
    count: list[Any] = [N] if neighbors == "add-remove" else []
    answers = [*count, truth()] if name in DRAWN else [truth(), *count]
    curator = curator_of(answers, budget, neighbors)
    if name == "ppca":
        options = {"approximate": k > 1} | options
    return released(MECHANISMS["pca"][name], curator, budget, k=k, **options)


def assert_signs(components: Floats) -> None:
    largest = np.take_along_axis(components, np.abs(components).argmax(axis=1)[:, None], axis=1)
    assert np.all(largest > 0)


@pytest.mark.parametrize("neighbors", NEIGHBORS)
@pytest.mark.parametrize(("name", "budget"), CASES)
class TestMechanisms:
    @pytest.mark.parametrize("k", [1, 2, 4])
    def test_noise_off_gives_the_truth(self, name: str, budget: Budget, k: int, neighbors: str) -> None:
        """A rotated anisotropic moment: a transposed factor or another order would not give its eigenvectors back."""
        release = run(name, budget, k, neighbors)
        expected = rotation().T[:k]
        components = release.components
        coarse = 0.05 if name == "wishart" else 1e-5  # its sums are on a lattice
        assert np.allclose(np.abs(np.einsum("ij,ij->i", components, expected)), 1, rtol=0, atol=coarse)
        assert_signs(components)
        assert np.abs(components @ components.T - np.eye(k)).max() < 1e-9
        assert np.all(np.diff(release.explained) <= 1e-12)
        found = release.pca()
        if name in DRAWN or name == "mod-sulq":  # others are shrunk for noise that was not there
            assert np.allclose(release.explained, 4 * VALUES[:k] / N, rtol=0, atol=1e-4)
            assert found.total == pytest.approx(4 * VALUES.sum() / N, abs=1e-4)
            assert np.allclose(found.ratio, VALUES[:k] / VALUES.sum(), rtol=0, atol=1e-4)
        assert (release.kind, release.mechanism, release.n, release.options["k"]) == ("pca", name, N, k)
        assert found.components.tobytes() == components.tobytes()

    def test_the_budget_is_spent_exactly(self, name: str, budget: Budget, neighbors: str) -> None:
        for k in (1, 3):
            release = run(name, budget, k, neighbors)
            asked = [spend.asked for spend in release.spent]
            drawn = "subspace" if name == "ppca" and k > 1 else "directions"
            count = ["count"] if neighbors == "add-remove" else []
            assert asked == ([*count, drawn, "explained"] if name in DRAWN else ["second moment", *count])
            assert release.privacy == budget
            paid = [spend.budget for spend in release.spent]
            if name in DRAWN:
                whole: Any = PureDP("0.7") if isinstance(budget, ApproxDP) else budget
                assert compose(*paid) == whole
                left = whole if not count else whole.share(1 - count_share(whole, D))
                assert paid[-2:] == [left.share(1 - EXPLAINED), left.share(EXPLAINED)]
            elif isinstance(budget, ApproxDP) and name != "wishart":
                assert paid == [budget] if not count else compose(*paid) == budget.to_zcdp()
            else:
                assert compose(*paid) == (PureDP("0.7") if isinstance(budget, ApproxDP) else budget)

    def test_more_than_were_asked_for(self, name: str, budget: Budget, neighbors: str) -> None:
        """A noisy matrix has them all; drawn directions end."""
        release = run(name, budget, 2, neighbors)
        assert release.pca(1).components.tobytes() == release.components[:1].tobytes()
        assert release.pca(None).k == 2
        for k in (3, D):
            if name in DRAWN:
                with pytest.raises(ReleaseError, match=rf"release must hold {k} components, got 2\. Hint: "):
                    release.pca(k)
            else:
                assert release.pca(k).k == k
        for bad in (0, D + 1, True, "2", 1.0, 0.0, -1, math.nan):
            with pytest.raises(
                ParameterError, match=r"k must be an integer from 1 to 5, a part between 0 and 1, or None, got "
            ):
                release.pca(bad)  # type: ignore[arg-type]


@pytest.mark.parametrize("neighbors", NEIGHBORS)
class TestDraws:
    def test_shares_of_directions(self, neighbors: str) -> None:
        """Even, to one part in 2⁴⁰, and all of the draws' budget: twice as many directions are half as concentrated."""
        span = {"replace": 2, "add-remove": 1}[neighbors]
        for k in (1, 3, 4):
            release = run("eigenvectors", PURE, k, neighbors)
            law, paid = release.answers[-2].law, release.spent[-2].budget
            assert isinstance(law, Bingham)
            assert isinstance(paid, PureDP)
            exponents = [span * c for _, c in law.concentrations]
            assert sum(exponents) == paid.epsilon
            assert max(exponents) - min(exponents) <= paid.epsilon * Fraction(k, STEPS)

    def test_a_subspace_has_the_whole_for_any_k(self, neighbors: str) -> None:
        span = {"replace": 2, "add-remove": 1}[neighbors]
        for k in (2, 4):
            release = run("ppca", PURE, k, neighbors, sweeps=77)
            law, paid = release.answers[-2].law, release.spent[-2].budget
            assert isinstance(law, MatrixBingham)
            assert isinstance(paid, PureDP)
            assert (span * law.concentration, law.sweeps) == (paid.epsilon, 77)
            assert release.options == {"k": k, "sweeps": 77, "approximate": True}
            assert "approximate: private at stationarity only" in release.statement()
        single = run("ppca", PURE, 1, neighbors, sweeps=77)
        assert isinstance(single.answers[-2].law, Bingham)
        assert single.options == {"k": 1, "sweeps": 77, "approximate": False}
        assert "approximate" not in single.statement()

    def test_random_says_nothing_and_pays_little(self, neighbors: str) -> None:
        for budget in (PURE, RHO, APPROX):
            release = run("random", budget, 3, neighbors)
            whole: Any = PureDP("0.7") if isinstance(budget, ApproxDP) else budget
            assert compose(*(spend.budget for spend in release.spent)) == whole
            assert release.answers[-2].law == Uniform()
            left = whole if neighbors == "replace" else whole.share(1 - count_share(whole, D))
            assert [spend.budget for spend in release.spent[-2:]] == [left.share(EXPLAINED), left.share(1 - EXPLAINED)]
            assert release.options == {"k": 3}

    def test_directions_are_sorted_by_what_lies_along_them(self, neighbors: str) -> None:
        """Drawn in another order, they come out in that of their variances; equal ones in the order of drawing."""

        class Reversed(Noiseless):
            def subspace(self, matrix: Floats, *_: Any) -> Floats:
                return np.asarray(np.linalg.eigh(matrix)[1][:, [2, 0, 4]])

        count: list[Any] = [N] if neighbors == "add-remove" else []
        curator = curator_of([*count, truth()], PURE, neighbors, sampler=Reversed())
        release = released(MECHANISMS["pca"]["ppca"], curator, PURE, k=3, approximate=True)
        expected = rotation().T[[0, 2, 4]]
        assert np.allclose(np.abs(np.einsum("ij,ij->i", release.components, expected)), 1, rtol=0, atol=1e-5)
        assert np.allclose(release.explained, 4 * VALUES[[0, 2, 4]] / N, rtol=0, atol=1e-4)
        assert release.pca(1).components.tobytes() == release.components[:1].tobytes()

    def test_directions_drawn_one_by_one_keep_their_order(self, neighbors: str) -> None:
        """Of two whose noisy variances are the wrong way round the first drawn stays the first, and both have their mean."""

        class Noisy(Scripted):
            def read(self, question: Question) -> Integers:
                found = super().read(question)
                return found[[1, 0, 2, 3]] if isinstance(question, Explained) else found

        count: list[Any] = [N] if neighbors == "add-remove" else []
        curator = curator_of([*count, truth()], PURE, neighbors, Noisy)
        release = released(MECHANISMS["pca"]["eigenvectors"], curator, PURE, k=3)
        assert np.allclose(np.abs(np.einsum("ij,ij->i", release.components, rotation().T[:3])), 1, rtol=0, atol=1e-5)
        mean = VALUES[:2].mean()
        assert np.allclose(release.explained, 4 * np.array([mean, mean, VALUES[2]]) / N, rtol=0, atol=1e-4)

    def test_parts_of_the_variance(self, neighbors: str) -> None:
        release = run("eigenvectors", PURE, 3, neighbors)
        for part, k in ((0.4, 1), (0.6, 2), (0.8, 3), (0.99, 3)):  # 0.516, 0.774 and 0.903 of it; then no more are held
            assert release.pca(part).k == k


ROWS = np.random.default_rng((1, 5510)).normal(size=(3000, 4)) * [1.0, 0.6, 0.3, 0.1] @ rotation(4).T / 4
COVARIANCES: dict[str, dict[str, Any]] = {
    "gaussian": {"budget": ZCDP(100)},
    "wishart": {"budget": PureDP(200)},
    "laplace": {"budget": PureDP(1000)},
    "frobenius": {"budget": PureDP(1000)},
    "projection": {"budget": ZCDP(100)},
    "rescaled": {"budget": ZCDP(100)},
    "adaptive": {"budget": ZCDP(100)},
    "separate": {"budget": ZCDP(100)},
    "eigenvectors": {"budget": PureDP(1000)},
    "kapralov-talwar": {"budget": PureDP(1000)},
    "coinpress": {"budget": ZCDP(100), "row_norm": None, "upper": 10.0},
}


def covariance(name: str, **options: Any) -> Release:
    given: dict[str, Any] = {"row_norm": 2.0, "seed": 5510} | COVARIANCES[name] | options
    return dpcov.covariance(given.pop("data", ROWS), given.pop("budget"), mechanism=name, **given)


CENTRED = [(name, center) for name in COVARIANCES for center in (False, True) if name != "rescaled" or not center]


@pytest.mark.parametrize(("name", "center"), CENTRED)
class TestOfCovariances:
    def test_they_are_its_eigenvectors(self, name: str, center: bool) -> None:
        """All of them, in order, with signs, and their values; and so near the truth that they are those of the rows."""
        extra = {"radius": 5.0} if name == "coinpress" and center else {}
        release = covariance(name, center=center, **extra)
        of_arrays = {name for name, named in MECHANISMS["covariance"].items() if named.bound != "schema"}
        assert set(COVARIANCES) | {"auto"} >= of_arrays, "a mechanism that is not tried here"
        found = release.pca(4)
        values, vectors = np.linalg.eigh(release.covariance)
        assert np.allclose(found.explained, np.maximum(values[::-1], 0), rtol=0, atol=1e-9)
        assert found.total == pytest.approx(np.maximum(values, 0).sum(), abs=1e-9)
        assert np.abs(found.components @ found.components.T - np.eye(4)).max() < 1e-9
        assert_signs(found.components)
        along = np.abs(np.einsum("ij,ij->i", found.components, vectors.T[::-1]))
        assert np.allclose(along, 1, rtol=0, atol=1e-6)
        assert np.allclose(np.abs(np.einsum("ij,ij->i", found.components[:2], rotation(4).T[:2])), 1, rtol=0, atol=0.05)
        assert not found.components.flags.writeable
        assert not found.explained.flags.writeable

    def test_numbers_of_components(self, name: str, center: bool) -> None:
        extra = {"radius": 5.0} if name == "coinpress" and center else {}
        release = covariance(name, center=center, **extra)
        whole = release.pca(4)
        assert 1 <= release.pca().k <= 4
        for k in (1, 2, 3, 4):
            assert release.pca(k).components.tobytes() == whole.components[:k].tobytes()
            assert release.pca(np.int64(k)).k == k  # type: ignore[arg-type]
        shares = np.cumsum(whole.explained) / whole.total
        assert release.pca(0.9).k == int(np.searchsorted(shares, 0.9)) + 1
        assert release.pca(1 - 1e-12).k <= 4
        for bad in (0, 5, 1.0, True, "all", 1.5):
            with pytest.raises(
                ParameterError, match=r"k must be an integer from 1 to 4, a part between 0 and 1, or None, got "
            ):
                release.pca(bad)  # type: ignore[arg-type]

    def test_transforms(self, name: str, center: bool) -> None:
        extra = {"radius": 5.0} if name == "coinpress" and center else {}
        release = covariance(name, center=center, **extra)
        found, about = release.pca(2), release.mean if center else np.zeros(4)
        scores = found.transform(ROWS[:7])
        assert np.allclose(scores, (ROWS[:7] - about) @ found.components.T, rtol=0, atol=1e-12)
        back = found.inverse_transform(scores)
        assert np.allclose(back - about, scores @ found.components, rtol=0, atol=1e-12)
        assert np.allclose(found.transform(back), scores, rtol=0, atol=1e-12)
        assert np.array_equal(found.offsets, about)


SCHEMA = Schema({"age": Numeric(0, 100), "sex": Categorical(["F", "M"], weight=0.5), "income": Numeric(-2000, 8000, weight=2)})


def people(n: int = 2000) -> Any:
    draw = np.random.default_rng((1, 5520))
    common = draw.normal(size=n)
    return pd.DataFrame(
        {
            "age": np.clip(50 + 15 * common, 0, 100),
            "sex": np.where(common + draw.normal(size=n) > 0, "F", "M"),
            "income": np.clip(3000 + 1500 * common + 300 * draw.normal(size=n), -2000, 8000),
        }
    )


def coded(frame: Any) -> Floats:
    return np.column_stack([frame["age"], frame["sex"] == "F", frame["sex"] == "M", frame["income"]]).astype(float)


class TestUnits:
    @pytest.mark.parametrize("center", [False, True])
    @pytest.mark.parametrize("kind", ["covariance", "pca"])
    def test_encoded_in_transform_and_out_in_its_inverse(self, kind: str, center: bool) -> None:
        """Components are of encoded columns: (x − offset)/scale; rows that come back are in the table's units."""
        if kind == "pca":
            release = dpcov.pca(people(), ZCDP(1000), 3, schema=SCHEMA, mechanism="gaussian", center=center, seed=5521)
        else:
            release = dpcov.covariance(people(), ZCDP(1000), schema=SCHEMA, mechanism="gaussian", center=center, seed=5521)
        found = release.pca(3)
        assert found.feature_names == ("age", "sex=F", "sex=M", "income")
        offsets = release.mean if center else SCHEMA.offsets(False)
        scales = SCHEMA.scales(center)
        encoded = (coded(people()) - offsets) / scales
        assert np.allclose(found.transform(coded(people())), encoded @ found.components.T, rtol=0, atol=1e-9)
        truth = np.linalg.eigh(encoded.T @ encoded / len(encoded))
        assert abs(found.components[0] @ truth[1][:, -1]) > 0.999
        assert found.explained[0] == pytest.approx(truth[0][-1], rel=0.02)
        back = found.inverse_transform(found.transform(coded(people())))
        assert np.allclose((back - offsets) / scales, encoded @ found.components.T @ found.components, rtol=0, atol=1e-9)
        assert np.abs(back[:, 3] - people()["income"]).max() < 2500  # not in units of 1

    @pytest.mark.parametrize("name", ["ppca", "eigenvectors"])
    def test_drawn_with_a_schema(self, name: str) -> None:
        options: dict[str, Any] = {"approximate": True, "sweeps": 30} if name == "ppca" else {}
        release = dpcov.pca(people(), PureDP(1000), 2, schema=SCHEMA, mechanism=name, seed=5522, **options)
        encoded = coded(people()) / SCHEMA.scales(False)
        truth = np.linalg.eigh(encoded.T @ encoded / len(encoded))[1][:, -2:]
        assert np.linalg.norm(release.components @ truth) ** 2 > 1.99
        assert np.allclose(release.pca().transform(coded(people())), encoded @ release.components.T, rtol=0, atol=1e-9)

    @pytest.mark.parametrize(
        "bad",
        [
            [1.0, 2.0, 3.0],
            [[1.0, 2.0]],
            [["a", "b", "c", "d"]],
            np.zeros((2, 4), dtype=complex),
            np.zeros((1, 1, 4)),
            None,
            "rows",
        ],
        ids=["flat", "narrow", "text", "complex", "three dimensions", "none", "a text"],
    )
    def test_what_is_no_table(self, bad: Any) -> None:
        found: PrincipalComponents = covariance("gaussian").pca(2)
        with pytest.raises(ParameterError, match=r"rows must be numbers in 4 columns, got another array\. Hint: "):
            found.transform(bad)
        with pytest.raises(ParameterError, match=r"scores must be numbers in 2 columns, got another array\. Hint: "):
            found.inverse_transform(np.zeros((2, 3)))

    def test_whole_numbers_and_truth_values_are_numbers(self) -> None:
        found = covariance("gaussian").pca(2)
        for table in (np.eye(4, dtype=np.int8), np.eye(4, dtype=bool), np.eye(4).tolist(), np.eye(4, dtype=np.float32)):
            assert np.allclose(found.transform(table), found.components.T)


class TestNothingFound:
    def test_a_rescaled_release_of_nothing(self) -> None:
        """Too few rows for its budget: the estimate is zero, and still there are orthonormal components."""
        release = dpcov.covariance(np.zeros((3, 4)), PureDP("0.01"), row_norm=1, mechanism="rescaled", seed=5530)
        assert not release.covariance.any()
        for k in (None, 0.9, 1, 4):
            found = release.pca(k)
            assert np.abs(found.components @ found.components.T - np.eye(found.k)).max() < 1e-9
            assert (found.total, found.explained.tolist(), found.ratio.tolist()) == (0.0, [0.0] * found.k, [0.0] * found.k)
        assert release.pca().k == release.pca(0.9).k == 1

    def test_a_matrix_of_noise_keeps_its_order(self) -> None:
        """Shrinkage leaves nothing; the raw matrix still says which direction is likelier."""
        release = dpcov.pca(ROWS[:20], PureDP("0.05"), 2, row_norm=2, mechanism="wishart", seed=5531)
        leading = np.linalg.eigh(unpack(release.take(SecondMoment).values, 4))[1][:, -1]
        assert abs(release.components[0] @ leading) == pytest.approx(1)
        assert np.all(np.isfinite(release.explained))

    def test_a_mean_has_no_components(self) -> None:
        release = dpcov.mean(ROWS, ZCDP(1), radius=10, seed=5532)
        with pytest.raises(ReleaseError, match=r"release must hold a covariance or components, got a mean\. Hint: "):
            release.pca()
        for name in ("components", "explained"):
            with pytest.raises(ReleaseError, match=r"release must be made by dpcov\.pca, got another kind\. Hint: "):
                getattr(covariance("gaussian"), name)
