"""Releases by group: one answer, a release for each group, and for all together.

Nothing here is random but with literal seeds. Without noise every number is compared with NumPy's of the rows of that group.
"""

from __future__ import annotations

import contextlib
import copy
import dataclasses
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest

import dpcov
from dpcov.errors import ParameterError, ReleaseError, SchemaError
from dpcov.kernel.account import Account
from dpcov.kernel.budget import Budget
from dpcov.kernel.curator import Curator
from dpcov.kernel.noise.laws import DiscreteLaplace
from dpcov.kernel.questions.groups import GroupCounts, GroupedMoment
from dpcov.kernel.questions.moments import SecondMoment
from dpcov.kernel.sums import ExactSums
from dpcov.mechanisms import MECHANISMS
from dpcov.mechanisms.running import released
from dpcov.mechanisms.shared.pooling import Noisy, drawn_together
from dpcov.release.groups import GroupSize, Together
from dpcov.release.record import Release
from dpcov.request import request
from dpcov.sources.opening import open_source
from dpcov.uses.tails import peaks
from dpcov.verify.testing import Noiseless
from tests.helpers.stats import SIZE

LEVELS = ["north", "south", "east", "west"]
N = 3000
GENERATOR = np.random.default_rng(5200)
PLACE = GENERATOR.choice(5, N, p=[0.4, 0.3, 0.2, 0.02, 0.08])
ROWS = GENERATOR.normal(size=(N, 3)) @ np.array([[1.0, 0.5, 0.0], [0.0, 1.0, 0.3], [0.0, 0.0, 0.7]]) + 0.2 * PLACE[:, None]
REGION = np.array([*LEVELS, "elsewhere"])[PLACE]
TABLE = pa.table({"a": ROWS[:, 0], "region": REGION, "b": ROWS[:, 1], "c": ROWS[:, 2]})
SCHEMA = dpcov.Schema(
    {
        "a": dpcov.Numeric(-5, 5),
        "region": dpcov.Categorical(LEVELS),
        "b": dpcov.Numeric(-5, 5),
        "c": dpcov.Numeric(-5, 5),
    }
)
BUDGETS: dict[str, Budget] = {"gaussian": dpcov.ZCDP(1), "wishart": dpcov.PureDP(2), "laplace": dpcov.PureDP(2)}
each_mechanism = pytest.mark.parametrize("mechanism", BUDGETS)
each_relation = pytest.mark.parametrize("neighbors", ["replace", "add-remove"])


def made(mechanism: str = "gaussian", neighbors: str = "replace", seed: int = 5201, **said: Any) -> Release:
    said = {"schema": SCHEMA, "by": "region", "clip": "none", **said}
    return dpcov.covariance(TABLE, BUDGETS[mechanism], mechanism=mechanism, neighbors=neighbors, seed=seed, **said)


def exact(mechanism: str, neighbors: str, data: Any = TABLE, **said: Any) -> Release:
    """Return a release without noise."""
    said = {"bound": None, "schema": SCHEMA, "by": "region", "center": None, **said}
    budget = BUDGETS[mechanism] if mechanism == "gaussian" else dpcov.PureDP(10_000)  # on a fine lattice
    asked = request("covariance", budget, mechanism=mechanism, neighbors=neighbors, seed=1, options={}, **said)
    source = asked.source(data, None)
    curator = Curator(ExactSums(source, asked.encoding(source), neighbors), Account(budget), Noiseless())
    return released(asked.named, curator, budget, postprocess="none")


@each_relation
@each_mechanism
class TestExact:
    def test_each_group_is_that_of_its_rows(self, mechanism: str, neighbors: str) -> None:
        """To the grid's tolerance, for the lattice of rounded noise as well."""
        release = exact(mechanism, neighbors)
        assert release.groups == tuple(LEVELS)
        assert release.feature_names == ("a", "b", "c")
        for level in LEVELS:
            mine = ROWS[level == REGION]
            assert release[level].n == len(mine)
            assert np.allclose(release[level].mean, np.clip(mine, -5, 5).mean(axis=0), atol=2e-3)
            assert np.allclose(release[level].covariance, np.cov(mine.T, bias=True), atol=4e-3)

    def test_all_together_are_the_rows_of_all_groups(self, mechanism: str, neighbors: str) -> None:
        release, mine = exact(mechanism, neighbors), ROWS[REGION != "elsewhere"]
        assert release.n == (N if neighbors == "replace" else len(mine))
        assert release.pooled.n == len(mine)
        for one in (release, release.pooled, release["north"].pooled):
            assert np.allclose(one.mean, mine.mean(axis=0), atol=2e-3)
            assert np.allclose(one.covariance, np.cov(mine.T, bias=True), atol=4e-3)
            found = one.interval().mean
            assert found is not None
            assert np.allclose(found.estimate, mine.mean(axis=0), atol=2e-3)

    def test_rows_without_a_constant(self, mechanism: str, neighbors: str) -> None:
        """Their numbers are asked for."""
        release = exact(mechanism, neighbors, center=False)
        assert [type(answer.question) for answer in release.answers] == [GroupedMoment, GroupCounts]
        for level in LEVELS:
            mine = ROWS[level == REGION]
            assert release[level].n == len(mine)
            assert np.allclose(release[level].second_moment, mine.T @ mine / len(mine), atol=4e-3)


def test_rows_of_no_group_change_nothing() -> None:
    """Whatever is in them, and whether the cell is another level or missing."""
    release = exact("gaussian", "replace")
    for cell, value in (("elsewhere", 4.0), (None, np.nan), ("", 1e308), ("North", -1.0)):
        region = [cell if one == "elsewhere" else one for one in REGION]
        columns = {name: np.where(REGION == "elsewhere", value, TABLE[name].to_numpy()) for name in "abc"}
        other = exact("gaussian", "replace", pa.table({**columns, "region": pa.array(region, pa.string())}))
        assert np.array_equal(other.answers[0].integers, release.answers[0].integers)


@each_relation
@each_mechanism
class TestRelease:
    def test_it_is_one_answer_at_one_price(self, mechanism: str, neighbors: str) -> None:
        release = made(mechanism, neighbors)
        assert [spend.asked for spend in release.spent] == ["second moments of groups"]
        assert release.spent[0].budget == BUDGETS[mechanism]
        assert release.retrace().agrees

    def test_a_group_is_a_release_to_all_uses(self, mechanism: str, neighbors: str) -> None:
        release = made(mechanism, neighbors)
        for part in (release["north"], release["west"], release.pooled):
            assert np.linalg.eigvalsh(part.covariance)[0] >= -1e-12
            assert part.correlation().shape == (3, 3)
            assert part.pca(2).components.shape == (2, 3)
            assert part.ridge("a").coefficients.shape == (2,)
            assert part.sample(5, seed=1).num_rows == 5
            assert part.describe().mean is not None
            assert part.summary()[0] is not None
            assert part.spent == release.spent
            assert part.statement() == release.statement()
            assert part.risk() == release.risk()
            assert part.retrace().agrees
            assert part.expected_error > 0
        assert not np.array_equal(release["north"].covariance, release.covariance)
        assert not np.array_equal(release["north"].ridge("a").coefficients, release.ridge("a").coefficients)

    def test_files_pickles_and_copies(self, mechanism: str, neighbors: str, tmp_path: Path) -> None:
        release = made(mechanism, neighbors)
        release.save(tmp_path / "release.json")
        for again in (dpcov.load(tmp_path / "release.json"), pickle.loads(pickle.dumps(release)), copy.copy(release)):
            assert again.groups == release.groups
            for level in (*LEVELS, None):
                one, other = (a.pooled if level is None else a[level] for a in (again, release))
                assert np.array_equal(one.covariance, other.covariance)
        part = pickle.loads(pickle.dumps(release["south"]))
        assert np.array_equal(part.covariance, release["south"].covariance)
        assert repr(part) == repr(release["south"])
        with pytest.raises(ReleaseError, match="a group must be saved with its release"):
            part.save(tmp_path / "part.json")

    def test_finishing_is_of_all_groups(self, mechanism: str, neighbors: str) -> None:
        release = made(mechanism, neighbors)
        raw = release["west"].finished("none")
        assert np.array_equal(raw.covariance, release.finished("none")["west"].covariance)
        assert not np.array_equal(raw.covariance, release["west"].covariance)
        block, found = raw.take(SecondMoment).matrix / raw.n, raw.estimate.covariance
        assert found is not None
        assert np.allclose(found, (block[1:, 1:] - np.outer(block[0, 1:], block[0, 1:]) * 4) / 0.75, atol=1e-9)


class TestNames:
    def test_levels_of_any_kind(self) -> None:
        rows = np.column_stack([ROWS, PLACE])
        release = dpcov.covariance(rows, dpcov.ZCDP(1), row_norm=5, by={"x3": [0, 1, 2]}, mechanism="gaussian", seed=1)
        assert release.groups == ("0", "1", "2")
        assert release[1] is release["1"]
        assert release.feature_names == ("x0", "x1", "x2")
        flags = pa.table({"a": ROWS[:, 0], "yes": PLACE == 0})
        both = dpcov.covariance(flags, dpcov.ZCDP(1), row_norm=5, by={"yes": [False, True]}, mechanism="gaussian", seed=1)
        assert both.groups == ("false", "true")
        assert both[True] is both["true"]

    @pytest.mark.parametrize("level", ["nowhere", 0, None, "North"])
    def test_another_name(self, level: object) -> None:
        with pytest.raises(ReleaseError, match="group must be one of north, south, east, west, got"):
            made()[level]

    def test_no_groups(self) -> None:
        release = dpcov.covariance(ROWS, dpcov.ZCDP(1), row_norm=5, mechanism="gaussian", seed=1)
        assert release.groups == ()
        assert release.pooled is release
        with pytest.raises(ReleaseError, match="group must be asked for with by="):
            release["north"]
        with pytest.raises(ReleaseError, match="release must have groups to compare"):
            release.between("north", "south")

    def test_they_are_named_in_a_repr(self) -> None:
        assert "4 groups" in repr(made())
        assert repr(made()["west"]).startswith("<Release of a covariance: group west, ")
        assert repr(made().pooled).startswith("<Release of a covariance: all groups, ")


class TestRefusals:
    """Before a row is read: the data are a table that has none."""

    NONE = TABLE.slice(0, 0)

    def refuse(self, match: str, error: type[Exception] = ParameterError, **said: Any) -> None:
        settings = {"schema": SCHEMA, "by": "region", "mechanism": "gaussian", **said}
        with pytest.raises(error, match=match):
            dpcov.covariance(self.NONE, settings.pop("budget", dpcov.ZCDP(1)), **settings)

    def test_mechanisms_that_do_not_serve_them(self) -> None:
        served = {name for name, one in MECHANISMS["covariance"].items() if one.groups}
        assert served == {"auto", "gaussian", "wishart", "laplace", "standardized"}
        for target in ("mean", "pca", "ridge"):
            assert not any(one.groups for one in MECHANISMS[target].values())
        for name, one in MECHANISMS["covariance"].items():
            if not one.groups:
                budget = {dpcov.PureDP: dpcov.PureDP(1), dpcov.ZCDP: dpcov.ZCDP(1)}.get(
                    one.serves[0], dpcov.ApproxDP(1, "1e-8")
                )
                centred: dict[str, Any] = {} if one.centring == "homogeneous" else {"center": False}
                self.refuse("by must be left out for (mechanism|pairs)", mechanism=name, budget=budget, **centred)

    def test_columns_that_are_no_groups(self) -> None:
        self.refuse("by must be a column with levels in the schema, got 'a'", by="a")
        self.refuse("by must be a column with levels in the schema, got 'regoin'. Hint: did you mean 'region'", by="regoin")
        self.refuse("by must be a column, or a column and its groups, got 3", by=3)
        self.refuse("by must come with its groups where there is no schema", by="region", schema=None, row_norm=5)
        self.refuse("groups must be those of the schema", by={"region": ["north", "south"]})
        self.refuse("groups must be from 2 to 4096, got 1", by={"a2": ["north"]})
        self.refuse("levels must differ", by={"a2": ["north", "north"]})
        self.refuse("data must have one column 'ward', got no column of that name", SchemaError, by={"ward": ["n", "s"]})

    def test_the_column_is_no_feature(self) -> None:
        self.refuse("columns must not hold the column of groups", columns=["a", "region"])
        release = dpcov.covariance(
            TABLE, dpcov.ZCDP(1), schema=SCHEMA, by="region", columns=["c", "a"], mechanism="gaussian", seed=1
        )
        assert release.feature_names == ("c", "a")

    def test_papers_constants(self) -> None:
        with pytest.raises(ParameterError, match="constants must be 'tight' for groups"):
            dpcov.covariance(TABLE, dpcov.ZCDP(1), schema=SCHEMA, by="region", mechanism="gaussian", constants="paper")

    def test_frobenius_is_never_chosen(self) -> None:
        """By `auto`: at d = 2 it is the smallest for one matrix."""
        for budget in (dpcov.PureDP(1), dpcov.ApproxDP(1, "1e-8"), dpcov.ZCDP(1)):
            found = dpcov.rehearse("covariance", TABLE, budget, schema=SCHEMA, by="region", columns=["a", "b"], center=False)
            assert found.mechanism in ("gaussian", "wishart", "laplace")

    def test_a_group_of_a_mechanism_without_them(self) -> None:
        """A file that says so is refused where its estimate is asked for."""
        release = made()
        other = dataclasses.replace(release, mechanism="rescaled", options={"robust": False, "numerics": "rounded"})
        with pytest.raises(ReleaseError, match="by must be left out for mechanism 'rescaled'"):
            _ = other["north"].covariance


class TestSources:
    """The same integers, wherever the rows are; engines that cannot tell groups refuse."""

    def integers(self, data: Any, **said: Any) -> list[int]:
        settings = {"schema": SCHEMA, "by": "region", "mechanism": "gaussian", "seed": 7, **said}
        found: list[int] = dpcov.covariance(data, dpcov.ZCDP(1), **settings).answers[0].integers.tolist()
        return found

    def test_tables_files_and_processes(self, tmp_path: Path) -> None:
        expected = self.integers(TABLE)
        pa.parquet.write_table(TABLE, tmp_path / "t.parquet", row_group_size=500)
        pa.csv.write_csv(TABLE, tmp_path / "t.csv")
        for part in range(3):
            (tmp_path / "folder").mkdir(exist_ok=True)
            pa.parquet.write_table(TABLE.slice(1000 * part, 1000), tmp_path / "folder" / f"{part}.parquet")
        for data in (TABLE.to_pandas(), tmp_path / "t.parquet", tmp_path / "t.csv", tmp_path / "folder"):
            assert self.integers(data) == expected
        assert self.integers(tmp_path / "t.parquet", workers=2) == expected
        coded = TABLE.set_column(1, "region", TABLE["region"].dictionary_encode())
        assert self.integers(coded) == expected

    def test_arrays(self) -> None:
        rows = np.column_stack([ROWS[:, 0], np.where(PLACE < 4, PLACE, np.nan), ROWS[:, 1:]])
        numbers = dpcov.Schema(
            {"a": SCHEMA.columns["a"], "region": dpcov.Categorical([0, 1, 2, 3])} | {n: SCHEMA.columns[n] for n in "bc"}
        )
        assert self.integers(rows, schema=numbers) == self.integers(TABLE)
        assert self.integers(rows, schema=numbers, workers=2) == self.integers(TABLE)

    def test_a_source_without_groups_is_refused(self) -> None:
        """Its last feature would be taken for the group."""
        asked = request("covariance", dpcov.ZCDP(1), mechanism="gaussian", bound=None, schema=SCHEMA, by="region", options={})
        source = open_source(TABLE, ["a", "b", "c"], SCHEMA, True)
        assert asked.by is not None
        with pytest.raises(ParameterError, match="encoding must have the groups of the source, got others"):
            ExactSums(source, dataclasses.replace(asked.encoding(source), groups=asked.by.groups), "replace")


class TestBetween:
    def test_differences_of_means(self) -> None:
        release = made("wishart")
        found = release.between("south", "north", level=0.9)
        assert found.mean is not None
        one, other = (release[level].interval(0.9).unbounded_mean for level in ("south", "north"))
        assert one is not None
        assert other is not None
        assert np.allclose(found.mean.estimate, one.estimate - other.estimate)
        half = np.hypot(one.upper - one.estimate, other.upper - other.estimate)
        assert np.allclose(found.mean.upper - found.mean.estimate, half)
        assert found.groups == ("south", "north")
        assert repr(found) == "<Differences of south and north: 3 features, each with probability 0.9>"

    def test_the_other_way_round(self) -> None:
        release = made("laplace")
        one, other = release.between("east", "north"), release.between("north", "east")
        for name in ("mean", "deviations", "correlations", "entries"):
            first, second = getattr(one, name), getattr(other, name)
            assert np.allclose(first.estimate, -second.estimate)
            assert np.allclose(first.lower, -second.upper)

    def test_what_cannot_be_compared(self) -> None:
        with pytest.raises(ReleaseError, match="groups must differ, got 'north' twice"):
            made().between("north", "north")
        with pytest.raises(ReleaseError, match="group must be one of"):
            made().between("north", "nowhere")

    def test_how_often_they_hold(self) -> None:
        """About the rows, over the noise alone. Size 1e-6 for 95 % intervals; intervals a third too short are rejected."""
        truth = [ROWS[level == REGION].mean(axis=0) for level in ("north", "east")]
        runs = 300
        missed = 0
        for seed in range(runs):
            found = made("gaussian", seed=seed).between("north", "east", about="rows").mean
            assert found is not None
            missed += int((~found.contains(truth[0] - truth[1])).sum())
        from scipy import stats

        # three means of one release are nearly independent: noise of each is its own, a common divisor adds little
        assert stats.binom.sf(missed - 1, 3 * runs, 0.05) > SIZE
        assert stats.binom.cdf(missed, 3 * runs, 0.19) < SIZE  # what intervals a third too short would miss


class TestPooling:
    def noisy(self, moments: Any, rows: Any, deviation: float) -> Noisy:
        from dpcov.kernel.noise.laws import Spread

        return Noisy(np.array(moments), Spread(2 * deviation**2, deviation**2), np.array(rows, dtype=np.float64), deviation)

    def test_without_noise_a_group_stays_as_it_is(self) -> None:
        moments = np.stack([np.diag([1.0, 0.2 + g, 0.4]) for g in range(4)])
        for group in range(4):
            drawn = drawn_together(self.noisy(moments, [50, 60, 70, 80], 1e-9), group, centred=False)
            assert np.allclose(drawn.moment, moments[group])
            assert np.allclose(drawn.own, 1)
            assert drawn.standard_error.max() < 1e-8

    def test_noise_hides_how_groups_differ(self) -> None:
        """One matrix for all but for noise: what is drawn has far less of it."""
        generator = np.random.default_rng(5210)
        truth, rows = np.diag([0.3, 0.2, 0.1]), np.array([100.0] * 8)
        noise = generator.normal(size=(8, 3, 3)) * 0.2
        moments = truth + (noise + noise.swapaxes(1, 2)) / np.sqrt(2)
        found = [drawn_together(self.noisy(moments, rows, 20.0), group, centred=False) for group in range(8)]
        before = float(((moments - truth) ** 2).sum())
        after = float(sum(((drawn.moment - truth) ** 2).sum() for drawn in found))
        assert after < 0.3 * before
        assert all(drawn.noise.off_diagonal_variance < 0.2**2 for drawn in found)

    def test_one_group_unlike_the_others_is_kept(self) -> None:
        moments = np.stack([np.diag([0.3, 0.2, 0.1])] * 7 + [np.array([[0.1, 0.1, 0], [0.1, 0.3, 0], [0, 0, 0.4]])])
        drawn = drawn_together(self.noisy(moments, [500.0] * 8, 2.0), 7, centred=False)
        assert np.allclose(drawn.moment, moments[7], atol=0.02)

    def test_means_move_and_what_is_about_them_does_not(self) -> None:
        """Of centred rows: other means, and the same covariance."""
        means = np.array([[0.1, -0.2], [0.3, 0.0], [-0.2, 0.1]])
        covariance = np.array([[0.05, 0.01], [0.01, 0.08]])
        lifted = []
        for mean in means:
            row = np.array([0.5, *mean])
            lifted.append(np.outer(row, row) + np.pad(covariance, ((1, 0), (1, 0))))
        for group in range(3):
            drawn = drawn_together(self.noisy(lifted, [900.0] * 3, 1e-6), group, centred=True)
            assert np.allclose(drawn.moment, lifted[group], atol=1e-6)

    def test_large_groups_are_nearly_alone(self) -> None:
        release = made()
        north, west = release["north"].estimate.own, release["west"].estimate.own
        assert north is not None
        assert west is not None
        assert north.part.shape == west.standard_error.shape == (3, 3)
        assert west.part.mean() < north.part.mean() <= 1
        assert release.finished("none")["west"].estimate.own is None
        assert release.estimate.own is None
        alone = dataclasses.replace(release["north"], part=dataclasses.replace(release["north"].part, level=None))  # type: ignore[type-var]
        error, apart = release["north"].covariance - alone.covariance, release["west"].covariance - release.covariance
        assert np.linalg.norm(error) < 0.05 * np.linalg.norm(alone.covariance)
        assert np.linalg.norm(apart) < 0.5 * np.linalg.norm(release.finished("none")["west"].covariance - release.covariance)


class TestTogether:
    def test_noise_of_a_sum(self) -> None:
        """As many variances, and an excess kurtosis that many times smaller."""
        for mechanism in BUDGETS:
            release = made(mechanism)
            one, all_of_them = release["north"].take(SecondMoment).law, release.pooled.take(SecondMoment).law
            assert isinstance(all_of_them, Together)
            assert all_of_them.spread().off_diagonal_variance == pytest.approx(4 * one.spread().off_diagonal_variance)
            assert peaks(all_of_them, 4)[0] == peaks(one, 4)[0] / 4
        assert isinstance(made("laplace")["north"].take(SecondMoment).law, DiscreteLaplace)

    def test_a_group_has_a_noisy_number_of_rows(self) -> None:
        """Under replace as well: its intervals are wider than if n were known."""
        release = made()
        assert release.n_is_public
        assert not release["north"].n_is_public
        assert not made(neighbors="add-remove").n_is_public
        west = release["west"].interval(about="rows").mean
        north = release["north"].interval(about="rows").mean
        assert west is not None
        assert north is not None
        assert ((west.upper - west.lower) > 5 * (north.upper - north.lower)).all()

    def test_few_rows_or_none(self) -> None:
        """The group is what all together say, and its intervals are endless or as wide as the bounds."""
        table = TABLE.filter(pa.array(REGION != "west"))
        release = dpcov.covariance(
            table, dpcov.PureDP("0.5"), schema=SCHEMA, by="region", mechanism="wishart", clip="none", seed=3
        )
        west = release["west"]
        assert west.n >= 1
        assert np.isfinite(west.covariance).all()
        assert np.isfinite(west.mean).all()
        found = west.interval().mean
        assert found is not None
        assert ((found.lower <= -1) & (found.upper >= 1)).all()


class TestFiles:
    def edited(self, **changes: Any) -> str:
        import json

        from dpcov.release.file import _checksum, text_of

        record = json.loads(text_of(made()))
        record.pop("checksum")
        record["encoding"] |= changes
        record["checksum"] = _checksum(record)
        return json.dumps(record)

    @pytest.mark.parametrize(
        "groups",
        [
            {},
            {"by": "region", "levels": ["north", "south"]},
            {"by": "region", "levels": ["north", "south", "east", "east"]},
            {"by": "region", "levels": ["north", "south", "east", 3]},
            {"by": "region", "levels": ["only"]},
            {"by": 3, "levels": LEVELS},
            {"by": "region"},
            {"by": "region", "levels": LEVELS, "more": 1},
            {"by": "region", "levels": [f"g{i}" for i in range(5000)]},
            {"by": "\ud800", "levels": LEVELS},
            {"by": "region", "levels": [*LEVELS[:3], "\udfff"]},
        ],
    )
    def test_groups_that_are_none(self, groups: dict[str, Any]) -> None:
        from dpcov.release.file import parse

        with pytest.raises(ReleaseError):
            parse(self.edited(groups=groups))

    def test_pairs_in_groups(self) -> None:
        from dpcov.release.file import parse

        with pytest.raises(ReleaseError, match="pairs of rows in groups"):
            parse(self.edited(pairs=True))

    def test_answers_that_are_missing_or_others(self) -> None:
        """Whatever a transcript holds, an estimate is one or a `ReleaseError`."""
        release = made(center=False)
        moment, counts = release.answers
        plain = dpcov.covariance(ROWS, dpcov.ZCDP(1), row_norm=1, mechanism="gaussian", seed=1).answers
        for answers in ((), (moment,), (counts,), plain, (*plain, counts)):
            other = dataclasses.replace(release, answers=answers)
            for part in ("north", None):
                with pytest.raises(ReleaseError):
                    _ = (other.pooled if part is None else other[part]).covariance
        strange = dataclasses.replace(release, answers=(*plain, moment, counts))
        assert np.array_equal(strange["north"].covariance, release["north"].covariance)
        assert GroupSize in {type(answer.question) for answer in strange["north"].answers}

    def test_extreme_integers_end_in_an_estimate_or_an_error(self) -> None:
        for value in (2**62, -(2**62), 0, 1):
            release = made()
            answer = dataclasses.replace(release.answers[0], integers=np.full_like(release.answers[0].integers, value))
            other = dataclasses.replace(release, answers=(answer,))
            for part in (other["north"], other.pooled):
                with contextlib.suppress(ReleaseError):
                    assert np.isfinite(part.covariance).all()


class TestEstimator:
    def test_it_takes_groups(self) -> None:
        frame = TABLE.to_pandas()
        fitted = dpcov.PrivateCovariance(rho=1, schema=SCHEMA, by="region", mechanism="gaussian", random_state=5).fit(frame)
        assert fitted.release_.groups == tuple(LEVELS)
        assert np.array_equal(fitted.covariance_, fitted.release_.pooled.covariance)
