"""What the additive mechanisms share: one noisy second moment, under add-remove one noisy count, and the post-processing.

`question` says what is asked, from public numbers alone; `release_additive` asks it.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from dpcov.curator import Curator
from dpcov.errors import ParameterError, check_choice
from dpcov.privacy.budget import ZCDP, ApproxDP, Budget, PureDP
from dpcov.privacy.noise import NoiseLaw
from dpcov.release import OPTIONS, Release
from dpcov.shrinkage import POSTPROCESS
from dpcov.statistics.calibrated import GAUSSIAN, calibrated, check_tail, is_analytic
from dpcov.statistics.moments import REPLACE, SecondMoment


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
    count_wanted = neighbors != REPLACE and not moment.grid.center  # the corner of a centred moment is the count
    served = _served(noise, budget, moment, neighbors, one_answer=not count_wanted)
    asked = Question(noise, served, None)
    if count_wanted:
        share = count_share(served, moment.d)
        asked = Question(noise, served.share(1 - share), served.share(share))
    if isinstance(budget, ApproxDP):
        check_tail(asked.law(moment, neighbors), budget)
    return asked


def count_share(budget: Budget, d: int) -> Fraction:
    """Return the count's share under add-remove, the best for ‖second moment‖_F ≈ 0.35: docs/mechanisms/gaussian.md."""
    return Fraction(4, 5 * d + 8) if isinstance(budget, PureDP) else Fraction(1, 2 * d + 2)


def _served(noise: str, budget: Budget, moment: SecondMoment, neighbors: str, *, one_answer: bool) -> Budget:
    if noise == GAUSSIAN and isinstance(budget, ZCDP):
        return budget
    if noise == GAUSSIAN and isinstance(budget, ApproxDP):
        # One Gaussian answer is calibrated analytically; two are composed as zCDP.
        return budget if one_answer and is_analytic(moment, budget, neighbors) else budget.to_zcdp()
    if noise != GAUSSIAN and isinstance(budget, PureDP | ApproxDP):
        return PureDP(budget.epsilon)
    serves = "ZCDP or ApproxDP" if noise == GAUSSIAN else "PureDP or ApproxDP"
    raise ParameterError(f"budget of mechanism {noise!r} must be {serves}, got {budget!r}. Hint: mechanism='auto' fits all.")


def wants_paper(constants: str) -> bool:
    """Check the option ``constants`` and say whether the paper's are meant."""
    check_choice("constants", constants, OPTIONS["constants"], "'paper' only to reproduce figures; it adds noise")
    return constants == "paper"


def release_additive(curator: Curator, asked: Question, *, postprocess: str | None, **options: str) -> Release:
    """Ask for the second moment, then for n where it is private, and release both; the papers' constants come with a clip."""
    default = "clip" if options.get("constants") == "paper" else "shrink"
    chosen = default if postprocess is None else postprocess
    check_choice("postprocess", chosen, POSTPROCESS, f"leave it out for {default!r}")
    moment = curator.noisy(curator.second_moment(), asked.moment_budget, noise=asked.noise, at_least=asked.at_least)
    if asked.count_budget is not None:
        curator.ask_n(asked.count_budget)  # last: a budget too small is refused before anything is spent
    elif curator.neighbors != REPLACE:
        curator.take_n(moment)
    return curator.release("covariance", asked.noise, postprocess=chosen, **options)
