"""What Dong, Liang and Yi say, beside what came out."""

from __future__ import annotations

from experiments.check import CANNOT, Claim, Results, Verdict, verdict
from experiments.dong2022.lines import EM, OURS, PRINTED, ZERO
from experiments.dong2022.news import LARGEST, UNIT

GAUSS, SEPARATE, ADAPTIVE = "GaussCov", "SeparateCov", "AdaptiveCov"
SIZES, DIMENSIONS = (1000, 4000, 16_000), (10, 100, 200, 800)
TOLERANCE = 1.35  # of the better one: what AdaptiveCov spends on finding out


def _crossing(results: Results) -> Verdict:
    holds, told = True, []
    for n in SIZES:
        small, large = (
            results.at("figure2", f"n = {n}", GAUSS, d) / results.at("figure2", f"n = {n}", SEPARATE, d) for d in (10, 800)
        )
        holds &= small < 1.05 and large > 2
        told.append(f"n = {n}: {small:.2f} at d = 10, {large:.1f} at d = 800")
    return verdict(holds, "Gauss over Separate: " + "; ".join(told))


def _picks(results: Results, line: str) -> Verdict:
    wrong, places = [], 0
    for n in SIZES:
        for d in DIMENSIONS:
            places += 1
            best = min(results.at("figure2", f"n = {n}", each, d) for each in (GAUSS, SEPARATE))
            ratio = results.at("figure2", f"n = {n}", line, d) / best
            if ratio > TOLERANCE:
                wrong.append(f"n = {n}, d = {d}: {ratio:.2f} times the better")
    return verdict(not wrong, f"within {TOLERANCE} of the better one in {places - len(wrong)} of {places}; " + "; ".join(wrong))


def _program(results: Results) -> Verdict:
    return _picks(results, ADAPTIVE)


def _printed(results: Results) -> Verdict:
    return _picks(results, PRINTED)


def _trace(results: Results) -> Verdict:
    panel = "(a) bins N"
    falls = {
        line: results.at("figure3", panel, line, 1) / results.at("figure3", panel, line, 32)
        for line in (GAUSS, SEPARATE, ADAPTIVE, EM)
    }
    return verdict(
        falls[GAUSS] < 1.5 and min(falls[SEPARATE], falls[ADAPTIVE]) > 5,
        "N = 1 over N = 32: " + ", ".join(f"{k} {v:.3g}" for k, v in falls.items()),
    )


def _zero(results: Results) -> Verdict:
    zero, separate, adaptive = (results.at("figure3", "(a) bins N", line, 32) for line in (ZERO, SEPARATE, ADAPTIVE))
    return verdict(
        zero <= 1.05 * min(separate, adaptive), f"at N = 32 zero {zero:.2g}, Separate {separate:.2g}, Adaptive {adaptive:.2g}"
    )


def _emcov(results: Results) -> Verdict:
    found = [(results.at("figure2", "n = 4000", EM, d), results.at("figure2", "n = 4000", SEPARATE, d)) for d in (10, 100)]
    return verdict(
        all(em > separate for em, separate in found),
        "EMCov / Separate, n = 4000, d = 10, 100: " + ", ".join(f"{a:.3g}/{b:.3g}" for a, b in found),
    )


def _mnist(results: Results) -> Verdict:
    best = [
        min((GAUSS, SEPARATE, ADAPTIVE), key=lambda line: results.at("figure4", panel, line, rho)) == ADAPTIVE
        for panel in ("n = 6000", "n = 60000")
        for rho in (1e-3, 0.1, 10.0)
    ]
    return verdict(all(best), f"AdaptiveCov best of the three in {sum(best)} of {len(best)}")


def _never(results: Results) -> Verdict:
    worse = []
    for panel in ("n = 6000", "n = 60000"):
        for rho in (1e-3, 0.1, 10.0):
            if results.at("figure4", panel, GAUSS, rho) < results.at("figure4", panel, SEPARATE, rho):
                worse.append(f"MNIST {panel}, ρ = {rho:g}")
    return verdict(not worse, "GaussCov ahead: " + ("; ".join(worse) or "nowhere on MNIST"))


def _news(results: Results) -> Verdict:
    told, good, places = [], 0, 0
    for norm in (UNIT, LARGEST):
        for d in (32, 128, 512):
            found = {line: results.at("figure5", f"{norm}, against d", line, d) for line in (GAUSS, SEPARATE, ADAPTIVE)}
            places, good = places + 1, good + (found[SEPARATE] <= found[GAUSS])
            told.append(f"{norm}, d = {d}: {min(found, key=lambda line: found[line])}")
    return CANNOT, f"not the paper's texts; Separate no worse than Gauss in {good} of {places}; best: " + ", ".join(told)


def _digits(results: Results) -> Verdict:
    best = [
        results.at("digits", f"digit {digit}", ADAPTIVE, rho)
        <= min(results.at("digits", f"digit {digit}", line, rho) for line in (GAUSS, SEPARATE))
        for digit in (0, 1, 2)
        for rho in (1e-3, 0.1, 10.0)
    ]
    return verdict(all(best), f"AdaptiveCov best of the three in {sum(best)} of {len(best)}")


def _own(results: Results) -> Verdict:
    lines, lost, places = (GAUSS, SEPARATE, ADAPTIVE, ZERO), [], 0
    at = [("figure2", f"n = {n}", float(d)) for n in SIZES for d in DIMENSIONS]
    at += [("figure3", "(a) bins N", float(b)) for b in (1, 4, 32)] + [
        ("figure3", "(d) budget ρ", rho) for rho in (1e-4, 1e-2, 10.0)
    ]
    at += [("figure4", f"n = {n}", rho) for n in (6000, 60_000) for rho in (1e-3, 0.1, 10.0)]
    for figure, panel, x in at:
        places += 1
        ratio = results.at(figure, panel, OURS, x) / min(results.at(figure, panel, line, x) for line in lines)
        if ratio > 1.05:
            lost.append(f"{figure} {panel} {x:g}: {ratio:.2f}")
    return verdict(not lost, f"least error, within 5 %, in {places - len(lost)} of {places}; " + "; ".join(lost))


CLAIMS = (
    Claim("GaussCov is better for few columns, SeparateCov for many (Figure 2)", _crossing),
    Claim("AdaptiveCov picks the better one (program's form)", _program),
    Claim("AdaptiveCov picks the better one (as printed)", _printed),
    Claim("GaussCov does not follow the trace, the others do (Figure 3a)", _trace),
    Claim("For a small trace the zero matrix is best", _zero),
    Claim("SeparateCov is more accurate than EMCov", _emcov),
    Claim("AdaptiveCov is best on MNIST (Figure 4)", _mnist),
    Claim("GaussCov never outperforms SeparateCov on real data", _never),
    Claim("The same on news (Figure 5)", _news),
    Claim("AdaptiveCov is best on single digits (Appendix J)", _digits),
    Claim("(ours) `auto` is nowhere behind the paper's mechanisms", _own),
)
