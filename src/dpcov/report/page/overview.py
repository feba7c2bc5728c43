"""The overview of a release: what was promised, what was asked at what price, how much is clear of noise.

The page and the notebook show the same one. All text is escaped here, whatever a file's names and options are.
"""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from itertools import groupby

from dpcov.kernel.budget import ZCDP, ApproxDP, Budget, decimal_text
from dpcov.release.record import Release
from dpcov.report.pictures import GREEK, budget_line
from dpcov.report.release_lines import (
    clip_line,
    confidence_line,
    error_line,
    groups_line,
    numbers_line,
    options_line,
    unknown_line,
    weights_line,
    zero_line,
)
from dpcov.report.text import MORE, SILENT, budget_words, counted, ledger_line, printable, speaking_python
from dpcov.uses.held import is_centered

WORDS = {
    "ε": "epsilon: how much one person can change the odds of what the file says; the smaller, the more private",
    "δ": "delta: how often the bound on the odds may fail",
    "ρ": "rho: how far apart, on average, the files of tables that differ in one person are; the smaller, the more private",
}
"""What the symbols of a budget stand for, for those who meet them for the first time."""


def title(release: Release) -> str:
    """Say in one line what a release holds."""
    estimate = None if unknown_line(release) else release.estimate
    if estimate is None:
        what = "A private release"
    elif estimate.coefficients is not None:
        what = "A private regression"
    elif estimate.k is not None:
        what = "Private principal components"
    elif estimate.covariance is None:
        what = "Private means"
    else:
        what = "Private means and correlations" if release.center else "Private correlations"
    encoding, part = release.encoding, release.part
    rows = ("pair" if encoding.pairs else "person" if encoding.unit else "row") if release.n == 1 else encoding.counted
    rows = "pairs" if encoding.pairs and release.n != 1 else rows
    about = "" if release.part is None else "about "  # rows of no group are not in it, nor is it exact
    held = [counted(release.d, "feature")] + [f"{about}{release.n:,} {rows}"] * (not encoding.partial)
    if part is not None and part.level is not None:
        held.append(f"group {printable(part.level)}")
    elif release.groups:
        held.append(f"{len(release.groups)} groups together")
    return f"{what}: {', '.join(held)}"


def stamps(release: Release) -> list[tuple[str, str]]:
    """Return what must be seen before any number: a few words, and a sentence each."""
    found = []
    if release.seeded:
        found.append(("seeded: not private", "Whoever knows the seed can take the noise off. For tests and examples only."))
    if any(law.numerics == "markov chain" for answer in release.answers for law in answer.laws):
        found.append(("approximate", "Private in the limit of many sweeps of its Markov chain only."))
    if (unknown := unknown_line(release)) is not None:
        found.append(("no estimates", unknown.removeprefix("No estimates: ").capitalize()))
    elif release.estimate.covariance is not None and release.estimate.k is None and release.describe().nothing:
        found.append(("nothing can be seen", f"No deviation and no correlation is clear of noise. {MORE}"))
    return found


def formula(budget: Budget) -> str:
    """Write the promise as a formula, for files M of tables D and D′ that differ in one row, or in those of one person."""
    if isinstance(budget, ZCDP):
        return "D_α( M(D) ‖ M(D′) ) ≤ ρ·α for every α > 1"
    tail = " + δ" if isinstance(budget, ApproxDP) else ""
    return f"P( M(D) ∈ S ) ≤ e^ε · P( M(D′) ∈ S ){tail} for every set S of files"


def symbols(budget: Budget) -> list[tuple[str, str, str]]:
    """Return the symbols of a budget, their amounts, and what they mean."""
    return [(GREEK[name], decimal_text(getattr(budget, name)), WORDS[GREEK[name]]) for name in budget.names]


def counts(release: Release) -> list[tuple[str, int | None, int]]:
    """Return how many of the means, deviations and correlations are clear of noise; None where nobody knows."""
    if unknown_line(release) is not None:
        return []
    estimate = release.estimate
    if estimate.coefficients is not None:
        model = release.ridge().reading()
        return [("coefficients", None if model.clear is None else int(model.clear.sum()), len(model.effects))]
    if estimate.k is not None:
        held = release.pca()
        return [("components", held.standing_out, held.k)]
    found, centred, counted_ = release.describe(), is_centered(release), []
    for what, reading, wanted in (
        ("means", found.mean, slice(None)),
        ("standard deviations" if centred else "root mean squares", found.deviation, ~found.is_level),
    ):
        if reading is not None and len(clear := reading.clear[wanted]):
            counted_.append((what, int(clear.sum()) if reading.known else None, len(clear)))
    if found.correlation is not None and (pairs := len(found.pairs(clear=False))):
        what = "correlations" if centred else "cosines about 0"
        counted_.append((what, len(found.pairs()) if found.correlation.known else None, pairs))
    return counted_


def lines(release: Release) -> list[str]:
    """Return what is said of the release in one sentence each."""
    if unknown_line(release) is not None:
        return []
    with speaking_python():
        said = (numbers_line, weights_line, clip_line, error_line, zero_line, confidence_line, options_line)
        found = [line(release) for line in said]
    return [line for line in found if line]


def spends(release: Release) -> Iterator[tuple[str, str, str]]:
    """Yield every question that was asked of the data with its noise and its price; those that are alike together."""
    for spend, alike in groupby(release.spent):
        times = len(list(alike))
        yield f"{times} × " * (times > 1) + spend.asked, spend.noise, budget_words(spend.budget) + " each" * (times > 1)


def overview_of(release: Release) -> str:
    """Return the overview as HTML without any style or script: headings of the third level, paragraphs, lists and a table."""
    stamped = "".join(f'<p class="stamp"><strong>{escape(word)}</strong> {escape(said)}</p>' for word, said in stamps(release))
    terms = "".join(
        f"<dt>{escape(symbol)} = {escape(amount)}</dt><dd>{escape(said)}</dd>"
        for symbol, amount, said in symbols(release.privacy)
    )
    rows = "".join(
        f'<tr><td class="name">{escape(printable(asked, 200))}</td><td>{escape(noise)}</td><td>{escape(cost)}</td></tr>'
        for asked, noise, cost in spends(release)
    )
    would, style = "would be " * release.seeded, "symbols" + " noise" * release.seeded
    large = would + "".join(
        f"<span>{escape(symbol)} = {escape(amount)}</span> " for symbol, amount, _ in symbols(release.privacy)
    )
    paid = "" if release.ledger is None else f"<p>{escape(ledger_line(release.ledger))}.</p>"
    more = "".join(f"<li>{escape(line)}</li>" for line in lines(release))
    differ = "the rows of one person" if release.unit else "one row"
    with speaking_python():
        said = groups_line(release)
    groups = "" if said is None else f'<p class="groups">{escape(said)}</p>'
    return (
        f"{stamped}{groups}"
        f'<div class="promise"><h3>What was promised</h3><p class="{style}">{large}</p><p>{escape(release.risk())}</p>'
        f'<details><summary>In symbols</summary><p class="formula">{escape(formula(release.privacy))}</p><dl>{terms}</dl>'
        f"<p>M makes a file like this one, with fresh noise; D and D′ are tables that differ in {differ}. "
        f"{escape(release.statement())}</p></details></div>"
        f'<div class="clear"><h3>What can be seen</h3>{_counted(release)}</div>'
        f'<div class="asked"><h3>What was asked, at what price</h3>'
        f'<div class="scroll" tabindex="0" role="region" aria-label="What was asked, at what price"><table>'
        f'<thead><tr><th scope="col">asked</th><th scope="col">noise</th><th scope="col">price</th></tr></thead>'
        f"<tbody>{rows}</tbody></table></div>{paid}"
        + (f"<details><summary>How the numbers were made</summary><ul>{more}</ul></details>" if more else "")
        + "</div>"
    )


def _counted(release: Release) -> str:
    """Return the counts of what is clear of noise as a list."""
    found = counts(release)
    if not found:
        return "<p>Nothing can be estimated here.</p>"
    items = "".join(
        f"<li><strong>{'?' if clear is None else f'{clear:,}'} of {of:,}</strong> {escape(f'{what} {_of_noise(clear)}')}</li>"
        for what, clear, of in found
    )
    return f'<ul class="counts">{items}</ul>'


def _of_noise(clear: int | None) -> str:
    return "clear of noise" if clear is not None else f"({SILENT})"


def notebook(release: Release, text: str) -> str:
    """Return what a notebook shows: the overview, and the text of the command line to unfold."""
    head = f"<h2>{escape(title(release))}</h2><p>{escape(budget_line(release.privacy))}</p>"
    return f"<div>{head}{overview_of(release)}<details><summary>Every number, as text</summary>{text}</details></div>"
