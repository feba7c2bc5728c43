"""What the additive mechanisms share: one noisy second moment, under add-remove one noisy count, and the post-processing.

`question` says what is asked, from public numbers alone; `release_additive` asks it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from dpcov.curator import Curator
from dpcov.errors import ParameterError, check_choice
from dpcov.privacy.budget import ZCDP, ApproxDP, Budget, PureDP
from dpcov.privacy.noise import NoiseLaw, RoundedLaw
from dpcov.release import Release
from dpcov.statistics.calibrated import GAUSSIAN, calibrated, is_analytic
from dpcov.statistics.moments import REPLACE, SecondMoment

POSTPROCESSES = ("shrink", "project", "clip", "none")
"""The first is the default; ``constants="paper"`` defaults to the papers' clip."""

CONSTANTS = ("tight", "paper")


@dataclass(frozen=True)
class Question:
    """A second moment with one kind of noise: what it costs, and what is left for the count under add-remove."""

    noise: str
    moment_budget: Budget
    count_budget: Budget | None
    at_least: Fraction | None = None

    def law(self, moment: SecondMoment, neighbors: str) -> NoiseLaw:
        """Return the law of the noise, in grid steps; no data are needed."""
        return calibrated(moment, self.moment_budget, neighbors, self.noise, self.at_least)


def question(noise: str, budget: Budget, moment: SecondMoment, neighbors: str) -> Question:
    """Convert the budget to what the noise serves, and set aside the count's share under add-remove."""
    served = _served(noise, budget, moment, neighbors)
    asked = Question(noise, served, None)
    if neighbors != REPLACE:
        # The optimal shares for ‖second moment‖_F ≈ 0.35: docs/mechanisms/gaussian.md and wishart.md
        d = moment.d
        share = Fraction(4, 5 * d + 8) if isinstance(served, PureDP) else Fraction(1, 2 * d + 2)
        asked = Question(noise, served.share(1 - share), served.share(share))
    if isinstance(budget, ApproxDP):
        _check_tail(asked.law(moment, neighbors), budget)
    return asked


def _check_tail(law: NoiseLaw, budget: ApproxDP) -> None:
    """Refuse rounded noise whose tail would not fit into δ: it counts (1 + e^ε) times, docs/guarantee.md."""
    if isinstance(law, RoundedLaw) and (budget.epsilon > 700 or (1 + math.exp(budget.epsilon)) * law.tail > budget.delta):
        raise ParameterError(
            f"delta must exceed the tail of rounded noise, got {budget!r}. Hint: mechanism='laplace' is exact."
        )


def _served(noise: str, budget: Budget, moment: SecondMoment, neighbors: str) -> Budget:
    if noise == GAUSSIAN and isinstance(budget, ZCDP):
        return budget
    if noise == GAUSSIAN and isinstance(budget, ApproxDP):
        # One Gaussian answer is calibrated analytically; two are composed as zCDP.
        return budget if neighbors == REPLACE and is_analytic(moment, budget, neighbors) else budget.to_zcdp()
    if noise != GAUSSIAN and isinstance(budget, PureDP | ApproxDP):
        return PureDP(budget.epsilon)
    serves = "ZCDP or ApproxDP" if noise == GAUSSIAN else "PureDP or ApproxDP"
    raise ParameterError(f"budget of mechanism {noise!r} must be {serves}, got {budget!r}. Hint: mechanism='auto' fits all.")


def wants_paper(constants: str) -> bool:
    """Check the option ``constants`` and say whether the paper's are meant."""
    check_choice("constants", constants, CONSTANTS, "'paper' only to reproduce figures; it adds noise")
    return constants == "paper"


def release_additive(curator: Curator, asked: Question, *, postprocess: str | None, constants: str = "tight") -> Release:
    """Ask for the second moment, then for n where it is private, and release both."""
    default = "clip" if wants_paper(constants) else POSTPROCESSES[0]
    chosen = default if postprocess is None else postprocess
    check_choice("postprocess", chosen, POSTPROCESSES, f"leave it out for {default!r}")
    curator.noisy(curator.second_moment(), asked.moment_budget, noise=asked.noise, at_least=asked.at_least)
    if asked.count_budget is not None:
        curator.ask_n(asked.count_budget)  # last: a budget too small is refused before anything is spent
    return curator.release("covariance", asked.noise, postprocess=chosen, constants=constants)
