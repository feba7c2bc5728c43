"""What dpcov.covariance refuses, before reading anything, and what it must take without a word."""

from __future__ import annotations

import re
import warnings
from fractions import Fraction
from typing import Any, NoReturn

import numpy as np
import pytest
from numpy.typing import NDArray

import dpcov
from dpcov.errors import ParameterError
from dpcov.kernel.questions.measure import Summable
from dpcov.sources.array import ArraySource

SECRET = 424242.5  # stands for the data: no message may show it
GOOD = np.full((5, 2), SECRET)
ONE = dpcov.ZCDP(1)


class Frame:
    """Looks like a data frame, converts like one, and is none."""

    columns = ("a", "b")
    values = GOOD

    def __array__(self, dtype: object = None, copy: object = None) -> NDArray[np.float64]:
        return GOOD


def ask(data: object = GOOD, budget: Any = ONE, **changes: Any) -> dpcov.Release:
    arguments: dict[str, Any] = {"row_norm": 1.0, "seed": 0, "mechanism": "gaussian"} | changes
    return dpcov.covariance(data, budget, **arguments)


def refused(case: str, name: str, **changes: object) -> Any:
    return pytest.param(name, changes, id=case)


BAD = [
    refused("list", "data", data=[[SECRET, 1.0]]),
    refused("tuple", "data", data=((SECRET,),)),
    refused("None", "data", data=None),
    refused("frame", "data", data=Frame()),
    refused("0-d", "data", data=np.array(SECRET)),
    refused("1-d", "data", data=np.array([SECRET, 1.0])),
    refused("3-d", "data", data=np.full((2, 2, 2), SECRET)),
    refused("object dtype", "data", data=np.array([[SECRET, 1.0]], dtype=object)),
    refused("text dtype", "data", data=np.array([[str(SECRET)]])),
    refused("bytes dtype", "data", data=np.array([[b"424242.5"]])),
    refused("datetime dtype", "data", data=np.array([["2024-01-01"]], dtype="datetime64[D]")),
    refused("timedelta dtype", "data", data=np.array([[424242]], dtype="timedelta64[s]")),
    refused("complex dtype", "data", data=np.array([[SECRET + 1j]])),
    refused("structured dtype", "data", data=np.array([[(SECRET, 1.0)]], dtype=[("a", "f8"), ("b", "f8")])),
    refused("masked array", "data", data=np.ma.masked_array(GOOD, mask=np.eye(5, 2, dtype=bool))),
    refused("no columns", "data", data=np.zeros((5, 0))),
    refused("too many columns", "data", data=np.broadcast_to(np.zeros(1), (1, 2**20 + 1))),
    *(refused(f"row_norm {bad!r}", "row_norm", row_norm=bad) for bad in (0, -1.0, np.nan, np.inf, -np.inf, 1e200)),
    *(refused(f"row_norm {bad!r}", "row_norm", row_norm=bad) for bad in (None, "1", True, np.True_, 1j, [1.0], 1e-200)),
    refused("row_norm 10**400", "row_norm", row_norm=10**400),
    refused("row_norm array", "row_norm", row_norm=np.ones(2)),
    refused("row_norm long double", "row_norm", row_norm=np.longdouble("1e400")),
    *(refused(f"budget {bad!r}", "budget", budget=bad) for bad in (0.1, None, "0.1", (1, 1e-6), Fraction(1, 10))),
    refused("budget class", "budget", budget=dpcov.ZCDP),
    refused("PureDP", "budget", budget=dpcov.PureDP(1)),
    refused("ZCDP for wishart", "budget", mechanism="wishart"),
    refused("ZCDP for laplace", "budget", mechanism="laplace"),
    refused("ZCDP for frobenius", "budget", mechanism="frobenius"),
    refused("constants for wishart", "options", mechanism="wishart", constants="paper", budget=dpcov.PureDP(1)),
    *(refused(f"mechanism {bad!r}", "mechanism", mechanism=bad) for bad in ("laplce", "", None, 1, ["gaussian"])),
    *(refused(f"postprocess {bad!r}", "postprocess", postprocess=bad) for bad in ("clamp", "", 1, False, ["clip"])),
    *(refused(f"neighbors {bad!r}", "neighbors", neighbors=bad) for bad in ("swap", "", None, 1, ("replace",))),
    *(refused(f"constants {bad!r}", "constants", constants=bad) for bad in ("loose", "", None, 2, ["paper"])),
    *(refused(f"option {bad}", "options", **{bad: 1}) for bad in ("rank", "curator", "Constants", "random_state")),
    *(refused(f"seed {bad!r}", "seed", seed=bad) for bad in (-1, 1.5, True, "a", [1], np.True_, np.float64(1))),
]


@pytest.fixture
def unread(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fail whoever reads a row."""

    def total(_: ArraySource, statistic: Summable) -> NoReturn:  # noqa: ARG001 - the method's signature
        raise AssertionError("the data were read")

    monkeypatch.setattr(ArraySource, "total", total)


def assert_refused(name: str, **changes: Any) -> None:
    with pytest.raises(ParameterError) as caught:
        ask(**changes)
    message = str(caught.value)
    assert isinstance(caught.value, ValueError)
    assert re.fullmatch(rf"(?s){name}\b.* must (be|have) .+, got .+\. Hint: .+\.", message), message
    assert "424242" not in message


@pytest.mark.usefixtures("unread")
class TestRefusedBeforeReading:
    @pytest.mark.parametrize(("name", "changes"), BAD)
    @pytest.mark.parametrize("neighbors", ["replace", "add-remove"])
    def test_bad_input(self, name: str, changes: dict[str, Any], neighbors: str) -> None:
        assert_refused(name, **({"neighbors": neighbors} | changes))

    @pytest.mark.parametrize("n", [0, 2**30 + 1])
    def test_a_public_number_of_rows_out_of_range(self, n: int) -> None:
        assert_refused("data", data=np.broadcast_to(np.zeros((1, 1)), (n, 1)))

    @pytest.mark.parametrize("rho", ["1e-16", "1e-30", "1e-400"])
    @pytest.mark.parametrize("neighbors", ["replace", "add-remove"])
    def test_a_budget_too_small_for_the_sampler(self, rho: str, neighbors: str) -> None:
        # The scale of the noise follows from public numbers, so this too must be known before the first row.
        assert_refused(r"\w+", budget=dpcov.ZCDP(rho), neighbors=neighbors)

    def test_data_and_budget_are_required(self) -> None:
        with pytest.raises(TypeError):
            dpcov.covariance(GOOD)  # type: ignore[call-arg]
        with pytest.raises(ParameterError, match="row_norm or schema must be given"):
            dpcov.covariance(GOOD, dpcov.ZCDP(1))


BASE = np.random.default_rng(41).integers(0, 2, (6, 3))


def frozen(array: NDArray[Any]) -> NDArray[Any]:
    array.flags.writeable = False
    return array


TAKEN: dict[str, NDArray[Any]] = {
    "one row": np.array([[0.5, 0.25]]),
    "one column": np.linspace(-2, 2, 9)[:, None],
    "one value": np.array([[0.5]]),
    **{np.dtype(code).name: BASE.astype(code) for code in "?bBhHiIlLqQefdg"},
    "int8 extremes": np.array([[-128, 127]], dtype=np.int8),
    "uint64 extremes": np.array([[0, 2**64 - 1], [1, 2]], dtype=np.uint64),
    "float16 overflow": np.array([[np.inf, 65504.0]], dtype=np.float16),
    "long double beyond float64": np.array([["1e4000", "0.5"], ["-1e4000", "1e-4000"]]).astype(np.longdouble),
    "big-endian floats": BASE.astype(">f8"),
    "big-endian integers": BASE.astype(">i4"),
    "Fortran order": np.asfortranarray(BASE / 3),
    "read-only": frozen(BASE / 3),
    "non-contiguous": np.repeat(np.repeat(BASE / 3, 2, axis=0), 2, axis=1)[::2, ::2],
    "negative strides": (BASE / 3)[::-1, ::-1],
    "broadcast": np.broadcast_to(np.array([[0.1, 0.2]]), (7, 2)),
}


@pytest.mark.parametrize("neighbors", ["replace", "add-remove"])
class TestTaken:
    @pytest.mark.parametrize("case", TAKEN)
    def test_it_equals_its_float64_copy_and_is_left_alone(self, case: str, neighbors: str) -> None:
        data = TAKEN[case]
        before = data.tobytes()
        with np.errstate(all="ignore"):
            copy = np.array(data, dtype=np.float64, order="C", subok=False)
        release, plain = ask(data, neighbors=neighbors), ask(copy, neighbors=neighbors)
        for answer, expected in zip(release.answers, plain.answers, strict=True):
            assert answer.integers.tolist() == expected.integers.tolist()
        assert release.second_moment.shape == (data.shape[1], data.shape[1])
        assert data.tobytes() == before

    @pytest.mark.parametrize("good", [1, 0.5, np.float32(2), Fraction(1, 3), 1e-150, 1e150])
    def test_any_real_number_is_a_row_norm(self, good: float, neighbors: str) -> None:
        assert np.isfinite(ask(row_norm=good, neighbors=neighbors).second_moment).all()

    def test_only_an_unseeded_release_may_be_called_private(self, neighbors: str) -> None:
        assert ask(neighbors=neighbors, seed=np.int64(3)).seeded
        assert not ask(neighbors=neighbors, seed=None).seeded


@pytest.mark.parametrize("rho", ["1e20", "1e100", "1e300"])
@pytest.mark.parametrize("settings", ["warn", "raise"])
def test_a_huge_budget_is_spent_in_silence(rho: str, settings: Any) -> None:
    # The noise is then almost surely zero; that is no reason to fail after the charge.
    with np.errstate(all=settings):
        release = ask(np.array([[0.5]]), budget=dpcov.ZCDP(rho))
    assert release.answers[0].integers.tolist() == [2**30]


def test_no_rows_are_a_data_set_like_any_other_under_add_remove() -> None:
    release = ask(np.zeros((0, 2)), neighbors="add-remove")
    assert release.n >= 1
    assert release.second_moment.shape == (2, 2)


NASTY: dict[str, NDArray[np.float64]] = {
    "NaN": np.full((4, 3), np.nan),
    "infinite": np.array([[np.inf, -np.inf, 1.0]]),
    "huge": np.full((4, 3), 1e308),
    "largest": np.full((2, 3), np.finfo(np.float64).max),
    "subnormal": np.full((4, 3), 5e-324),
    "negative zero": np.full((4, 3), -0.0),
    "mixed": np.array([[np.nan, 1e308, 5e-324], [-np.inf, -0.0, 1.0], [1e-300, 1e300, -1e308]]),
}


@pytest.mark.parametrize("settings", ["ignore", "warn", "raise"])
@pytest.mark.parametrize("neighbors", ["replace", "add-remove"])
@pytest.mark.parametrize("postprocess", ["project", "clip", "none"])
@pytest.mark.parametrize("case", NASTY)
def test_no_value_can_raise_or_warn(case: str, postprocess: str, neighbors: str, settings: Any) -> None:
    data = NASTY[case]
    before = data.tobytes()
    with warnings.catch_warnings(), np.errstate(all=settings):
        warnings.simplefilter("error")
        release = ask(data, neighbors=neighbors, postprocess=postprocess)
        estimate = release.second_moment
    assert estimate.dtype == np.float64
    assert estimate.shape == (3, 3)
    assert np.isfinite(estimate).all()
    assert [answer.integers.dtype for answer in release.answers] == [np.int64] * len(release.answers)
    assert data.tobytes() == before


@pytest.mark.parametrize("name", ["budget", "row_norm", "seed", "neighbors", "mechanism", "postprocess", "constants"])
def test_data_in_the_wrong_place_are_not_quoted(name: str) -> None:
    """An argument in the wrong place may be the data: messages name its type, not its values."""
    secret = np.full((3, 2), 0.123456)
    arguments: dict[str, Any] = {"budget": dpcov.ZCDP(1), "row_norm": 1.0, "mechanism": "gaussian"} | {name: secret}
    with pytest.raises(ParameterError) as raised:
        dpcov.covariance(secret, **arguments)
    assert "0.12" not in str(raised.value)
    with pytest.raises(ParameterError) as raised:
        dpcov.ZCDP(secret)  # type: ignore[arg-type]
    assert "0.12" not in str(raised.value)


@pytest.mark.parametrize(
    ("row_norm", "budget"), [(1e-150, dpcov.PureDP(1)), (1e150, dpcov.ZCDP(1)), (1.0, dpcov.PureDP("1e15"))]
)
def test_estimates_do_not_warn_at_the_ends_of_the_range(row_norm: float, budget: Any) -> None:
    with np.errstate(all="raise"):
        release = dpcov.covariance(GOOD, budget, row_norm=row_norm, seed=1)
        assert np.all(np.isfinite(release.second_moment))


def test_the_width_of_text_is_not_told() -> None:
    """NumPy derives it from the longest value."""
    with pytest.raises(ParameterError) as raised:
        dpcov.covariance(np.array([["a" * 37]]), dpcov.ZCDP(1), row_norm=1)
    assert "37" not in str(raised.value)


@pytest.mark.parametrize(("wrong", "right"), [("mechansim", "mechanism"), ("neighbours", "neighbors"), ("clp", "clip")])
def test_a_misspelt_argument_is_named(wrong: str, right: str) -> None:
    """What no argument is called may be an option of the mechanism: both are offered."""
    with pytest.raises(ParameterError, match=f"got {wrong!r}. Hint: did you mean {right!r}?"):
        ask(**{wrong: "x"})
