"""Ridge from a release is scikit-learn's ridge on rows with the same moments, whatever the schema, the features and alpha.

Rows with *exactly* the released mean and covariance are made from a root of the covariance, in the user's units; scikit-learn
sees them encoded by hand. Nothing here is random but what hypothesis chooses.
"""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from sklearn.linear_model import Ridge

import dpcov
from dpcov import Categorical, Numeric, Schema
from dpcov.release.record import Release
from dpcov.uses.solving import solved

Floats = NDArray[np.float64]

SCHEMA = Schema(
    {
        "age": Numeric(17, 90),
        "sex": Categorical(["F", "M"], weight=0.5),
        "balance": Numeric(-2000, 500, weight=3),
        "grade": Categorical([2, 1, 3]),
        "score": Numeric(1e-3, 1.2e-3, weight=0.7),
        "insured": Categorical([True, False], weight=2),
    }
)


def people(n: int, seed: int = 5) -> pd.DataFrame:
    draw = np.random.default_rng(seed)
    common = draw.standard_normal(n)
    return pd.DataFrame(
        {
            "age": np.clip(50 + 15 * common + 5 * draw.standard_normal(n), 17, 90),
            "sex": np.where(common + draw.standard_normal(n) > 0, "F", "M"),
            "balance": np.clip(-700 + 300 * common + 300 * draw.standard_normal(n), -2000, 500),
            "grade": draw.integers(1, 4, n),
            "score": 1.1e-3 + 4e-5 * np.tanh(common + draw.standard_normal(n)),
            "insured": common > draw.standard_normal(n),
        }
    )


def released(seed: int = 0, *, center: bool = True, schema: Schema = SCHEMA, **options: Any) -> Release:
    budget = options.pop("budget", dpcov.ZCDP(2))
    return dpcov.covariance(people(2000), budget, schema=schema, center=center, seed=seed, **options)


def rows_with_the_moments(release: Release) -> Floats:
    """Return rows, in the user's units, whose mean and covariance (second moment, if not centred) are the release's."""
    values, vectors = np.linalg.eigh(release.encoded_covariance)
    root = vectors * np.sqrt(np.maximum(values, 0.0))
    spread = math.sqrt(release.d) * np.concatenate([root.T, -root.T])
    about = release.mean if release.center else release.offsets
    return np.asarray(about + spread * release.units)


def by_scikit_learn(release: Release, rows: Floats, target: int, places: list[int], alpha: float) -> tuple[Any, Floats]:
    """Fit encoded rows and return the model with its predictions in the user's units."""
    encoded = (rows - release.offsets) / release.units
    model = Ridge(alpha=alpha * len(rows), fit_intercept=release.center).fit(encoded[:, places], encoded[:, target])
    return model, model.predict(encoded[:, places]) * release.units[target] + release.offsets[target]


NUMBERS = st.builds(
    lambda low, width, weight: Numeric(low, low + width, weight=weight),
    st.floats(-1e6, 1e6),
    st.floats(1e-3, 1e6),
    st.floats(0.1, 10),
)
LEVELS = st.builds(
    lambda count, weight: Categorical([f"l{i}" for i in range(count)], weight=weight), st.integers(1, 4), st.floats(0.1, 10)
)
SCHEMAS = st.lists(st.one_of(NUMBERS, LEVELS), min_size=2, max_size=6).map(
    lambda columns: Schema({f"c{j}": column for j, column in enumerate(columns)})
)


def tolerances(release: Release, rows: Floats, places: list[int], alpha: float, found: Floats) -> tuple[float, float]:
    """Bound what coefficients and predictions, in encoded units, can differ because `rows` are kept in the user's units.

    Numbers between 262144 and 262144.03 have seven digits less about their middle. With entries off by t each product of two is
    off by 2t·max, a mean of products too, and the solution of (C + α)w = c by (‖Δc‖ + ‖ΔC‖·‖w‖)/(λ + α), λ the least
    eigenvalue of C.
    """
    encoded = (rows - release.offsets) / release.units
    lost = 2.0**-51 * float(np.abs(rows / release.units).max())
    largest, width = float(np.abs(encoded).max()) + lost, len(places)
    least = max(float(np.linalg.eigvalsh(np.cov(encoded[:, places].T, bias=True).reshape(width, width))[0]), 0.0)
    moved = 4 * lost * largest  # means are subtracted: twice
    coefficients = (math.sqrt(width) * moved + width * moved * float(np.linalg.norm(found))) / (least + alpha)
    return coefficients, width * coefficients * largest + (1 + float(np.abs(found).sum())) * 4 * lost


@settings(max_examples=60)
@given(data=st.data(), schema=SCHEMAS, center=st.booleans(), alpha=st.sampled_from([1e-4, 1e-2, 0.3, 5.0, 1e3]))
def test_it_is_scikit_learns_for_random_schemas_subsets_and_penalties(
    data: st.DataObject, schema: Schema, center: bool, alpha: float
) -> None:
    draw = np.random.default_rng(data.draw(st.integers(0, 2**32)))
    table = pd.DataFrame(
        {
            name: draw.uniform(c.lower, c.upper, 300) if isinstance(c, Numeric) else draw.choice(c.levels, 300)
            for name, c in schema.used.items()
        }
    )
    release = dpcov.covariance(
        table, dpcov.ZCDP(5), schema=schema, center=center, mechanism="gaussian", postprocess="project", seed=1
    )
    columns = list(schema.used)
    target_column = data.draw(st.sampled_from(columns))
    target = data.draw(st.sampled_from([j for j, f in enumerate(release.feature_names) if f.split("=")[0] == target_column]))
    others = data.draw(st.lists(st.sampled_from([c for c in columns if c != target_column]), min_size=1, unique=True))
    places = [j for name in others for j, f in enumerate(release.feature_names) if f.split("=")[0] == name]
    model = release.ridge(release.feature_names[target], alpha=alpha, features=others, reference="none")
    rows = rows_with_the_moments(release)
    theirs, predicted = by_scikit_learn(release, rows, target, places, alpha)
    scale = float(np.abs(theirs.coef_).max()) + 1e-12
    assert model.columns == tuple(others)
    of_coefficients, of_predictions = tolerances(release, rows, places, alpha, theirs.coef_)
    assert np.abs(model.encoded_coefficients - theirs.coef_).max() <= 1e-6 * scale + of_coefficients
    ours = model.intercept + rows[:, places] @ model.coefficients
    assert np.abs(ours - predicted).max() <= (1e-6 + of_predictions) * release.units[target]
    compared = release.ridge(release.feature_names[target], alpha=alpha, features=others)
    dropped = [name.split("=")[0] for name in compared.references]
    levels = {name: column.levels for name, column in schema.used.items() if isinstance(column, Categorical)}
    wide = [name for name in others if len(levels.get(name, ())) > 1]
    assert dropped == (wide if center else [])
    assert set(compared.references) | set(compared.feature_names) == set(model.feature_names)
    own = [release.feature_names.index(name) for name in compared.feature_names]
    full = schema.bounds()[1]
    if center:  # rows that have one level of each column: where all but its first are 0
        whole = np.zeros((1, release.d))
        for name in others:
            first = next(j for j, f in enumerate(release.feature_names) if f.split("=")[0] == name)
            whole[0, first] = full[first]
        one, other = (m.intercept + whole[:, p] @ m.coefficients for m, p in ((model, places), (compared, own)))
        assert np.abs(one - other).max() <= 1e-6 * release.units[target] * (1 + scale * len(others))


@pytest.mark.parametrize("center", [True, False])
@pytest.mark.parametrize("alpha", [1e-3, 0.1])
def test_with_the_noise_off_it_is_the_fit_of_the_table(center: bool, alpha: float) -> None:
    """A budget of 10⁹: only the rounding of rows to the grid is left."""
    release = released(center=center, budget=dpcov.ZCDP(10**9), mechanism="gaussian", postprocess="none")
    table = people(2000)
    dummies = [
        table[[name]]
        if isinstance(c, Numeric)
        else pd.DataFrame({f"{name}={level}": table[name] == level for level in c.levels})
        for name, c in SCHEMA.used.items()
    ]
    rows = pd.concat(dummies, axis=1).to_numpy(dtype=np.float64)
    for target, features in [("age", None), ("balance", ["sex", "score"]), ("sex=M", ["age", "grade"]), ("score", ["age"])]:
        model = release.ridge(target, alpha=alpha, features=features, reference="none")
        place = release.feature_names.index(target)
        places = [release.feature_names.index(name) for name in model.feature_names]
        _, predicted = by_scikit_learn(release, rows, place, places, alpha)
        found = model.predict(table)
        assert np.abs(found - predicted).max() <= 2e-3 * release.units[place]
        assert (
            np.abs(found - predicted).mean() <= 1e-3 * np.abs(predicted - predicted.mean()).mean() + 1e-4 * release.units[place]
        )


@pytest.mark.parametrize("center", [True, False])
def test_without_a_schema_units_are_the_users(center: bool) -> None:
    rows = np.random.default_rng(3).normal(size=(3000, 4)) @ np.diag([3.0, 1.0, 0.5, 2.0]) + [1.0, 0, -1, 0]
    release = dpcov.covariance(rows, dpcov.ZCDP(10**9), row_norm=30, center=center, mechanism="gaussian", seed=0)
    model = release.ridge("x1", alpha=0.2, features=["x3", 0])
    theirs = Ridge(alpha=0.2 * len(rows), fit_intercept=center).fit(rows[:, [3, 0]], rows[:, 1])
    assert np.allclose(model.coefficients, theirs.coef_, rtol=0, atol=1e-3)
    assert abs(model.intercept - theirs.intercept_) <= 3e-3
    assert np.allclose(model.predict(rows[:20, [3, 0]]), theirs.predict(rows[:20, [3, 0]]), rtol=0, atol=0.01)
    frame = pd.DataFrame(rows, columns=[f"x{j}" for j in range(4)])[["x0", "x2", "x3", "x1"]]
    assert model.predict(frame) == pytest.approx(model.predict(rows[:, [3, 0]]), rel=1e-12)  # sums in another order


class TestSolved:
    """`solved` for matrices that no second moment has."""

    @settings(max_examples=200)
    @given(
        st.integers(1, 6),
        st.integers(0, 2**32),
        st.sampled_from([0.0, 1e-300, 1e-12, 1e-3, 1.0, 1e300]),
        st.sampled_from([1e-150, 1.0, 1e150]),
        st.sampled_from(["none", "shrink"]),
    )
    def test_it_is_finite(self, d: int, seed: int, alpha: float, unit: float, postprocess: str) -> None:
        draw = np.random.default_rng(seed)
        matrix = draw.normal(size=(d, d))
        matrix = matrix + matrix.T  # indefinite
        matrix[:, draw.integers(d)] = matrix[draw.integers(d)] = 0.0  # and singular
        found = solved((matrix + matrix.T) * unit, draw.normal(size=d) * unit, alpha, postprocess)
        assert np.isfinite(found).all()

    def test_without_a_penalty_it_is_the_smallest_least_squares_solution(self) -> None:
        for seed in range(20):  # the last eigenvalue is rounding, whose sign is the machine's own
            rows, w = np.random.default_rng(seed).normal(size=(20, 3)), np.array([1.0, -2.0, 0.5])
            rows = np.column_stack([rows, rows[:, 0] + rows[:, 1]])  # rank 3
            target = rows[:, :3] @ w
            found = solved(rows.T @ rows, rows.T @ target, 0.0)
            assert np.allclose(found, np.linalg.lstsq(rows, target, rcond=None)[0], atol=1e-9)

    def test_negative_eigenvalues_count_as_zero(self) -> None:
        matrix = np.diag([2.0, -1.0])
        assert np.allclose(solved(matrix, np.array([1.0, 1.0]), 0.5), [1 / 2.5, 1 / 0.5])
        assert np.allclose(solved(matrix, np.array([1.0, 1.0]), 0.0), [1 / 2, 0.0])

    def test_both_ways_of_solving_agree(self) -> None:
        rows = np.random.default_rng(6).normal(size=(30, 8))
        matrix, aim = rows.T @ rows, rows.T @ rows[:, 0] + 1
        assert np.allclose(solved(matrix, aim, 0.1, "none"), solved(matrix, aim, 0.1, "shrink"), rtol=1e-9)

    @pytest.mark.parametrize("value", [0.0, math.inf, math.nan])
    def test_nothing_gives_nothing(self, value: float) -> None:
        assert not solved(np.full((2, 2), value), np.ones(2), 0.0).any()


def test_a_columns_levels_stand_together() -> None:
    release = released()
    every = release.ridge("age", features=["grade"], alpha=1, reference="none")
    assert (every.feature_names, every.references) == (("grade=2", "grade=1", "grade=3"), ())
    compared = release.ridge("age", features=["grade"], alpha=1, reference={"grade": 1})
    assert (compared.feature_names, compared.references) == (("grade=2", "grade=3"), ("grade=1",))
    assert compared.coefficients == pytest.approx(every.coefficients[[0, 2]] - every.coefficients[1])
    assert compared.intercept == pytest.approx(every.intercept + every.coefficients[1])
    assert np.array_equal(compared.predict(people(50)), every.predict(people(50)))
    (most,) = release.ridge("age", features=["grade"], alpha=1).references
    shares = {name: release.mean[release.feature_names.index(name)] for name in every.feature_names}
    assert shares[most] == max(shares.values())
    assert "sex=F" not in release.ridge("sex=M", alpha=1).feature_names
    one = release.ridge("age", features=["grade=1", "score"], alpha=1)
    assert one.columns == ("grade", "score")
    table = people(50)
    by_hand = one.intercept + one.coefficients[0] * (table["grade"] == 1) + one.coefficients[1] * table["score"]
    assert np.allclose(one.predict(table), by_hand)


def test_what_a_model_says_of_itself() -> None:
    release = released(budget=dpcov.ZCDP(10**9), mechanism="gaussian")
    model = release.ridge("age", alpha=1e-6)
    table = people(2000)
    share = 1 - np.mean((model.predict(table) - table["age"]) ** 2) / table["age"].var(ddof=0)
    assert model.explained == pytest.approx(share, abs=2e-3)
    assert release.ridge("age", alpha=1e9).explained < 1e-6
    assert model.target == "age"
    assert "_release" not in repr(model)
    for array in (model.coefficients, model.encoded_coefficients):
        assert not array.flags.writeable


def test_a_larger_penalty_gives_smaller_coefficients() -> None:
    release = released()
    sizes = [float(np.linalg.norm(release.ridge("age", alpha=a).encoded_coefficients)) for a in (0, 1e-3, 0.1, 10, 1e300)]
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[-1] < 1e-290


def test_the_matrix_is_that_of_the_chosen_postprocess() -> None:
    raw = dataclasses.replace(released(budget=dpcov.ZCDP("0.001"), mechanism="gaussian"), postprocess="none")
    assert np.linalg.eigvalsh(raw.encoded_covariance)[0] < 0
    for alpha in (0, 1e-9, 1.0):
        assert np.isfinite(raw.ridge("age", alpha=alpha).coefficients).all()


class TestNewData:
    """`predict` reads what the analyst has, and says what is wrong with it."""

    MODEL = released(budget=dpcov.ZCDP(1000), mechanism="gaussian").ridge("age", alpha=1e-3, reference="none")

    def test_any_table_gives_the_same(self, tmp_path: Any) -> None:
        import polars as pl
        import pyarrow as pa

        table = people(60).drop(columns="age").sample(frac=1, axis=1, random_state=0)
        expected = self.MODEL.predict(table)
        table.to_csv(tmp_path / "new.csv", index=False)
        table.to_parquet(tmp_path / "new.parquet")
        for data in (pl.from_pandas(table), pa.Table.from_pandas(table), str(tmp_path / "new.csv"), tmp_path / "new.parquet"):
            assert np.allclose(self.MODEL.predict(data), expected, rtol=1e-12)

    def test_missing_cells_count_as_in_the_release(self) -> None:
        table = people(4)
        gaps = table.assign(balance=np.nan, sex=pd.Series([None] * 4, dtype=object))
        filled = self.MODEL.predict(table.assign(balance=-750.0))
        weight = dict(zip(self.MODEL.feature_names, self.MODEL.coefficients, strict=True))
        without = [filled[i] - weight[f"sex={table['sex'][i]}"] for i in range(4)]
        assert np.allclose(self.MODEL.predict(gaps), without)

    def test_values_beyond_the_bounds_are_clipped(self) -> None:
        table = people(4)
        assert np.allclose(self.MODEL.predict(table.assign(balance=1e308)), self.MODEL.predict(table.assign(balance=500.0)))

    def test_unknown_levels_are_refused(self, tmp_path: Any) -> None:
        table = people(10)
        table.loc[3, "sex"] = "X"
        with pytest.raises(dpcov.SchemaError, match=r"cells of column 'sex' must be among its levels, got 1 others"):
            self.MODEL.predict(table)
        table.to_csv(tmp_path / "new.csv", index=False)
        with pytest.raises(dpcov.SchemaError, match=r"'sex' must be among its levels"):
            self.MODEL.predict(tmp_path / "new.csv")
        table = people(10).assign(grade=7)
        with pytest.raises(
            dpcov.SchemaError, match=r"'grade' must be among its levels, got 10 others. Hint: levels are 2, 1, 3"
        ):
            self.MODEL.predict(table)

    def test_an_empty_cell_of_a_csv_file_is_missing(self, tmp_path: Any) -> None:
        table = people(6).astype({"sex": object, "grade": float, "insured": object})
        table.loc[2, ["sex", "grade", "insured"]] = None
        table.to_csv(tmp_path / "new.csv", index=False)
        assert np.allclose(self.MODEL.predict(tmp_path / "new.csv"), self.MODEL.predict(table), rtol=1e-9)

    def test_missing_columns_and_other_shapes_are_refused(self) -> None:
        with pytest.raises(dpcov.SchemaError, match="data must have one column 'score'"):
            self.MODEL.predict(people(3).drop(columns="score"))
        plain = dpcov.covariance(np.eye(3).repeat(50, axis=0), dpcov.ZCDP(1), row_norm=1, seed=0).ridge("x0", alpha=1)
        with pytest.raises(dpcov.ParameterError, match="new data must have the 2 columns of the model's features, got 3"):
            plain.predict(np.eye(3))
        with pytest.raises(dpcov.ParameterError, match="two-dimensional"):
            plain.predict(np.ones(2))
        with pytest.raises(dpcov.ParameterError, match="data must be"):
            plain.predict([[1.0, 2.0]])
        assert plain.predict(np.zeros((0, 2))).shape == (0,)
        assert np.isfinite(plain.predict(np.array([[np.nan, np.inf]]))).all()


def test_a_share_that_is_not_clear_of_its_error_explains_nothing() -> None:
    """Where no coefficient is clear either, and where noise drowns the target itself, nothing can be seen."""
    rows = np.random.default_rng(3).standard_normal((3000, 5))
    rows[:, 0] += 0.3 * rows[:, 1:].sum(axis=1)
    seen, unsure, drowned = (
        dpcov.covariance(rows, dpcov.ZCDP(rho), row_norm=6, mechanism="gaussian", center=True, seed=seed).ridge("x0").reading()
        for rho, seed in (("5", 2), ("0.003", 3), ("0.0005", 2))
    )
    assert seen.model.explained > 3 * seen.model.explained_error
    assert unsure.knows_target
    assert 0.005 < unsure.model.explained < 3 * unsure.model.explained_error
    assert drowned.model.explained > 0.005
    assert not drowned.knows_target
    assert [one.nothing for one in (seen, unsure, drowned)] == [False, True, True]


def test_a_column_of_two_levels_is_predicted_by_the_level_that_is_not_its_reference() -> None:
    schema = dpcov.Schema(
        {
            "age": dpcov.Numeric(0, 100),
            "sex": dpcov.Categorical(["F", "M"]),
            "ill": dpcov.Categorical(["no", "yes"]),
            "town": dpcov.Categorical(["a", "b", "c"]),
        }
    )
    draw = np.random.default_rng(5)
    table = pa.table(
        {
            "age": draw.uniform(20, 80, 4000),
            "sex": np.where(draw.random(4000) < 0.7, "M", "F"),
            "ill": np.where(draw.random(4000) < 0.2, "yes", "no"),
            "town": np.array(["a", "b", "c"])[draw.integers(0, 3, 4000)],
        }
    )
    for center in (True, False):
        release = dpcov.covariance(table, dpcov.ZCDP(5), schema=schema, center=center, mechanism="gaussian", seed=0)
        assert release.ridge("ill").target == "ill=yes"
        assert release.ridge("sex").target == "sex=F"
        assert release.ridge("sex", reference={"sex": "F"}).target == "sex=M"
        assert release.ridge("ill").coefficients.tolist() == release.ridge("ill=yes").coefficients.tolist()
        with pytest.raises(dpcov.ParameterError, match=r"target must be one feature, got the column 'town'. Hint: .* 'town=a'"):
            release.ridge("town")
    both = dpcov.covariance(table, dpcov.ZCDP(5), schema=schema, seed=0).ridge("sex", reference={"sex": "F", "ill": "yes"})
    assert (both.target, both.references[0]) == ("sex=M", "ill=yes")
