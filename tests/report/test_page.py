"""The page as a file: what is in it, how large it is, and that nothing of it comes from elsewhere or runs but its script."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import zlib
from fractions import Fraction
from functools import cache
from html import unescape
from importlib.resources import files
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import dpcov
from dpcov.errors import EngineError, ParameterError, ReleaseError
from dpcov.report.page import as_script, page
from dpcov.report.page.content import facts_of
from dpcov.report.page.overview import counts, formula, overview_of, spends, stamps, title
from dpcov.report.page.store import LEAST, MOST, STEPS, Store
from dpcov.uses.tails import quantile
from tests.cli.shell import call
from tests.report.releases import HOSTILE, every_kind, in_units, large

KINDS = [
    "table", "private units", "about 0", "rows", "raw", "rounds", "drawn", "one column", "mean", "components", "approximate",
    "one regression", "hopeless", "hostile", "groups", "a group", "weights",
]  # fmt: skip
LARGEST = 150_000  # bytes of a page of few features


@cache
def made(kind: str) -> str:
    return page(every_kind()[kind])


def element(html: str, pattern: str) -> str:
    (found,) = re.findall(pattern, html, flags=re.DOTALL)
    return str(found)


def data(html: str) -> dict[str, Any]:
    return dict(json.loads(element(html, r'<script type="application/json" id="data">(.*?)</script>')))


def arrays(html: str) -> dict[str, Any]:
    """Read the arrays as the page does."""
    facts, kinds = data(html), {"f8": np.float64, "i2": np.int16, "u2": np.uint16, "u1": np.uint8}
    block = np.frombuffer(zlib.decompress(base64.b64decode(facts["block"])), np.uint8)
    found = {}
    for name, (kind, at, count) in facts["arrays"].items():
        size = int(kind[1])
        found[name] = np.ascontiguousarray(block[at : at + count * size].reshape(size, count).T).view(kinds[kind]).ravel()
    return found


def test_all_kinds_are_here() -> None:
    assert list(every_kind()) == KINDS


@pytest.mark.parametrize("kind", KINDS)
class TestEveryPage:
    def test_it_needs_nothing_from_elsewhere(self, kind: str) -> None:
        html = made(kind)
        names = "".join(every_kind()[kind].feature_names)
        assert set(re.findall(r"\bhttps?://[^\s'\"<>)]*", html)) <= {
            "http://www.w3.org/2000/svg",
            *re.findall(r"https?://\S*", names),
        }
        assert re.findall(r"<(?:link|img|script|iframe|object|embed)\b[^>]*?(?:src|href)=\"(?!data:,)", html) == []
        assert "url(" not in html
        assert "@import" not in html
        assert len(html.encode()) < LARGEST + 12 * sum(map(len, every_kind()[kind].feature_names))

    def test_its_policy_names_its_script_and_style_and_nothing_else(self, kind: str) -> None:
        html = made(kind)
        policy = unescape(element(html, r'http-equiv="Content-Security-Policy" content="([^"]*)"'))
        rules = dict(rule.split(" ", 1) for rule in policy.split("; "))
        hashes = {
            name: base64.b64encode(hashlib.sha256(element(html, pattern).encode()).digest()).decode()
            for name, pattern in (("script-src", r"<script>(.*?)</script>"), ("style-src", r"<style>(.*?)</style>"))
        }
        assert rules == {
            "default-src": "'none'",
            **{name: f"'sha256-{own}'" for name, own in hashes.items()},
            "img-src": "data:",
            "base-uri": "'none'",
            "form-action": "'none'",
        }
        assert html.index("Content-Security-Policy") < html.index("<title>")  # it holds for what stands after it

    def test_it_is_the_same_again(self, kind: str) -> None:
        assert page(every_kind()[kind]) == made(kind)

    def test_its_facts_are_json_that_ends_where_it_ends(self, kind: str) -> None:
        html = made(kind)
        text = element(html, r'id="data">(.*?)</script>\n<script>')
        assert not set("<>&") & set(text)
        assert text.isascii()
        assert json.loads(text)["features"] == list(every_kind()[kind].feature_names)

    def test_a_notebook_shows_the_overview(self, kind: str) -> None:
        release = every_kind()[kind]
        shown = release._repr_html_()
        assert overview_of(release) in shown
        assert "<script" not in shown
        assert "style=" not in overview_of(release)


class TestTheOverview:
    def test_it_says_what_was_promised_and_asked(self) -> None:
        release = in_units()
        said = unescape(re.sub("<[^>]*>", " ", overview_of(release)))
        assert release.risk() in said
        assert release.statement() in said
        listed = re.findall(r'<tr><td class="name">(?:\d+ × )?(.*?)</td><td>(.*?)</td>', overview_of(release))
        assert {(unescape(one), unescape(noise)) for one, noise in listed} == {(s.asked, s.noise) for s in release.spent}
        assert sum(int(asked.partition(" × ")[0]) if " × " in asked else 1 for asked, *_ in spends(release)) == len(
            release.spent
        )

    def test_its_counts_are_those_of_the_description(self) -> None:
        release = in_units()
        said = release.describe()
        assert said.mean is not None
        assert said.deviation is not None
        wanted = [
            ("means", int(said.mean.clear.sum()), release.d),
            ("standard deviations", int(said.deviation.clear[~said.is_level].sum()), 4),
            ("correlations", len(said.pairs()), len(said.pairs(clear=False))),
        ]
        assert counts(release) == wanted
        assert wanted[2][1] < wanted[2][2]

    def test_a_formula_is_that_of_the_notion(self) -> None:
        assert formula(dpcov.PureDP(1)).endswith("P( M(D′) ∈ S ) for every set S of files")
        assert "+ δ" in formula(dpcov.ApproxDP(1, "1e-6"))
        assert "ρ·α" in formula(dpcov.ZCDP(1))

    @pytest.mark.parametrize(
        ("kind", "words"),
        [
            ("table", ["seeded: not private"]),
            ("approximate", ["seeded: not private", "approximate"]),
            ("hopeless", ["seeded: not private", "nothing can be seen"]),
        ],
    )
    def test_what_must_be_known_first_is_stamped(self, kind: str, words: list[str]) -> None:
        assert [word for word, _ in stamps(every_kind()[kind])] == words

    def test_a_release_with_fresh_noise_has_no_stamp(self) -> None:
        release = dpcov.covariance(np.eye(3).repeat(900, axis=0), dpcov.ZCDP(1), row_norm=1)
        assert stamps(release) == []
        assert "would be" not in overview_of(release)

    @pytest.mark.parametrize(
        ("kind", "words"),
        [
            ("mean", "Private means: 3 features, 6,000 rows"),
            ("components", "Private principal components: 7 features, 6,000 rows"),
            ("one regression", "A private regression: 7 features, 6,000 rows"),
            ("about 0", "Private correlations: 5 features, 3,000 rows"),
            ("one column", "Private correlations: 1 feature, 6,000 rows"),
        ],
    )
    def test_a_title_says_what_it_is(self, kind: str, words: str) -> None:
        assert title(every_kind()[kind]) == words

    def test_names_are_escaped(self) -> None:
        shown = every_kind()["hostile"]._repr_html_()
        assert not re.findall(r"<(?:script|img|b)\b", shown)
        assert "&lt;script&gt;" in shown


def unknown(release: dpcov.Release, tmp_path: Path) -> dpcov.Release:
    """Return the release as another library's mechanism would have made it."""
    from tests.helpers.small import sealed

    path = tmp_path / "stranger.json"
    release.save(path)
    tree = json.loads(path.read_text(encoding="utf-8"))
    tree["mechanism"]["name"] = tree["requested"]["name"] = "<i>stranger</i>"
    path.write_text(sealed(tree), encoding="utf-8")
    return dpcov.load(path)


def test_a_mechanism_that_is_not_known_has_a_page_of_what_was_promised(tmp_path: Path) -> None:
    html = page(unknown(every_kind()["rows"], tmp_path))
    assert "no estimates" in html
    assert "<i>" not in html
    facts = data(html)
    assert facts["arrays"] == {}
    assert not {"means", "correlation", "regression", "planner"} & set(facts)


class TestNumbers:
    def test_the_store_gives_back_what_was_put_in(self) -> None:
        store, random = Store(), np.random.default_rng(2606)
        matrix = random.normal(size=(5, 5))
        matrix = matrix + matrix.T
        store.put("floats", matrix)
        store.put_upper("upper", matrix)
        store.put("places", [3, -1, 2], "<i2")
        store.put("clear", [True, False], "<u1")
        found = arrays(f'<script type="application/json" id="data">{as_script(store.record())}</script>')
        assert (found["floats"] == matrix.ravel()).all()
        assert (found["upper"] == matrix[np.triu_indices(5)]).all()
        assert found["places"].tolist() == [3, -1, 2]
        assert found["clear"].tolist() == [1, 0]

    def test_errors_of_many_features_are_rounded_below_what_can_be_seen(self) -> None:
        store = Store()
        errors = np.array([[1e-7, 0.0123, np.inf], [0, 0.5, np.nan], [0, 0, 2e3]])
        store.put_errors("errors", errors)
        codes = arrays(f'<script type="application/json" id="data">{as_script(store.record())}</script>')["errors"].astype(
            float
        )
        read = LEAST * (MOST / LEAST) ** (codes / STEPS)
        assert read[[0, 1, 3]] == pytest.approx([1e-7, 0.0123, 0.5], rel=3e-4)
        assert codes[[2, 4]].tolist() == [65_534, 65_535]
        assert read[5] == pytest.approx(MOST, rel=3e-4)

    def test_what_is_not_finite_is_none(self) -> None:
        assert json.loads(as_script({"a": [np.inf, 1.5, (np.nan,)], "b": "</script><!--&"})) == {
            "a": [None, 1.5, [None]],
            "b": "</script><!--&",
        }

    @pytest.mark.parametrize("kind", ["table", "private units", "rows", "about 0"])
    def test_means_and_correlations_are_those_of_the_release(self, kind: str) -> None:
        release = every_kind()[kind]
        html, said = made(kind), release.describe()
        facts, held = data(html), arrays(html)
        upper = np.triu_indices(release.d)
        assert said.correlation is not None
        assert (held["correlation"] == said.correlation.values[upper]).all()
        assert (held["correlation_error"] == said.correlation.standard_error[upper]).all()
        assert (held["correlation_clear"] == said.correlation.clear[upper]).all()
        assert (facts["means"]["mean"] is None) == (said.mean is None)
        if said.mean is not None:
            assert facts["means"]["mean"]["value"] == said.mean.values.tolist()
            texts = facts["means"]["mean"]["text"]
            assert [text == "≈ noise" for text in texts] == (~said.mean.clear).tolist()

    def test_columns_that_go_together_are_neighbours_and_levels_stay_together(self) -> None:
        release = in_units()
        order = arrays(made("private units"))["order"].tolist()
        assert sorted(order) == list(range(release.d))
        columns = data(made("private units"))["columnOf"]
        assert len([0 for one, other in pairwise(order) if columns[one] != columns[other]]) == 4
        places = {name: order.index(release.feature_names.index(name)) for name in ("pay", "age", "age by pay")}
        assert max(places.values()) - min(places.values()) == 2

    def test_a_page_of_784_features_is_little_more_than_its_matrix(self) -> None:
        """At most 1.5 MB beside 784² numbers of eight bytes in base64."""
        random = np.random.default_rng(2607)
        rows = random.normal(size=(2000, 784)) * 0.005
        rows[:, :30] += random.normal(size=(2000, 1)) * 0.1
        release = dpcov.covariance(rows, dpcov.ZCDP(4), row_norm=1, seed=8)
        html = page(release)
        assert data(html)["regression"]["spectral"]
        assert len(html.encode()) - 784**2 * 8 * 4 / 3 < 1.5e6

    def test_quantiles_between_nodes_have_four_digits(self) -> None:
        from dpcov.report.page.regressions import NODES, quantile_nodes

        wanted = np.array([0.013, 0.31, 0.777])
        found = np.interp(wanted, np.linspace(0, 1, NODES), quantile_nodes())
        assert found == pytest.approx(quantile(wanted, 0.95), rel=2e-4)

    def test_columns_of_the_same_cells_are_no_features_of_each_other(self) -> None:
        facts = data(made("private units"))
        named = {
            facts["columns"][int(i)]: [facts["columns"][k] for k in others]
            for i, others in facts["regression"]["apart"].items()
        }
        assert named == {"age": ["age by pay"], "pay": ["age by pay"], "age by pay": ["age", "pay"]}

    def test_levels_are_compared_with_the_level_that_ridge_takes(self) -> None:
        release = in_units()
        facts = data(made("private units"))
        references = [release.feature_names[j] for j in facts["regression"]["references"] if j >= 0]
        assert references == list(release.ridge("pay", features=["age", "job"]).references)


class TestThePlan:
    def test_it_begins_with_the_errors_of_the_release(self) -> None:
        release = every_kind()["rows"]
        plan = facts_of(release)["planner"]
        found = [release.describe(about).correlation for about in ("rows", "population")]
        assert found[0] is not None
        assert found[1] is not None
        upper = np.triu_indices(release.d, 1)
        noise, whole = (float(np.median(one.standard_error[upper])) for one in found if one is not None)
        assert plan["noise"] == pytest.approx(noise)
        assert np.hypot(plan["noise"], plan["draw"]) == pytest.approx(whole, rel=0.05)  # r² is small
        assert plan["budget"] == ["ρ = 1", 0.5]
        assert facts_of(every_kind()["hopeless"])["planner"]["budget"][1] == 1

    def test_its_rule_is_about_that_of_plans(self) -> None:
        """Noise halves with twice the rows, within a third."""
        schema = dpcov.Schema({f"c{j}": dpcov.Numeric(0, 1) for j in range(12)})
        for budget in (dpcov.PureDP(1), dpcov.ZCDP(Fraction(1, 10))):
            today, then = (dpcov.plan_table(schema, budget, n=n).outlook.correlation for n in (20_000, 40_000))
            assert then == pytest.approx(today / 2, rel=1 / 3)

    def test_half_the_columns_leave_what_a_plan_says(self) -> None:
        release = in_units()
        assert release.schema is not None
        found = dpcov.plan_table(release.schema, dpcov.ZCDP(1), n=release.n, columns=["age", "pay", "age by pay"])
        assert found.chosen is not None
        wanted = found.chosen.correlation / found.outlook.correlation
        assert (3 / 5) ** facts_of(release)["planner"]["power"] == pytest.approx(max(min(wanted, 1), (3 / 5) ** 2))
        assert facts_of(every_kind()["rows"])["planner"]["power"] == 1


class TestWriting:
    def test_a_page_is_written_whole_in_place_of_one_that_was_there(self, tmp_path: Path) -> None:
        path = tmp_path / "page.html"
        path.write_text("before", encoding="utf-8")
        every_kind()["mean"].report(path)
        assert path.read_text(encoding="utf-8") == page(every_kind()["mean"])
        every_kind()["rows"].report(str(path))
        assert path.read_text(encoding="utf-8") == page(every_kind()["rows"])
        assert list(tmp_path.iterdir()) == [path]

    @pytest.mark.parametrize(
        ("place", "kind"), [("nowhere/page.html", EngineError), ("", ParameterError), ("a\0b", ParameterError)]
    )
    def test_a_place_that_cannot_be_written_is_refused(self, place: str, kind: type[Exception], tmp_path: Path) -> None:
        with pytest.raises(kind, match="path must be"):
            every_kind()["mean"].report(tmp_path / place if place and "\0" not in place else place)
        assert list(tmp_path.iterdir()) == []

    def test_a_folder_is_refused(self, tmp_path: Path) -> None:
        with pytest.raises(EngineError, match="path must be a file that can be written"):
            every_kind()["mean"].report(tmp_path)

    def test_a_damaged_file_is_refused_with_the_reason(self, tmp_path: Path) -> None:
        path = tmp_path / "release.json"
        every_kind()["mean"].save(path)
        path.write_text(path.read_text(encoding="utf-8")[:-40], encoding="utf-8")
        with pytest.raises(ReleaseError):
            dpcov.load(path).report(tmp_path / "page.html")

    @pytest.mark.audit
    def test_forged_releases_have_a_page_or_a_reason(self) -> None:
        """Numbers at their extremes, answers that nobody asked: no other error than the library's own."""
        from dpcov.errors import DpcovError
        from dpcov.release.file import parse
        from tests.helpers.forged import forged

        count = 0
        for number in range(300):
            try:
                html = page(parse(forged(number)))
            except DpcovError:
                continue
            count += 1
            assert data(html)["features"]
        assert count >= 60


def test_a_hostile_name_is_whole_in_the_facts() -> None:
    assert tuple(data(made("hostile"))["features"][: len(HOSTILE)]) == HOSTILE


def test_a_large_page_shows_no_number_that_is_noise() -> None:
    release = large()
    html, said = page(release), release.describe().correlation
    assert said is not None
    held, upper = arrays(html), np.triu_indices(release.d)
    shares = held["correlation"] / 32_767
    assert (shares[~said.clear[upper]] == 0).all()
    assert shares[said.clear[upper]] == pytest.approx(said.values[upper][said.clear[upper]], abs=2e-5)


def test_of_too_many_features_no_pairs_are_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dpcov.report.page.content.MOST_FEATURES", 4)
    facts = data(page(every_kind()["rows"]))
    assert facts["tooMany"] == 4
    assert not {"correlation", "regression", "planner"} & set(facts)
    assert facts["means"]


def test_dates_are_written_as_dates() -> None:
    days = np.arange(4000) % 365
    table = pa.table({"day": pa.array(days.astype("datetime64[D]")), "x": days / 365})
    schema = dpcov.Schema({"day": dpcov.Numeric("1970-01-01", "1970-12-31"), "x": dpcov.Numeric(0, 1)})
    facts = data(page(dpcov.covariance(table, dpcov.ZCDP(1), schema=schema, seed=1)))
    assert re.fullmatch(r"1970-0[67]-\d\d", facts["means"]["mean"]["text"][0])
    assert facts["means"]["deviation"]["text"][0].endswith(" days")


def test_its_parts_are_short_and_can_be_read() -> None:
    for part in files("dpcov.report.page").iterdir():
        if part.name.endswith((".js", ".html")):
            lines = part.read_text(encoding="utf-8").splitlines()
            assert len(lines) <= 400, part.name
            assert max(map(len, lines)) <= 128, part.name


class TestOfWhom:
    """A page says whom it is about: one group or all, rows or people."""

    TABLE = pa.table({"ward": ["a", "b"] * 300, "x": [0.2, 0.7] * 300, "owner": [k // 3 for k in range(600)]})
    SCHEMA = dpcov.Schema({"ward": dpcov.Categorical(["a", "b"]), "x": dpcov.Numeric(0, 1)})

    def test_groups(self, tmp_path: Path) -> None:
        release = dpcov.covariance(self.TABLE, dpcov.ZCDP(1), schema=self.SCHEMA, by="ward", seed=1)
        assert title(release).endswith(", 600 rows, 2 groups together")
        assert title(release.pooled).endswith(f", about {release.pooled.n} rows, 2 groups together")
        assert page(release) == page(release.pooled)
        assert "What follows is of all of them together" in overview_of(release)
        one = release["b"]
        assert title(one).endswith(f", about {one.n} rows, group b")
        assert "Group b of 2 by ward" in unescape(overview_of(one))
        release.save(tmp_path / "release.json")
        said = call("report", tmp_path / "release.json", "--group", "b", "-o", tmp_path / "b.html")
        assert said.code == 0, said.err
        assert "Group b of 2 by ward" in unescape((tmp_path / "b.html").read_text(encoding="utf-8"))

    def test_people(self) -> None:
        released = {
            unit: dpcov.covariance(self.TABLE, dpcov.ZCDP(1), schema=self.SCHEMA, unit=unit, seed=1) for unit in (None, "owner")
        }
        assert title(released["owner"]).endswith(", 200 people")
        assert title(released[None]).endswith(", 600 rows")
        assert "tables that differ in the rows of one person." in overview_of(released["owner"])
        assert "tables that differ in one row." in overview_of(released[None])
