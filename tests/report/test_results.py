"""What every result can do for people: a short repr, HTML for a notebook, a table, a picture by the ending of a file's name."""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from fractions import Fraction
from functools import cache
from html import escape, unescape
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import dpcov
from dpcov.errors import ParameterError, ReleaseError
from dpcov.kernel.answer import Spend
from dpcov.report import HOMES, html, record, write
from dpcov.report.models import figure, three_digits
from dpcov.report.text import budget_words, console, speaking_python, spends_table
from dpcov.request import Request, request
from dpcov.results import Drawable, Result
from dpcov.uses.convergence import Chains, convergence
from dpcov.verify.mechanism_audit import audit_mechanism

STARTS = {"png": b"\x89PNG", "svg": b"<?xml", "pdf": b"%PDF"}
SCHEMA = dpcov.Schema({"a<b>": dpcov.Numeric(0, 1), "b": dpcov.Numeric(0, 1), "c": dpcov.Categorical(["x", "y"])})


def test_costs_are_read_in_four_digits_and_equal_ones_stand_together() -> None:
    third, fifth = dpcov.ZCDP(Fraction(1, 3)), dpcov.ZCDP("0.2")
    assert budget_words(third) == "rho ≈ 0.3333"
    assert budget_words(dpcov.ApproxDP(1, "1e-6")) == "epsilon = 1, delta = 1e-06"
    spends = [Spend("radius", "exponential", budget) for budget in (third, third, fifth)]
    cells = [list(column.cells) for column in spends_table(spends).columns]
    assert cells == [["2 × radius", "radius"], ["exponential"] * 2, ["rho ≈ 0.3333 each", "rho = 0.2"]]


def test_a_title_stands_on_one_line_above_a_narrow_table(capsys: pytest.CaptureFixture[str]) -> None:
    write(console(), dpcov.plan("covariance", dpcov.PureDP(1), n=48842, d=110, center=True))
    first = capsys.readouterr().out.splitlines()[0]
    assert first.rstrip() == "epsilon = 1, neighbours: replace, n = 48842, d = 110, centred"


def test_the_legend_of_a_model_hides_no_bar() -> None:
    drawn = figure(results()["model"])
    assert drawn.axes[0].get_legend() is None
    assert [text.get_text() for text in drawn.legends[0].get_texts()] == ["coefficients", "raw, with 95 % intervals"]


def table() -> pa.Table:
    random = np.random.default_rng(811)
    first = random.uniform(size=4000)
    second = (first + random.uniform(size=4000)) / 2
    return pa.table({"a<b>": first, "b": second, "c": np.where(first > 0.5, "x", "y")})


@cache
def results() -> dict[str, Any]:
    release = dpcov.covariance(table(), dpcov.ZCDP(1), schema=SCHEMA, seed=1)
    rows = np.random.default_rng(812).uniform(-0.5, 0.5, (3000, 3)) * [1, 0.5, 0.2]
    model = release.ridge("b", features=["a<b>"])
    components = dpcov.pca(rows, dpcov.PureDP(1), 2, row_norm=1, mechanism="ppca", approximate=True, sweeps=5, seed=1)
    regression = dpcov.ridge(rows, dpcov.PureDP(1), "x1", alpha=0.1, row_norm=1, seed=1)
    return {
        "release": release,
        "components alone": components,
        "a regression": regression,
        "description": release.describe(),
        "correlation": release.describe().correlation,
        "components": release.pca(2),
        "chains": Chains(components, convergence(components, chains=2)),
        "model": model,
        "reading": model.reading(0.9),
        "summary": model.summary(0.9),
        "score": model.score(table()),
        "intervals": release.interval(),
        "comparison": dpcov.compare(rows, dpcov.PureDP(1), ["wishart", "laplace"], row_norm=1, runs=2),
        "plan": dpcov.plan("covariance", dpcov.PureDP(1), n=100, d=3),
        "table plan": dpcov.plan_table(SCHEMA, dpcov.PureDP(1), n=4000, columns=["a<b>", "b"]),
        "rows needed": dpcov.plan_pca(100, 0.1, 0.1),
        "rehearsal": dpcov.rehearse("covariance", rows, dpcov.PureDP(1), row_norm=1),
        "differences": dpcov.covariance(
            table(), dpcov.ZCDP(1), schema=SCHEMA, by="c", mechanism="gaussian", clip="none", seed=1
        ).between("x", "y"),
        "audit": audit_mechanism("gaussian", dpcov.ZCDP(1), pairs=2, trials=50, draws=1000, seed=1),
        **of_custody(),
    }


def of_custody() -> dict[str, Any]:
    """Return what a ledger tells, of a data set of which a part is spent, and what the signature of a release is worth."""
    with tempfile.TemporaryDirectory() as folder:
        ledger = dpcov.Ledger.create(Path(folder) / "budget.db")
        ledger.add("trees", dpcov.ZCDP(1))
        charged = ledger.dataset("trees", why="how thick they grow")
        release = dpcov.covariance(np.zeros((100, 2)), dpcov.ZCDP("0.4"), row_norm=1, ledger=charged)
        path, key = Path(folder) / "release.json", Path(folder) / "key"
        release.save(path)
        dpcov.new_signing_key(key)
        dpcov.sign(path, key, name="Office")
        told = {"status": ledger.status(), "history": ledger.history(), "verification": ledger.verify(release)}
        return {**told, "signatures": dpcov.verify_signatures(path, [f"{key}.pub"])}


NAMES = [
    "release", "components alone", "a regression", "description", "correlation", "components", "chains", "model", "reading",
    "summary", "score", "intervals", "differences", "comparison", "plan", "table plan", "rows needed", "rehearsal",
    "audit", "status", "history", "verification", "signatures",
]  # fmt: skip


def covariance_request(schema: dpcov.Schema | None) -> Request:
    said: dict[str, Any] = {"bound": None if schema else 2.0, "schema": schema, "center": None, "options": {}}
    return request("covariance", dpcov.PureDP(1), mechanism="auto", **said)


@pytest.mark.parametrize(
    ("number", "said"),
    [(64991.0, "+65000"), (-0.71749, "-0.717"), (1234567.0, "+1230000"), (0.0, "+0"), (1e-7, "+1e-07"), (6.5e12, "+6.5e+12")],
)
def test_a_large_effect_has_no_exponent(number: float, said: str) -> None:
    assert three_digits(number) == said


def test_all_are_here() -> None:
    assert set(results()) == set(NAMES)
    assert {type(result).__name__ for result in results().values()} == set(HOMES) - {"Demo"}  # see tests/cli/test_demo.py


FLAGS = re.compile(r"(?<![-─━\w])--[a-z]+|\bdpcov [a-z]+")


def shell_only() -> dict[str, Any]:
    """Return results that say what to do: what they are not centred, not clear, or not served for."""
    rows = np.random.default_rng(813).uniform(-0.5, 0.5, (400, 3)) * [1, 0.5, 0.2]
    clear = dpcov.covariance(rows, dpcov.ZCDP(5), row_norm=1, mechanism="gaussian", seed=1)
    noisy = dpcov.covariance(rows, dpcov.PureDP("0.01"), row_norm=1, mechanism="wishart", seed=1)
    return {
        "cosines": clear.describe().correlation,
        "components about 0": clear.pca(2),
        "least squares about 0": clear.ridge("x0", alpha=0),
        "a model of noise": noisy.ridge("x0"),
        "a model of some noise": clear.ridge("x1", alpha=1e-5),
        "a region": dpcov.covariance(rows, dpcov.ZCDP(5), mechanism="coinpress", upper=1, seed=1),
        "a rehearsal of components": dpcov.rehearse("pca", rows, dpcov.ZCDP(1), k=1, row_norm=1),
        "budgets that are not served": dpcov.compare(rows, dpcov.ZCDP(1), "laplace", row_norm=1, runs=2),
        "a table's plan": dpcov.plan_table(SCHEMA, dpcov.PureDP(1), n=100),
        "a plan of all": dpcov.plan("covariance", dpcov.ZCDP(1), n=100, d=3),
    }


def test_what_to_do_is_said_in_the_reader_s_words(capsys: pytest.CaptureFixture[str]) -> None:
    """A command names flags and commands where a notebook names arguments and functions, and says the same otherwise."""
    for name, result in shell_only().items():
        write(console(), result)
        printed, shown = capsys.readouterr().out, unescape(re.sub("<[^>]*>", "", result._repr_html_()))
        assert FLAGS.findall(printed), name
        assert FLAGS.findall(shown) == [], name
        assert "=True" in shown or "dpcov." in shown or "()" in shown or "release." in shown, name


WIDE = dpcov.Schema({f"a column of a long name, {i}\n": dpcov.Numeric(0, 1) for i in range(300)})


@pytest.mark.parametrize(
    ("thing", "words"),
    [
        (WIDE, "<Schema of 300 columns, 300 features: a column of a lon..., "),
        (SCHEMA, "<Schema of 3 columns, 4 features: a<b>, b, c>"),
        (covariance_request(WIDE), "<Request for a covariance by auto: schema of 300 columns, replace, centred>"),
        (covariance_request(None), "<Request for a covariance by auto: row_norm=2, replace, about 0>"),
        (dpcov.MECHANISMS["covariance"]["gaussian"], "<Mechanism gaussian for a covariance: ZCDP, ApproxDP>"),
        (dpcov.MECHANISMS["pca"]["auto"], "<Alias auto for a pca: PureDP, ZCDP, ApproxDP>"),
        (
            dpcov.covariance(np.zeros((9, 50)), dpcov.ZCDP(1), row_norm=1, mechanism="gaussian", seed=0).estimate,
            "<Estimate: covariance, radius, raw, noise, ",
        ),
        (
            dpcov.plan(
                "covariance", dpcov.ApproxDP(1, 1e-6), n=9, d=3, mechanism=["gaussian", "wishart", "laplace", "frobenius"]
            ),
            "<Plan of a covariance with ApproxDP(epsilon=1, delta=1e-06), n=9, d=3: frobenius ",
        ),
    ],
)
def test_what_is_no_result_has_a_short_repr_too(thing: object, words: str) -> None:
    said = repr(thing)
    assert said.startswith(words)
    assert len(said.splitlines()) == 1
    assert len(said) <= 130


@pytest.mark.parametrize("name", NAMES)
class TestEveryResult:
    def test_its_repr_is_one_short_line(self, name: str) -> None:
        said = repr(results()[name])
        assert len(said.splitlines()) == 1
        assert len(said) <= 120
        assert "array(" not in said

    def test_a_notebook_shows_what_the_command_prints(self, name: str, capsys: pytest.CaptureFixture[str]) -> None:
        result = results()[name]
        page = result._repr_html_()
        assert page.startswith("<div><h2>" if isinstance(result, dpcov.Release) else "<pre")
        assert "a<b>" not in page  # names are escaped
        with speaking_python():
            write(console(), result)
        words = capsys.readouterr().out.split()
        assert words
        assert [word for word in words if escape(word) not in page] == []
        assert page == html(result)

    def test_a_notebook_names_no_flag_and_no_command(self, name: str) -> None:
        assert FLAGS.findall(unescape(results()[name]._repr_html_())) == []

    def test_it_is_a_table(self, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
        frame = results()[name].to_frame()
        assert type(frame).__module__.startswith("pandas")
        assert len(frame) >= 1
        monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
        plain = results()[name].to_frame()
        assert isinstance(plain, pa.Table)
        assert plain.column_names == list(frame.columns)
        assert plain.num_rows == len(frame)

    def test_it_is_a_record(self, name: str) -> None:
        import json

        assert json.loads(json.dumps(record(results()[name]), allow_nan=False))

    def test_its_picture_is_what_the_name_says(self, name: str, tmp_path: Path) -> None:
        result = results()[name]
        if not isinstance(result, Drawable):
            assert isinstance(result, Result)
            assert not hasattr(result, "plot")
            return
        ending = list(STARTS)[NAMES.index(name) % len(STARTS)]  # all results have the same three ways to be written
        path = tmp_path / f"picture.{ending}"
        result.plot(path)
        assert path.read_bytes().startswith(STARTS[ending])
        with pytest.raises(ParameterError, match=r"ends in \.png, \.svg or \.pdf"):
            result.plot(tmp_path / "picture.jpg")
        assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("ending", STARTS)
def test_a_picture_is_the_same_bytes_again(ending: str, tmp_path: Path) -> None:
    model, path = results()["model"], tmp_path / f"picture.{ending}"
    assert isinstance(model, Drawable)
    model.plot(path)
    first = path.read_bytes()
    model.plot(path)
    assert path.read_bytes() == first


def test_pictures_have_a_title_that_a_person_would_write() -> None:
    from dpcov.report.models import figure

    lines = figure(results()["model"]).get_suptitle().splitlines()
    assert lines == ["What b depends on", "4,000 rows, ρ = 1, neighbours: replace, seeded: not private"]


def test_pictures_print_no_correlation_without_its_error() -> None:
    from dpcov.report.releases import figure

    release = results()["release"]
    cells = [text.get_text() for text in figure(release).axes[0].texts]
    assert all("±" in cell for cell in cells if cell != "1")
    assert len(cells) == np.isfinite(release.correlation()).sum() - int((~release.describe().correlation.clear).sum())


def test_a_penalised_model_whose_coefficients_may_be_noise_is_drawn_as_such() -> None:
    from dpcov.report.models import figure

    rows = np.random.default_rng(0).normal(size=(400, 6)) * 0.3
    rows[:, 0] = rows[:, 1:].sum(axis=1) / 2
    release = dpcov.covariance(rows, dpcov.ZCDP(1), row_norm=1.5, center=True, seed=1)
    reading = release.ridge("x0", alpha=1.0).reading()
    vars(reading)["useful"] = vars(reading)["clear"] = None  # as where intervals are too wide to help
    said = [text.get_text() for text in figure(reading).legends[0].get_texts()]
    assert said == ["coefficients, drawn towards 0 by the penalty: each alone may be noise"]


def test_all_components_together_explain_all_and_loadings_fit() -> None:
    import io

    from rich.console import Console

    from dpcov.report.components import write

    draw = np.random.default_rng(0)
    rows = draw.normal(size=(4000, 2)) * (0.3, 0.1)
    names = [f"a long name of a feature, number {j}" for j in range(2)]
    schema = dpcov.Schema({name: dpcov.Numeric(-1, 1) for name in names})
    found = dpcov.covariance(rows, dpcov.ZCDP(1), schema=schema, seed=1).pca(2)
    assert found.errors.cumulative[-1] == 0 < found.errors.cumulative[0]
    out = Console(width=100, file=io.StringIO())
    write(out, found, everything=True)
    assert isinstance(out.file, io.StringIO)
    table = out.file.getvalue().partition("loadings\n")[2]
    assert "PC1" in table
    assert "…" not in table


def test_a_plan_in_which_no_correlation_can_be_seen_is_drawn_upright() -> None:
    schema = dpcov.Schema({"a": dpcov.Numeric(0, 1), "b": dpcov.Numeric(0, 1)})
    from dpcov.report.table_plans import figure

    low, high = figure(dpcov.plan_table(schema, dpcov.PureDP("0.01"), n=50)).axes[0].get_ylim()
    assert low < high


def test_a_mean_has_no_picture(tmp_path: Path) -> None:
    release = dpcov.mean(np.ones((50, 2)), dpcov.ZCDP(1), radius=3, seed=1)
    with pytest.raises(ReleaseError, match="got a mean"):
        release.plot(tmp_path / "mean.png")
    assert not list(tmp_path.iterdir())


def test_correlations_tell_their_noise() -> None:
    release = results()["release"]
    found = release.describe().correlation
    assert (found.values == release.correlation()).all()
    frame = found.to_frame()
    assert list(frame.columns) == ["feature_1", "feature_2", "correlation", "standard_error", "clear"]
    first = frame.iloc[0]
    place = tuple(release.feature_names.index(first[f"feature_{i}"]) for i in (1, 2))
    assert (first["correlation"], first["standard_error"]) == (found.values[place], found.standard_error[place])
    assert ((frame["correlation"].abs() - 2 * frame["standard_error"]).diff().dropna() <= 0).all()
    assert place in found.pairs()


def test_a_score_is_that_of_the_predictions() -> None:
    model, found = results()["model"], results()["score"]
    truth = table()["b"].to_numpy()
    error = np.mean((truth - model.predict(table())) ** 2)
    assert (found.rows, found.left_out) == (4000, 0)
    assert found.error == pytest.approx(error, rel=1e-12)
    assert found.r2 == pytest.approx(1 - error / truth.var(), rel=1e-12)
    assert found.r2 > 0.4
    assert model.score(table(), predictions=model.predict(table())) == found


def test_a_model_s_effects_are_over_the_range_of_a_feature() -> None:
    reading = results()["reading"]
    assert reading.per == "over its range"
    assert reading.effects == pytest.approx(reading.model.coefficients)  # the range is 0 to 1
    assert reading.clear is not None
    assert reading.clear.all()
    assert reading.intervals.coefficients.level == 0.9


def test_variances_are_squares_of_deviations_and_about_rows_the_diagonal_of_the_entries() -> None:
    people = results()["intervals"]
    assert people.variances.lower == pytest.approx(people.deviations.lower**2)
    assert people.variances.upper == pytest.approx(people.deviations.upper**2)
    found = people.release.interval(people.level, about="rows")
    for part in ("estimate", "lower", "upper", "standard_error"):
        assert (getattr(found.variances, part) == getattr(found.entries, part).diagonal()).all()


def test_results_load_no_renderer_before_they_are_shown(tmp_path: Path) -> None:
    code = (
        "import sys, numpy as np, dpcov; r = dpcov.covariance(np.eye(3).repeat(90, 0), dpcov.ZCDP(1), row_norm=1, seed=1); "
        "repr(r.describe()), repr(r.pca(1)), repr(r.ridge('x0')); "
        "sys.exit(any(m in sys.modules for m in ('rich', 'matplotlib', 'pandas', 'dpcov.report')))"
    )
    assert subprocess.run([sys.executable, "-c", code], cwd=tmp_path).returncode == 0


def test_machines_are_told_no_error_of_what_is_printed_as_noise() -> None:
    rows = np.random.default_rng(0).normal(size=(3000, 40)) * np.r_[np.full(5, 0.3), np.full(35, 0.001)]
    found = dpcov.pca(rows, dpcov.ZCDP(1), k=8, row_norm=1, mechanism="gaussian", seed=1).pca()
    assert (found.k, found.readable) == (8, 5)
    errors = record(found)["standard_error"]
    for name in ("explained", "ratio", "cumulative"):
        assert errors[name][5:] == [None] * 3
        assert all(error > 0 for error in errors[name][:5])
