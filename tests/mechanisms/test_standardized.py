"""standardized: without noise it is what pandas says; with it, whatever the table and the budget, finite, sane and silent."""

from __future__ import annotations

import json
import math
import pickle
import warnings
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray

import dpcov
from dpcov.errors import ParameterError, ReleaseError
from dpcov.kernel.budget import ZCDP, ApproxDP, Budget, PureDP
from dpcov.kernel.curator import Curator
from dpcov.kernel.questions.choices import Quantile
from dpcov.kernel.questions.moments import NEIGHBORS, REPLACE, Count, SecondMoment
from dpcov.kernel.questions.table import ColumnMoments, Interval, LevelCounts
from dpcov.kernel.rows.grid import Grid
from dpcov.kernel.rows.standard import Standard
from dpcov.mechanisms.running import released
from dpcov.mechanisms.standardized.covariance import STANDARDIZED
from dpcov.release.file import parse, text_of
from dpcov.release.record import Release
from dpcov.schema import Categorical, Numeric, Schema
from dpcov.sources.opening import open_source
from dpcov.uses import synthetic
from dpcov.verify.testing import opened
from tests.helpers.quiet import QuietSampler
from tests.helpers.small import sealed

Floats = NDArray[np.float64]
GRID = Grid(1.0, center=True)
LARGE = ZCDP(10**8)  # denoising, and the rows that a radius leaves outside, change next to nothing


def curator(frame: Any, schema: Schema, budget: Budget, neighbors: str = REPLACE, quiet: QuietSampler | None = None) -> Curator:
    source = open_source(frame, schema=schema, center=True)
    return opened(source, GRID, budget, neighbors, sampler=QuietSampler() if quiet is None else quiet)


def quietly(frame: Any, schema: Schema, budget: Budget = LARGE, neighbors: str = REPLACE) -> Release:
    """Release without noise."""
    return released(STANDARDIZED, curator(frame, schema, budget, neighbors), budget)


def asked(release: Release) -> list[str]:
    return [spend.asked for spend in release.spent]


MIXED = Schema(
    {
        "age": Numeric(0, 120, weight=2),
        "town": Categorical(["a", "b", "c", "never"], weight=0.5),
        "pay": Numeric(0, 1e6),
        "score": Numeric(-3, 3, nullable=True),
        "smoker": Categorical([True, False], nullable=True),
        "tail": Numeric(-1e3, 1e3),
    }
)


def mixed(n: int = 3000, seed: int = 5) -> Any:
    """Correlated columns of every kind: one of a thousandth of its bounds, values beyond them, gaps where they are declared."""
    draw = np.random.default_rng(seed)
    common = draw.normal(size=n)
    return pd.DataFrame(
        {
            "age": 50 + 18 * common + 10 * draw.normal(size=n),
            "town": np.array(["a", "b", "c"], dtype=object)[np.digitize(common + draw.normal(size=n), [-0.5, 1.2])],
            "pay": 900 + 150 * common + 80 * draw.normal(size=n),
            "score": np.clip(common + draw.normal(size=n), -3.5, 3.5),
            "smoker": common + draw.normal(size=n) > 0.5,
            "tail": 1.0 + 0.2 * draw.uniform(-1, 1, n),
        }
    )


def with_balanced_gaps(frame: Any, *names: str) -> Any:
    """Return each row with and without each of these cells: what is missing of one column says nothing of another."""
    for name in names:
        gaps = frame.copy()
        gaps[name] = pd.Series([None] * len(gaps), dtype=object) if gaps[name].dtype == object else np.nan
        frame = pd.concat([frame.astype({name: object}), gaps.astype({name: object})], ignore_index=True)
    return frame.astype({name: float for name in names if frame[name].map(type).eq(float).all()})


def features(frame: Any, schema: Schema) -> Any:
    """Return a column for each feature, clipped as the schema says; NaN where a cell is missing."""
    found = {}
    for name, column in schema.used.items():
        if isinstance(column, Numeric):
            found[name] = frame[name].astype(float).clip(column.lower, column.upper)
        else:
            for level, text in zip(column.levels, column.names, strict=True):
                found[f"{name}={text}"] = (frame[name] == level).astype(float).where(frame[name].notna())
    return pd.DataFrame(found)


def check_as_pandas(release: Release, truth: Any, within: float = 1e-3) -> None:
    """Means and deviations in parts of a deviation; correlations of what was observed in pairs of columns."""
    deviations = truth.std(ddof=0).to_numpy()
    described = release.describe()
    assert described.mean is not None
    assert described.deviation is not None
    varied = np.flatnonzero(deviations > 0)
    sizes = deviations[varied]
    assert np.abs((release.mean - truth.mean().to_numpy())[varied] / sizes).max() < within
    assert np.abs(np.asarray(described.deviation.values)[varied] / sizes - 1).max() < within
    expected = truth.corr().to_numpy()[np.ix_(varied, varied)]
    assert np.abs(release.correlation()[np.ix_(varied, varied)] - expected).max() < within


@pytest.mark.parametrize("neighbors", NEIGHBORS)
class TestWithoutNoise:
    def test_complete_columns_are_what_pandas_says(self, neighbors: str) -> None:
        frame = mixed()
        release = quietly(frame, MIXED, neighbors=neighbors)
        check_as_pandas(release, features(frame, MIXED))

    def test_so_are_columns_with_gaps(self, neighbors: str) -> None:
        """Gaps in both kinds of columns, of a quarter of the rows each."""
        frame = with_balanced_gaps(mixed(1000), "score", "smoker")
        release = quietly(frame, MIXED, neighbors=neighbors)
        check_as_pandas(release, features(frame, MIXED), within=2e-3)

    def test_covariances_are_those_of_its_correlations(self, neighbors: str) -> None:
        """What regressions and components use: complete columns."""
        frame = mixed()
        release = quietly(frame, MIXED, neighbors=neighbors)
        truth = features(frame, MIXED)
        expected, sizes = truth.cov(ddof=0).to_numpy(), truth.std(ddof=0).to_numpy()
        off = np.abs(release.covariance - expected) / np.maximum(np.outer(sizes, sizes), 1e-9)
        assert off[np.ix_(sizes > 0, sizes > 0)].max() < 2e-3

    def test_a_regression_is_the_exact_one(self, neighbors: str) -> None:
        frame = mixed()
        release = quietly(frame, MIXED, neighbors=neighbors)
        model = release.ridge(target="age", alpha=0, features=["pay", "score", "smoker=true"])
        truth = features(frame, MIXED)
        design = np.column_stack([truth[["pay", "score", "smoker=true"]].to_numpy(), np.ones(len(truth))])
        exact = np.linalg.lstsq(design, truth["age"].to_numpy(), rcond=None)[0]
        spread = truth[["pay", "score", "smoker=true"]].std().to_numpy() / truth["age"].std()
        assert np.abs((np.asarray(model.coefficients) - exact[:-1]) * spread).max() < 5e-3
        predicted = model.predict(frame[["pay", "score", "smoker"]])
        assert np.abs(predicted - design @ exact).max() < 0.05 * truth["age"].std()


class TestUnits:
    def test_only_columns_that_drown_get_a_range(self) -> None:
        """A variance far below its noise at this budget: not the others; each range holds its column, and is narrow."""
        quiet = QuietSampler()
        frame = mixed()
        release = released(STANDARDIZED, curator(frame, MIXED, ZCDP("0.5"), quiet=quiet), ZCDP("0.5"))
        ranges = [question for question in quiet.asked if isinstance(question, Interval)]
        assert [question.column for question in ranges] == [1, 3]  # pay and tail, of age, pay, score, tail
        first, again = (question for question in quiet.asked if isinstance(question, ColumnMoments))
        assert [one.column for one in first.ranges] == [0, 1, 2, 3]
        assert [one.column for one in again.ranges] == [1, 3]
        bins = first.histograms.bins
        for one, (low, high) in zip(again.ranges, ((0, 1e6), (-1e3, 1e3)), strict=True):
            name = ["age", "pay", "score", "tail"][one.column]
            ends = low + (high - low) * np.array([one.low, one.high]) / bins
            outside = (frame[name] < ends[0]) | (frame[name] > ends[1])
            assert outside.mean() < 0.02
            assert ends[1] - ends[0] < 40 * frame[name].std()
        assert release.describe().deviation is not None

    def test_the_variance_decides_and_not_where_the_column_lies(self) -> None:
        """At the end of its bounds, wide: no range; in the middle, narrow: one."""
        draw = np.random.default_rng(3)
        frame = pd.DataFrame({"end": draw.uniform(0.6, 1, 4000), "middle": 1e-4 * draw.normal(size=4000)})
        quiet = QuietSampler()
        schema = Schema({"end": Numeric(-1, 1), "middle": Numeric(-1, 1)})
        released(STANDARDIZED, curator(frame, schema, ZCDP(20), quiet=quiet), ZCDP(20))
        assert [question.column for question in quiet.asked if isinstance(question, Interval)] == [1]

    def test_rows_are_scaled_as_a_whole(self) -> None:
        """Clipped rows are rows of smaller weight: the corner is the sum of weights, the mean that of a weighted sample."""
        draw = np.random.default_rng(4)
        cells = np.where(draw.random(4000) < 0.3, 0.9, 0.02 * draw.normal(size=4000))
        frame = pd.DataFrame({"a": cells, "b": draw.uniform(-1, 1, 4000)})
        schema = Schema({"a": Numeric(-1, 1), "b": Numeric(-1, 1)})
        for neighbors in NEIGHBORS:
            release = quietly(frame, schema, ZCDP("0.002"), neighbors)
            moment = release.take(SecondMoment)
            assert isinstance(moment.question, SecondMoment)
            rows = moment.question.grid
            assert isinstance(rows, Standard)
            corner = float(moment.matrix[0, 0]) * rows.row_norm**2 / rows.corner**2 / 4000
            assert corner < 0.995  # some rows were clipped; n·a² would be 1
            reach = math.sqrt(0.5)  # of either column, encoded
            z, other = (
                (np.clip(frame[name] * reach, one.low, one.high).to_numpy() - one.centre) / one.deviation
                for name, one in zip("ab", rows.units.numeric, strict=True)
            )
            squares = np.minimum(1.0, rows.row_norm**2 / (z**2 + other**2 + rows.corner**2))
            assert corner == pytest.approx(squares.mean(), rel=1e-3)
            raw = release.finished("none").estimate.units
            assert raw is not None
            weighted = float(squares @ z / squares.sum())
            assert raw.mean[0] == pytest.approx(weighted, abs=2e-3)
            spread = float(squares @ (z - weighted) ** 2 / squares.sum())
            assert raw.raw_covariance[0, 0] == pytest.approx(spread, rel=3e-3)

    def test_missing_cells_are_at_the_private_centre(self) -> None:
        """Not at the middle of the bounds, which is far away."""
        draw = np.random.default_rng(6)
        cells = np.where(draw.random(4000) < 0.3, np.nan, draw.uniform(0.7, 0.9, 4000))
        frame = pd.DataFrame({"a": cells, "b": draw.uniform(-1, 1, 4000)})
        schema = Schema({"a": Numeric(-1, 1, nullable=True), "b": Numeric(-1, 1)})
        release = quietly(frame, schema)
        assert release.mean[0] == pytest.approx(np.nanmean(cells), abs=1e-4)
        assert release.covariance[0, 0] == pytest.approx(np.nanvar(cells), rel=5e-3)

    def test_decisions_follow_the_noisy_number_of_rows(self) -> None:
        """Scripted far from the truth: the truth must not matter."""

        class Claims(QuietSampler):
            def __init__(self, n: int) -> None:
                super().__init__()
                self.n = n

            def noisy(self, question: Any, law: Any, exact: Any) -> Any:
                found = super().noisy(question, law, exact)
                return np.array([self.n]) if question.name == "count" else found

        frame, few = mixed(3000), mixed(8)
        for rows, claimed, measured in ((frame, 8, False), (few, 3000, True)):
            quiet = Claims(claimed)
            release = released(STANDARDIZED, curator(rows, MIXED, PureDP(4), "add-remove", quiet), PureDP(4))
            assert release.n == claimed
            assert ("column moments" in asked(release)) is measured

    def test_levels_that_cannot_be_seen_make_one_group(self) -> None:
        draw = np.random.default_rng(8)
        levels = [f"l{i}" for i in range(40)]
        shares = np.array([0.45, 0.45, *np.full(38, 0.1 / 38)])
        frame = pd.DataFrame({"c": draw.choice(np.array(levels, dtype=object), 3000, p=shares), "a": draw.uniform(-1, 1, 3000)})
        schema = Schema({"c": Categorical(levels), "a": Numeric(-1, 1)})
        for budget, groups in ((PureDP(1), 3), (ZCDP(10**6), 40)):
            release = quietly(frame, schema, budget)
            rows = release.take(SecondMoment).question
            assert isinstance(rows, SecondMoment)
            assert isinstance(rows.grid, Standard)
            assert len(rows.grid.units.levels[0].shares) == groups
            assert release.mean[:40].sum() == pytest.approx(1)
            assert np.abs(release.mean[:40] - features(frame, schema).mean().to_numpy()[:40]).max() < 0.01


@pytest.mark.parametrize("bits", [2000, 2900, 2960, 2980])
def test_budgets_with_many_digits_are_refused_whole(bits: int) -> None:
    """Shares have more digits than the whole: none of them may be refused after a charge."""
    try:
        budget = PureDP(Fraction(37 * (2**bits + 1) + 11, 2**bits + 1))
    except ParameterError:
        return
    one = curator(mixed(300), MIXED, budget, "add-remove")
    try:
        released(STANDARDIZED, one, budget)
    except ParameterError:
        assert not one.answers


@pytest.mark.parametrize("neighbors", NEIGHBORS)
@pytest.mark.parametrize("budget", [PureDP("1e-8"), PureDP("1e-12"), ZCDP("1e-20")], ids=repr)
def test_budgets_too_small_for_any_noise_are_refused_whole(budget: Budget, neighbors: str) -> None:
    one = curator(mixed(300), MIXED, budget, neighbors)
    try:
        released(STANDARDIZED, one, budget)
    except ParameterError:
        assert not one.answers


def _lots(n: int = 600) -> dict[str, tuple[Any, Schema]]:
    """Return tables that nobody would choose."""
    draw = np.random.default_rng(12)
    normal = draw.normal(size=n)
    two = {"b": draw.normal(size=n)}
    b = {"b": Numeric(-5, 5)}
    many = [f"l{i}" for i in range(300)]
    none = pd.Series([None] * n, dtype=object)
    text = draw.choice(np.array(["x", "y"], dtype=object), n)
    return {
        "all constant": (pd.DataFrame({"a": np.full(n, 3.0), "b": np.full(n, 4.0)}), Schema({"a": Numeric(0, 10), **b})),
        "one constant": (pd.DataFrame({"a": np.full(n, 3.0), **two}), Schema({"a": Numeric(0, 10), **b})),
        "one constant column": (pd.DataFrame({"a": np.full(n, 3.0)}), Schema({"a": Numeric(0, 10)})),
        "one column": (pd.DataFrame(two), Schema(b)),
        "one level": (pd.DataFrame({"c": ["x"] * n}), Schema({"c": Categorical(["x"])})),
        "one level and a number": (pd.DataFrame({"c": ["x"] * n, **two}), Schema({"c": Categorical(["x"]), **b})),
        "levels only": (pd.DataFrame({"c": text}), Schema({"c": Categorical(["x", "y"])})),
        "constant but for levels": (
            pd.DataFrame({"c": text, "a": np.full(n, 3.0)}),
            Schema({"c": Categorical(["x", "y"]), "a": Numeric(0, 10)}),
        ),
        "all missing": (
            pd.DataFrame({"a": np.full(n, np.nan), "c": none, **two}),
            Schema({"a": Numeric(0, 10), "c": Categorical(["x", "y"]), **b}),
        ),
        "all missing, declared": (
            pd.DataFrame({"a": np.full(n, np.nan), "c": none}),
            Schema({"a": Numeric(0, 10, nullable=True), "c": Categorical(["x", "y"], nullable=True)}),
        ),
        "hundreds of levels": (
            pd.DataFrame({"c": draw.choice(np.array(many[:30], dtype=object), n), **two}),
            Schema({"c": Categorical(many), **b}),
        ),
        "bounds of one value": (pd.DataFrame({"a": normal, **two}), Schema({"a": Numeric(5, 5 + 1e-15), **b})),
        "all beyond the bounds": (pd.DataFrame({"a": normal + 1e3, **two}), Schema({"a": Numeric(0, 10), **b})),
        "huge": (
            pd.DataFrame({"a": normal * 1e129, **two}),
            Schema({"a": Numeric(-1e130, 1e130), "b": Numeric(-1e130, 1e130)}),
        ),
        "tiny": (pd.DataFrame({"a": normal * 1e-131, **two}), Schema({"a": Numeric(-5e-131, 5.1e-131), **b})),
        "weights": (
            pd.DataFrame({"a": normal, **two}),
            Schema({"a": Numeric(-5, 5, weight=1e-6), "b": Numeric(-5, 5, weight=1e6)}),
        ),
        "not finite": (
            pd.DataFrame({"a": np.resize([np.inf, -np.inf, np.nan, 1e308], n), **two}),
            Schema({"a": Numeric(-5, 5), **b}),
        ),
        "one row": (mixed(1), MIXED),
        "two rows": (mixed(2), MIXED),
        "mixed": (mixed(n), MIXED),
    }


TABLES = _lots()
BUDGETS: list[Budget] = [
    *(PureDP("1e-3"), PureDP(1), PureDP(1000), ZCDP("1e-6"), ZCDP("0.5"), ZCDP(1000)),
    *(ApproxDP(1, "1e-6"), ApproxDP(1000, "1e-9")),
]


def use(release: Release, frame: Any, schema: Schema, path: Path) -> list[Any]:
    """Return all that a release can tell."""
    found: list[Any] = [release.mean, release.covariance, release.second_moment, release.correlation()]
    found += [release.finished("none").mean, release.finished("none").covariance]
    rows = release.sample(5, seed=1)
    found += [rows.column(name).to_numpy() for name, column in schema.used.items() if isinstance(column, Numeric)]
    release.describe().pairs()
    found += [release.pca(1).components]
    if len(schema.used) > 1:
        for alpha in (0.0, 0.01, "auto"):
            for target in (release.feature_names[0], release.feature_names[-1]):
                model = release.ridge(target=target, alpha=alpha)
                found += [model.coefficients, model.intercept, model.predict(frame)]
    release.save(path)
    again = dpcov.load(path)
    assert again.mean.tobytes() == release.mean.tobytes()
    assert pickle.loads(pickle.dumps(release)).covariance.tobytes() == release.covariance.tobytes()
    assert again.retrace().agrees
    return found


@pytest.mark.parametrize("part", [0, pytest.param(1, marks=pytest.mark.audit)])
@pytest.mark.parametrize("neighbors", NEIGHBORS)
@pytest.mark.parametrize("name", TABLES)
def test_any_table_and_any_budget(
    name: str, neighbors: str, part: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Finite, inside the bounds, without a warning; correlations between −1 and 1. Half of the budgets with each relation."""
    monkeypatch.setattr(synthetic, "PILOT", 500)  # synthetic rows are fitted to so many, which takes longest
    frame, schema = TABLES[name]
    first = (part + NEIGHBORS.index(neighbors)) % 2
    budgets: list[Budget] = [BUDGETS[1]] if name == "hundreds of levels" else BUDGETS[first::2]
    low, high = schema.bounds()
    for budget in budgets:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            release = dpcov.covariance(
                frame, budget, schema=schema, center=True, mechanism="standardized", neighbors=neighbors, seed=3
            )
            for found in use(release, frame, schema, tmp_path / "release.json"):
                assert np.isfinite(np.asarray(found, dtype=np.float64)).all(), budget
        assert ((release.mean >= low) & (release.mean <= high)).all()
        assert np.abs(release.correlation()).max() <= 1
        assert np.linalg.eigvalsh(release.encoded_covariance)[0] > -1e-9


class TestConstant:
    def test_a_table_of_constants_has_means_and_no_second_moment(self) -> None:
        frame, schema = TABLES["all constant"]
        release = quietly(frame, schema)
        assert "second moment" not in asked(release)
        assert np.abs(release.mean - [3.0, 4.0]).max() < 1e-3
        assert np.sqrt(release.covariance.diagonal()).max() < 1e-3
        assert release.correlation().tolist() == np.eye(2).tolist()

    def test_a_constant_column_has_no_coordinate(self) -> None:
        frame, schema = TABLES["one constant"]
        release = quietly(frame, schema)
        assert release.mean[0] == pytest.approx(3.0, abs=1e-3)
        moment = release.take(SecondMoment).question
        assert isinstance(moment, SecondMoment)
        assert moment.d == 2  # b and the constant in front
        assert release.ridge(target="b", alpha=0.1).coefficients.tolist() == [0.0]

    def test_answers_that_leave_a_column_unknown_are_no_table_of_constants(self) -> None:
        frame, schema = TABLES["all constant"]
        release = quietly(frame, schema)
        tree = json.loads(text_of(release))
        tree["answers"] = [answer for answer in tree["answers"] if answer["question"].get("column") != 1]
        with pytest.raises(ReleaseError, match="must hold an answer about second moment"):
            _ = parse(sealed(tree)).mean


class TestForged:
    """Answers that no run gives, in files that load: an error that a user is told of."""

    def edited(self, change: Any) -> Release:
        tree = json.loads(text_of(quietly(mixed(400), MIXED, ZCDP(20))))
        change(tree)
        return parse(sealed(tree))

    def moment(self, tree: Any) -> Any:
        return next(answer for answer in tree["answers"] if answer["question"]["asked"] == "second moment")

    @pytest.mark.parametrize("radius", [1e-100, 1e60, 1e149])
    def test_a_radius_beyond_all_rows(self, radius: float) -> None:
        def change(tree: Any) -> None:
            rows = self.moment(tree)["question"]["rows"]
            rows["radius"], rows["corner"] = radius, radius / 3

        with pytest.raises(ReleaseError, match="constant in front"):
            _ = self.edited(change).mean

    def test_a_constant_next_to_nothing(self) -> None:
        def change(tree: Any) -> None:
            self.moment(tree)["question"]["rows"]["corner"] = 1e-200

        with pytest.raises(ReleaseError, match="constant in front"):
            _ = self.edited(change).covariance

    def test_answers_in_another_order(self) -> None:
        release = self.edited(lambda tree: tree["answers"].reverse())
        assert np.isfinite(release.mean).all()
        assert np.isfinite(release.correlation()).all()

    def test_constants_that_were_never_found(self) -> None:
        """Deviations of 0 for columns whose intervals say otherwise."""

        def change(tree: Any) -> None:
            moment = self.moment(tree)
            for column in tree["frames"][0]["numeric"][1:]:
                column[3] = 0.0
            width = 1 + 1 + 3 + 1
            diagonal = [2**40] * width
            moment["integers"] = diagonal + [0] * (width * (width - 1) // 2)
            tree["answers"] = [
                answer for answer in tree["answers"] if answer["question"]["asked"] not in ("radius", "interval")
            ]

        release = self.edited(change)
        assert np.isfinite(release.mean).all()
        assert np.isfinite(release.correlation()).all()


def test_refusals() -> None:
    frame = mixed(50)
    with pytest.raises(ParameterError, match="schema must be given for mechanism 'standardized'"):
        dpcov.covariance(frame[["age", "pay"]], PureDP(1), row_norm=1, center=True, mechanism="standardized")
    with pytest.raises(ParameterError, match="center must be True for mechanism 'standardized'"):
        dpcov.covariance(frame, PureDP(1), schema=MIXED, center=False, mechanism="standardized")


def test_every_answer_is_of_a_known_kind() -> None:
    """What a transcript holds: counts, moments and intervals of columns, a radius, one matrix; nothing else."""
    release = quietly(mixed(), MIXED, ZCDP("0.5"), "add-remove")
    kinds = [type(answer.question) for answer in release.answers]
    of_columns = [ColumnMoments, Interval, Interval, ColumnMoments, LevelCounts]
    assert kinds == [Count, *of_columns, Quantile, SecondMoment]
    assert (dict(release.notes), dict(release.options)) == ({}, {})
    assert math.isfinite(release.expected_error)
