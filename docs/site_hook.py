"""What the site changes in the pages of the repository, so that one text serves both.

- README.md of the root is the front page, with the paths of docs/paths.md in it; docs/README.md is the list of all pages.
- Contributing, security and changelog are pages, too.
- A link to another file outside docs/ leads to a page that shows that file, or what is in that folder.
- ``sh run`` and the like are marks for the tests: a reader sees the language.
"""

from __future__ import annotations

import posixpath
import re
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).parents[1]
MOVED = {
    "README.md": "index.md",
    "docs/README.md": "contents.md",
    "CONTRIBUTING.md": "project/contributing.md",
    "SECURITY.md": "project/security.md",
    "CHANGELOG.md": "project/changelog.md",
}
"""Pages of the repository that stand elsewhere in the site."""

LINK = re.compile(r"(\]\()([^)\s]+)(\))")
FENCE = re.compile(r"^(```+)([a-z]+)( [a-z ]+)$", flags=re.MULTILINE)
CODE = re.compile(r"^(```+)[^\n]*\n.*?^\1$", flags=re.DOTALL | re.MULTILINE)
LANGUAGES = {".py": "python", ".toml": "toml", ".csv": "text"}
PATHS, BEFORE_PATHS = "docs/paths.md", "\n## Install\n"
PICTURES = re.compile(r"^!\[.*\]\(.*\)\n", flags=re.MULTILINE)


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Put the pages of the root into the site, and a page for every file outside docs/ that some page links to."""
    files.remove(_file(files, "README.md"))
    texts = {f"docs/{file.src_uri}": file.content_string for file in files.documentation_pages()}
    texts |= {source: (ROOT / source).read_text(encoding="utf-8") for source in MOVED}
    for source, place in MOVED.items():
        files.append(
            File.generated(config, place, content=with_paths(texts[source]) if source == "README.md" else texts[source])
        )
    for target in sorted({target for source, text in texts.items() for target in shown_files(source, text)}):
        files.append(File.generated(config, f"source/{target}.md", content=shown(ROOT / target, target)))
    return files


def on_page_markdown(markdown: str, page: Page, **_: Any) -> str:
    """Make the links of a page lead to pages of the site."""
    if page.file.src_uri.startswith("source/"):
        return markdown
    return FENCE.sub(r"\1\2", indented(relinked(markdown, page.file.src_uri)))


def _file(files: Files, uri: str) -> File:
    """Return a file that must be there."""
    file = files.get_file_from_path(uri)
    if file is None:
        raise LookupError(uri)
    return file


def with_paths(text: str) -> str:
    """Return README with its pictures and the three paths before the installation; its links are those of the root."""
    title, _, paths = (ROOT / PATHS).read_text(encoding="utf-8").partition("\n")
    before, heading, after = text.partition(BEFORE_PATHS)
    pictures = PICTURES.search(after)
    if not heading or not pictures:
        raise LookupError(f"README.md must hold {BEFORE_PATHS!r}, and pictures on a line of their own below it")
    after = after.replace(pictures[0], "", 1)
    paths = LINK.sub(lambda link: f"{link[1]}{link[2] if is_elsewhere(link[2]) else 'docs/' + link[2]}{link[3]}", paths)
    cards, _, more = paths.strip().partition("\n\n")
    shown = " · ".join(re.findall(r"!\[(.*?)\]", pictures[0]))
    cards = f'<div class="grid cards" markdown>\n\n{cards}\n\n</div>'
    return f"{before}\n{pictures[0]}\n<small>{shown}</small>\n\n#{title}\n\n{cards}\n\n{more}\n{heading}{after}"


def is_elsewhere(link: str) -> bool:
    """Whether a link leads out of the repository, or stays on its page."""
    return link.startswith(("http://", "https://", "mailto:", "#"))


def place_of(source: str) -> str:
    """Return where a file of the repository stands in the site."""
    if source in MOVED:
        return MOVED[source]
    return source.removeprefix("docs/") if source.startswith("docs/") else f"source/{source}.md"


def source_of(place: str) -> str:
    """Return which file of the repository a page of the site is."""
    return {moved: source for source, moved in MOVED.items()}.get(place, f"docs/{place}")


def relinked(markdown: str, place: str) -> str:
    """Return a page of the site with its links, which were those of the repository."""
    source = source_of(place)

    def led(link: re.Match[str]) -> str:
        target, mark, anchor = link[2].partition("#")
        if is_elsewhere(link[2]):
            return link[0]
        wanted = posixpath.normpath(posixpath.join(posixpath.dirname(source), target))
        return f"{link[1]}{posixpath.relpath(place_of(wanted), posixpath.dirname(place) or '.')}{mark}{anchor}{link[3]}"

    parts, end = [], 0
    for code in CODE.finditer(markdown):  # what looks like a link in code is none
        parts += [LINK.sub(led, markdown[end : code.start()]), code[0]]
        end = code.end()
    return "".join([*parts, LINK.sub(led, markdown[end:])])


def indented(markdown: str) -> str:
    """Return a page with what belongs to an item of a list as far in as this site's Markdown wants it: by fours.

    It also wants blank lines between two blocks of code, before a table that follows a sentence of an item, and after an item
    of several paragraphs.
    """
    lines = [""]
    step = shift = 0  # how far in the page has what belongs to the items of the present list; how much further in it goes
    code = parted = False  # whether this is code; whether the present item has several paragraphs
    for line in markdown.splitlines():
        text = line.lstrip()
        depth, before = len(line) - len(text), lines[-1].lstrip()
        item = None if code or depth else re.match(r"(- |\d+\. )", text)
        if text and not code:
            if not depth:
                step = len(item[0]) if item else 0
            shift = 4 * (depth // step) - step * (depth // step) if step else 0
        fence, row = text.startswith("```"), step > 0 and depth > 0 and text.startswith("|")
        if before and ((item and parted) or (fence and not code and before == "```") or (row and before[0] != "|")):
            lines.append("")
        parted = not item and (parted or not text)
        code ^= fence
        lines.append(" " * shift + line if text else "")
    return "\n".join(lines)


def shown_files(source: str, text: str) -> set[str]:
    """Return the files and folders outside docs/ that a page links to, and that are no pages of the site."""
    links = [link[2].partition("#")[0] for link in LINK.finditer(CODE.sub("", text)) if not is_elsewhere(link[2])]
    targets = {posixpath.normpath(posixpath.join(posixpath.dirname(source), link)) for link in links}
    return {target for target in targets if not target.startswith("docs/") and target not in MOVED}


def shown(path: Path, name: str) -> str:
    """Return the page of a file: its text; of a folder: the names in it."""
    if path.is_dir():
        body = "\n".join(f"- `{entry.name}`" for entry in sorted(path.iterdir()))
    else:
        body = f"````{LANGUAGES.get(path.suffix, 'text')}\n{path.read_text(encoding='utf-8').rstrip()}\n````"
    kind = "folder" if path.is_dir() else "file"
    return f"---\nsearch:\n  exclude: true\n---\n\n# {name}\n\nA {kind} of the repository.\n\n{body}\n"
