"""What the additive mechanisms share: one noisy second moment, and under add-remove one noisy count.

Where rows have groups, it is the moment of each group in one answer, and their counts under either relation.
`plan_additive` says what is asked, from public numbers alone; `ask_additive` asks it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction

from dpcov.errors import ParameterError, check_choice
from dpcov.kernel.budget import ZCDP, ApproxDP, Budget, PureDP
from dpcov.kernel.face import Face
from dpcov.kernel.noise.laws import DiscreteGaussian, NoiseLaw
from dpcov.kernel.public import Facts
from dpcov.kernel.questions.calibrated import (
    FROBENIUS,
    GAUSSIAN,
    LAPLACE,
    WISHART,
    calibrated,
    check_tail,
    is_analytic,
    noise_for,
)
from dpcov.kernel.questions.groups import GroupCounts, GroupedMoment
from dpcov.kernel.questions.moments import REPLACE, Count, SecondMoment
from dpcov.linalg import sqrt_up
from dpcov.mechanisms.base import RAW, Least
from dpcov.mechanisms.shared.clipping import checked_clip, chosen_radius, plan_radius, prefetch_norms, rows_outside
from dpcov.mechanisms.shared.moment import raw_error
from dpcov.mechanisms.shared.shares import count_share
from dpcov.release.record import Transcript

CONSTANTS = ("tight", "paper")
WITH_PROGRAM = (*CONSTANTS, "program")
"""Of Dong, Liang and Yi, whose program is not what is printed."""

NOISES = (GAUSSIAN, WISHART, FROBENIUS, LAPLACE)

Moment = SecondMoment | GroupedMoment


@dataclass(frozen=True)
class AdditivePlan:
    """A second moment with one kind of noise: what it costs, and what is left for the count under add-remove."""

    noise: str
    moment_budget: Budget
    count_budget: Budget | None

    def law(self, moment: Moment, neighbors: str) -> NoiseLaw:
        """Return the law of the noise, in grid steps; no data are needed."""
        return calibrated(moment, self.moment_budget, neighbors, self.noise)


def wanted_moment(curator: Facts, radius: float = 1.0) -> Moment:
    """Return the question that a release is for: the second moment of all rows, or of those of each group."""
    return curator.grouped_moment(radius) if curator.groups else curator.second_moment(radius)


def plan_additive(noise: str, budget: Budget, moment: Moment, neighbors: str) -> AdditivePlan:
    """Convert the budget to what the noise serves, and set aside the count's share: where n is private, or there are groups."""
    private = neighbors != REPLACE or moment.weighs or isinstance(moment, GroupedMoment)
    count_wanted = private and not moment.grid.center  # the corner of a centred moment is the count
    served = _served(noise, budget, moment, neighbors, one_answer=not count_wanted)
    asked = AdditivePlan(noise, served, None)
    if count_wanted:
        share = count_share(served, moment.d)
        asked = AdditivePlan(noise, served.share(1 - share), served.share(share))
    if isinstance(budget, ApproxDP):
        check_tail([asked.law(moment, neighbors)], budget)
    return asked


def _serves(noise: str, budget: Budget) -> bool:
    """Whether a notion can pay for a noise: Gaussian under zCDP, the others under pure DP, all under (ε, δ)."""
    return isinstance(budget, ApproxDP) or (noise == GAUSSIAN) == isinstance(budget, ZCDP)


def _served(noise: str, budget: Budget, moment: Moment, neighbors: str, *, one_answer: bool) -> Budget:
    if not _serves(noise, budget):
        raise ParameterError(
            f"noise must serve the budget, got {noise!r} and {budget!r}. Hint: mechanism='auto' takes any budget."
        )
    if noise == GAUSSIAN and isinstance(budget, ApproxDP):
        # One Gaussian answer is calibrated analytically; two are composed as zCDP.
        return budget if one_answer and is_analytic(moment, budget, neighbors) else budget.to_zcdp()
    return PureDP(budget.epsilon) if isinstance(budget, ApproxDP) else budget


def papers_triangle(curator: Facts, asked: AdditivePlan) -> Fraction:
    """Return the least noise on each entry of the triangle in Dong et al.: variance Δ²/(2ρ), or Laplace of scale Δ·d/ε.

    Δ² = 2, also for one column, where 1 would do; add-remove: 1. Under (ε, δ) the variance of the diagonal, for that Δ².
    """
    budget, squared = asked.moment_budget, 2 if curator.neighbors == REPLACE else 1
    if isinstance(budget, PureDP):
        return sqrt_up(Fraction(squared)) * curator.d / budget.epsilon
    if isinstance(budget, ZCDP):
        return squared / (2 * budget.rho)
    moment = curator.second_moment()
    law = asked.law(moment, curator.neighbors)
    assert isinstance(law, DiscreteGaussian)
    return squared * law.variances[0][1] / Fraction(moment.sensitivity_squared(curator.neighbors))


def wants_paper(constants: str, forms: tuple[str, ...] = CONSTANTS) -> bool:
    """Check the option ``constants`` and say whether the paper's are meant, or those of its program."""
    check_choice("constants", constants, forms, "'paper' only to reproduce figures; it adds noise")
    return constants != "tight"


def usual_finish(transcript: Transcript) -> str:
    """Return how an additive estimate is finished: shrunk; after a paper's constants eigenvalues are clipped."""
    return "clip" if transcript.options.get("constants") == "paper" else "shrink"


def printed_finish(transcript: Transcript, usual: str) -> str:
    """Return how an estimate is finished: the text of Dong, Liang and Yi leaves eigenvalues alone, their program clips them."""
    return {"paper": RAW, "program": "clip"}.get(str(transcript.options.get("constants")), usual)


def ask_additive(
    curator: Face,
    noise: str,
    budget: Budget,
    *,
    clip: object = "none",
    at_least: Callable[[AdditivePlan], Fraction] | None = None,
) -> None:
    """Ask for the second moment, then for n where it is private.

    ``at_least`` gives a paper's noise for a question that was planned with the tight one.
    """
    where = checked_clip(curator, clip)
    if curator.groups and at_least is not None:
        raise ParameterError("constants must be 'tight' for groups, got a paper's. Hint: no paper has groups; leave it out.")
    moment = wanted_moment(curator)
    if where == "private":
        radius, asked = _clipped_plan(curator, noise, budget, moment)
    else:
        radius = 1.0 if isinstance(where, str) else where / curator.grid.row_norm
        asked = plan_additive(noise, budget, moment, curator.neighbors)
    ask_moment(curator, asked, radius, None if at_least is None else at_least(asked))


def least_additive(curator: Facts, asked: AdditivePlan, at_least: Fraction | None) -> Iterator[Least]:
    """Yield what an additive mechanism asks, where another may ask it, or not, by what was answered before."""
    yield Least(wanted_moment(curator), asked.moment_budget, asked.noise, at_least)
    if asked.count_budget is not None:
        yield Least(wanted_count(curator), asked.count_budget, noise_for(asked.count_budget))


def ask_moment(curator: Face, asked: AdditivePlan, radius: float, at_least: Fraction | None) -> None:
    """Ask for the second moment of rows clipped at ``radius``, then for n where it is private and no corner tells it."""
    curator.noisy(wanted_moment(curator, radius), asked.moment_budget, noise=asked.noise, at_least=at_least)
    if asked.count_budget is not None:
        curator.noisy(wanted_count(curator), asked.count_budget, noise=noise_for(asked.count_budget))


def wanted_count(curator: Facts) -> Count | GroupCounts:
    """Return the question of how many rows there are, or how many each group has."""
    return curator.group_counts() if curator.groups else Count(aside=curator.encoding.aside)


def _clipped_plan(curator: Face, noise: str, budget: Budget, moment: Moment) -> tuple[float, AdditivePlan]:
    """Choose a radius privately, and return it with the question that the rest of the budget pays for."""
    whole = _served(noise, budget, moment, curator.neighbors, one_answer=False)
    assert isinstance(whole, PureDP | ZCDP)
    unclipped = plan_additive(noise, whole, moment, curator.neighbors).law(moment, curator.neighbors)
    error = raw_error(unclipped, moment.unit_bits, moment.d, curator.grid.center)
    plan = plan_radius(whole, rows_outside(error, whole, curator))
    asked = plan_additive(noise, whole.share(1 - plan.share), moment, curator.neighbors)
    prefetch_norms(curator, derive=False)
    return chosen_radius(plan.ask(curator, whole)), asked


def predicted_errors(moment: Moment, budget: Budget, neighbors: str, numerics: str = "rounded") -> dict[str, float]:
    """Return, for each kind of noise that serves the budget, the r.m.s. Frobenius error of n times the second moment.

    Of groups: of that of each. For rows of norm 1, before post-processing, exactly as it would be calibrated.
    """
    errors = {}
    for noise in NOISES:
        if not _serves(noise, budget):
            continue
        try:
            law = plan_additive(noise, budget, moment, neighbors).law(moment, neighbors)
        except ParameterError:
            continue  # too small a budget for this noise
        if law.numerics in ("exact", numerics):
            errors[noise] = raw_error(law, moment.unit_bits, moment.d, moment.grid.center)
    return errors
