"""How often the intervals of a release and of its regressions hold, over many releases of the same rows.

The rows are drawn once. Intervals are about rows as they were clipped, so the truth is the moment of the rows clipped at the
release's own radius; for `rescaled` (what `auto` runs without centring) times the scale that clipping took, computed without
noise for the release's own estimate. How often they hold for the rows as they are is told beside it.
"""

from __future__ import annotations

from collections import defaultdict
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

import dpcov
from benchmarks.coinpress_runs import table
from benchmarks.common import write
from benchmarks.ridge_runs import Floats, Truth, others
from dpcov.kernel.budget import Budget
from dpcov.kernel.questions.choices import Quantile
from dpcov.kernel.questions.moments import SecondMoment
from dpcov.kernel.questions.overlap import Overlap
from dpcov.kernel.rows.annulus import Annulus
from dpcov.linalg import from_spectrum
from dpcov.mechanisms.covariance.rescaled import denoised
from dpcov.release.record import Release

ROWS, D = 2000, 6
COMMON, OFFSET = 1.0, 0.5  # a part that all columns share, and their mean, where their own part has deviation 1
LEVEL = 0.95
LOWEST, HIGHEST = 92.0, 98.0  # per cent: wanted of entries, and of coefficients
PENALTY = 0.01  # of the largest eigenvalue
PURE: dict[str, Budget] = {epsilon: dpcov.PureDP(epsilon) for epsilon in ("1", "4")}
CONCENTRATED: dict[str, Budget] = {"1": dpcov.ZCDP("0.5"), "4": dpcov.ZCDP("8")}  # ε²/2: what pure budgets imply
MECHANISMS = ("gaussian", "wishart", "laplace", "frobenius", "auto")
MOMENTS = ("entries", "mean", "eigenvalues", "entries, rows as they are")
MODELS = ("fixed alpha", "auto")
Counts = dict[str, list[NDArray[Any]]]
"""An array for each release: what holds, which systems are clear, how the bound compares with the error."""


def coverage(runs: int = 400) -> None:
    records: list[dict[str, object]] = []
    moments: list[list[str]] = []
    models: dict[str, list[list[str]]] = {name: [] for name in MODELS}
    for epsilon in PURE:
        for center in (False, True):
            for mechanism in MECHANISMS:
                budget = (CONCENTRATED if mechanism == "gaussian" else PURE)[epsilon]
                counts: Counts = defaultdict(list)
                for seed in range(runs):
                    release = dpcov.covariance(drawn(), budget, row_norm=1, center=center, mechanism=mechanism, seed=seed)
                    _count(release, counts)
                found = {name: np.array(each) for name, each in counts.items()}
                place = [epsilon, "centred" if center else "uncentred", mechanism]
                moments.append([*place, *(_share(found.get(part)) for part in MOMENTS), _verdict(found["entries"])])
                for name, lines in models.items():
                    lines.append([*place, *_of_models(found, name)])
                where: dict[str, object] = {"epsilon": epsilon, "center": center, "mechanism": mechanism}
                for part, each in found.items():
                    what = {"mean": each.mean(), "fewest": each.mean(axis=0).min(), "most": each.mean(axis=0).max()}
                    records.append(where | {"part": part, **what, "median": np.median(each)})
    write("ridge_coverage.csv", records)
    print(f"\n{LEVEL:.0%} intervals, n = {ROWS}, d = {D}, {runs} releases: per cent that hold, over all (the fewest of one);")
    print(f"wanted of entries and coefficients: between {LOWEST:g} and {HIGHEST:g}\n")
    table(["ε", "", "mechanism", *MOMENTS, ""], moments)
    print("\ncoefficients, 6 targets from the 5 others; clear: per cent of systems that stand clear of their noise, and what")
    print("holds among them; Lemma 1: how often the bound holds, and its median ratio to the error")
    for name, lines in models.items():
        print(f"\n{name}\n")
        table(["ε", "", "mechanism", "coefficients", "", "clear", "among them", "intercept", "Lemma 1", "ratio"], lines)


def _share(held: NDArray[Any] | None) -> str:
    return "" if held is None else f"{100 * held.mean():.1f} ({100 * held.mean(axis=0).min():.1f})"


def _verdict(held: NDArray[Any]) -> str:
    share = 100 * float(held.mean())
    return "ok" if LOWEST <= share <= HIGHEST else "below" if share < LOWEST else "above"


def _of_models(found: dict[str, NDArray[Any]], model: str) -> list[str]:
    held, clear, ratio = (found[f"{part}, {model}"] for part in ("held", "clear", "bound"))
    among = held.reshape(len(held), D, D - 1)[clear]
    inside = f"{100 * among.mean():.1f}" if len(among) else ""
    bound = [f"{100 * np.mean(ratio >= 1):.1f}", f"{np.median(ratio):.1f}"]
    intercept = _share(found.get(f"intercept, {model}"))
    return [_share(held), _verdict(held), f"{100 * clear.mean():.0f}", inside, intercept, *bound]


def _count(release: Release, counts: Counts) -> None:
    """Note what holds for one release."""
    center, upper = release.center, np.triu_indices(D)
    truth, scale = clipped(release.clip_radius), _scale(release)
    whole, moment, found = clipped(1.0).about(center), truth.about(center) * scale, release.interval(LEVEL, about="rows")
    counts["entries"].append(found.entries.contains(moment)[upper])
    counts["entries, rows as they are"].append(found.entries.contains(whole)[upper])
    counts["eigenvalues"].append(found.eigenvalues.contains(np.linalg.eigvalsh(moment)[::-1]))
    if found.mean is not None:
        counts["mean"].append(found.mean.contains(truth.mean))
    exact = Truth(np.zeros(D), moment)  # whether it is a covariance or a second moment
    alphas: tuple[float | str, ...] = (PENALTY * float(np.linalg.eigvalsh(whole)[-1]), "auto")
    for name, alpha in zip(MODELS, alphas, strict=True):
        held, clear, bounds, intercepts = [], [], [], []
        for target in range(D):
            model = release.ridge(target, alpha=alpha)
            x, intervals = others(D, target), model.interval(LEVEL, about="rows")
            wanted = exact.ridge(target, x, model.alpha, True)
            held.append(intervals.coefficients.contains(wanted))
            clear.append(intervals.clear)
            bounds.append(model.bound(LEVEL) / np.linalg.norm(model.encoded_coefficients - wanted))
            if intervals.intercept is not None:
                intercepts.append(intervals.intercept.contains(truth.mean[target] - wanted @ truth.mean[x]))
        if intercepts:
            counts[f"intercept, {name}"].append(np.array(intercepts))
        counts[f"held, {name}"].append(np.concatenate(held))
        counts[f"clear, {name}"].append(np.array(clear))
        counts[f"bound, {name}"].append(np.array(bounds))


@lru_cache(maxsize=1)
def drawn() -> Floats:
    random = np.random.default_rng((1, 0))  # default_rng(0) would give the bits that a release draws noise from
    rows = random.standard_normal((ROWS, D)) + COMMON * random.standard_normal((ROWS, 1)) + OFFSET
    return np.asarray(rows / np.linalg.norm(rows, axis=1).max())


@lru_cache(maxsize=1000)
def clipped(radius: float) -> Truth:
    """Return the moments of the rows clipped at a radius; those at radius 1 are the rows as they are."""
    rows = drawn()
    return Truth.of(rows * np.minimum(1.0, radius / np.linalg.norm(rows, axis=1, keepdims=True)))


def _scale(release: Release) -> float:
    """Return the scale of `rescaled` as its estimate would have it if the overlap were asked without noise; else 1."""
    overlap = release.find(Overlap)
    if overlap is None:
        return 1.0
    assert isinstance(overlap.question, Overlap)
    between, moment = overlap.question.moment.grid, release.take(SecondMoment)
    assert isinstance(between, Annulus)
    inner, outer = between.inner.row_norm, between.outer.row_norm
    estimate = from_spectrum(denoised(moment, release.n, release.take(Quantile)), moment.decomposition[1])
    removed = (clipped(outer).about(False) - clipped(inner).about(False)) / inner**2
    return 1 + float(np.sum(removed * estimate)) / float(np.sum(estimate**2))
