"""Transforms and products in a schema: their values, bounds, names and files, and what is refused."""

from __future__ import annotations

import copy
import math
import pickle
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpcov.errors import SchemaError
from dpcov.schema import Categorical, Derived, Ignored, Numeric, Product, Schema
from dpcov.schema.file import from_record, parse, to_record
from dpcov.schema.transforms import TRANSFORMS, log

TEXT = """
[columns]
age = { lower = 18, upper = 90 }
sex = { levels = ["F", "M"] }
ward = { levels = ["a", "b", "c"], nullable = true }
income = { lower = 1000, upper = 500000, transform = "log" }
"age squared" = { of = "age", transform = "square" }
"age * male" = { product = ["age", "sex"], weight = 0.5 }
"log income * b" = { product = ["log(income)", "ward=b"] }
"""
SCHEMA = parse(TEXT)
positive = st.one_of(
    st.floats(5e-324, 1e308), st.floats(0.5, 2.0), st.sampled_from([5e-324, 2.2250738585072014e-308, 1.0, 1e308])
)


@given(st.lists(positive, min_size=1, max_size=20))
def test_a_logarithm_is_one_to_four_units_in_the_last_place(values: list[float]) -> None:
    found, exact = log(np.array(values)), np.array([math.log(value) for value in values])
    assert (np.abs(found - exact) <= 4 * np.spacing(np.abs(exact))).all()


@pytest.mark.parametrize("name", TRANSFORMS)
def test_a_number_becomes_the_same_one_wherever_it_stands(name: str) -> None:
    """A vectorised logarithm of a library may end a block otherwise than it began it."""
    values = np.exp(np.random.default_rng(11).normal(0, 5, 1003))
    apply = TRANSFORMS[name].apply
    alone = np.array([apply(np.array([value]))[0] for value in values])
    for start in (0, 1, 2, 3, 5, 7):
        assert apply(values[start:]).tobytes() == alone[start:].tobytes()
        assert apply(np.repeat(values, 3)[start * 3 :: 3]).tobytes() == alone[start:].tobytes()
    assert apply(values[::-1])[::-1].tobytes() == alone.tobytes()


def test_names_and_order() -> None:
    assert SCHEMA.feature_names == (
        *("age", "sex=F", "sex=M", "ward=a", "ward=b", "ward=c", "log(income)"),
        *("age squared", "age * male", "log income * b"),
    )
    assert SCHEMA.array_columns() == list(SCHEMA.cells()) == ["age", "sex", "ward", "income"]
    assert SCHEMA.table_columns(["age * male", "age squared"]) == ["age", "sex"]


def test_bounds_follow_from_those_of_the_cells() -> None:
    low, high = (dict(zip(SCHEMA.feature_names, ends, strict=True)) for ends in SCHEMA.bounds())
    assert (low["log(income)"], high["log(income)"]) == pytest.approx((math.log(1000), math.log(500000)), rel=1e-15)
    assert (low["age squared"], high["age squared"]) == (324, 8100)
    assert (low["age * male"], high["age * male"]) == (0, 90)
    assert (low["log income * b"], high["log income * b"]) == (0, high["log(income)"])


@pytest.mark.parametrize(
    ("bounds", "image"), [((2, 5), (4, 25)), ((-5, -2), (4, 25)), ((-3, 5), (0, 25)), ((-5, 3), (0, 25)), ((0, 2), (0, 4))]
)
def test_a_square_is_least_at_zero(bounds: tuple[float, float], image: tuple[float, float]) -> None:
    (column,) = Schema({"x": Numeric(*bounds, transform="square")}).used.values()
    assert isinstance(column, Derived)
    assert (column.lower, column.upper) == image


@pytest.mark.parametrize(
    ("one", "other", "image"),
    [((2, 3), (5, 7), (10, 21)), ((-2, 3), (5, 7), (-14, 21)), ((-2, 3), (-7, 5), (-21, 15)), ((-3, -2), (-7, -5), (10, 21))],
)
def test_a_product_lies_between_those_of_the_ends(one: Any, other: Any, image: tuple[float, float]) -> None:
    column = Schema({"a": Numeric(*one), "b": Numeric(*other), "ab": Product(["a", "b"])}).used["ab"]
    assert isinstance(column, Derived)
    assert (column.lower, column.upper) == image


@given(st.data())
def test_values_lie_between_their_bounds_and_missing_stays_missing(data: st.DataObject) -> None:
    name = data.draw(st.sampled_from(sorted(TRANSFORMS)))
    least = {"log": 1e-60, "sqrt": 0.0, "square": -1e60}[name]
    lower, upper = sorted(data.draw(st.tuples(st.floats(least, 1e60), st.floats(least, 1e60))))
    upper = max(upper, lower + max(1.0, abs(lower)))
    column = Schema({"x": Numeric(lower, upper, transform=name)}).used["x"]
    assert isinstance(column, Derived)
    assert column.before is not None
    cells = np.array(data.draw(st.lists(st.one_of(st.floats(), st.sampled_from([1e308, -1e308, 5e-324, -0.0])), max_size=9)))
    found = column.before.clipped(cells)
    assert (np.isnan(found) == ~np.isfinite(cells)).all()
    inside = found[np.isfinite(cells)]
    slack = 1e-12 * max(abs(column.lower), abs(column.upper))  # a logarithm is not monotone in its last digit
    assert ((column.lower - slack <= inside) & (inside <= column.upper + slack)).all()


def test_a_product_may_be_missing_where_one_of_its_columns_may() -> None:
    assert [SCHEMA.used[name].nullable for name in ("age * male", "log income * b")] == [False, True]


def test_python_says_the_same() -> None:
    made = Schema(
        {
            "age": Numeric(18, 90),
            "sex": Categorical(["F", "M"]),
            "ward": Categorical(["a", "b", "c"], nullable=True),
            "income": Numeric(1000, 500000, transform="log"),
            "age squared": Numeric(18, 90, of="age", transform="square"),
            "age * male": Product(["sex=M", "age"][::-1], weight=0.5),
            "log income * b": Product(["income", "ward=b"]),
        }
    )
    assert made == SCHEMA


def test_files_copies_and_pickles_keep_all_of_it() -> None:
    for again in (
        from_record(to_record(SCHEMA)),
        copy.deepcopy(SCHEMA),
        pickle.loads(pickle.dumps(SCHEMA)),
        Schema(SCHEMA.columns),
    ):
        assert again == SCHEMA
        assert again.feature_names == SCHEMA.feature_names
        assert again.bounds()[1].tolist() == SCHEMA.bounds()[1].tolist()


def test_a_product_can_be_chosen_without_its_columns() -> None:
    alone = SCHEMA.select(["age * male"])
    assert alone.feature_names == ("age * male",)
    assert list(alone.cells()) == ["age", "sex"]
    assert from_record(to_record(alone)) == alone


def test_another_name_for_a_column_of_the_table() -> None:
    schema = parse(
        '[columns]\nbp = { of = "Systolic (mmHg)", lower = 50, upper = 280 }\nsex = { of = "SEX", levels = [1, 2] }\n'
    )
    assert schema.feature_names == ("bp", "sex=1", "sex=2")
    assert list(schema.cells()) == ["Systolic (mmHg)", "SEX"]
    assert from_record(to_record(schema)) == schema


def test_what_is_about_a_number() -> None:
    text = """
[columns]
age = { lower = 18, upper = 90, about = 50, transform = "square" }
"age from 50" = { of = "age", about = 50 }
sex = { levels = ["F", "M"] }
stay = { lower = 0, upper = 60, about = -1, transform = "log" }
"x" = { product = ["age from 50", "sex"] }
"""
    schema = parse(text)
    assert schema.feature_names == ("square(age - 50)", "age from 50", "sex=F", "sex=M", "log(stay + 1)", "x")
    low, high = schema.bounds()
    assert low.tolist() == [0, -32, 0, 0, 0, -32]
    assert high.tolist() == [1600, 40, 1, 1, math.log(61), 40]
    assert from_record(to_record(schema)) == schema
    (cells,) = (column.before for column in [schema.used["age"]] if isinstance(column, Derived))
    assert cells is not None
    assert cells.clipped(np.array([1e9, 40.0, -3.0])).tolist() == [1600, 100, 1024]


def test_flags_of_transformed_columns() -> None:
    schema = Schema({"crp": Numeric(1, 500, nullable=True, missing="flag", transform="log")})
    assert schema.feature_names == ("log(crp)", "crp observed=false", "crp observed=true")
    assert from_record(to_record(schema)) == schema
    assert schema.entries(["crp", "crp observed"]) == ["crp"]


AGE = "age = { lower = 0, upper = 120 }\nsex = { levels = ['F', 'M'] }\nward = { levels = ['a', 'b', 'c'] }\n"
REFUSED = {
    "no such transform": ("x = { lower = 1, upper = 2, transform = 'cube' }", "transform must be one of 'log'"),
    "nearly one": ("x = { lower = 1, upper = 2, transform = 'Log' }", "did you mean 'log'"),
    "a number": ("x = { lower = 1, upper = 2, transform = 2 }", "transform must be one of"),
    "a list": ("x = { lower = 1, upper = 2, transform = ['log'] }", "transform must be one of"),
    "log from 0": ("x = { lower = 0, upper = 2, transform = 'log' }", "lower must be above 0"),
    "log below 0": ("x = { lower = -1, upper = 2, transform = 'log' }", "lower must be above 0"),
    "sqrt below 0": ("x = { lower = -1, upper = 2, transform = 'sqrt' }", "lower must be 0 or more"),
    "too large a square": ("x = { lower = 0, upper = 1e70, transform = 'square' }", "upper must be a finite number"),
    "too small a square": ("x = { lower = 0, upper = 1e-70, transform = 'square' }", "lower must be below upper"),
    "levels": ("x = { levels = ['a'], transform = 'log' }", "'x' must have lower and upper"),
    "of nobody": ("x = { of = 'height', transform = 'log' }", "'x' must have lower and upper"),
    "of levels": ("x = { of = 'sex', transform = 'square' }", "'x' must have lower and upper"),
    "of a number": ("x = { of = 3, lower = 0, upper = 1 }", "of must be the name"),
    "of nothing": ("x = { of = '', lower = 0, upper = 1 }", "of must be the name"),
    "log of age": ("x = { of = 'age', transform = 'log' }", "lower must be above 0"),
    "about nothing": ("x = { lower = 1, upper = 2, about = nan }", "about must be a finite number"),
    "about a word": ("x = { lower = 1, upper = 2, about = 'me' }", "about must be a finite number"),
    "about beside levels": ("x = { levels = ['a'], about = 1 }", "'x' must have lower and upper"),
    "log about too much": (
        "x = { lower = 1, upper = 2, about = 1, transform = 'log' }",
        "lower less about = 1 must be above 0",
    ),
    "dates about": ("x = { lower = 2019-01-01, upper = 2020-01-01, about = 1 }", "about must be left out for dates"),
    "one factor": ("x = { product = ['age'] }", "two names of columns, got 1 of them"),
    "three factors": ("x = { product = ['age', 'sex', 'ward=a'] }", "two names of columns, got 3 of them"),
    "text": ("x = { product = 'age * sex' }", "two names of columns"),
    "numbers": ("x = { product = [1, 2] }", "two names of columns"),
    "a nested list": ("x = { product = ['age', ['sex']] }", "two names of columns"),
    "a table": ("x = { product = ['age', { lower = 0, upper = 1 }] }", "two names of columns, got a table"),
    "a level that is none": (
        "x = { product = ['age', { of = 'sex', levels = ['F', 'M'], level = 'X' }] }",
        "level must be one of the levels",
    ),
    "twice the same": ("x = { product = ['age', 'age'] }", "two different columns"),
    "twice the same level": ("x = { product = ['sex', 'sex=M'] }", "two different columns"),
    "no such column": ("x = { product = ['age', 'heigth'] }", "that the schema describes, got 'heigth'"),
    "a near miss": ("x = { product = ['age', 'sex=m'] }", "did you mean 'sex=M'"),
    "several levels": ("x = { product = ['age', 'ward'] }", "name one of its levels, such as 'ward=a'"),
    "a product": ("x = { product = ['age', 'sex=M'] }\ny = { product = ['x', 'ward=a'] }", "got 'x'"),
    "itself": ("x = { product = ['x', 'age'] }", "got 'x'"),
    "bounds beside it": ("x = { product = ['age', 'sex'], lower = 0 }", "'x' must have lower and upper"),
    "nullable beside it": ("x = { product = ['age', 'sex'], nullable = true }", "'x' must have lower and upper"),
    "weight 0": ("x = { product = ['age', 'sex'], weight = 0 }", "weight must be between"),
    "an ignored column": ("y = { ignore = true }\nx = { of = 'y', lower = 1, upper = 2 }", "'y' must not be ignored"),
    "a factor that is ignored": ("y = { ignore = true }\nx = { product = ['age', 'y'] }", "got 'y'"),
    "the name of a feature": ("x = { lower = 1, upper = 2, transform = 'log' }\n'log(x)' = { lower = 0, upper = 1 }", "twice"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_refused_and_how(case: str) -> None:
    entry, message = REFUSED[case]
    with pytest.raises(SchemaError) as told:
        parse(f"[columns]\n{AGE}{entry}\n")
    assert message in str(told.value)
    assert "\n" not in str(told.value)
    assert "Hint:" in str(told.value)


def test_what_is_not_read_cannot_be_drafted_away() -> None:
    text = f'others = "ignore"\n[columns]\n{AGE}"y" = {{ levels = [] }}\nx = {{ product = ["age", "y"] }}\n'
    with pytest.raises(SchemaError, match="got 'y'"):
        parse(text)
    assert isinstance(parse(text.replace('product = ["age", "y"]', 'product = ["age", "sex"]')).columns["y"], Ignored)
