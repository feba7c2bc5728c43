"""`standardized` by group: units of all rows, a moment of each group in them, estimates drawn towards all together.

Literal seeds; nothing fails by chance but the test of intervals, whose size is stated there.
"""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import dpcov
from dpcov.errors import ReleaseError
from dpcov.kernel.account import Account
from dpcov.kernel.curator import Curator
from dpcov.kernel.questions.groups import GroupCounts, GroupedMoment
from dpcov.kernel.questions.moments import Count, SecondMoment
from dpcov.kernel.rows.standard import Standard
from dpcov.kernel.sums import ExactSums
from dpcov.mechanisms.running import released
from dpcov.release.file import parse, text_of
from dpcov.release.record import Release
from dpcov.request import request
from dpcov.schema.whose import Whose
from dpcov.verify.testing import Noiseless
from tests.helpers.small import sealed
from tests.helpers.stats import SIZE

DRAW = np.random.default_rng(7540)
N, LEVELS = 12_000, ["north", "south", "east"]
REGION = np.array([*LEVELS, "elsewhere"])[DRAW.choice(4, N, p=[0.55, 0.3, 0.1, 0.05])]
SHIFT = np.select([REGION == "south", REGION == "east"], [0.5, 1.0], 0.0)
A = DRAW.normal(size=N) + SHIFT
B = np.where(REGION == "east", 0.8, 0.3) * A + 0.5 * DRAW.normal(size=N)
TOWN = np.where(A + DRAW.normal(size=N) > 0.7, "p", np.where(DRAW.random(N) < 0.5, "q", "r"))
TABLE = pd.DataFrame(
    {"a": A, "region": REGION, "b": 10 * B, "town": TOWN, "who": np.arange(N) % 9000, "w": DRAW.uniform(0, 2, N)}
)
SCHEMA = dpcov.Schema(
    {
        "a": dpcov.Numeric(-20, 20),
        "region": dpcov.Categorical(LEVELS),
        "b": dpcov.Numeric(-2000, 2000),  # drowned: a range is chosen for it
        "town": dpcov.Categorical(["p", "q", "r"]),
    }
)
FEATURES = np.column_stack([A, 10 * B, *(one == TOWN for one in "pqr")]).astype(np.float64)
BUDGETS: dict[str, Any] = {"pure": dpcov.PureDP(2), "zcdp": dpcov.ZCDP("0.3"), "approx": dpcov.ApproxDP(2, "1e-9")}
WAYS: dict[str, dict[str, Any]] = {
    "rows": {},
    "people": {"unit": "who"},
    "weights": {"weight": "w", "max_weight": 2},
    "both": {"unit": "who", "weight": "w", "max_weight": 2},
}
each_relation = pytest.mark.parametrize("neighbors", ["replace", "add-remove"])


def made(budget: str = "zcdp", neighbors: str = "replace", seed: int = 7541, **said: Any) -> Release:
    said = {"mechanism": "standardized", "schema": SCHEMA, **said}
    return dpcov.covariance(said.pop("data", TABLE), BUDGETS[budget], by="region", neighbors=neighbors, seed=seed, **said)


def exact(neighbors: str, way: str, data: Any = TABLE, schema: dpcov.Schema = SCHEMA) -> Release:
    """Return a release without noise."""
    budget = dpcov.ZCDP(10)
    asked = request(
        "covariance",
        budget,
        mechanism="standardized",
        bound=None,
        schema=schema,
        neighbors=neighbors,
        center=True,
        whose=Whose(**WAYS[way]),
        by="region",
        seed=1,
        options={},
    )
    source = asked.source(data, None)
    curator = Curator(ExactSums(source, asked.encoding(source), neighbors), Account(budget), Noiseless())
    return released(asked.named, curator, budget, postprocess="none")


def shares(way: str) -> Any:
    m = TABLE.groupby("who")["who"].transform("size") if "unit" in WAYS[way] else pd.Series(np.ones(N))
    return np.asarray((TABLE["w"] / 2 if "weight" in WAYS[way] else 1.0) / m)


@pytest.mark.parametrize("way", WAYS)
@each_relation
def test_without_noise_each_group_is_that_of_its_rows(neighbors: str, way: str) -> None:
    """But for the longest rows, which count less, and a range that cuts tails: means to a hundredth of a deviation."""
    release, share = exact(neighbors, way), shares(way)
    [moment] = release.every(GroupedMoment)
    assert isinstance(moment.question, GroupedMoment)
    assert isinstance(moment.question.grid, Standard)
    for level in (*LEVELS, None):
        part = release.pooled if level is None else release[level]
        mine = REGION != "elsewhere" if level is None else level == REGION
        weights = share[mine]
        assert part.n == pytest.approx(weights.sum(), rel=0.03)
        mean = np.average(FEATURES[mine], axis=0, weights=weights)
        covariance = np.cov(FEATURES[mine].T, aweights=weights, ddof=0)
        deviation = np.sqrt(covariance.diagonal())
        assert np.abs((part.mean - mean) / deviation).max() < (0.1 if level is None else 0.02)  # all: asked of all rows, too
        assert np.abs(np.sqrt(part.covariance.diagonal()) / deviation - 1).max() < 0.03
        found, truth = part.correlation(), covariance / np.outer(deviation, deviation)
        assert np.abs(found - truth)[:2].max() < 0.02  # of levels with each other it follows from their shares


def test_missing_cells_are_those_of_all_rows() -> None:
    """A third of them, at random: deviations and correlations of each group are of cells that are there."""
    gaps = TABLE.assign(a=np.where(np.arange(N) % 3 == 0, np.nan, A))
    schema = dpcov.Schema({**SCHEMA.columns, "a": dpcov.Numeric(-20, 20, nullable=True)})
    release = exact("replace", "rows", gaps, schema)
    for level in LEVELS:
        mine = (level == REGION) & (np.arange(N) % 3 > 0)
        assert np.sqrt(release[level].covariance[0, 0]) == pytest.approx(A[mine].std(), rel=0.05)
        assert release[level].mean[0] == pytest.approx(A[mine].mean(), abs=0.05)
        assert release[level].correlation()[0, 1] == pytest.approx(np.corrcoef(A[mine], B[mine])[0, 1], abs=0.05)


@each_relation
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("budget", BUDGETS)
class TestRelease:
    def test_it_is_one_release_with_all_uses(self, budget: str, way: str, neighbors: str) -> None:
        release = made(budget, neighbors, **WAYS[way])
        assert release.retrace().agrees
        back = parse(text_of(release))
        for level in (*LEVELS, None):
            part, other = (one.pooled if level is None else one[level] for one in (release, back))
            assert np.array_equal(part.covariance, other.covariance)
            assert np.linalg.eigvalsh(part.covariance)[0] >= -1e-9 * np.linalg.norm(part.covariance)
            assert np.isfinite(part.ridge("a").coefficients).all()
            assert np.isfinite(part.pca(2).components).all()
            assert part.sample(4, seed=1).num_rows == 4
            described = part.describe()
            assert described.mean is not None
            assert described.deviation is not None
            assert np.isfinite(described.mean.values).all()
            found = part.interval()
            assert found.mean is not None
            assert (found.mean.upper >= found.mean.lower).all()
            assert not part.n_is_public
        assert release.between("north", "east").mean is not None
        assert release["east"].spent == release.spent
        assert len(release.every(GroupedMoment)) == 1
        assert len(release.every(Count)) == int(neighbors == "add-remove" or "weight" in way or way == "both")


class TestDrawing:
    def test_a_large_group_stays_and_a_small_one_is_drawn(self) -> None:
        release = made("pure")
        north, east = release["north"].estimate.own, release["east"].estimate.own
        assert north is not None
        assert east is not None
        assert north.part.shape == east.standard_error.shape == (5, 5)
        assert east.part.mean() < north.part.mean() <= 1
        assert release.finished("none")["east"].estimate.own is None

    def test_it_gains(self) -> None:
        """Deviations of ten groups that do not differ: the error is well below that of their own noisy numbers."""
        table = TABLE.assign(region=(np.arange(N) % 10).astype(str))
        schema = dpcov.Schema({**SCHEMA.columns, "region": dpcov.Categorical([str(g) for g in range(10)])})
        errors: dict[str, list[float]] = {"drawn": [], "alone": []}
        for seed in range(3):
            release = made("pure", seed=seed, data=table, schema=schema)
            for name, one in (("drawn", release), ("alone", release.finished("none"))):
                for level in release.groups:
                    found = np.sqrt(one[level].covariance.diagonal())[:2] / FEATURES[:, :2].std(axis=0)
                    errors[name] += np.abs(found - 1).tolist()
        assert np.mean(errors["drawn"]) < 0.7 * np.mean(errors["alone"])

    def test_what_intervals_are_made_of_is_a_group_s_own(self) -> None:
        """Raw numbers are the same whether estimates are drawn or not; what penalties are about has other noise."""
        release = made("pure")
        drawn, alone = release["east"].estimate.units, release.finished("none")["east"].estimate.units
        assert drawn is not None
        assert alone is not None
        for name in ("mean", "raw_covariance", "variance", "weight_error"):
            assert np.allclose(getattr(drawn, name), getattr(alone, name), rtol=1e-5)  # what denoising leaves of the corner
        assert np.allclose(drawn.raw[:2, :2], alone.raw[:2, :2])
        assert drawn.left != drawn.variance
        assert alone.left == alone.variance

    def test_intervals_are_not_drawn(self) -> None:
        """Over the noise alone, 95 % intervals of means hold: size 1e-6, and intervals a third too short are rejected."""
        missed = total = 0
        for seed in range(200):
            part = made("zcdp", seed=seed)["south"]
            found = part.interval(about="rows").mean
            assert found is not None
            truth = FEATURES[REGION == "south"].mean(axis=0)[:2]
            missed += int((~found.contains(np.append(truth, found.estimate[2:]))).sum())
            total += 2
        assert stats.binom.sf(missed - 1, total, 0.05) > SIZE
        assert stats.binom.cdf(missed, total, 0.19) < SIZE


class TestPaths:
    def test_auto_takes_it_for_centred_tables(self) -> None:
        for budget in BUDGETS.values():
            found = dpcov.rehearse("covariance", TABLE, budget, schema=SCHEMA, by="region")
            assert found.mechanism == "standardized"
            assert "second moments of groups" in {spend.asked for spend in found.spent}
        assert (
            dpcov.rehearse("covariance", TABLE, BUDGETS["pure"], schema=SCHEMA, by="region", center=False).mechanism
            == "wishart"
        )

    @each_relation
    @pytest.mark.parametrize("budget", BUDGETS)
    def test_few_rows_are_measured_by_their_bounds(self, budget: str, neighbors: str) -> None:
        release = made(budget, neighbors, data=TABLE[:40])
        assert not release.every(SecondMoment)
        [moment] = release.every(GroupedMoment)
        assert not isinstance(moment.question.grid, Standard)  # type: ignore[attr-defined]
        assert np.isfinite(release["east"].covariance).all()
        assert release.retrace().agrees

    @each_relation
    def test_where_no_column_varies_sizes_are_asked(self, neighbors: str) -> None:
        """No second moment is; the numbers of rows are, and all groups have the values that all rows have."""
        flat = dpcov.Schema({"region": SCHEMA.columns["region"], "a": dpcov.Numeric(-1, 1)})
        table = pd.DataFrame({"region": REGION, "a": np.full(N, 0.25)})
        release = made("pure", neighbors, data=table, schema=flat)
        assert not release.every(GroupedMoment)
        assert len(release.every(GroupCounts)) == 1
        for level in LEVELS:
            assert release[level].n == pytest.approx(np.count_nonzero(level == REGION), abs=60)
            assert release[level].mean == pytest.approx([0.25], abs=1e-3)
        assert release.retrace().agrees
        assert parse(text_of(release))["north"].n == release["north"].n

    @pytest.mark.parametrize("budget", BUDGETS)
    def test_groups_of_no_rows_and_of_one(self, budget: str) -> None:
        """Noise is all that there is: numbers inside the bounds, wide intervals, and nothing that fails."""
        levels = ["all", "none", "one", "never"]
        schema = dpcov.Schema({**SCHEMA.columns, "region": dpcov.Categorical(levels)})
        table = TABLE.assign(region=np.where(np.arange(N) == 7, "one", "all"))
        low, high = schema.select(["a", "b", "town"]).bounds()
        for seed in range(8):
            release = made(budget, "add-remove" if seed % 2 else "replace", seed=seed, data=table, schema=schema)
            for level in levels:
                part = release[level]
                described = part.describe()
                assert described.mean is not None
                assert described.correlation is not None
                assert np.isfinite(part.covariance).all()
                assert ((described.mean.values >= low) & (described.mean.values <= high)).all()
                assert np.isfinite(part.ridge("a").coefficients).all()
                assert part.interval().correlations.estimate.shape == (5, 5)
                assert level == "all" or not described.correlation.clear[0, 1]

    def test_rows_of_no_group_move_units_and_no_group(self) -> None:
        """They are in the questions about single columns: as public numbers, in which all groups are measured."""
        other = TABLE.assign(b=np.where(REGION == "elsewhere", -TABLE["b"], TABLE["b"]))
        one, two = exact("replace", "rows"), exact("replace", "rows", other)
        for level in LEVELS:
            assert np.allclose(one[level].correlation(), two[level].correlation(), atol=0.02)


class TestFiles:
    def test_noise_is_the_least_that_a_group_is_divided_by(self) -> None:
        """Of a group whose corner is negative: sums over thousands of rows, over the noise of their number and not over 1."""
        record = json.loads(text_of(made()))
        place = next(
            i for i, answer in enumerate(record["answers"]) if answer["question"]["asked"] == "second moments of groups"
        )
        record["answers"][place]["integers"][0] = -(2**30)
        units = parse(sealed(record))["north"].estimate.units
        assert units is not None
        assert 100 < np.abs(units.mean).max() < 1000  # 370; over 1 it would be 7900

    def test_a_corner_that_no_rows_have(self) -> None:
        """Negative, or enormous: an estimate of numbers, or a `ReleaseError`."""
        record = json.loads(text_of(made()))
        place = next(
            i for i, answer in enumerate(record["answers"]) if answer["question"]["asked"] == "second moments of groups"
        )
        for corner in (-(2**61), 0, 2**61):
            forged = json.loads(json.dumps(record))
            forged["answers"][place]["integers"][0] = corner
            release = parse(sealed(forged))
            for level in LEVELS:
                try:
                    part = release[level]
                    assert part.n >= 1
                    assert np.isfinite(part.covariance).all()
                except ReleaseError:
                    assert corner > 0
