"""The page in a browser: what it shows, that it asks nobody, and that its regressions are those of `Release.ridge`."""

from __future__ import annotations

import json
from functools import cache
from importlib.resources import files
from typing import Any

import numpy as np
import pytest

import dpcov
from dpcov.report.page import page
from dpcov.uses import coefficient_intervals
from dpcov.uses.held import tells_noise
from tests.helpers.small import releases
from tests.report.browser import Browser
from tests.report.releases import HOSTILE, LEVELS, every_kind, in_units, large

EXACT = 1e-9
IMAGE = "https://example.invalid/x.png"
PARTS = {
    "table": ["overview", "means", "correlations", "components", "regressions", "planner"],
    "private units": ["overview", "means", "correlations", "components", "regressions", "planner"],
    "about 0": ["overview", "means", "correlations", "components", "regressions", "planner"],
    "rows": ["overview", "means", "correlations", "components", "regressions", "planner"],
    "raw": ["overview", "means", "correlations", "components", "regressions", "planner"],
    "rounds": ["overview", "means", "correlations", "components", "regressions", "planner"],
    "drawn": ["overview", "means", "correlations", "components", "regressions", "planner"],
    "one column": ["overview", "means", "correlations", "components", "planner"],
    "mean": ["overview", "means"],
    "components": ["overview", "components"],
    "approximate": ["overview", "components"],
    "one regression": ["overview", "model"],
    "hopeless": ["overview", "means", "correlations", "components", "regressions", "planner"],
    "hostile": ["overview", "means", "correlations", "components", "regressions", "planner"],
    "groups": ["overview", "means", "correlations", "components", "regressions", "planner"],
    "a group": ["overview", "means", "correlations", "components", "regressions", "planner"],
    "weights": ["overview", "means", "correlations", "components", "regressions", "planner"],
}


@cache
def html(kind: str) -> str:
    return page(large() if kind == "large" else every_kind()[kind])


@pytest.mark.parametrize("kind", PARTS)
def test_a_page_opens_silently_with_the_parts_that_fit(browser: Browser, kind: str) -> None:
    """No word on the console, no request but for the file itself, nothing wider than a telephone."""
    browser.open(html(kind), width=390)
    assert browser.run("return [...document.querySelectorAll('main section')].map(one => one.id)") == PARTS[kind]
    assert browser.run("return [...document.querySelectorAll('#parts a')].map(one => one.hash)") == [
        f"#{p}" for p in PARTS[kind]
    ]
    assert browser.said() == []
    assert [url for url, _ in browser.requests() if not url.startswith(("file:///", "data:", "blob:"))] == []
    assert browser.run("return document.documentElement.scrollWidth") <= 390
    assert "NaN" not in browser.text("main")
    assert "undefined" not in browser.text("main")


def choose(browser: Browser, place: int, mode: str, *, power: float = -0.6, columns: list[int] | None = None) -> None:
    """Ask for a model: of all columns that `ridge` takes, or of some."""
    browser.run(
        """
        const [place, mode, power, columns] = arguments, set = (id, value, kind) => {
          const one = document.getElementById(id); one.value = value; one.dispatchEvent(new Event(kind)); };
        set('target', place, 'change');
        if (!document.getElementById('all').checked) document.getElementById('all').click();
        const all = [...document.querySelectorAll('#regressions button')];
        const press = text => all.find(one => one.textContent === text).click();
        press(columns === null ? 'All' : 'None');
        for (const c of columns ?? []) document.querySelector(`[data-column="${c}"]`).click();
        document.querySelector(`input[name=penalty][value=${mode}]`).click();
        if (mode === 'hand') set('penalty', power, 'input');
        """,
        place, mode, power, columns,
    )  # fmt: skip
    browser.wait("return document.querySelector('#model').getAttribute('aria-busy') === null")


def shown(browser: Browser, release: dpcov.Release) -> tuple[Any, dict[str, dict[str, str]], dpcov.RidgeModel]:
    """Return the model that the page shows, and what the Python that it offers makes of the release."""
    facts, rows, code = browser.run("""
        return [{...document.getElementById('model').dataset},
          [...document.querySelectorAll('#model tr[data-feature]')].map(one => ({...one.dataset})),
          document.getElementById('python').textContent]""")
    names: dict[str, Any] = {"R": release}
    exec(code.replace('dpcov.load("release.json")', "R").replace("print(model.summary())", ""), names)
    return facts, {release.feature_names[int(row["feature"])]: row for row in rows}, names["model"]


def assert_same(browser: Browser, release: dpcov.Release, *, intervals: bool = True) -> dpcov.RidgeModel:
    """Compare coefficients, penalty, share, its error, and intervals, all to the ninth digit."""
    facts, rows, model = shown(browser, release)
    assert set(rows) == set(model.feature_names)
    scale = float(np.abs(model.coefficients).max())
    found = [float(rows[name]["value"]) for name in model.feature_names]
    assert found == pytest.approx(model.coefficients, rel=EXACT, abs=EXACT * scale)
    assert float(facts["alpha"]) == pytest.approx(model.alpha, rel=EXACT)
    assert float(facts["share"]) == pytest.approx(model.explained, rel=EXACT, abs=EXACT)
    assert float(facts["error"]) == pytest.approx(model.explained_error, rel=1e-6, abs=1e-7)  # a root of rounding errors
    assert float(facts["intercept"]) == pytest.approx(model.intercept, rel=EXACT, abs=EXACT * scale, nan_ok=True)
    if intervals:
        inside = model.interval().coefficients
        for place, name in enumerate(model.feature_names):
            lower, upper, error = inside.lower[place], inside.upper[place], inside.standard_error[place]
            if "lower" not in rows[name]:
                assert not np.isfinite(upper - lower)  # said to hold everything
                continue
            assert float(rows[name]["error"]) == pytest.approx(error, rel=EXACT)
            assert float(rows[name]["lower"]) == pytest.approx(lower, abs=1e-3 * (upper - lower))  # quantiles: four digits
            assert float(rows[name]["upper"]) == pytest.approx(upper, abs=1e-3 * (upper - lower))
    return model


@pytest.mark.parametrize("kind", ["table", "rows", "about 0", "raw", "rounds", "drawn"])
def test_the_explorer_solves_what_ridge_solves(browser: Browser, kind: str) -> None:
    """Five targets with three penalties: by noise of one matrix, of rounds, and of drawn directions."""
    release = every_kind()[kind]
    assert kind != "raw" or np.linalg.eigvalsh(release.covariance)[0] < 0  # eigenvalues that count as 0
    browser.open(html(kind))
    for place in range(0, release.d, max(release.d // 5, 1)):
        for mode in ("auto", "none", "hand"):
            choose(browser, place, mode)
            assert_same(browser, release, intervals=kind not in ("rounds", "drawn"))
    assert browser.said() == []


def test_the_explorer_solves_what_ridge_solves_in_private_units(browser: Browser, monkeypatch: pytest.MonkeyPatch) -> None:
    """Levels with references, cells that are missing, a product; intervals without what drawn rows say, as the page says."""
    monkeypatch.setattr(coefficient_intervals, "_drawn_residuals", lambda _: None)
    release = every_kind()["private units"]
    browser.open(html("private units"))
    seen, penalties = 0, set()
    for place, columns in (
        (0, [1, 2]),
        (4, [0, 1]),
        (4, [0]),
        (4, [0, 1, 3]),
        (5, [0, 2]),
        (6, [1, 2]),
        (2, [0, 2]),
        (4, None),
        (0, None),
    ):
        for mode in ("auto", "none", "hand"):
            choose(browser, place, mode, columns=columns)
            model = assert_same(browser, release)
            seen += int(np.isfinite(model.interval().coefficients.upper).all())
            penalties.add(model.alpha > 0)
    assert seen >= 9  # else intervals were not compared
    assert penalties == {False, True}
    assert browser.said() == []


@pytest.mark.parametrize("kind", ["groups", "a group", "weights"])
def test_the_explorer_solves_what_ridge_solves_of_groups_and_weights(
    browser: Browser, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All groups together, by the number of their own rows; one of people that is drawn towards them; weights."""
    monkeypatch.setattr(coefficient_intervals, "_drawn_residuals", lambda _: None)
    release = every_kind()[kind]
    assert kind != "groups" or release.pooled.n < release.n - 900  # rows of no group
    if (units := release.estimate.units) is not None and kind == "a group":
        assert abs(units.left / units.variance - 1) > 0.1  # of what it took from all others, noise is left, too
    browser.open(html(kind))
    penalised = 0
    for place in range(release.d):
        for mode in ("auto", "none", "hand"):
            choose(browser, place, mode)
            penalised += assert_same(browser, release).penalised
    assert penalised >= release.d
    today = f"as today's {release.pooled.n:,}" if kind == "groups" else "as today"  # with weights n counts nobody
    assert browser.text("output[for=plan-rows]") == today
    assert ("Twice the people" in browser.text("#planner")) == (kind == "a group")
    assert browser.said() == []


@pytest.mark.audit
def test_every_mechanism_has_a_page_whose_models_are_those_of_ridge(browser: Browser) -> None:
    """A hundred small releases: silent on the console, no number that is none, two targets with three penalties."""
    compared = 0
    for name, release in releases().items():
        browser.open(page(release), width=390)
        told = browser.text("main")
        assert browser.said() == [], name
        assert browser.run("return document.documentElement.scrollWidth") <= 390, name
        assert not [word for word in ("NaN", "undefined", "[object") if word in told], name
        if browser.run("return document.getElementById('target')") is None:
            continue
        silent = data_of(browser)["regression"]["silent"] is not None
        for place in (0, release.d - 1):
            for mode in ("auto", "none", "hand") if tells_noise(release) else ("none", "hand"):
                choose(browser, place, mode)
                assert_same(browser, release, intervals=not silent and release.estimate.units is None)
                compared += 1
    assert compared >= 100
    assert browser.said() == []


def data_of(browser: Browser) -> dict[str, Any]:
    return dict(json.loads(browser.text("#data")))


def test_a_large_release_is_solved_from_its_eigenvectors(browser: Browser) -> None:
    release = large()
    browser.open(html("large"))
    browser.wait("return document.querySelector('#model').dataset.alpha")
    assert len(browser.run("return JSON.parse(document.getElementById('data').textContent).arrays.noise_basis")) == 3
    for place, mode in ((0, "auto"), (0, "none"), (3, "hand")):
        choose(browser, place, mode, columns=[j for j in range(10) if j != place])
        assert_same(browser, release)
    assert float(browser.find("#model").get_attribute("data-share")) > 0.5
    assert browser.said() == []


class TestTheHeatMap:
    def test_a_cell_is_its_pair(self, browser: Browser) -> None:
        """By its colour, by what is said of it under the pointer, and by what a click opens."""
        from selenium.webdriver import ActionChains

        release = every_kind()["table"]
        found = release.describe().correlation
        assert found is not None
        browser.open(html("table"))
        browser.run("const one = document.querySelector('#correlations select'); one.value = 'in the order of the table';"
                    "one.dispatchEvent(new Event('change'))")  # fmt: skip
        margin, cell = (
            float(browser.run(f"return document.querySelector('.map').dataset.{part}")) for part in ("margin", "cell")
        )
        canvas, d = browser.find(".map canvas"), release.d
        browser.run("arguments[0].scrollIntoView({block: 'center'})", canvas)
        grey = browser.run("return getComputedStyle(document.documentElement).getPropertyValue('--drowned')")
        assert grey == "#e4e4e4"
        pixels = browser.run("""
            const [canvas, margin, cell, d] = arguments, context = canvas.getContext('2d'), found = [];
            for (let row = 0; row < d; row++) for (let column = 0; column < d; column++) {
              const at = [margin + (column + 0.3) * cell, (row + 0.85) * cell].map(Math.round);
              found.push([...context.getImageData(...at, 1, 1).data].slice(0, 3)); }
            return found;""", canvas, margin, cell, d)  # fmt: skip
        for (row, column), value in np.ndenumerate(found.values):
            red, _, blue = pixels[row * d + column]
            if not found.clear[row, column]:
                assert (red, blue) == (0xE4, 0xE4)
            elif abs(value) > 0.1:
                assert (red > blue) == (value > 0)
        size = canvas.size
        for row, column in ((0, 6), (6, 0), (2, 6), (1, 4)):
            offset = (round(margin + (column + 0.5) * cell - size["width"] / 2), round((row + 0.5) * cell - size["height"] / 2))
            ActionChains(browser.driver).move_to_element_with_offset(canvas, *offset).click().perform()
            assert browser.run("return document.querySelector('.tip').dataset.pair") == f"{row},{column}"
            told = browser.text(".tip")
            assert release.feature_names[row] in told
            assert browser.run("return document.querySelector('#correlations .panel').dataset.pair") == f"{row},{column}"
            big = browser.find("#correlations .panel .big")
            if found.clear[row, column]:
                assert float(big.get_attribute("data-value")) == found.values[row, column]
                assert float(big.get_attribute("data-error")) == pytest.approx(found.standard_error[row, column])
                assert f"{found.values[row, column]:.3f} ± {found.standard_error[row, column]:.3f}" in told
            else:
                assert "≈ noise" in big.text
                assert "≈ noise" in told

    def test_it_is_read_by_keyboard(self, browser: Browser) -> None:
        from selenium.webdriver.common.keys import Keys

        browser.open(html("table"))
        names = every_kind()["table"].feature_names
        browser.run("document.querySelector('.map').focus()")
        browser.press(Keys.HOME, *[Keys.ARROW_UP] * 9)
        order = browser.run("return document.querySelector('.tip').dataset.pair").split(",")
        assert order[0] == order[1]
        browser.press(Keys.ARROW_RIGHT, Keys.ENTER)
        pair = [int(j) for j in browser.run("return document.querySelector('#correlations .panel').dataset.pair").split(",")]
        assert pair[0] == int(order[0]) != pair[1]
        assert all(names[j][:11] in browser.text("#status") for j in pair)


def test_sliders_work_by_keyboard(browser: Browser) -> None:
    from selenium.webdriver.common.keys import Keys

    browser.open(html("rows"))
    browser.run("document.getElementById('penalty').focus()")
    browser.press(Keys.ARROW_RIGHT)
    first = float(browser.find("#model").get_attribute("data-alpha"))
    assert browser.find("input[name=penalty][value=hand]").is_selected()
    browser.press(*[Keys.ARROW_RIGHT] * 20)  # a twentieth of a power of ten each
    second = float(browser.find("#model").get_attribute("data-alpha"))
    assert second / first == pytest.approx(10, rel=0.01)
    assert browser.find("#penalty").get_attribute("aria-valuetext").startswith("alpha ")
    browser.run("document.getElementById('plan-rows').focus()")
    before = float(browser.find("#plan").get_attribute("data-error"))
    browser.press(Keys.ARROW_RIGHT)
    after = float(browser.find("#plan").get_attribute("data-error"))
    assert before / 2 <= after < before / 2**0.49
    assert "2 times today's 3,000: 6,000" in browser.text("output[for=plan-rows]")


def test_everything_is_reached_by_tab_in_the_order_of_the_page(browser: Browser) -> None:
    from selenium.webdriver.common.keys import Keys

    browser.open(html("rows"))
    seen: list[str] = []
    for _ in range(80):
        browser.press(Keys.TAB)
        place = browser.run("const one = document.activeElement, box = one.getBoundingClientRect();"
                            "return [one.id || one.className || one.tagName, one.closest('section')?.id ?? null]")  # fmt: skip
        if place[1] is not None and (not seen or seen[-1] != place[1]):
            seen.append(place[1])
    assert seen[: len(PARTS["rows"])] == PARTS["rows"]


AXE = files("axe_core_python").joinpath("axe.min.js").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("kind", "dark"), [("private units", False), ("private units", True), ("one regression", False), ("hopeless", True)]
)
def test_no_serious_fault_for_those_who_cannot_see_it(browser: Browser, kind: str, dark: bool) -> None:
    """By axe-core: names, roles, labels, order and contrast, with everything unfolded."""
    browser.open(html(kind), dark=dark)
    assert browser.run("return document.documentElement.dataset.theme") == ("dark" if dark else "light")
    browser.run(
        "for (const one of document.querySelectorAll('details')) one.open = true; document.getElementById('all')?.click()"
    )
    browser.run(AXE)
    found = browser.driver.execute_async_script("const done = arguments[0]; axe.run(document).then(done)")
    assert found["passes"]
    faults = [(one["id"], one["impact"], [node["html"][:120] for node in one["nodes"]][:3]) for one in found["violations"]]
    assert [fault for fault in faults if fault[1] in ("serious", "critical")] == []


class TestNamesThatABrowserWouldRun:
    def test_they_are_text(self, browser: Browser) -> None:
        browser.open(html("hostile"))
        browser.wait("return document.querySelector('#model').dataset.alpha")
        assert browser.run("return window.hacked ?? null") is None
        assert browser.run("return document.querySelectorAll('img, iframe, b, object, script[src]').length") == 0
        told = browser.text("#means")
        for name in (*HOSTILE[:3], *(f"<kind>={level}" for level in LEVELS)):
            assert name in told
        assert "\\u202e" in told  # written out, as it would turn the direction of what follows
        assert "\u202e" not in browser.text("main")
        assert browser.said() == []

    def test_a_name_is_code_only_as_a_string(self, browser: Browser) -> None:
        release = every_kind()["hostile"]
        browser.open(html("hostile"))
        for place in range(len(HOSTILE)):
            choose(browser, place, "hand", columns=[j for j in range(len(HOSTILE)) if j != place][:3])
            *_, model = shown(browser, release)
            assert model.target == HOSTILE[place]

    def test_the_policy_forbids_everything_else(self, browser: Browser) -> None:
        browser.open(html("rows"))
        browser.run(
            """
            const script = document.createElement('script');
            script.textContent = 'window.hacked = 5'; document.body.append(script);
            const image = document.createElement('img'); image.src = arguments[0]; document.body.append(image);
            document.body.setAttribute('style', 'background: red');
            window.asked = fetch('https://example.invalid/').catch(() => 'refused');""",
            IMAGE,
        )
        assert browser.driver.execute_async_script("window.asked.then(arguments[0])") == "refused"
        assert browser.run("return window.hacked ?? null") is None
        assert browser.run("return getComputedStyle(document.body).backgroundColor") != "rgb(255, 0, 0)"
        refused = " ".join(browser.said())
        for rule in ("script-src", "img-src", "style-src", "connect-src"):
            assert rule in refused
        assert {url: blocked for url, blocked in browser.requests() if url.startswith("http")} == {IMAGE: "csp"}


def test_what_is_exported_is_what_is_shown(browser: Browser) -> None:
    release = every_kind()["private units"]
    browser.open(html("private units"))
    browser.run("""
        window.saved = {};
        let count = 0;
        const keep = (own, blob) => blob.text().then(text => { window.saved[own] = text; });
        URL.createObjectURL = blob => { keep(count++, blob); return '#'; };
        for (const one of document.querySelectorAll('#export button')) one.click();""")
    means, pairs, everything = (browser.wait(f"return window.saved[{place}]") for place in range(3))
    said = release.describe()
    assert said.mean is not None
    assert said.correlation is not None
    lines = means.splitlines()
    assert (
        lines[0]
        == "feature,mean,mean standard error,mean clear of noise,deviation,deviation standard error,deviation clear of noise"
    )
    assert float(lines[1].split(",")[1]) == said.mean.values[0]
    assert len(lines) == release.d + 1
    assert len(pairs.splitlines()) == len(said.pairs()) + 1
    record = json.loads(everything)
    assert record["features"] == list(release.feature_names)
    assert len(record["pairs"]) == len(said.pairs())
    first = record["pairs"][0]
    one, other = (release.feature_names.index(name) for name in first["features"])
    assert first["correlation"] == said.correlation.values[one, other]


def test_what_may_be_noise_is_no_number(browser: Browser) -> None:
    """Of a release in which nothing can be seen: no mean, no correlation, no coefficient, and no share of the variance."""
    browser.open(html("hopeless"))
    assert "nothing can be seen" in browser.text("#overview")
    numbers = browser.run(
        "return [...document.querySelectorAll('#means tbody tr')].map(one => [...one.cells].map(cell => cell.textContent))"
    )
    assert {row[1] for row in numbers} == {row[3] for row in numbers} == {"≈ noise"}
    assert "≈ noise" in browser.text("#correlations .panel")
    assert "Nothing can be seen" in browser.text("#model")
    assert browser.run("return document.querySelectorAll('#model tr').length") == 0


def test_the_switch_changes_the_colours(browser: Browser) -> None:
    browser.open(html("rows"))
    background = "return getComputedStyle(document.body).backgroundColor"
    light = browser.run(background)
    browser.run("document.getElementById('theme').click()")
    assert browser.run(background) != light
    assert browser.find("#theme").get_attribute("aria-label") == "Switch to light colours"


def test_units_have_what_the_comparison_needs() -> None:
    """Levels, missing cells, a product: else the comparison above would prove less than it says."""
    release = in_units()
    assert release.estimate.units is not None
    assert (release.estimate.units.seen < 1).any()
    assert release.d == 7
