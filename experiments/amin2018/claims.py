"""What the first paper of Amin et al. says, beside what came out."""

from __future__ import annotations

from experiments.amin2019.lines import AD, OURS, PRIVATE, ZERO, E, L, printed
from experiments.amin2019.regressions import NONE, NOTHING
from experiments.check import Claim, Results, Verdict, verdict

EPSILONS = (0.01, 0.1, 1.0, 4.0)
PANELS = ("(a) wine", "(b) airfoil")
DATA = ("wine", "airfoil")


def _ahead(results: Results) -> Verdict:
    """Where AD has the least error of the paper's lines."""
    lines, lost = (AD, L, printed(10)), []
    for panel in PANELS:
        for epsilon in EPSILONS:
            found = {line: results.at("figure1ab", panel, line, epsilon) for line in lines}
            best = min(found, key=lambda line: found[line])
            if best != AD:
                lost.append(f"{panel} ε = {epsilon:g}: {best.split(',')[0]} {found[best]:.3g}, AD {found[AD]:.3g}")
    return verdict(len(lost) <= 1, f"AD best in {8 - len(lost)} of 8; " + "; ".join(lost))


def _useless(results: Results) -> Verdict:
    found = [
        (results.at("figure1cd", data, E, e), results.at("figure1cd", data, L, e)) for data in DATA for e in (0.1, 1.0, 4.0)
    ]
    worst = max(e / laplace for e, laplace in found)
    return verdict(worst > 10, f"at most {worst:.2g} times the error of L, and below it from ε = 1 on")


def _learns(results: Results) -> Verdict:
    found = {
        (data, e): [results.at("figure1cd", data, line, e) for line in (AD, L, NOTHING, NONE)]
        for data in DATA
        for e in (0.1, 1.0, 4.0)
    }
    better = sum(ad < laplace for ad, laplace, _, _ in found.values())
    useful = sum(ad < nothing for ad, _, nothing, _ in found.values())
    return verdict(better == 6 and useful == 6, f"AD below L in {better} of 6, below the model that says 0 in {useful} of 6")


def _own(results: Results) -> Verdict:
    below = [
        results.at("figure1ab", p, OURS, e) <= min(results.at("figure1ab", p, line, e) for line in (AD, L, E, ZERO)) * 1.05
        for p in PANELS
        for e in EPSILONS
    ]
    return verdict(all(below), f"least error, within 5 %, of all pure lines and the zero matrix in {sum(below)} of 8")


def _noise(results: Results) -> Verdict:
    ratio = results.at("figure1ab", PANELS[1], PRIVATE, 1.0) / results.at("figure1ab", PANELS[1], printed(10), 1.0)
    return verdict(
        ratio < 1.0, f"with the noise that is needed the error is {ratio:.2f} times that of the printed one (airfoil, ε = 1)"
    )


CLAIMS = (
    Claim("AD outperforms the others for almost all ε (Figure 1 a, b)", _ahead),
    Claim("The exponential mechanism has extremely large regression errors", _useless),
    Claim("AD's regressions are better than the Laplace mechanism's (Figure 1 c, d)", _learns),
    Claim("The printed σ of the Gaussian mechanism is private", _noise),
    Claim("(ours) `auto` has the least error under pure DP", _own),
)
