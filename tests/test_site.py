"""The site builds strictly, its links lead somewhere, it fetches nothing, and it shows what the repository shows."""

from __future__ import annotations

import html
import importlib.util
import re
import shutil
import subprocess
import sys
from collections import Counter
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from types import ModuleType
from urllib.parse import unquote

import pytest
from markdown_it import MarkdownIt

from tests.test_docs import PAGES

ROOT = Path(__file__).parents[1]

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("material") is None,
    reason="needs mkdocs-material: `pip install -e '.[docs]'`, as `make docs` and .ci/run do",
)


@pytest.fixture(scope="module")
def hook() -> ModuleType:
    spec = importlib.util.spec_from_file_location("site_hook", ROOT / "docs" / "site_hook.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build it once, as `make docs` does; strict: a page without a place, or a link that leads nowhere, is an error."""
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(folder)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


@pytest.fixture(scope="module")
def pages(site: Path) -> dict[Path, str]:
    return {path: path.read_text(encoding="utf-8") for path in sorted(site.rglob("*.html"))}


def test_all_pages_are_there(hook: ModuleType, site: Path) -> None:
    for page in PAGES:
        source = str(page.relative_to(ROOT))
        place = re.sub(r"README\.md$", "index.md", hook.place_of(source))
        assert (site / place).with_suffix(".html").is_file(), source


def test_links_of_the_built_site_lead_somewhere(site: Path, pages: dict[Path, str]) -> None:
    """Pages, pictures, style, scripts, and the anchors on them; addresses elsewhere by their form only."""
    anchors = {path: {html.unescape(one) for one in re.findall(r'\bid="([^"]+)"', text)} for path, text in pages.items()}
    looked_at = 0
    for path, text in pages.items():
        for link in set(re.findall(r'\b(?:href|src)="([^"]*)"', text)):
            target, _, anchor = unquote(html.unescape(link)).partition("#")
            looked_at += 1
            if re.match(r"[a-z]+:", target):
                assert re.fullmatch(r"https?://[\w.-]+\.[a-z]{2,}(/\S*)?|data:image/\S+", target), f"{path.name}: {link}"
                continue
            folder = site if target.startswith("/") else path.parent  # of 404.html, which is shown at any address
            there = (folder / target.lstrip("/")).resolve() if target not in ("", ".") else path
            assert there.exists(), f"{path}: {link}"
            if anchor and there in anchors and not anchor.startswith("__"):
                assert anchor in anchors[there], f"{path}: {link}"
    assert looked_at > 3000


def test_the_site_fetches_nothing_from_elsewhere(site: Path, pages: dict[Path, str]) -> None:
    """No page asks for it, no style does, and the browser is told to refuse it."""
    policy = "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'self' 'unsafe-inline' data: blob:\">"
    loads = re.compile(r"<(?:script|img|iframe|source|video|audio|object|embed)\b[^>]*\b(?:src|data)=\"(?:https?:)?//")
    sheet = re.compile(r"<link\b(?=[^>]*\brel=\"(?:stylesheet|preload|preconnect|icon|manifest)\")[^>]*\bhref=\"(?:https?:)?//")
    for path, text in pages.items():
        assert policy in text, path
        assert not loads.search(text), path
        assert not sheet.search(text), path
        assert 'class="mermaid"' not in text, f"{path}: a diagram would fetch its library"
    for style in site.rglob("*.css"):
        assert not re.search(r"url\([\"']?(?:https?:)?//|@import", style.read_text(encoding="utf-8")), style


def test_pictures_are_told_in_words(pages: dict[Path, str]) -> None:
    for path, text in pages.items():
        for picture in re.findall(r"<img\b[^>]*>", text.partition("<article")[2]):
            assert re.search(r'\balt="[^"]{5,}"', picture), f"{path}: {picture}"


BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
QUIET = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking"),
    *("--disable-component-update", "--disable-sync", "--enable-logging=stderr", "--v=0", "--virtual-time-budget=3000"),
)


class Logged(SimpleHTTPRequestHandler):
    """A server that says nothing of what it serves."""

    def log_message(self, *_: object) -> None:
        """Keep quiet."""


@pytest.mark.skipif(BROWSER is None, reason="needs a browser: chromium is not installed")
def test_a_browser_has_nothing_to_complain_about(site: Path, tmp_path: Path) -> None:
    """A request that the policy refuses, a script that fails or a file that is missing would be on its console."""
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Logged, directory=str(site))) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        try:
            page = f"http://127.0.0.1:{server.server_port}/gallery/index.html"
            command = [str(BROWSER), *QUIET, f"--user-data-dir={tmp_path}", "--dump-dom", page]
            run = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
        finally:
            server.shutdown()
    assert "What is left of the budget?" in run.stdout
    assert 'data-md-color-scheme="' in run.stdout
    assert not [line for line in run.stderr.splitlines() if "CONSOLE" in line]


SHAPE = ("li", "ul", "ol", "tr", "th", "td", "h1", "h2", "h3", "h4", "pre", "em", "strong")


def shape(text: str) -> Counter[str]:
    """Count what a reader sees: lists, tables, headings, blocks of code, emphasis."""
    return Counter(tag for tag in re.findall(r"<(\w+)[ >]", text) if tag in SHAPE)


def test_pages_look_as_they_do_in_the_repository(hook: ModuleType, site: Path) -> None:
    """Markdown has dialects: a list or a table that is one here must be one there."""
    repository = MarkdownIt("commonmark").enable("table")
    for page in PAGES:
        source = str(page.relative_to(ROOT))
        if source == "README.md":  # which has the paths in it as well
            continue
        place = re.sub(r"README\.md$", "index.md", hook.place_of(source))
        built = (site / place).with_suffix(".html").read_text(encoding="utf-8")
        article = built.partition("<article")[2].partition("</article>")[0]
        assert shape(article) == shape(repository.render(page.read_text(encoding="utf-8"))), source


def test_the_front_page_is_the_readme_with_the_three_paths(hook: ModuleType, site: Path) -> None:
    front = (site / "index.html").read_text(encoding="utf-8")
    for line in (
        "Release the covariance of sensitive data once",
        "<em>custodian</em>",
        "<em>analyst</em>",
        "<em>researcher</em>",
    ):
        assert line in front
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    with_paths = hook.with_paths(readme)
    paths = (ROOT / "docs" / "paths.md").read_text(encoding="utf-8")
    lines = set(re.sub(r"\]\([^)]*\)", "]", readme + paths.replace("# Where", "## Where")).splitlines())
    added = set(re.sub(r"\]\([^)]*\)", "]", with_paths).splitlines()) - lines  # no second text
    assert {line for line in added if not line.startswith("<small>")} == {'<div class="grid cards" markdown>', "</div>"}
    with pytest.raises(LookupError, match="Install"):
        hook.with_paths("# dpcov\n")


CASES = [
    ("index.md", "[a](docs/tables.md#dates)", "[a](tables.md#dates)"),
    ("index.md", "[a](docs/README.md)", "[a](contents.md)"),
    ("contents.md", "[a](../CONTRIBUTING.md#numbers)", "[a](project/contributing.md#numbers)"),
    ("project/contributing.md", "[a](docs/api.md) [b](examples/own.py)", "[a](../api.md) [b](../source/examples/own.py.md)"),
    ("papers/README.md", "[a](../mechanisms/README.md)", "[a](../mechanisms/README.md)"),
    ("mechanisms/auto.md", "[a](../../src/dpcov/api.py)", "[a](../source/src/dpcov/api.py.md)"),
    ("tables.md", "[a](#dates) [b](https://x.org/y.md)", "[a](#dates) [b](https://x.org/y.md)"),
    ("tables.md", "```python\n[a](../x.py)\n```", "```python\n[a](../x.py)\n```"),
]


@pytest.mark.parametrize(("place", "before", "after"), CASES)
def test_links_are_those_of_the_site(hook: ModuleType, place: str, before: str, after: str) -> None:
    assert hook.relinked(before, place) == after


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("- a\n  b\n  - c\n    d\n- e", "- a\n    b\n    - c\n        d\n- e"),
        ("1. a\n   b\n2. c", "1. a\n    b\n2. c"),
        ("- a\n  | x |\n  |---|", "- a\n\n    | x |\n    |---|"),
        ("- a\n\n  b\n- c", "- a\n\n    b\n\n- c"),
        ("- a\n  ```sh\n  if x; then\n    y\n  ```", "- a\n    ```sh\n    if x; then\n      y\n    ```"),
        ("```sh\n  - a\n```\n```text\nb\n```", "```sh\n  - a\n```\n\n```text\nb\n```"),
        ("a\n  b", "a\n  b"),
    ],
)
def test_lists_are_indented_as_the_site_wants_it(hook: ModuleType, before: str, after: str) -> None:
    assert hook.indented(before).lstrip("\n") == after
